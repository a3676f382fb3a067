//! What a ruleset says of a call: which of its operations a call is.

use workden_core::VirtualPath;

use crate::{
    Action, CompiledRuleset, Decision, Operation,
    need::{Need, Objection},
};

impl CompiledRuleset {
    pub(crate) fn object(&self, need: Need, path: &VirtualPath) -> Option<Objection> {
        let decide = |operation| objection(operation, self.decide_path(operation, path));
        match need {
            // No content is shown, so approval is not asked for.
            Need::Stat => {
                let denied = |operation| decide(operation).filter(|objection| !objection.is_ask());
                denied(Operation::Read).or_else(|| denied(Operation::Ls))
            }
            Need::List => decide(Operation::Ls),
            Need::Glob => decide(Operation::Glob),
            // Approving the search is approving what it reads, unless a rule singles that out.
            Need::Grep => decide(Operation::Grep).or_else(|| match self.default_of(Operation::Read) {
                Action::Ask => Some(Objection::Asks { operation: Operation::Grep.name(), description: String::new() }),
                Action::Allow | Action::Deny => None,
            }),
            Need::Read | Need::ReadAnything => decide(Operation::Read),
            Need::Write | Need::MakeDir => decide(Operation::Write),
            Need::Change => Objection::strictest(decide(Operation::Edit), self.protects_from_writing(path)),
            Need::Remove => decide(Operation::Delete),
        }
    }

    /// A file that a rule protects from being written is protected from being edited.
    fn protects_from_writing(&self, path: &VirtualPath) -> Option<Objection> {
        let written = self.decide_path(Operation::Write, path);
        let protects = written.rule().is_some() && written.action == Action::Deny;
        if protects { objection(Operation::Edit, written) } else { None }
    }
}

fn objection(operation: Operation, decision: Decision<'_>) -> Option<Objection> {
    let (operation, description) = (operation.name(), || decision.description().to_owned());
    match decision.action {
        Action::Allow => None,
        Action::Ask => Some(Objection::Asks { operation, description: description() }),
        Action::Deny => Some(Objection::Denied { operation, description: description() }),
    }
}
