//! Excluded paths: no call sees or makes anything at these paths, whatever the host has there.
//!
//! Invariant: [`Root`](super::root::Root) checks before each of its opens and steps, and omits excluded names from each
//! directory that is read. All paths are real and opened without meeting a link, so the path alone identifies an
//! excluded place.

use std::ffi::CStr;

use workden_core::{Error, ErrorKind, Result, VirtualPath};

/// The excluded paths of one root.
#[derive(Clone, Debug, Default)]
pub(super) struct LeftOut(Vec<VirtualPath>);

impl LeftOut {
    pub(super) fn new(places: Vec<VirtualPath>) -> Result<Self> {
        match places.iter().any(VirtualPath::is_root) {
            true => Err(Error::new(ErrorKind::InvalidArgument, "cannot leave `/` out of a workspace")
                .hint("name the places below it that are not to be there")),
            false => Ok(Self(places)),
        }
    }

    /// Whether a path is excluded, or below an excluded path.
    pub(super) fn covers(&self, real: &VirtualPath) -> bool {
        self.0.iter().any(|place| real.is_within(place))
    }

    /// Refuses to make anything at or below an excluded path.
    pub(super) fn check_new(&self, verb: &str, real: &VirtualPath) -> Result<()> {
        match self.0.iter().find(|place| real.is_within(place)) {
            None => Ok(()),
            Some(place) => Err(Error::new(
                ErrorKind::PermissionDenied,
                format!("cannot {verb} `{real}`: `{place}` is not part of the workspace"),
            )
            .hint("choose another place")),
        }
    }

    /// Refuses to move or remove a directory that contains an excluded path.
    pub(super) fn check_gone(&self, verb: &str, real: &VirtualPath) -> Result<()> {
        match self.0.iter().find(|place| place.is_within(real)) {
            None => Ok(()),
            Some(_) => Err(Error::new(
                ErrorKind::PermissionDenied,
                format!("cannot {verb} `{real}`: something in it is not part of the workspace"),
            )
            .hint("take what is in it one by one")),
        }
    }

    /// Returns the excluded names of a directory.
    pub(super) fn names_in(&self, directory: &VirtualPath) -> NamesLeftOut<'_> {
        let here = |place: &&VirtualPath| place.parent().as_ref() == Some(directory);
        NamesLeftOut(self.0.iter().filter(here).filter_map(VirtualPath::name).collect())
    }
}

/// The excluded names of one directory.
pub(super) struct NamesLeftOut<'a>(Vec<&'a str>);

impl NamesLeftOut<'_> {
    pub(super) fn contains(&self, name: &CStr) -> bool {
        self.0.iter().any(|left_out| left_out.as_bytes() == name.to_bytes())
    }
}
