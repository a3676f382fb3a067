//! Deriving a policy for a sub-agent: the same policy for fewer paths.
//!
//! Deriving pushes an allow-list onto the layers, and a layer can only restrict, so that no child can do anything that
//! its parent cannot, at any depth. Mounts and rules stay unchanged.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use workden_core::{Error, ErrorKind, Result, VirtualPath};

use crate::{
    AllowList, Operation, Policy, PolicyLayer,
    requirement::{Objection, Requirement},
};

/// The part of its parent's paths that a derived policy may use. Empty by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Derive {
    /// The paths that may be read; by default those that may be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_read: Option<Vec<VirtualPath>>,
    /// The paths that may be written; by default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_write: Option<Vec<VirtualPath>>,
    /// `true` for a child that may write nowhere; `false` requires a child that can write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readonly: Option<bool>,
    /// Whether a child gets all paths of its parent if no paths are named.
    pub inherit: bool,
}

impl Policy {
    /// Returns a policy that allows part of what this policy allows.
    ///
    /// # Errors
    ///
    /// Returns a refusal if a path is outside the parent's paths or the parent cannot write it, and `ReadOnly` if the
    /// child must write and the parent cannot.
    pub fn derive(&self, wanted: &Derive) -> Result<Self> {
        if wanted.readonly == Some(false) && self.writable_roots().is_empty() {
            return Err(Error::new(
                ErrorKind::ReadOnly,
                "Cannot create child sandbox with readonly=False: parent sandbox is readonly.",
            )
            .hint("leave `readonly` out, or derive from a policy that can write"));
        }
        for place in wanted.allow_read.iter().flatten() {
            self.must_have(Requirement::ReadAnything, Operation::Read, place)?;
        }
        for place in wanted.allow_write.iter().flatten() {
            self.must_have(Requirement::MakeDir, Operation::Write, place)?;
        }
        let (read, write) = match (&wanted.allow_read, &wanted.allow_write) {
            (None, None) if wanted.inherit => (None, None),
            (None, None) => (Some(Vec::new()), Some(Vec::new())),
            (None, Some(write)) => (Some(write.clone()), Some(write.clone())),
            (Some(read), None) => (Some(read.clone()), Some(Vec::new())),
            (Some(read), Some(write)) => (Some(read.clone()), Some(write.clone())),
        };
        let write = if wanted.readonly == Some(true) { Some(Vec::new()) } else { write };
        Ok(self.clone().with(PolicyLayer::AllowList(Arc::new(AllowList { read, write }))))
    }

    /// Checks that a path can be passed on. Of the rules, only a denial on every path counts: rules may allow a path
    /// below one that they deny, and still apply in the child.
    fn must_have(&self, requirement: Requirement, operation: Operation, place: &VirtualPath) -> Result<()> {
        let denies = |layer: &PolicyLayer| match layer {
            PolicyLayer::Rules(rules) => rules.denies_everywhere(operation),
            PolicyLayer::Mounts(_) | PolicyLayer::AllowList(_) => false,
        };
        let denied = || match operation {
            Operation::Write => Objection::ReadOnly,
            _ => Objection::Outside,
        };
        let denied = || self.layers().iter().any(denies).then(denied);
        match self.place_objection(requirement, place).or_else(denied) {
            None => Ok(()),
            Some(objection) => Err(self.refuse(place, objection)),
        }
    }
}
