//! Files as one agent reads and changes them: every read and write is recorded, and a file that another program has
//! changed since is not changed blindly.

use bytes::Bytes;
use workden_core::{
    Backend, Changed, Content, ErrorKind, Expect, Resolved, Result, Symlink, VirtualPath, Written, limits,
    text::{Change, Excerpt, TextWindow},
};

use crate::{
    ToolFailure,
    seen_files::{SeenFile, SeenText, difference},
    tool_context::ToolContext,
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

impl ToolContext<'_> {
    /// Reads a window of text, and records it.
    pub(crate) async fn read_window(&self, path: &VirtualPath, window: TextWindow) -> Result<Excerpt> {
        let start = self.agent.seen_files.start_read();
        let (at, excerpt) = settled!(self, path, Symlink::Follow, |at| self.files.read_text(&at, window).await)?;
        if let Some(version) = excerpt.version {
            let seen = match window {
                TextWindow::Lines { offset, limit, .. } => {
                    Some(SeenText { offset, limit, text: excerpt.text.as_str().into() })
                }
                TextWindow::Chars { .. } => None,
            };
            self.agent.seen_files.record_read(start, &at.real, version, seen);
        }
        Ok(excerpt)
    }

    /// Writes a whole file, and records it.
    pub(crate) async fn write(&self, path: &VirtualPath, content: String) -> Result<Written> {
        // An edit of the same file ends first: this write would make it stale.
        let real = self.files.resolve(path, Symlink::Follow).await?.real;
        let lock = self.agent.seen_files.lock_of(&real);
        let _alone = lock.lock().await;
        let bytes = Bytes::from(content);
        let (at, written) = settled!(self, path, Symlink::Follow, |at| {
            self.files.write(&at, Content::Whole(bytes.clone()), Expect::Anything).await
        })?;
        self.agent.seen_files.record_write(&at.real, written.version, std::str::from_utf8(&bytes).ok());
        Ok(written)
    }

    /// Changes a file, if it is as the agent saw it last.
    pub(crate) async fn change(&self, typed: &str, change: &Change) -> Result<Changed, ToolFailure> {
        let path = self.path(typed)?;
        let failed = |error| self.failed(typed, error);
        let seen_files = &self.agent.seen_files;
        let real = self.files.resolve(&path, Symlink::Follow).await.map_err(failed)?.real;
        let lock = seen_files.lock_of(&real);
        let _alone = lock.lock().await;
        let expected =
            |at: &Resolved| seen_files.get(&at.real).map_or(Expect::Anything, |seen| Expect::Version(seen.version));
        let changed = settled!(self, &path, Symlink::Follow, |at| {
            self.files.change(&at, change, expected(&at), limits::EDIT_BYTES).await
        });
        match changed {
            Ok((at, changed)) => {
                seen_files.record_change(&at.real, changed.version, change);
                Ok(changed)
            }
            Err(error) if error.kind() == ErrorKind::Conflict => {
                Err(self.stale(typed, &path, &real).await.unwrap_or_else(|| failed(error)))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Explains why a change is stale; `None` for other conflicts.
    async fn stale(&self, typed: &str, path: &VirtualPath, real: &VirtualPath) -> Option<ToolFailure> {
        let SeenFile { version, text: seen, .. } = self.agent.seen_files.get(real)?;
        let (offset, limit) = seen.as_ref().map_or((0, 1), |seen| (seen.offset, seen.limit));
        let now = settled!(self, path, Symlink::Follow, |at| {
            self.files.read_text(&at, TextWindow::lines(offset, limit)).await
        });
        let now = now.ok().map(|(_, excerpt)| excerpt);
        if now.as_ref().and_then(|now| now.version).is_some_and(|now| now == version) {
            return None;
        }
        let mut text = format!(
            "Error: '{typed}' changed since you last read it. Read it again before editing so your change applies to \
             the current contents."
        );
        let difference = now.zip(seen).and_then(|(now, seen)| difference(&seen.text, &now.text, seen.offset));
        if let Some(difference) = difference {
            text.push_str("\nWhat changed (- before, + now):");
            text.push_str(&difference);
        }
        Some(ToolFailure::new(ErrorKind::Conflict, text))
    }
}
