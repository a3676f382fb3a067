//! `Policy`: layers of rules, mounts and allow-lists, of which the strictest wins.
//!
//! Invariant: a layer can only take away. Whatever is pushed onto a policy, it allows no call that
//! it did not allow before; that is all there is to deriving one safely.

use std::sync::Arc;

use async_trait::async_trait;
use workden_core::{Error, Gate, Judgement, Op, Refusal, Resolved, Result, Verdict, VirtualPath, Visibility};

use crate::{
    AllowList, CompiledRuleset, MountTable, Ruleset,
    requirement::{Objection, Requirement, requirements},
};

/// Who may do what in a workspace. An empty one allows everything.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    layers: Vec<PolicyLayer>,
}

/// One of the things that have to permit a call.
#[derive(Clone, Debug)]
pub enum PolicyLayer {
    /// Rules by operation and path.
    Rules(Arc<CompiledRuleset>),
    /// The parts of the workspace, with their limits.
    Mounts(Arc<MountTable>),
    /// The only places that may be used.
    AllowList(Arc<AllowList>),
}

impl Policy {
    /// Allows everything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, and these rules as well.
    ///
    /// # Errors
    ///
    /// As [`Ruleset::compile`].
    pub fn with_rules(self, rules: &Ruleset) -> Result<Self> {
        Ok(self.with(PolicyLayer::Rules(Arc::new(rules.compile()?))))
    }

    /// The same, within these mounts.
    #[must_use]
    pub fn with_mounts(self, mounts: MountTable) -> Self {
        self.with(PolicyLayer::Mounts(Arc::new(mounts)))
    }

    /// The same, and one layer more.
    #[must_use]
    pub fn with(mut self, layer: PolicyLayer) -> Self {
        self.layers.push(layer);
        self
    }

    /// Whether it allows everything, so that there is nothing to ask it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// The layers, the first one first.
    #[must_use]
    pub fn layers(&self) -> &[PolicyLayer] {
        &self.layers
    }

    /// Judges a call. Every path of it is judged as it was typed and as it really is.
    ///
    /// A command takes its time: not for an async thread.
    #[must_use]
    pub fn judge(&self, op: Op<'_>) -> Verdict {
        if let Some(execution) = op.execution() {
            return self.judge_execution(execution).verdict();
        }
        let mut strictest = Verdict::Allow;
        for (requirement, at) in requirements(op) {
            let verdict = match self.object(requirement, at) {
                None => continue,
                Some(objection) if objection.is_ask() => Verdict::Ask(self.refuse(&at.typed, objection)),
                // Nothing is stricter.
                Some(objection) => return Verdict::Deny(self.refuse(&at.typed, objection)),
            };
            strictest = strictest.strictest(verdict);
        }
        strictest
    }

    /// As [`judge`](Self::judge), with the commands of a line that an approval would be for. The line is
    /// analysed once for both.
    #[must_use]
    pub fn judgement(&self, op: Op<'_>) -> Judgement {
        let Some(execution) = op.execution() else { return self.judge(op).into() };
        let judged = self.judge_execution(execution);
        Judgement::from(judged.verdict()).for_commands(judged.command_line().understood)
    }

    /// The largest file that may be read or written at a path, in bytes, if there is a limit.
    #[must_use]
    pub fn most_bytes(&self, path: &VirtualPath) -> Option<u64> {
        let mounts = self.layers.iter().filter_map(|layer| match layer {
            PolicyLayer::Mounts(mounts) => mounts.find(path),
            PolicyLayer::Rules(_) | PolicyLayer::AllowList(_) => None,
        });
        mounts.filter_map(|mount| mount.max_file_bytes).min()
    }

    /// Returns the first of the strictest objections.
    pub(crate) fn object(&self, requirement: Requirement, at: &Resolved) -> Option<Objection> {
        let mut strictest = None;
        for path in std::iter::once(&at.typed).chain((at.real != at.typed).then_some(&at.real)) {
            for layer in &self.layers {
                strictest = Objection::strictest(strictest, layer.object(requirement, path));
                if strictest.as_ref().is_some_and(|objection| !objection.is_ask()) {
                    return strictest;
                }
            }
        }
        strictest
    }

    /// Returns an objection as an error that says what is allowed instead. It names the path as it was
    /// typed and does not reveal where a link leads.
    pub(crate) fn refuse(&self, typed: &VirtualPath, objection: Objection) -> Error {
        let path = typed.clone();
        let target = || typed.as_str().to_owned();
        Error::from(match objection {
            Objection::Outside => Refusal::Outside { path, readable: self.readable_roots() },
            Objection::ReadOnly => Refusal::ReadOnly { path, writable: self.writable_roots() },
            Objection::Suffix { suffix, allowed } => Refusal::Suffix { path, suffix, allowed },
            Objection::Denied { operation, description } => {
                Refusal::Rule { operation: operation.to_owned(), target: target(), description }
            }
            Objection::Asks { operation, description } => {
                Refusal::Unapproved { operation: operation.to_owned(), target: target(), description }
            }
        })
    }
}

impl PolicyLayer {
    pub(crate) fn object(&self, requirement: Requirement, path: &VirtualPath) -> Option<Objection> {
        match self {
            Self::Rules(rules) => rules.object(requirement, path),
            Self::Mounts(mounts) => mounts.object(requirement, path),
            Self::AllowList(places) => places.object(requirement, path),
        }
    }
}

#[async_trait]
impl Gate for Policy {
    async fn judge(&self, op: Op<'_>) -> Judgement {
        self.judgement(op)
    }

    fn visibility(&self, op: Op<'_>) -> Visibility {
        self.visible(op)
    }

    fn most_bytes(&self, at: &Resolved, _: workden_core::Access) -> Option<u64> {
        let limits = [&at.typed, &at.real].map(|path| Self::most_bytes(self, path));
        limits.into_iter().flatten().min()
    }
}
