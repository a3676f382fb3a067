//! Queries that a program can make before a call: which paths may be read and written, and which
//! calls require approval.

use workden_core::{Resolved, Result, VirtualPath};

use crate::{
    MountMode, Operation, Policy, PolicyLayer,
    requirement::{Objection, Requirement},
};

impl Policy {
    /// Returns the paths below which files may be read, unless a rule forbids it, in the order of the configuration;
    /// `/` if nothing restricts it.
    #[must_use]
    pub fn readable_roots(&self) -> Vec<VirtualPath> {
        self.roots(Operation::Read, Requirement::ReadAnything)
    }

    /// Returns the paths below which files may be written, as [`Policy::readable_roots`] does.
    #[must_use]
    pub fn writable_roots(&self) -> Vec<VirtualPath> {
        self.roots(Operation::Write, Requirement::MakeDir)
    }

    /// Whether an operation is denied on every path, so that it need not be offered. `false` if it only requires
    /// approval.
    #[must_use]
    pub fn denies_everywhere(&self, operation: Operation) -> bool {
        let by_places = || match operation {
            Operation::Write | Operation::Edit | Operation::Delete => {
                self.place_roots(Operation::Write, Requirement::MakeDir).is_empty()
            }
            Operation::Read => self.place_roots(Operation::Read, Requirement::ReadAnything).is_empty(),
            // Names remain visible even if no file may be read, and commands are not bound to paths.
            Operation::Glob | Operation::Grep | Operation::Ls | Operation::Execute => false,
        };
        self.rules_deny_everywhere(operation) || by_places()
    }

    fn rules_deny_everywhere(&self, operation: Operation) -> bool {
        self.layers().iter().any(|layer| match layer {
            PolicyLayer::Rules(rules) => rules.denies_everywhere(operation),
            PolicyLayer::Mounts(_) | PolicyLayer::AllowList(_) => false,
        })
    }

    /// Whether files may be read at a path, with or without approval, regardless of suffixes and sizes.
    #[must_use]
    pub fn can_read(&self, path: &VirtualPath) -> bool {
        self.objection_to(Requirement::ReadAnything, path).is_none_or(|objection| objection.is_ask())
    }

    /// Whether files may be written at a path, with or without approval, regardless of suffixes and sizes.
    #[must_use]
    pub fn can_write(&self, path: &VirtualPath) -> bool {
        self.objection_to(Requirement::MakeDir, path).is_none_or(|objection| objection.is_ask())
    }

    /// Whether reading at a path requires approval; `false` if it is denied.
    #[must_use]
    pub fn needs_read_approval(&self, path: &VirtualPath) -> bool {
        self.objection_to(Requirement::ReadAnything, path).is_some_and(|objection| objection.is_ask())
    }

    /// Whether writing at a path requires approval; `false` if it is denied.
    #[must_use]
    pub fn needs_write_approval(&self, path: &VirtualPath) -> bool {
        self.objection_to(Requirement::MakeDir, path).is_some_and(|objection| objection.is_ask())
    }

    /// Returns the path for a typed text, `input/x` or `/input/x`, if that path may be used.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`VirtualPath::parse`], and a refusal with the readable paths if the path is outside them.
    pub fn resolve(&self, typed: &str) -> Result<VirtualPath> {
        let path = VirtualPath::parse(typed)?;
        let is_there = |requirement| self.place_objection(requirement, &path).is_none();
        match is_there(Requirement::List) || is_there(Requirement::MakeDir) {
            true => Ok(path),
            false => Err(self.refuse(&path, Objection::Outside)),
        }
    }

    /// Returns the objection of mounts and allow-lists to a requirement, except for missing approval.
    pub(crate) fn place_objection(&self, requirement: Requirement, path: &VirtualPath) -> Option<Objection> {
        let places = self.layers().iter().filter(|layer| !matches!(layer, PolicyLayer::Rules(_)));
        places.filter_map(|layer| layer.object(requirement, path)).find(|objection| !objection.is_ask())
    }

    fn objection_to(&self, requirement: Requirement, path: &VirtualPath) -> Option<Objection> {
        self.object(requirement, &Resolved::literal(path.clone()))
    }

    fn roots(&self, operation: Operation, requirement: Requirement) -> Vec<VirtualPath> {
        if self.rules_deny_everywhere(operation) { Vec::new() } else { self.place_roots(operation, requirement) }
    }

    /// Returns the roots according to mounts and allow-lists.
    fn place_roots(&self, operation: Operation, requirement: Requirement) -> Vec<VirtualPath> {
        let mut roots = vec![VirtualPath::root()];
        for layer in self.layers() {
            match layer {
                PolicyLayer::Rules(_) => {}
                PolicyLayer::Mounts(mounts) => {
                    let usable = mounts.iter().filter(|mount| match operation {
                        Operation::Write => mount.access == MountMode::ReadWrite,
                        _ => true,
                    });
                    roots = common(&roots, usable.map(|mount| &mount.at));
                }
                PolicyLayer::AllowList(places) => {
                    let places = if operation == Operation::Write { &places.write } else { &places.read };
                    if let Some(places) = places {
                        roots = common(&roots, places.iter());
                    }
                }
            }
        }
        roots.retain(|root| self.place_objection(requirement, root).is_none());
        roots
    }
}

/// Returns the intersection: of two nested paths, the inner one.
fn common<'a>(before: &[VirtualPath], narrowed: impl Iterator<Item = &'a VirtualPath>) -> Vec<VirtualPath> {
    let mut all: Vec<VirtualPath> = Vec::new();
    for place in narrowed {
        let inner: Vec<&VirtualPath> = match before.iter().any(|root| place.is_within(root)) {
            true => vec![place],
            false => before.iter().filter(|root| root.is_within(place)).collect(),
        };
        for root in inner {
            if !all.contains(root) {
                all.push(root.clone());
            }
        }
    }
    all
}
