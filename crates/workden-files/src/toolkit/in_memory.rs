//! The common parts of backends that hold whole files in memory.

use std::{future::poll_fn, ops::Range};

use bytes::{Bytes, BytesMut};
use workden_core::{
    ByteRange, Content, Error, Expect, Refusal, Result, Slice, Timestamp, Version, VirtualPath,
    text::{Change, ChangedLines, Outcome, splice},
};

/// Returns a part of a file.
///
/// # Errors
///
/// Returns `TooLarge` if the whole file is requested and larger than the limit.
pub fn slice(path: &VirtualPath, content: &Bytes, modified: Option<Timestamp>, range: ByteRange) -> Result<Slice> {
    let size = content.len() as u64;
    let bytes = match range {
        ByteRange::Whole { most } if size > most => return Err(Error::too_large("read", path, size, most)),
        ByteRange::Whole { .. } => content.clone(),
        ByteRange::Part { offset, length } => content.slice(indices(content.len(), offset, length)),
    };
    Ok(Slice::new(bytes, size).modified(modified))
}

fn indices(size: usize, offset: u64, length: u64) -> Range<usize> {
    let index = |at: u64| usize::try_from(at).map_or(size, |at| at.min(size));
    index(offset)..index(offset.saturating_add(length))
}

/// Collects new content into memory.
///
/// # Errors
///
/// Returns `TooLarge` as soon as more than `most` bytes have arrived, and the errors of the stream.
pub async fn collect(path: &VirtualPath, content: Content, most: u64) -> Result<Bytes> {
    let mut stream = match content {
        Content::Whole(bytes) => return Ok(bytes),
        Content::Stream(stream) => stream,
    };
    let mut collected = BytesMut::new();
    while let Some(piece) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
        collected.extend_from_slice(&piece?);
        let size = collected.len() as u64;
        if size > most {
            return Err(Error::too_large("write", path, size, most));
        }
    }
    Ok(collected.freeze())
}

/// Checks that the current content is what a write expects.
///
/// # Errors
///
/// Returns `AlreadyExists`, `NotFound` or `Conflict` if it is not.
pub fn check_before_write(path: &VirtualPath, there: Option<&[u8]>, expect: Expect) -> Result<()> {
    match (expect, there) {
        (Expect::Absent, Some(_)) => Err(Error::already_exists("write", path)),
        (Expect::Version(_), None) => Err(Error::not_found("write", path)),
        (Expect::Version(version), Some(there)) if Version::of(there) != version => Err(Error::conflict("write", path)),
        _ => Ok(()),
    }
}

/// The result of a change of content in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Edited {
    /// The new content.
    pub content: Bytes,
    /// The effect of the change.
    pub outcome: Outcome,
    /// The lines that changed, as they are now.
    pub lines: ChangedLines,
}

/// Returns the content of a file after a change.
///
/// # Errors
///
/// Returns the errors of [`Backend::change`](crate::Backend::change) for an existing file.
pub fn edit(path: &VirtualPath, content: &[u8], change: &Change, expect: Expect, most: u64) -> Result<Edited> {
    match expect {
        Expect::Absent => return Err(Error::already_exists("edit", path)),
        Expect::Version(version) if Version::of(content) != version => return Err(Error::conflict("edit", path)),
        Expect::Anything | Expect::Version(_) => {}
    }
    Refusal::check_size(path, content.len() as u64, most)?;
    let plan = change.plan(path, content)?;
    let edited = splice::apply_splices(content, &plan.splices)?;
    Refusal::check_size(path, edited.len() as u64, most)?;
    let lines = ChangedLines::around(content, &plan.splices);
    Ok(Edited { content: edited.into(), outcome: plan.outcome, lines })
}
