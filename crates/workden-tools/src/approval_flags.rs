//! The options that require approval, as a gate, which can only make a call stricter.

use async_trait::async_trait;
use workden_core::{Access, Gate, Judgement, Op, Refusal, Resolved, Verdict, Visibility};

use crate::options::{RequireApproval, ToolsetOptions};

/// Asks about the operations that the options name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApprovalFlags {
    write: RequireApproval,
    execute: RequireApproval,
}

impl ApprovalFlags {
    /// Returns the gate, unless the options leave everything to the policy.
    pub(crate) fn of(options: &ToolsetOptions) -> Option<Self> {
        let flags = Self { write: options.write_approval, execute: options.execute_approval };
        (flags.write == RequireApproval::Always || flags.execute == RequireApproval::Always).then_some(flags)
    }
}

#[async_trait]
impl Gate for ApprovalFlags {
    async fn judge(&self, op: Op<'_>) -> Judgement {
        let (flag, operation, target) = match op {
            Op::Stat(_) | Op::List(_) | Op::Read(_) | Op::Glob(_) | Op::Grep(_) => return Verdict::Allow.into(),
            Op::Write(at) | Op::MakeDir(at) => (self.write, "write", at.typed.to_string()),
            Op::Change(at) => (self.write, "edit", at.typed.to_string()),
            Op::Remove(at) => (self.write, "delete", at.typed.to_string()),
            Op::Rename { to, .. } | Op::Copy { to, .. } => (self.write, "write", to.typed.to_string()),
            Op::Execute(execution) => (self.execute, "execute", execution.script.clone()),
        };
        let verdict = match flag {
            RequireApproval::AsPolicy => Verdict::Allow,
            RequireApproval::Always => Verdict::Ask(
                Refusal::Unapproved { operation: operation.to_owned(), target, description: String::new() }.into(),
            ),
        };
        verdict.into()
    }

    fn visibility(&self, _: Op<'_>) -> Visibility {
        Visibility::everything()
    }

    fn most_bytes(&self, _: &Resolved, _: Access) -> Option<u64> {
        None
    }
}
