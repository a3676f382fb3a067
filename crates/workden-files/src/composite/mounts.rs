//! The mount table: which backend a path is in, and how paths look from inside and outside.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use workden_core::{
    Backend, Entry, Error, Resolved, Result, VirtualPath, Written,
    search::{Alias, View},
};

#[derive(Debug, Default)]
pub(super) struct MountTable {
    mounts: BTreeMap<VirtualPath, Arc<dyn Backend>>,
}

/// One mount.
#[derive(Clone, Copy)]
pub(super) struct Mount<'a> {
    pub(super) at: &'a VirtualPath,
    pub(super) backend: &'a Arc<dyn Backend>,
}

impl MountTable {
    pub(super) fn add(&mut self, at: VirtualPath, backend: Arc<dyn Backend>) -> Result<()> {
        if self.mounts.contains_key(&at) {
            return Err(Error::already_exists("mount at", &at));
        }
        self.mounts.insert(at, backend);
        Ok(())
    }

    /// The longest mount that a path is in.
    pub(super) fn find(&self, path: &VirtualPath) -> Option<Mount<'_>> {
        std::iter::successors(Some(path.clone()), VirtualPath::parent)
            .find_map(|at| self.mounts.get_key_value(&at))
            .map(|(at, backend)| Mount { at, backend })
    }

    pub(super) fn is_mount(&self, path: &VirtualPath) -> bool {
        self.mounts.contains_key(path)
    }

    /// The mounts below a path, itself not included.
    pub(super) fn below(&self, path: &VirtualPath) -> impl Iterator<Item = Mount<'_>> {
        self.mounts
            .range((Bound::Excluded(path), Bound::Unbounded))
            .take_while(|(at, _)| at.is_within(path))
            .map(|(at, backend)| Mount { at, backend })
    }

    /// Whether a path is a directory because something is mounted below it; `/` always is one.
    pub(super) fn leads_to_mounts(&self, path: &VirtualPath) -> bool {
        path.is_root() || self.below(path).next().is_some()
    }

    /// All mounts.
    pub(super) fn all(&self) -> impl Iterator<Item = Mount<'_>> {
        self.mounts.iter().map(|(at, backend)| Mount { at, backend })
    }

    /// The mount, if there is only one.
    pub(super) fn only(&self) -> Option<Mount<'_>> {
        if self.mounts.len() == 1 { self.all().next() } else { None }
    }

    /// Whether two mounts may show one file: at least two of them have files of a host.
    pub(super) fn may_overlap(&self) -> bool {
        self.all().filter(|mount| mount.backend.host_files().is_some()).nth(1).is_some()
    }

    /// What there is, for an error about what there is not.
    pub(super) fn hint(&self) -> String {
        match self.mounts.is_empty() {
            true => "nothing is mounted at all".to_owned(),
            false => {
                let places: Vec<String> = self.mounts.keys().map(ToString::to_string).collect();
                format!("mounted: {}", places.join(", "))
            }
        }
    }

    /// What a search in a mount has to know of the others: `base` is where the agent's search
    /// started, `aliases` where else the agent sees what is in the mount, `outer` how this table
    /// itself is seen.
    pub(super) fn view(&self, mount: &Mount<'_>, base: Option<VirtualPath>, aliases: Vec<Alias>, outer: &View) -> View {
        let (prefix, part) = match outer.part.strip_prefix(mount.at) {
            // All that is seen of the table is in this mount.
            Some(part) => (outer.prefix.clone(), part),
            None => (outer.seen(mount.at), VirtualPath::root()),
        };
        let mut view = outer.clone().prefix(prefix).part(part).base(base).aliases(aliases);
        view.shadowed.extend(self.below(mount.at).map(|inner| outer.seen(inner.at)));
        view
    }
}

impl Mount<'_> {
    /// A path as the backend sees it. Only for paths in this mount.
    pub(super) fn strip(&self, path: &VirtualPath) -> VirtualPath {
        path.strip_prefix(self.at).unwrap_or_else(VirtualPath::root)
    }

    /// A resolved path as the backend sees it.
    pub(super) fn local(&self, at: &Resolved) -> Resolved {
        let real = self.strip(&at.real);
        // A path typed elsewhere came here by a link; the backend knows it by where it led.
        let typed = at.typed.strip_prefix(self.at).unwrap_or_else(|| real.clone());
        Resolved::new(typed, real)
    }

    /// An entry as the agent sees it.
    pub(super) fn shown(&self, mut entry: Entry) -> Entry {
        entry.path = entry.path.below(self.at);
        entry
    }

    /// An error as the agent sees it.
    pub(super) fn told(&self, error: Error) -> Error {
        error.below(self.at)
    }

    /// The outcome of a write as the agent sees it.
    pub(super) fn wrote(&self, outcome: Result<Written>) -> Result<Written> {
        match outcome {
            Ok(mut written) => {
                written.path = written.path.below(self.at);
                Ok(written)
            }
            Err(error) => Err(self.told(error)),
        }
    }
}
