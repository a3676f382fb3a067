//! All changes as a patch that `git apply` and `patch` take.

use std::{
    fmt::Write as _,
    time::{Duration, Instant},
};

use bytes::Bytes;
use workden::{Error, ErrorKind};
use workden_core::host_executed::GIT_DIRECTORY;

use super::{ComparedSession, FileChange, Item, SHOWN, entries, lines::hunks};
use crate::service::Answer;

/// The most bytes of a patch, and of the texts that it is made of on each side; what is left out is named in it.
const MOST: usize = 32 << 20;
const TEXTS: u64 = 64 << 20;
/// How long one file may take before the comparison becomes coarse, and all of them.
const OF_A_FILE: Duration = Duration::from_millis(500);
const OF_ALL: Duration = Duration::from_secs(10);

impl ComparedSession {
    /// Returns all changes of text as a patch, whose first lines name what is not in it.
    pub(crate) async fn patch(&self) -> Answer<String> {
        let changes = self.changes().await?;
        let _turn = self.service.comparisons.turn(&self.row.tenant).await?;
        let old = changes.changes.iter().filter(|change| change.before.is_some() && change.is_shown());
        let old = old.filter_map(|change| self.name_of(&change.path)).collect();
        let mut before = entries::contents(self.start().await?, old, SHOWN, TEXTS).await?;
        let (mut texts, mut left) = (Vec::new(), TEXTS);
        for change in changes.changes {
            let Some(name) = self.name_of(&change.path) else { continue };
            let size = change.after.as_ref().map_or(0, |item| item.size);
            let after = match change.is_shown() && size <= left {
                true => self.after(&change.path).await.unwrap_or_default(),
                false => None,
            };
            left -= after.as_ref().map_or(0, |content| content.len() as u64).min(left);
            texts.push(ChangedText { before: before.remove(&name), after, name, change });
        }
        let truncated = changes.truncated;
        let patch = tokio::task::spawn_blocking(move || patch(texts, truncated)).await;
        Ok(patch.map_err(|_| Error::new(ErrorKind::Io, "cannot compare the files"))?)
    }
}

/// A change, and the contents that could be read.
struct ChangedText {
    name: String,
    change: FileChange,
    before: Option<Bytes>,
    after: Option<Bytes>,
}

impl ChangedText {
    /// Returns both texts; `None` if one is not the text that was compared, or is in a git directory: a patch must not
    /// reach into the one of the person who applies it.
    fn texts(&self) -> Option<(&str, &str)> {
        if self.name.split('/').any(|part| part.eq_ignore_ascii_case(GIT_DIRECTORY)) || !self.change.is_shown() {
            return None;
        }
        Some((
            text(self.change.before.as_ref(), self.before.as_deref())?,
            text(self.change.after.as_ref(), self.after.as_deref())?,
        ))
    }
}

/// Returns a version of a file as text: an empty one where there is no file.
fn text<'a>(item: Option<&Item>, content: Option<&'a [u8]>) -> Option<&'a str> {
    match (item, content) {
        (None, _) => Some(""),
        (Some(item), Some(content)) => std::str::from_utf8(content).ok().filter(|_| item.is_of(content)),
        (Some(_), None) => None,
    }
}

fn patch(changes: Vec<ChangedText>, truncated: bool) -> String {
    let (mut patch, mut head) = (String::new(), String::new());
    let deadline = Instant::now() + OF_ALL;
    for change in changes {
        let now = Instant::now();
        let texts = change.texts().filter(|_| now < deadline);
        let text = texts.map(|texts| file_patch(&change, texts, deadline.min(now + OF_A_FILE)));
        match text {
            Some(text) if patch.len() + text.len() <= MOST => patch.push_str(&text),
            _ => {
                let _ = writeln!(head, "# not in this patch: {}", change.name.escape_debug());
            }
        }
    }
    if truncated {
        head.push_str("# not in this patch: further files\n");
    }
    head + &patch
}

fn file_patch(changed: &ChangedText, (before, after): (&str, &str), deadline: Instant) -> String {
    let (old, new) = (quoted("a/", &changed.name), quoted("b/", &changed.name));
    let mut patch = format!("diff --git {old} {new}\n");
    let (mut from, mut to) = (ended(&old), ended(&new));
    match (&changed.change.before, &changed.change.after) {
        (None, _) => {
            patch.push_str("new file mode 100644\n");
            from = "/dev/null".to_owned();
        }
        (_, None) => {
            patch.push_str("deleted file mode 100644\n");
            to = "/dev/null".to_owned();
        }
        _ => {}
    }
    let hunks = hunks(before, after, deadline);
    if !hunks.is_empty() {
        let _ = write!(patch, "--- {from}\n+++ {to}\n{hunks}");
    }
    patch
}

/// A tab ends a name with blanks, so that no part of it is read as a date.
fn ended(name: &str) -> String {
    if name.contains(' ') && !name.starts_with('"') { format!("{name}\t") } else { name.to_owned() }
}

/// Returns a name as git writes it: quoted if it has special characters.
fn quoted(prefix: &str, name: &str) -> String {
    let is_plain = |char: char| !char.is_control() && char != '"' && char != '\\';
    if name.chars().all(is_plain) {
        return format!("{prefix}{name}");
    }
    let mut quoted = format!("\"{prefix}");
    for byte in name.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            0x20..0x7f => quoted.push(char::from(byte)),
            _ => drop(write!(quoted, "\\{byte:03o}")),
        }
    }
    quoted + "\""
}
