//! Stat and list, with links described by their targets inside the root.

use std::{
    ffi::CStr,
    ops::ControlFlow,
    os::fd::{AsFd, BorrowedFd},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::{
    fs::{self, AtFlags, FileType, Stat},
    io::Errno,
};
use workden_core::{
    Attributes, Entry, EntryKind, Link, NameForm, Result, Symlink, Timestamp, VirtualPath,
    search::{ListRequest, Listing},
};

use super::{
    attributes,
    errors::refused,
    links,
    root::{Root, kind},
};
use crate::search::{Admission, WalkFilter};

pub(super) fn stat(root: &Root, real: &VirtualPath) -> Result<Entry> {
    let verb = "look at";
    let failed = |errno| refused(verb, real, errno);
    let stat = match root.parent(real).map_err(failed)? {
        None => fs::fstat(root.directory(real).map_err(failed)?).map_err(failed)?,
        Some((directory, name)) => fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?,
    };
    Ok(entry(root, None, real.clone(), NameForm::Exact, &stat))
}

pub(super) fn list(root: &Root, real: &VirtualPath, request: &ListRequest, abandoned: &AtomicBool) -> Result<Listing> {
    let screen = WalkFilter::for_list(request, real)?;
    let context = screen.enter(None, real.clone(), None, false);
    let directory = root.directory(real).map_err(|errno| refused("list", real, errno))?;
    let mut entries = Vec::new();
    root.for_each_name_in(real, &directory, |name, _| {
        if abandoned.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        let (shown, form) = shown_name(name);
        // Entries that vanish during the listing are left out.
        if let Ok(stat) = fs::statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            let is_dir = kind(&stat) == FileType::Directory;
            if screen.admits(&context, &shown, is_dir) == Admission::Admit {
                entries.push(entry(root, Some(&screen), real.child_unchecked(&shown), form, &stat));
            }
        }
        ControlFlow::Continue(())
    })
    .map_err(|errno| refused("list", real, errno))?;
    let mut listing = Listing::of(entries, request.keep);
    if let Some(prefix) = &request.attributes {
        for entry in &mut listing.entries {
            entry.attributes = attributes_of(root, &screen, entry, prefix).map(Box::new);
        }
    }
    Ok(listing)
}

/// Returns the attributes of a listed file; `None` if they cannot be read, or are too many to show.
fn attributes_of(root: &Root, screen: &WalkFilter, entry: &Entry, prefix: &str) -> Option<Attributes> {
    match entry.link {
        _ if !entry.is_file() => None,
        Link::Direct => attributes::read(root, &entry.path, prefix).ok(),
        Link::Symbolic => {
            let target = links::resolve(root, &entry.path, Symlink::Follow).ok()?;
            screen.shows_target(&target).then(|| attributes::read(root, &target, prefix).ok())?
        }
    }
}

/// Returns the shown form of a name, and whether it is the exact name.
pub(super) fn shown_name(name: &CStr) -> (std::borrow::Cow<'_, str>, NameForm) {
    match name.to_str() {
        Ok(name) => (name.into(), NameForm::Exact),
        Err(_) => (String::from_utf8_lossy(name.to_bytes()), NameForm::NotUtf8),
    }
}

/// Returns the entry of a file found at `path`; the screen, if there is one, decides which links may be described by
/// their targets.
pub(super) fn entry(root: &Root, screen: Option<&WalkFilter>, path: VirtualPath, name: NameForm, stat: &Stat) -> Entry {
    if kind(stat) != FileType::Symlink {
        return described(path, name, Link::Direct, stat);
    }
    match led_to(root, screen, &path) {
        Ok(target) => described(path, name, Link::Symbolic, &target),
        Err(_) => Entry::new(path, EntryKind::BrokenLink).modified(modified(stat)).link(Link::Symbolic).name(name),
    }
}

/// Returns the stat of a link's target, if that is inside the root.
fn led_to(root: &Root, screen: Option<&WalkFilter>, link: &VirtualPath) -> Result<Stat> {
    let target = links::resolve(root, link, Symlink::Follow)?;
    let failed = |errno| refused("look at", link, errno);
    if screen.is_some_and(|screen| !screen.shows_target(&target)) {
        return Err(failed(Errno::NOENT));
    }
    let stat = match root.parent(&target).map_err(failed)? {
        None => fs::fstat(root.directory(&target).map_err(failed)?).map_err(failed)?,
        Some((directory, name)) => fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed)?,
    };
    if kind(&stat) == FileType::Symlink { Err(failed(Errno::LOOP)) } else { Ok(stat) }
}

fn described(path: VirtualPath, name: NameForm, link: Link, stat: &Stat) -> Entry {
    let names = names(stat);
    let (kind, size) = match kind(stat) {
        FileType::RegularFile => (EntryKind::File, Some(size(stat))),
        FileType::Directory => (EntryKind::Directory, None),
        _ => (EntryKind::Special, None),
    };
    Entry::new(path, kind).size(size).modified(modified(stat)).link(link).name(name).names(names)
}

/// Returns the size in a stat.
pub(super) fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

/// Returns how many names a file has; everything else has one.
pub(super) fn names(stat: &Stat) -> u64 {
    match kind(stat) {
        // A removed file has none; the width of the number differs by system.
        FileType::RegularFile => u64::try_from(i128::from(stat.st_nlink)).unwrap_or(1).max(1),
        _ => 1,
    }
}

/// Returns the time of the last change in a stat.
pub(super) fn modified(stat: &Stat) -> Timestamp {
    Timestamp::from_nanos(i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec))
}

/// Returns the stat of a name in an open directory, without following a link.
pub(super) fn stat_name(directory: BorrowedFd<'_>, name: &CStr) -> Result<Stat, Errno> {
    fs::statat(directory.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{PathOpening, left_out::LeftOut},
        *,
    };

    #[test]
    fn a_listing_ends_as_soon_as_its_caller_is_gone() {
        let place = tempfile::tempdir().unwrap();
        for nth in 0..100 {
            std::fs::write(place.path().join(format!("{nth}")), "").unwrap();
        }
        let root = Root::open(place.path(), PathOpening::Detect, LeftOut::new(Vec::new()).unwrap()).unwrap();
        let listed = |abandoned| {
            let request = ListRequest::default();
            list(&root, &VirtualPath::root(), &request, &AtomicBool::new(abandoned)).unwrap().entries.len()
        };
        assert_eq!((listed(false), listed(true)), (100, 0));
    }
}
