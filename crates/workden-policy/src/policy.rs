//! `Policy`: layers of rules, mounts and allow-lists; the strictest layer wins.
//!
//! Invariant: a layer can only restrict. No layer that is added to a policy allows a call that the policy did not allow
//! before; this alone makes it safe to derive policies.

use std::sync::Arc;

use async_trait::async_trait;
use workden_core::{Error, Gate, Judgement, Op, Refusal, Resolved, Result, Verdict, VirtualPath, Visibility};

use crate::{
    Action, AllowList, CompiledRuleset, MountTable, Operation, Rule, Ruleset,
    requirement::{Objection, Requirement, requirements},
};

/// The permissions in a workspace. An empty policy allows everything.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    layers: Vec<PolicyLayer>,
}

/// One layer of a policy; every layer must permit a call.
#[derive(Clone, Debug)]
pub enum PolicyLayer {
    /// Rules by operation and path.
    Rules(Arc<CompiledRuleset>),
    /// The parts of the workspace, with their limits.
    Mounts(Arc<MountTable>),
    /// The only paths that may be used.
    AllowList(Arc<AllowList>),
}

impl Policy {
    /// Returns a policy that allows everything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds these rules to the policy.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Ruleset::compile`].
    pub fn with_rules(self, rules: &Ruleset) -> Result<Self> {
        Ok(self.with(PolicyLayer::Rules(Arc::new(rules.compile()?))))
    }

    /// Restricts the policy to these mounts.
    #[must_use]
    pub fn with_mounts(self, mounts: MountTable) -> Self {
        self.with(PolicyLayer::Mounts(Arc::new(mounts)))
    }

    /// Adds a layer to the policy.
    #[must_use]
    pub fn with(mut self, layer: PolicyLayer) -> Self {
        self.layers.push(layer);
        self
    }

    /// Whether the policy has no layers, so that it allows everything.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// Returns the layers, in the order in which they were added.
    #[must_use]
    pub fn layers(&self) -> &[PolicyLayer] {
        &self.layers
    }

    /// Whether a rule of the policy could deny a change in this directory that it does not deny to read.
    #[must_use]
    pub fn denies_changes_in(&self, directory: &VirtualPath) -> bool {
        self.layers.iter().any(|layer| match layer {
            PolicyLayer::Rules(rules) => denies_changes(rules.source(), directory),
            // The access of a mount says so to the sandbox.
            PolicyLayer::Mounts(_) | PolicyLayer::AllowList(_) => false,
        })
    }

    /// Judges a call. Each of its paths is judged as typed and as real.
    ///
    /// Judging a command takes time: do not call this on an async thread.
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
                // Nothing is stricter than a denial.
                Some(objection) => return Verdict::Deny(self.refuse(&at.typed, objection)),
            };
            strictest = strictest.strictest(verdict);
        }
        strictest
    }

    /// Like [`judge`](Self::judge), with the commands of a line that an approval would cover. The line is analysed once
    /// for both.
    #[must_use]
    pub fn judgement(&self, op: Op<'_>) -> Judgement {
        let Some(execution) = op.execution() else { return self.judge(op).into() };
        let judged = self.judge_execution(execution);
        Judgement::from(judged.verdict()).for_commands(judged.command_line().understood)
    }

    /// Returns the size in bytes of the largest file that may be read or written at a path, if it is limited.
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

    /// Returns an objection as an error with a hint about what is allowed. The error names the typed path and does not
    /// reveal the target of a link.
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

fn denies_changes(rules: &Ruleset, directory: &VirtualPath) -> bool {
    let reads = rules.of(Operation::Read);
    let is_unreadable = |rule: &Rule| {
        reads.is_some_and(|reads| {
            reads.rules.iter().any(|read| read.action == Action::Deny && read.pattern == rule.pattern)
        })
    };
    let is_here = |rule: &Rule| {
        let plain = rule.pattern.split('/').take_while(|name| !name.contains(['*', '?', '[', '\\', '{']));
        let start = VirtualPath::parse(&plain.collect::<Vec<_>>().join("/")).unwrap_or_else(|_| VirtualPath::root());
        !rule.pattern.starts_with('/') || start.is_within(directory) || directory.is_within(&start)
    };
    [Operation::Write, Operation::Edit].into_iter().any(|operation| {
        rules.default_of(operation) == Action::Deny
            || rules.of(operation).is_some_and(|of| {
                of.rules.iter().any(|rule| rule.action == Action::Deny && is_here(rule) && !is_unreadable(rule))
            })
    })
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
