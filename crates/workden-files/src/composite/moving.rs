//! Moving from one mount to another: the whole tree is listed, copied, compared again, and only then removed, entry by
//! entry.
//!
//! Invariant: only entries whose copy is exact are removed. Hidden or new entries keep their directory; two mounts of
//! one directory lose nothing to each other.

use std::sync::atomic::{AtomicU64, Ordering};

use workden_core::{
    Backend, Content, Entry, EntryKind, Error, ErrorKind, Expect, IfExists, Link, NameForm, Removal, Resolved, Result,
    Symlink, VirtualPath, search::ListRequest,
};

use super::{mounts::Mount, transfer::copy_across};

pub(super) async fn move_across(
    source: &Mount<'_>,
    from: &Resolved,
    destination: &Mount<'_>,
    to: &Resolved,
    if_exists: IfExists,
) -> Result<()> {
    let entry = source.backend.stat(from).await.map_err(|error| source.told(error))?;
    let occupied = match destination.backend.stat(to).await {
        Ok(there) => Some(there),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(destination.told(error)),
    };
    let may_replace = if_exists == IfExists::Replace;
    let in_the_way = match &occupied {
        Some(there) if there.is_dir() => Some(Error::directory_in_place("move to", &to.real)),
        Some(_) if entry.is_dir() => Some(Error::file_in_place("move to", &to.real)),
        Some(_) if !may_replace => Some(Error::already_exists("move to", &to.real)),
        Some(_) | None => None,
    };
    if let Some(error) = in_the_way {
        return Err(error.below(destination.at));
    }
    let plan = plan(source, from, entry).await?;
    if occupied.is_some() {
        different_files(source, from, destination, to).await?;
    }
    let mut made = Vec::new();
    let if_exists = if occupied.is_some() { if_exists } else { IfExists::Refuse };
    let copied = match copy_all(source, from, &plan, destination, to, if_exists, &mut made).await {
        Ok(()) => still_the_same(source, from, &plan).await,
        Err(error) => Err(error),
    };
    if let Err(error) = copied {
        // Remove the copies again, unless they replaced an existing file: then the copy is complete and stays.
        if occupied.is_none() {
            for path in made.into_iter().rev() {
                let _ = destination.backend.remove(&Resolved::literal(path), Removal::One).await;
            }
        }
        return Err(error);
    }
    for entry in plan.iter().rev() {
        let removed = source.backend.remove(&Resolved::literal(entry.path.clone()), Removal::One).await;
        removed.map_err(|error| left_behind(source, &entry.path, &error))?;
    }
    Ok(())
}

fn left_behind(source: &Mount<'_>, path: &VirtualPath, error: &Error) -> Error {
    let why = error.sentence();
    Error::new(error.kind(), format!("all of it that is shown was copied, but `{path}` stays where it was: {why}"))
        .hint("look at both places, and remove what is no longer needed")
        .below(source.at)
}

/// Lists all entries to move, each directory before its content. The paths are real paths.
async fn plan(source: &Mount<'_>, from: &Resolved, mut top: Entry) -> Result<Vec<Entry>> {
    let everything = ListRequest::default().keep(usize::MAX);
    top.path = from.real.clone();
    let mut plan = vec![top];
    let mut looked_at = 0;
    while let Some(entry) = plan.get(looked_at) {
        looked_at += 1;
        match (entry.kind, entry.link, entry.name) {
            (EntryKind::File, Link::Direct, NameForm::Exact) => {}
            (EntryKind::Directory, Link::Direct, NameForm::Exact) => {
                let at =
                    source.backend.resolve(&entry.path, Symlink::NoFollow).await.map_err(|error| source.told(error))?;
                let listing = source.backend.list(&at, &everything).await.map_err(|error| source.told(error))?;
                if listing.left_out > 0 {
                    return Err(unmovable(source, &entry.path, "it has more in it than a listing holds"));
                }
                plan.extend(listing.entries);
            }
            (_, _, NameForm::NotUtf8) => return Err(unmovable(source, &entry.path, "its name is not UTF-8")),
            _ => return Err(unmovable(source, &entry.path, "it is a link or a special file")),
        }
    }
    Ok(plan)
}

fn unmovable(source: &Mount<'_>, path: &VirtualPath, why: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("cannot move `{path}` to another mount: {why}")).below(source.at)
}

async fn copy_all(
    source: &Mount<'_>,
    from: &Resolved,
    plan: &[Entry],
    destination: &Mount<'_>,
    to: &Resolved,
    if_exists: IfExists,
    made: &mut Vec<VirtualPath>,
) -> Result<()> {
    for entry in plan {
        let below = entry.path.strip_prefix(&from.real).unwrap_or_else(VirtualPath::root);
        let target = Resolved::literal(below.below(&to.real));
        if entry.is_dir() {
            destination.backend.make_dir(&target).await.map_err(|error| destination.told(error))?;
        } else {
            let at = Resolved::literal(entry.path.clone());
            copy_across(source, &at, destination, &target, if_exists).await?;
        }
        made.push(target.real);
    }
    Ok(())
}

/// Checks that no entry was changed, added or removed during the copy.
async fn still_the_same(source: &Mount<'_>, from: &Resolved, before: &[Entry]) -> Result<()> {
    let changed = || {
        Error::new(ErrorKind::Conflict, format!("cannot move `{}`: it changed while it was being moved", from.real))
            .hint("try again")
            .below(source.at)
    };
    let entry = source.backend.stat(from).await.map_err(|error| source.told(error))?;
    let now = plan(source, from, entry).await?;
    // A directory is unchanged if its content is.
    let same = |(now, before): (&Entry, &Entry)| {
        now.path == before.path && if now.is_dir() { before.is_dir() } else { now == before }
    };
    if now.len() == before.len() && now.iter().zip(before).all(same) { Ok(()) } else { Err(changed()) }
}

/// Checks that two mounts do not show the same file, which would be replaced by itself and then removed: a new file
/// beside the destination must not appear beside the source.
async fn different_files(source: &Mount<'_>, from: &Resolved, destination: &Mount<'_>, to: &Resolved) -> Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    if from.real.name() != to.real.name() {
        return Ok(());
    }
    let beside = |at: &Resolved, name: &str| {
        Resolved::literal(at.real.parent().unwrap_or_else(VirtualPath::root).child_unchecked(name))
    };
    let probe = format!(".moving-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let here = beside(to, &probe);
    let made = destination.backend.write(&here, Content::Whole(bytes::Bytes::new()), Expect::Absent).await;
    made.map_err(|error| destination.told(error))?;
    let seen = source.backend.stat(&beside(from, &probe)).await;
    destination.backend.remove(&here, Removal::One).await.map_err(|error| destination.told(error))?;
    match seen {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(source.told(error)),
        Ok(_) => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("cannot move `{}` onto itself: another mount shows the same file", from.real),
        )
        .below(source.at)),
    }
}
