//! The only paths that a derived policy may read and write.

use workden_core::VirtualPath;

use crate::requirement::{Objection, Requirement};

/// Paths, each with everything below it. `None` does not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList {
    /// The only paths that may be read.
    pub read: Option<Vec<VirtualPath>>,
    /// The only paths that may be written. They need not be readable.
    pub write: Option<Vec<VirtualPath>>,
}

impl AllowList {
    pub(crate) fn object(&self, requirement: Requirement, path: &VirtualPath) -> Option<Objection> {
        let has = |places: &Option<Vec<VirtualPath>>| {
            places.as_ref().is_none_or(|places| places.iter().any(|place| path.is_within(place)))
        };
        match requirement {
            Requirement::Read | Requirement::ReadAnything => (!has(&self.read)).then_some(Objection::Outside),
            Requirement::Stat | Requirement::List | Requirement::Glob | Requirement::Grep => {
                let leads_to_one = self.read.iter().flatten().any(|place| place.is_within(path));
                (!has(&self.read) && !leads_to_one).then_some(Objection::Outside)
            }
            Requirement::Write | Requirement::Change | Requirement::MakeDir | Requirement::Remove => {
                match (has(&self.write), has(&self.read)) {
                    (true, _) => None,
                    (false, true) => Some(Objection::ReadOnly),
                    (false, false) => Some(Objection::Outside),
                }
            }
        }
    }
}
