//! Deriving a policy for a sub-agent: the same, within fewer places.
//!
//! Deriving pushes an allow-list onto the layers there are, and a layer can only take away, so that
//! no child can do what its parent cannot, at any depth. Mounts and rules stay as they are.

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
    /// The paths that may be read. Absent, those that may be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_read: Option<Vec<VirtualPath>>,
    /// The paths that may be written; absent, none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_write: Option<Vec<VirtualPath>>,
    /// `true` for a child that writes nowhere; `false` insists on one that can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readonly: Option<bool>,
    /// Whether a child gets everything that its parent has when no paths are named.
    pub inherit: bool,
}

impl Policy {
    /// A policy that allows part of what this one does.
    ///
    /// # Errors
    ///
    /// A refusal when a path is outside of the parent's paths, or the parent cannot write it; `ReadOnly`
    /// when a child must write and the parent cannot.
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

    /// Whether a place can be handed on. Rules are not asked: they may allow something below a place
    /// that they deny, and go on to hold in the child.
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
