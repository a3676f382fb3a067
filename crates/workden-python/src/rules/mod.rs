//! Rulesets of pydantic-ai-backend, enforced by ours: its JSON becomes one of our rulesets, once, and what
//! is asked of it is asked there.
//!
//! Invariant: what the reference denies stays denied but for what `docs/compatibility-python.md` lists, and what
//! cannot be understood is an error when the rules are made, never a rule that is passed over.

mod checker;
mod command_pattern;
mod known;
mod path_pattern;
mod reference;
mod seen;

pub(crate) use checker::Rules;
pub(crate) use known::publish;
use reference::of_reference;

use pyo3::prelude::*;
use workden::WorkspaceBuilder;
use workden_core::Result;
use workden_policy::{Action, Operation, Ruleset, Surroundings};

use crate::failure;

/// A ruleset of the reference, as JSON, as one of ours, as JSON; `None` when it allows everything, and there
/// is nothing to be enforced.
#[pyfunction]
#[pyo3(signature = (ruleset, surroundings="machine"))]
pub(crate) fn native_ruleset(ruleset: &str, surroundings: &str) -> PyResult<Option<String>> {
    let ours = surroundings_of(surroundings).and_then(|surroundings| of_reference(ruleset, surroundings));
    let ours = ours.map_err(failure::raised)?;
    if allows_everything(&ours) {
        return Ok(None);
    }
    // A mistake in a pattern is one of whoever wrote the rules, and is said to them.
    ours.compile().map_err(failure::raised)?;
    serde_json::to_string(&ours).map(Some).map_err(|error| failure::raised(failure::invalid("a ruleset", error)))
}

/// The rules that a place is to hold to, if there is anything to hold to: rules that allow everything would still
/// have somebody asked about commands that nobody can understand.
pub(crate) fn enforced(ruleset: &str, surroundings: Surroundings) -> Result<Option<Ruleset>> {
    Ok(Some(of_reference(ruleset, surroundings)?).filter(|ours| !allows_everything(ours)))
}

/// A workspace that holds to these rules, if there are any.
pub(crate) fn hold(
    builder: WorkspaceBuilder,
    ruleset: Option<&String>,
    surroundings: Surroundings,
) -> Result<WorkspaceBuilder> {
    let rules = ruleset.map(|ruleset| enforced(ruleset, surroundings)).transpose()?.flatten();
    Ok(rules.into_iter().fold(builder, WorkspaceBuilder::rules))
}

/// Whether there is nothing in it that says anything but yes.
fn allows_everything(ruleset: &Ruleset) -> bool {
    let is_open = |operation: &Operation| {
        let rules = ruleset.of(*operation).map_or(&[][..], |own| &own.rules);
        ruleset.default_of(*operation) == Action::Allow && rules.iter().all(|rule| rule.action == Action::Allow)
    };
    ruleset.dangerous_commands.is_none() && Operation::ALL.iter().all(is_open)
}

fn surroundings_of(name: &str) -> Result<Surroundings> {
    match name {
        "machine" => Ok(Surroundings::Machine),
        "files" => Ok(Surroundings::FilesOnly),
        other => Err(failure::invalid("surroundings", format!("`{}`", other.escape_debug()))
            .hint("`machine` where there is a whole machine, `files` where there are only files")),
    }
}
