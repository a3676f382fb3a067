//! Questions that a program asks a policy beforehand: where may be read and written, and what would
//! have to be approved.

use workden_core::{Resolved, Result, VirtualPath};

use crate::{
    Access, Operation, Policy, PolicyLayer,
    need::{Need, Objection},
};

impl Policy {
    /// The places that may be read, with everything below each that nothing else forbids. In the
    /// order of the configuration; `/` where nothing narrows it.
    #[must_use]
    pub fn readable_roots(&self) -> Vec<VirtualPath> {
        self.roots(Operation::Read, Need::ReadAnything)
    }

    /// The places that may be written, as [`Policy::readable_roots`].
    #[must_use]
    pub fn writable_roots(&self) -> Vec<VirtualPath> {
        self.roots(Operation::Write, Need::MakeDir)
    }

    /// Whether an operation is denied wherever it is tried, so that there is no use in offering it.
    /// Not so when it only has to be approved.
    #[must_use]
    pub fn denies_everywhere(&self, operation: Operation) -> bool {
        let by_places = || match operation {
            Operation::Write | Operation::Edit | Operation::Delete => {
                self.place_roots(Operation::Write, Need::MakeDir).is_empty()
            }
            Operation::Read => self.place_roots(Operation::Read, Need::ReadAnything).is_empty(),
            // Where nothing may be read there are still names to be seen, and commands are not about places.
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

    /// Whether something may be read there, with or without approval. Endings and sizes aside.
    #[must_use]
    pub fn can_read(&self, path: &VirtualPath) -> bool {
        self.objection_to(Need::ReadAnything, path).is_none_or(|objection| objection.is_ask())
    }

    /// Whether something may be written there, with or without approval. Endings and sizes aside.
    #[must_use]
    pub fn can_write(&self, path: &VirtualPath) -> bool {
        self.objection_to(Need::MakeDir, path).is_none_or(|objection| objection.is_ask())
    }

    /// Whether reading there has to be approved; not so where it is not permitted at all.
    #[must_use]
    pub fn needs_read_approval(&self, path: &VirtualPath) -> bool {
        self.objection_to(Need::ReadAnything, path).is_some_and(|objection| objection.is_ask())
    }

    /// Whether writing there has to be approved; not so where it is not permitted at all.
    #[must_use]
    pub fn needs_write_approval(&self, path: &VirtualPath) -> bool {
        self.objection_to(Need::MakeDir, path).is_some_and(|objection| objection.is_ask())
    }

    /// The path that somebody means by what they typed, `input/x` or `/input/x`, if it is in a place
    /// that may be used.
    ///
    /// # Errors
    ///
    /// Those of [`VirtualPath::parse`], and a refusal that says what may be read when it is outside.
    pub fn resolve(&self, typed: &str) -> Result<VirtualPath> {
        let path = VirtualPath::parse(typed)?;
        let is_there = |need| self.place_objection(need, &path).is_none();
        match is_there(Need::List) || is_there(Need::MakeDir) {
            true => Ok(path),
            false => Err(self.refuse(&path, Objection::Outside)),
        }
    }

    /// What the places of this policy, mounts and allow-lists, have against a need, approval aside.
    pub(crate) fn place_objection(&self, need: Need, path: &VirtualPath) -> Option<Objection> {
        let places = self.layers().iter().filter(|layer| !matches!(layer, PolicyLayer::Rules(_)));
        places.filter_map(|layer| layer.object(need, path)).find(|objection| !objection.is_ask())
    }

    fn objection_to(&self, need: Need, path: &VirtualPath) -> Option<Objection> {
        self.object(need, &Resolved::literal(path.clone()))
    }

    fn roots(&self, operation: Operation, need: Need) -> Vec<VirtualPath> {
        if self.rules_deny_everywhere(operation) { Vec::new() } else { self.place_roots(operation, need) }
    }

    /// As far as mounts and allow-lists go.
    fn place_roots(&self, operation: Operation, need: Need) -> Vec<VirtualPath> {
        let mut roots = vec![VirtualPath::root()];
        for layer in self.layers() {
            match layer {
                PolicyLayer::Rules(_) => {}
                PolicyLayer::Mounts(mounts) => {
                    let usable = mounts.iter().filter(|mount| match operation {
                        Operation::Write => mount.access == Access::ReadWrite,
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
        roots.retain(|root| self.place_objection(need, root).is_none());
        roots
    }
}

/// What is in both: of two places of which one is in the other, the inner one.
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
