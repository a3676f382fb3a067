//! Copying and moving from one mount to another, in pieces: a file of any size costs one piece of
//! memory. A move copies everything before it removes anything.

use std::{future::Future, pin::Pin, sync::Arc};

use futures_util::stream;
use workden_core::{
    Backend, ByteRange, Content, Entry, EntryKind, Error, ErrorKind, Existing, Expect, Last, Link, Removal, Resolved,
    Result, Slice, Timestamp, VirtualPath, Written, search::ListRequest,
};

use super::mounts::Mount;

const PIECE_BYTES: u64 = 1024 * 1024;

pub(super) async fn copy_across(
    source: &Mount<'_>,
    from: &Resolved,
    destination: &Mount<'_>,
    to: &Resolved,
    existing: Existing,
) -> Result<Written> {
    let content = content_of(source, from).await.map_err(|error| source.told(error))?;
    let expect = match existing {
        Existing::Refuse => Expect::Absent,
        Existing::Replace => Expect::Anything,
    };
    destination.wrote(destination.backend.write(to, content, expect).await)
}

/// The content of a file: at once when it is small, in pieces otherwise.
async fn content_of(source: &Mount<'_>, from: &Resolved) -> Result<Content> {
    let first = source.backend.read(from, ByteRange::Part { offset: 0, length: PIECE_BYTES }).await?;
    if first.size <= first.bytes.len() as u64 {
        return Ok(Content::Whole(first.bytes));
    }
    let state = Pieces {
        backend: Arc::clone(source.backend),
        from: from.clone(),
        size: first.size,
        modified: first.modified,
        at: 0,
        first: Some(first),
    };
    Ok(Content::Stream(Box::pin(stream::try_unfold(state, Pieces::next))))
}

struct Pieces {
    backend: Arc<dyn Backend>,
    from: Resolved,
    size: u64,
    modified: Option<Timestamp>,
    at: u64,
    first: Option<Slice>,
}

impl Pieces {
    async fn next(mut self) -> Result<Option<(bytes::Bytes, Self)>> {
        if self.at >= self.size {
            return Ok(None);
        }
        let piece = match self.first.take() {
            Some(first) => first,
            None => self.backend.read(&self.from, ByteRange::Part { offset: self.at, length: PIECE_BYTES }).await?,
        };
        if piece.bytes.is_empty() || (piece.size, piece.modified) != (self.size, self.modified) {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("cannot copy `{}`: it changed while it was being copied", self.from.real),
            )
            .hint("try again"));
        }
        self.at += piece.bytes.len() as u64;
        Ok(Some((piece.bytes, self)))
    }
}

pub(super) async fn move_across(
    source: &Mount<'_>,
    from: &Resolved,
    destination: &Mount<'_>,
    to: &Resolved,
    existing: Existing,
) -> Result<()> {
    let entry = source.backend.stat(from).await.map_err(|error| source.told(error))?;
    let occupied = match destination.backend.stat(to).await {
        Ok(there) => Some(there),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(destination.told(error)),
    };
    let may_replace = existing == Existing::Replace && !entry.is_dir();
    if occupied.is_some_and(|there| there.is_dir() || !may_replace) {
        return Err(Error::already_exists("move to", &to.real).below(destination.at));
    }
    let copied = copy_tree(source, from.clone(), &entry, destination, to.real.clone(), existing).await;
    if let Err(error) = copied {
        // What stood there before was replaced only by a whole copy; a tree had nothing there.
        if entry.is_dir() {
            let _ = destination.backend.remove(to, Removal::Tree).await;
        }
        return Err(error);
    }
    source.backend.remove(from, Removal::Tree).await.map_err(|error| source.told(error))
}

fn copy_tree<'a>(
    source: &'a Mount<'a>,
    from: Resolved,
    entry: &'a Entry,
    destination: &'a Mount<'a>,
    to: VirtualPath,
    existing: Existing,
) -> Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>> {
    Box::pin(async move {
        let to = Resolved::literal(to);
        match (entry.kind, entry.link) {
            (EntryKind::File, Link::Direct) => copy_across(source, &from, destination, &to, existing).await.map(drop),
            (EntryKind::Directory, Link::Direct) => {
                destination.backend.make_dir(&to).await.map_err(|error| destination.told(error))?;
                let everything = ListRequest { keep: usize::MAX, ..ListRequest::default() };
                let listing = source.backend.list(&from, &everything).await.map_err(|error| source.told(error))?;
                for child in &listing.entries {
                    let name = child.path.name().unwrap_or_default();
                    let below =
                        source.backend.resolve(&child.path, Last::Keep).await.map_err(|error| source.told(error))?;
                    copy_tree(source, below, child, destination, to.real.child_unchecked(name), existing).await?;
                }
                Ok(())
            }
            (EntryKind::File | EntryKind::Directory | EntryKind::BrokenLink | EntryKind::Special, _) => {
                Err(Error::new(
                    ErrorKind::Unsupported,
                    format!("cannot move `{}` to another mount: it is a link or a special file", from.real),
                )
                .below(source.at))
            }
        }
    })
}
