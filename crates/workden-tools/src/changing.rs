//! Looking at files and changing them as one agent does: what it read is remembered, and what was
//! changed by somebody else since is not changed blindly.

use bytes::Bytes;
use workden_core::{
    Backend, Changed, Content, ErrorKind, Expect, Resolved, Result, Symlink, VirtualPath, Written, limits,
    text::{Change, Excerpt, TextWindow},
};

use crate::{
    ToolFailure,
    context::Context,
    freshness::{Seen, SeenText, what_changed},
};

/// Resolves a path and acts on it, again from the start while it keeps changing in between; gives where
/// it was, too.
macro_rules! settled {
    ($context:expr, $path:expr, $symlink:expr, |$at:ident| $act:expr) => {{
        let mut tries = 0;
        loop {
            let attempt: workden_core::Result<_> = match $context.files.resolve($path, $symlink).await {
                Ok($at) => match $act {
                    Ok(done) => Ok(($at, done)),
                    Err(error) => Err(error),
                },
                Err(error) => Err(error),
            };
            match attempt {
                Err(error)
                    if error.kind() == workden_core::ErrorKind::Moved
                        && tries < workden_core::limits::MOVED_RETRIES =>
                {
                    tries += 1
                }
                settled => break settled,
            }
        }
    }};
}
pub(crate) use settled;

impl Context<'_> {
    /// Reads a window, and remembers it.
    pub(crate) async fn read_window(&self, path: &VirtualPath, window: TextWindow) -> Result<Excerpt> {
        let began = self.memory.freshness.begin();
        let (at, excerpt) = settled!(self, path, Symlink::Follow, |at| self.files.read_text(&at, window).await)?;
        if let Some(version) = excerpt.version {
            let seen = match window {
                TextWindow::Lines { offset, limit, .. } => {
                    Some(SeenText { offset, limit, text: excerpt.text.as_str().into() })
                }
                TextWindow::Chars { .. } => None,
            };
            self.memory.freshness.read(began, &at.real, version, seen);
        }
        Ok(excerpt)
    }

    /// Writes a whole file, and remembers it.
    pub(crate) async fn write(&self, path: &VirtualPath, content: String) -> Result<Written> {
        // Not an edit on the way: that would be stale for what happens here.
        let real = self.files.resolve(path, Symlink::Follow).await?.real;
        let lock = self.memory.freshness.lock_of(&real);
        let _alone = lock.lock().await;
        let bytes = Bytes::from(content);
        let (at, written) = settled!(self, path, Symlink::Follow, |at| {
            self.files.write(&at, Content::Whole(bytes.clone()), Expect::Anything).await
        })?;
        self.memory.freshness.wrote(&at.real, written.version, std::str::from_utf8(&bytes).ok());
        Ok(written)
    }

    /// Changes a file, if it is as this agent has seen it last.
    pub(crate) async fn change(&self, typed: &str, change: &Change) -> Result<Changed, ToolFailure> {
        let path = self.path(typed)?;
        let failed = |error| self.failed(typed, error);
        let freshness = &self.memory.freshness;
        let real = self.files.resolve(&path, Symlink::Follow).await.map_err(failed)?.real;
        let lock = freshness.lock_of(&real);
        let _alone = lock.lock().await;
        let expected =
            |at: &Resolved| freshness.seen(&at.real).map_or(Expect::Anything, |seen| Expect::Version(seen.version));
        let changed = settled!(self, &path, Symlink::Follow, |at| {
            self.files.change(&at, change, expected(&at), limits::EDIT_BYTES).await
        });
        match changed {
            Ok((at, changed)) => {
                freshness.changed(&at.real, changed.version, change);
                Ok(changed)
            }
            Err(error) if error.kind() == ErrorKind::Conflict => {
                Err(self.stale(typed, &path, &real).await.unwrap_or_else(|| failed(error)))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Why a change is stale, if it is: there are other conflicts.
    async fn stale(&self, typed: &str, path: &VirtualPath, real: &VirtualPath) -> Option<ToolFailure> {
        let Seen { version, text, .. } = self.memory.freshness.seen(real)?;
        let (offset, limit) = text.as_ref().map_or((0, 1), |text| (text.offset, text.limit));
        let (_, now) = settled!(self, path, Symlink::Follow, |at| {
            self.files.read_text(&at, TextWindow::lines(offset, limit)).await
        })
        .ok()
        .map_or((None, None), |(at, excerpt)| (Some(at), Some(excerpt)));
        if now.as_ref().and_then(|now| now.version).is_some_and(|now| now == version) {
            return None;
        }
        let mut text_of = format!(
            "Error: '{typed}' changed since you last read it. Read it again before editing so your change applies to \
             the current contents."
        );
        let told = now.zip(text).and_then(|(now, text)| what_changed(&text.text, &now.text, text.offset));
        if let Some(told) = told {
            text_of.push_str("\nWhat changed (- before, + now):");
            text_of.push_str(&told);
        }
        Some(ToolFailure::new(ErrorKind::Conflict, text_of))
    }
}
