//! Places that are not there: whatever the host has at these paths, no call sees or makes it.
//!
//! Invariant: [`Root`](super::root::Root) asks before each of its opens and steps, and leaves their
//! names out of each directory that is read. Paths come in real and are opened without meeting a
//! link, so a place can be told by its path alone.

use std::ffi::CStr;

use workden_core::{Error, ErrorKind, Result, VirtualPath};

/// The places of one root.
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

    /// Whether a path is one of the places, or in one.
    pub(super) fn covers(&self, real: &VirtualPath) -> bool {
        self.0.iter().any(|place| real.is_within(place))
    }

    /// Refuses to make anything in one of the places.
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

    /// Refuses to take a directory away with one of the places in it.
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

    /// Which names of a directory are places.
    pub(super) fn names_in(&self, directory: &VirtualPath) -> NamesLeftOut<'_> {
        let here = |place: &&VirtualPath| place.parent().as_ref() == Some(directory);
        NamesLeftOut(self.0.iter().filter(here).filter_map(VirtualPath::name).collect())
    }
}

/// The names of one directory that are not there.
pub(super) struct NamesLeftOut<'a>(Vec<&'a str>);

impl NamesLeftOut<'_> {
    pub(super) fn contains(&self, name: &CStr) -> bool {
        self.0.iter().any(|left_out| left_out.as_bytes() == name.to_bytes())
    }
}
