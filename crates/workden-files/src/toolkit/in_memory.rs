//! What every backend that has whole files in memory answers alike.

use std::{future::poll_fn, ops::Range};

use bytes::{Bytes, BytesMut};
use workden_core::{
    ByteRange, Content, Error, Expect, Refusal, Result, Slice, Timestamp, Version, VirtualPath,
    text::{Change, Outcome, splice},
};

/// A part of a file.
///
/// # Errors
///
/// `TooLarge` for a whole file that is larger than wanted.
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

/// New content, all of it.
///
/// # Errors
///
/// `TooLarge` as soon as more than `most` bytes came; what the stream says.
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

/// Whether a file may be written over what is there.
///
/// # Errors
///
/// `AlreadyExists`, `NotFound` and `Conflict`, when it is not as expected.
pub fn check_before_write(path: &VirtualPath, there: Option<&[u8]>, expect: Expect) -> Result<()> {
    match (expect, there) {
        (Expect::Absent, Some(_)) => Err(Error::already_exists("write", path)),
        (Expect::Version(_), None) => Err(Error::not_found("write", path)),
        (Expect::Version(version), Some(there)) if Version::of(there) != version => Err(Error::conflict("write", path)),
        _ => Ok(()),
    }
}

/// The content of a file after a change.
///
/// # Errors
///
/// As [`Backend::change`](crate::Backend::change) of a file that is there.
pub fn edit(
    path: &VirtualPath,
    content: &[u8],
    change: &Change,
    expect: Expect,
    most: u64,
) -> Result<(Bytes, Outcome)> {
    match expect {
        Expect::Absent => return Err(Error::already_exists("edit", path)),
        Expect::Version(version) if Version::of(content) != version => return Err(Error::conflict("edit", path)),
        Expect::Anything | Expect::Version(_) => {}
    }
    Refusal::check_size(path, content.len() as u64, most)?;
    let plan = change.plan(path, content)?;
    let edited = splice::apply_splices(content, &plan.splices)?;
    Refusal::check_size(path, edited.len() as u64, most)?;
    Ok((edited.into(), plan.outcome))
}
