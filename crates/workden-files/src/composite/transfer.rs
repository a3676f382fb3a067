//! Copying a file from one mount to another, in pieces: a file of any size needs memory for one piece.

use std::sync::Arc;

use futures_util::stream;
use workden_core::{
    Backend, ByteRange, Content, Error, ErrorKind, Expect, IfExists, Resolved, Result, Slice, Timestamp, Written,
};

use super::mounts::Mount;

const PIECE_BYTES: u64 = 1024 * 1024;

pub(super) async fn copy_across(
    source: &Mount<'_>,
    from: &Resolved,
    destination: &Mount<'_>,
    to: &Resolved,
    if_exists: IfExists,
) -> Result<Written> {
    let content = content_of(source, from).await.map_err(|error| source.told(error))?;
    let expect = match if_exists {
        IfExists::Refuse => Expect::Absent,
        IfExists::Replace => Expect::Anything,
    };
    destination.wrote(destination.backend.write(to, content, expect).await)
}

/// Returns the content of a file: whole if it is small, otherwise in pieces.
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
