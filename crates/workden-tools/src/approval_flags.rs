//! The options that ask for approval, as a gate: it can make a call stricter, and nothing else.

use async_trait::async_trait;
use workden_core::{Access, Execution, Gate, Op, Refusal, Resolved, Verdict, Visibility};

use crate::options::{Approval, ToolsetOptions};

/// Asks about what the options say is to be asked about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApprovalFlags {
    write: Approval,
    execute: Approval,
}

impl ApprovalFlags {
    /// The gate, if the options ask for anything.
    pub(crate) fn of(options: &ToolsetOptions) -> Option<Self> {
        let flags = Self { write: options.write_approval, execute: options.execute_approval };
        (flags.write == Approval::Always || flags.execute == Approval::Always).then_some(flags)
    }
}

#[async_trait]
impl Gate for ApprovalFlags {
    async fn judge(&self, op: Op<'_>) -> Verdict {
        let (flag, operation, target) = match op {
            Op::Stat(_) | Op::List(_) | Op::Read(_) | Op::Glob(_) | Op::Grep(_) => return Verdict::Allow,
            Op::Write(at) | Op::MakeDir(at) => (self.write, "write", at.typed.to_string()),
            Op::Change(at) => (self.write, "edit", at.typed.to_string()),
            Op::Remove(at) => (self.write, "delete", at.typed.to_string()),
            Op::Rename { to, .. } | Op::Copy { to, .. } => (self.write, "write", to.typed.to_string()),
            Op::Execute(execution) => (self.execute, "execute", execution.script.clone()),
        };
        match flag {
            Approval::AsPolicy => Verdict::Allow,
            Approval::Always => Verdict::Ask(
                Refusal::Unapproved { operation: operation.to_owned(), target, description: String::new() }.into(),
            ),
        }
    }

    fn visibility(&self, _: Op<'_>) -> Visibility {
        Visibility::everything()
    }

    fn most_bytes(&self, _: &Resolved, _: Access) -> Option<u64> {
        None
    }

    async fn understood(&self, _: &Execution) -> Option<Vec<Vec<String>>> {
        None
    }
}
