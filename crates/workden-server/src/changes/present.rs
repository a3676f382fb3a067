//! The present files of a session, read by file calls.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use workden::{Backend, Result};
use workden_wire::tree::Packer;

use super::ComparedSession;

/// How many names an archive leaves out, once it is read.
#[derive(Clone, Debug, Default)]
pub(super) struct NotCompared(Arc<AtomicU64>);

impl NotCompared {
    pub(super) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl ComparedSession {
    /// Returns the present files that the caller may read, as an archive.
    pub(super) fn present(&self) -> (BoxStream<'static, Result<Bytes>>, NotCompared) {
        let files: Arc<dyn Backend> = Arc::new(self.unasked.files().clone());
        let (packer, left_out) = (Packer::new(files, self.directory.clone()).skip_refused(), NotCompared::default());
        let state = (packer, left_out.clone());
        let pieces = stream::try_unfold(state, |(mut packer, left_out)| async move {
            let piece = packer.next().await?;
            left_out.0.store(packer.left_out(), Ordering::Relaxed);
            Ok(piece.map(|piece| (piece, (packer, left_out))))
        });
        (pieces.boxed(), left_out)
    }
}
