//! An incoming archive: pieces of any size, read in the amounts that the format requires.

use bytes::{Buf, Bytes, BytesMut};
use futures_util::StreamExt;
use workden_core::{ContentStream, Error, ErrorKind, Result};

/// An incoming archive.
pub(super) struct Source {
    pieces: ContentStream,
    piece: Bytes,
}

impl Source {
    pub(super) fn new(pieces: ContentStream) -> Self {
        Self { pieces, piece: Bytes::new() }
    }

    /// Reads at least one and at most `most` bytes; `None` at the end.
    pub(super) async fn some(&mut self, most: u64) -> Result<Option<Bytes>> {
        while self.piece.is_empty() {
            match self.pieces.next().await {
                Some(piece) => self.piece = piece?,
                None => return Ok(None),
            }
        }
        let length = usize::try_from(most).unwrap_or(usize::MAX).min(self.piece.len());
        Ok(Some(self.piece.split_to(length)))
    }

    /// Reads exactly `length` bytes; the caller must limit `length`.
    pub(super) async fn exactly(&mut self, length: usize) -> Result<Bytes> {
        if self.piece.len() >= length {
            return Ok(self.piece.split_to(length));
        }
        let mut held = BytesMut::with_capacity(length);
        while held.len() < length {
            match self.some((length - held.len()) as u64).await? {
                Some(piece) => held.extend_from_slice(&piece),
                None => return Err(cut_off()),
            }
        }
        Ok(held.freeze())
    }

    /// Skips `length` bytes.
    pub(super) async fn skip(&mut self, mut length: u64) -> Result<()> {
        while length > 0 {
            match self.some(length).await? {
                Some(piece) => length -= piece.remaining() as u64,
                None => return Err(cut_off()),
            }
        }
        Ok(())
    }
}

/// Returns the error for an archive that ends early.
pub(super) fn cut_off() -> Error {
    Error::new(ErrorKind::InvalidArgument, "the archive is cut off").hint("what came before the cut is in its place")
}
