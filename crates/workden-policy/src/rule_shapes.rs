//! The patterns of a ruleset in a form for the comparison with shell patterns: whether `src/*.p*` could match a
//! protected file must be known before the shell expands it.

use workden_core::{RuleCase, search::overlap::Shape};

use crate::{Action, Operation, Rule, Ruleset};

/// The rules of every operation that are stricter than `Allow`, as shapes.
#[derive(Clone, Debug)]
pub(crate) struct RuleShapes {
    /// The rules by operation, each with its index.
    all: Vec<Vec<RuleShape>>,
}

#[derive(Clone, Debug)]
struct RuleShape {
    index: usize,
    action: Action,
    case: RuleCase,
    pattern: Shape,
    except: Vec<Shape>,
}

impl RuleShapes {
    /// Parses the rules of a ruleset.
    pub(crate) fn of(source: &Ruleset) -> Self {
        let of_operation = |operation: &Operation| {
            let rules = source.of(*operation).map_or(&[][..], |rules| &rules.rules);
            match operation {
                Operation::Execute => Vec::new(),
                _ => rules.iter().enumerate().filter_map(RuleShape::of).collect(),
            }
        };
        Self { all: Operation::ALL.iter().map(of_operation).collect() }
    }

    /// Returns the first rule stricter than `action` that could apply to a match of the shell pattern.
    pub(crate) fn stricter(&self, operation: Operation, shell: &Shape, action: Action) -> Option<usize> {
        let met = self.all[operation as usize].iter().find(|rule| {
            rule.action > action
                && shell.could_meet(&rule.pattern, rule.case)
                && !rule.except.iter().any(|except| shell.is_always_within(except, rule.case))
        });
        met.map(|rule| rule.index)
    }
}

impl RuleShape {
    fn of((index, rule): (usize, &Rule)) -> Option<Self> {
        (rule.action > Action::Allow).then(|| Self {
            index,
            action: rule.action,
            case: rule.effective_case(),
            pattern: Shape::of(&from_root(&rule.pattern)),
            except: rule.except.iter().map(|except| Shape::of(&from_root(except))).collect(),
        })
    }
}

/// Returns a rule's pattern as one for whole paths: a bare name matches in any directory.
fn from_root(pattern: &str) -> String {
    match pattern.contains('/') {
        false => format!("**/{pattern}"),
        true if pattern.starts_with('/') || pattern.starts_with("**") => pattern.to_owned(),
        true => format!("/{pattern}"),
    }
}
