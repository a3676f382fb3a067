//! The mount table: which backend contains a path, and how paths look from inside and outside.

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

    /// Returns the longest mount that contains a path.
    pub(super) fn find(&self, path: &VirtualPath) -> Option<Mount<'_>> {
        std::iter::successors(Some(path.clone()), VirtualPath::parent)
            .find_map(|at| self.mounts.get_key_value(&at))
            .map(|(at, backend)| Mount { at, backend })
    }

    pub(super) fn is_mount(&self, path: &VirtualPath) -> bool {
        self.mounts.contains_key(path)
    }

    /// Returns the mounts below a path, without the path itself.
    pub(super) fn below(&self, path: &VirtualPath) -> impl Iterator<Item = Mount<'_>> {
        self.mounts
            .range((Bound::Excluded(path), Bound::Unbounded))
            .take_while(|(at, _)| at.is_within(path))
            .map(|(at, backend)| Mount { at, backend })
    }

    /// Whether a path is a directory because of a mount below it; `/` always is a directory.
    pub(super) fn leads_to_mounts(&self, path: &VirtualPath) -> bool {
        path.is_root() || self.below(path).next().is_some()
    }

    /// Returns all mounts.
    pub(super) fn all(&self) -> impl Iterator<Item = Mount<'_>> {
        self.mounts.iter().map(|(at, backend)| Mount { at, backend })
    }

    /// Returns the mount, if there is only one.
    pub(super) fn only(&self) -> Option<Mount<'_>> {
        if self.mounts.len() == 1 { self.all().next() } else { None }
    }

    /// Whether two mounts may show the same file: at least two of them have host files.
    pub(super) fn may_overlap(&self) -> bool {
        self.all().filter(|mount| mount.backend.host_files().is_some()).nth(1).is_some()
    }

    /// Returns the existing mounts, as a hint for an error about a missing one.
    pub(super) fn hint(&self) -> String {
        match self.mounts.is_empty() {
            true => "nothing is mounted at all".to_owned(),
            false => {
                let places: Vec<String> = self.mounts.keys().map(ToString::to_string).collect();
                format!("mounted: {}", places.join(", "))
            }
        }
    }

    /// Returns the view for a search in a mount: `base` is the start of the agent's search, `aliases` are other paths
    /// at which the agent sees the mount's files, and `outer` is the view of this table.
    pub(super) fn view(&self, mount: &Mount<'_>, base: Option<VirtualPath>, aliases: Vec<Alias>, outer: &View) -> View {
        let (prefix, part) = match outer.part.strip_prefix(mount.at) {
            // The visible part of the table is in this mount.
            Some(part) => (outer.prefix.clone(), part),
            None => (outer.seen(mount.at), VirtualPath::root()),
        };
        let mut view = outer.clone().prefix(prefix).part(part).base(base).aliases(aliases);
        view.shadowed.extend(self.below(mount.at).map(|inner| outer.seen(inner.at)));
        view
    }
}

impl Mount<'_> {
    /// Returns a path as the backend sees it. Only for paths in this mount.
    pub(super) fn strip(&self, path: &VirtualPath) -> VirtualPath {
        path.strip_prefix(self.at).unwrap_or_else(VirtualPath::root)
    }

    /// Returns a resolved path as the backend sees it.
    pub(super) fn local(&self, at: &Resolved) -> Resolved {
        let real = self.strip(&at.real);
        // A path that was typed elsewhere leads here through a link; the backend only knows its real path.
        let typed = at.typed.strip_prefix(self.at).unwrap_or_else(|| real.clone());
        Resolved::new(typed, real)
    }

    /// Returns an entry as the agent sees it.
    pub(super) fn shown(&self, mut entry: Entry) -> Entry {
        entry.path = entry.path.below(self.at);
        entry
    }

    /// Returns an error as the agent sees it.
    pub(super) fn told(&self, error: Error) -> Error {
        error.below(self.at)
    }

    /// Returns the result of a write as the agent sees it.
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
