//! The objections of a ruleset to a call: which operation's rules apply to it.

use workden_core::VirtualPath;

use crate::{
    Action, CompiledRuleset, Operation, RuleDecision,
    requirement::{Objection, Requirement},
};

impl CompiledRuleset {
    pub(crate) fn object(&self, requirement: Requirement, path: &VirtualPath) -> Option<Objection> {
        let decide = |operation| objection(operation, self.decide_path(operation, path));
        match requirement {
            // No content is shown, so no approval is required.
            Requirement::Stat => {
                let denied = |operation| decide(operation).filter(|objection| !objection.is_ask());
                denied(Operation::Read).or_else(|| denied(Operation::Ls))
            }
            Requirement::List => decide(Operation::Ls),
            Requirement::Glob => decide(Operation::Glob),
            // The approval of a search covers the files it reads, unless a rule requires approval for them.
            Requirement::Grep => decide(Operation::Grep).or_else(|| match self.default_of(Operation::Read) {
                Action::Ask => Some(Objection::Asks { operation: Operation::Grep.name(), description: String::new() }),
                Action::Allow | Action::Deny => None,
            }),
            Requirement::Read | Requirement::ReadAnything => decide(Operation::Read),
            Requirement::Write | Requirement::MakeDir => decide(Operation::Write),
            Requirement::Change => Objection::strictest(decide(Operation::Edit), self.protects_from_writing(path)),
            Requirement::Remove => decide(Operation::Delete),
        }
    }

    /// Returns the objection to an edit of a file that a rule protects from writing.
    fn protects_from_writing(&self, path: &VirtualPath) -> Option<Objection> {
        let written = self.decide_path(Operation::Write, path);
        let protects = written.rule().is_some() && written.action == Action::Deny;
        if protects { objection(Operation::Edit, written) } else { None }
    }
}

fn objection(operation: Operation, decision: RuleDecision<'_>) -> Option<Objection> {
    let (operation, description) = (operation.name(), || decision.description().to_owned());
    match decision.action {
        Action::Allow => None,
        Action::Ask => Some(Objection::Asks { operation, description: description() }),
        Action::Deny => Some(Objection::Denied { operation, description: description() }),
    }
}
