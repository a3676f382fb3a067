//! Reading within limits: a file that is too large is refused before it is read, and a file that grew in between is not
//! returned.

use super::{Access, Guarded, Op, judging::Depth, trace::Trace};
use crate::{
    Backend, BackendExt, ByteRange, ErrorKind, Opened, Refusal, Resolved, Result, Slice,
    text::{Excerpt, TextWindow},
};

impl<B: Backend> Guarded<B> {
    pub(super) async fn read_guarded(&self, trace: &mut Trace<'_>, at: &Resolved, range: ByteRange) -> Result<Slice> {
        self.pass(trace, Op::Read(at), Depth::One).await?;
        let Some(most) = self.most_bytes(at, Access::Read) else { return self.inner.read(at, range).await };
        let bounded = match range {
            ByteRange::Whole { most: asked } => ByteRange::Whole { most: asked.min(most) },
            ByteRange::Part { .. } => range,
        };
        match self.inner.read(at, bounded).await {
            Ok(slice) => Refusal::check_size(&at.typed, slice.size, most).map(|()| slice),
            Err(error) if error.kind() == ErrorKind::TooLarge => {
                self.still_small(at, most).await?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    pub(super) async fn open_guarded(&self, trace: &mut Trace<'_>, at: &Resolved, most: u64) -> Result<Opened> {
        self.pass(trace, Op::Read(at), Depth::One).await?;
        let Some(allowed) = self.most_bytes(at, Access::Read) else { return self.inner.open(at, most).await };
        match self.inner.open(at, most.min(allowed)).await {
            Err(error) if error.kind() == ErrorKind::TooLarge => {
                self.still_small(at, allowed).await?;
                Err(error)
            }
            opened => opened,
        }
    }

    pub(super) async fn read_text_guarded(
        &self,
        trace: &mut Trace<'_>,
        at: &Resolved,
        window: TextWindow,
    ) -> Result<Excerpt> {
        self.pass(trace, Op::Read(at), Depth::One).await?;
        let excerpt = self.inner.read_text(at, window).await?;
        match (self.most_bytes(at, Access::Read), excerpt.size) {
            (None, _) => {}
            (Some(most), Some(size)) => Refusal::check_size(&at.typed, size, most)?,
            (Some(most), None) => self.still_small(at, most).await?,
        }
        Ok(excerpt)
    }

    /// Refuses a file that has become too large since it was judged.
    async fn still_small(&self, at: &Resolved, most: u64) -> Result<()> {
        match self.inner.stat(at).await {
            Ok(entry) => Refusal::check_size(&at.typed, entry.size.unwrap_or(0), most),
            // The file existed when it was read; its removal since then is no reason to withhold the content.
            Err(_) => Ok(()),
        }
    }
}
