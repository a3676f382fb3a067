//! The names in a directory, read by descriptor.

use std::{ffi::CStr, ops::ControlFlow, os::fd::AsFd};

use rustix::{fs::FileType, io::Errno};
use workden_core::names;

/// Calls `take` with every name in an open directory except `.`, `..` and workden's temporary files, until it breaks
/// off. The type may be `Unknown`.
pub(super) fn for_each_name(
    directory: impl AsFd,
    mut take: impl FnMut(&CStr, FileType) -> ControlFlow<()>,
) -> Result<(), Errno> {
    for_each_raw_name(directory, |name, kind| match name.to_bytes() {
        own if names::is_temporary(own) => ControlFlow::Continue(()),
        _ => take(name, kind),
    })
}

/// Like [`for_each_name`], but includes temporary files, to clear a directory.
pub(super) fn for_each_raw_name(
    directory: impl AsFd,
    mut take: impl FnMut(&CStr, FileType) -> ControlFlow<()>,
) -> Result<(), Errno> {
    each(directory, &mut |name, kind| match name.to_bytes() {
        b"." | b".." => ControlFlow::Continue(()),
        _ => take(name, kind),
    })
}

#[cfg(target_os = "linux")]
fn each(directory: impl AsFd, take: &mut dyn FnMut(&CStr, FileType) -> ControlFlow<()>) -> Result<(), Errno> {
    let mut buffer = Vec::with_capacity(32 * 1024);
    let mut entries = rustix::fs::RawDir::new(directory, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if take(entry.file_name(), entry.file_type()).is_break() {
            break;
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn each(directory: impl AsFd, take: &mut dyn FnMut(&CStr, FileType) -> ControlFlow<()>) -> Result<(), Errno> {
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        if take(entry.file_name(), entry.file_type()).is_break() {
            break;
        }
    }
    Ok(())
}
