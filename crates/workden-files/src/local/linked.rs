//! Files with several names in a grep under rules: a file is not opened if a rule hides one of its names.
//!
//! Hidden files are searched for once per grep, when the first file with several names is found: the whole workspace is
//! walked, rules judge every path, and only hidden files are examined.

use std::{collections::HashMap, ffi::CStr, os::fd::AsFd, sync::OnceLock};

use rustix::fs::{FileType, Stat};
use workden_core::{
    Completeness, FileId, VirtualPath,
    search::{GlobRequest, Linked},
};

use super::{
    entries::{self, shown_name},
    file_id::file_id,
    root::Root,
    walk::{Brake, Names, OpenDirectory, Visitor, walk},
};
use crate::search::{Admission, WalkFilter};

/// The decision about a file, judged by its other names.
pub(super) enum OtherNames {
    /// The file may be searched.
    Fine,
    /// Another name is hidden, or needs approval.
    Objects(Admission),
    /// The mount table decides.
    Deferred,
}

/// The rules of one search for files with several names.
pub(super) struct LinkedFiles<'a> {
    root: &'a Root,
    screen: &'a WalkFilter,
    brake: &'a Brake<'a>,
    request: GlobRequest,
    hidden: OnceLock<Option<HashMap<FileId, Admission>>>,
}

impl<'a> LinkedFiles<'a> {
    pub(super) fn new(root: &'a Root, screen: &'a WalkFilter, brake: &'a Brake<'a>, request: GlobRequest) -> Self {
        Self { root, screen, brake, request, hidden: OnceLock::new() }
    }

    /// Judges an open file by its other names.
    pub(super) fn ask(&self, stat: &Stat) -> OtherNames {
        if entries::names(stat) < 2 || !self.screen.has_rules() {
            return OtherNames::Fine;
        }
        let id = file_id(stat);
        match self.screen.linked() {
            Linked::Defer => OtherNames::Deferred,
            Linked::Cleared(cleared) if cleared.contains(&id) => OtherNames::Fine,
            Linked::Cleared(_) => OtherNames::Objects(Admission::Skip),
            Linked::Look => match self.hidden.get_or_init(|| self.look()) {
                Some(hidden) => hidden.get(&id).map_or(OtherNames::Fine, |admission| OtherNames::Objects(*admission)),
                // There was no time to check all names: the search is over, too.
                None => OtherNames::Objects(Admission::Skip),
            },
        }
    }

    fn look(&self) -> Option<HashMap<FileId, Admission>> {
        let root = VirtualPath::root();
        let everything = WalkFilter::for_glob(&self.request, &root).ok()?;
        let visitors =
            walk(self.root, &everything, &root, self.brake, || Hidden { screen: self.screen, found: Vec::new() });
        if self.brake.completeness() != Completeness::Complete {
            return None;
        }
        let mut hidden = HashMap::new();
        for (id, admission) in visitors.into_iter().flat_map(|visitor| visitor.found) {
            let strictest = hidden.entry(id).or_insert(admission);
            if admission == Admission::Denied {
                *strictest = admission;
            }
        }
        Some(hidden)
    }
}

struct Hidden<'a> {
    screen: &'a WalkFilter,
    found: Vec<(FileId, Admission)>,
}

impl Visitor for Hidden<'_> {
    fn visit(&mut self, directory: &OpenDirectory, names: &Names) {
        for (name, _) in names.iter().filter(|(_, kind)| *kind == FileType::RegularFile) {
            let seen = directory.context.seen.child_unchecked(&shown_name(name).0);
            let admission = self.screen.admits_named(&seen);
            if admission == Admission::Admit {
                continue;
            }
            if let Ok(stat) = entries::stat_name(directory.fd.as_fd(), name)
                && entries::names(&stat) > 1
            {
                self.found.push((file_id(&stat), admission));
            }
        }
    }

    fn enters(&mut self, _: &OpenDirectory, _: &CStr, _: &VirtualPath) -> bool {
        true
    }

    fn unreadable(&mut self) {}
}
