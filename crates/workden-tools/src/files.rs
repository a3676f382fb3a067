//! Files as one agent reads and changes them: every read and write is recorded, and a file that another program has
//! changed since is not changed blindly.

use bytes::Bytes;
use workden_core::{
    Backend, BackendExt, Changed, Content, ErrorKind, Expect, Resolved, Result, Symlink, VirtualPath, Written, limits,
    settled,
    text::{Change, Excerpt, TextWindow},
};

use crate::{
    ToolFailure,
    seen_files::{SeenFile, SeenText, difference},
    tool_context::ToolContext,
};

impl ToolContext<'_> {
    /// Reads a window of text, and records it.
    pub(crate) async fn read_window(&self, path: &VirtualPath, window: TextWindow) -> Result<Excerpt> {
        let start = self.agent.seen_files.start_read();
        let (at, excerpt) = settled!(self.files, path, Symlink::Follow, |at| {
            self.files.read_text(&at, window).await.map(|excerpt| (at, excerpt))
        })?;
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
        let (at, written) = settled!(self.files, path, Symlink::Follow, |at| {
            let written = self.files.write(&at, Content::Whole(bytes.clone()), Expect::Anything).await;
            written.map(|written| (at, written))
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
        let changed = settled!(self.files, &path, Symlink::Follow, |at| {
            let changed = self.files.change(&at, change, expected(&at), limits::EDIT_BYTES).await;
            changed.map(|changed| (at, changed))
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
        let now = self.files.read_window(path, TextWindow::lines(offset, limit)).await.ok();
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
