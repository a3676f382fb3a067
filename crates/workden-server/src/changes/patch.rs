//! All changes as a patch that `git apply` and `patch` take.

use std::{fmt::Write as _, time::Duration};

use bytes::Bytes;
use similar::{Algorithm, TextDiff};

use super::{ComparedSession, FileChange, SHOWN, entries, manifest::ItemKind};
use crate::service::Answer;

/// The most bytes of a patch; what is left out is named in it.
const MOST: usize = 32 << 20;
/// How long one file may take before the comparison becomes coarse.
const PATIENCE: Duration = Duration::from_millis(500);

impl ComparedSession {
    /// Returns all changes of text as a patch, whose first lines name what is not in it.
    pub(crate) async fn patch(&self) -> Answer<String> {
        let changes = self.changes().await?;
        let shown = || changes.changes.iter().filter(|change| change.is_shown());
        let name = |change: &FileChange| self.name_of(&change.path);
        let old = shown().filter(|change| change.before.is_some()).filter_map(name).collect();
        let mut before = entries::contents(self.start().await?, old, SHOWN).await?;
        let new = shown().filter(|change| change.after.is_some()).filter_map(name).collect();
        let now = self.service.archive_of_session(&self.live).await?;
        let mut after = entries::contents(now, new, SHOWN).await?;
        let texts = changes.changes.into_iter().filter_map(|change| {
            let name = self.name_of(&change.path)?;
            let texts = change.is_shown().then(|| (before.remove(&name), after.remove(&name)));
            Some((name, change, texts))
        });
        let (texts, truncated) = (texts.collect::<Vec<_>>(), changes.truncated);
        let patch = tokio::task::spawn_blocking(move || patch(texts, truncated)).await;
        Ok(patch.map_err(|_| workden::Error::new(workden::ErrorKind::Io, "cannot compare the files"))?)
    }
}

/// A name, its change, and its two versions if they are shown.
type ChangedText = (String, FileChange, Option<(Option<Bytes>, Option<Bytes>)>);

fn patch(changes: Vec<ChangedText>, truncated: bool) -> String {
    let (mut patch, mut left_out) = (String::new(), Vec::new());
    for (name, change, texts) in changes {
        let text = texts.and_then(|(before, after)| file_patch(&name, &change, (before, after)));
        match text {
            Some(text) if patch.len() + text.len() <= MOST => patch.push_str(&text),
            _ => left_out.push(name),
        }
    }
    let mut head = String::new();
    for name in left_out {
        let _ = writeln!(head, "# not in this patch, because it is not text or too large: {}", name.escape_debug());
    }
    if truncated {
        head.push_str("# not in this patch: further files\n");
    }
    head + &patch
}

/// Returns the patch of one file; `None` if a version is not UTF-8.
fn file_patch(name: &str, change: &FileChange, (before, after): (Option<Bytes>, Option<Bytes>)) -> Option<String> {
    let text = |bytes: Option<Bytes>| String::from_utf8(bytes.unwrap_or_default().into()).ok();
    let (before, after) = (text(before)?, text(after)?);
    let (old, new) = (quoted("a/", name), quoted("b/", name));
    let mut patch = format!("diff --git {old} {new}\n");
    let mode = |kind| match kind {
        ItemKind::File => "100644",
        ItemKind::Executable => "100755",
        ItemKind::Link => "120000",
    };
    let kinds = (change.before.as_ref().map(|item| item.kind), change.after.as_ref().map(|item| item.kind));
    let (mut from, mut to) = (old.as_str(), new.as_str());
    match kinds {
        (None, Some(kind)) => {
            let _ = writeln!(patch, "new file mode {}", mode(kind));
            from = "/dev/null";
        }
        (Some(kind), None) => {
            let _ = writeln!(patch, "deleted file mode {}", mode(kind));
            to = "/dev/null";
        }
        // Between a link and a file git knows no step but through nothing.
        (Some(ItemKind::Link), Some(kind)) | (Some(kind), Some(ItemKind::Link)) if kind != ItemKind::Link => {
            return None;
        }
        (Some(one), Some(other)) if one != other => {
            let _ = writeln!(patch, "old mode {}\nnew mode {}", mode(one), mode(other));
        }
        _ => {}
    }
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).timeout(PATIENCE).diff_lines(&before, &after);
    let hunks = diff.unified_diff().to_string();
    if !hunks.is_empty() {
        let _ = write!(patch, "--- {from}\n+++ {to}\n{hunks}");
    }
    Some(patch)
}

/// Returns a name as git writes it: quoted if it has special characters.
fn quoted(prefix: &str, name: &str) -> String {
    let is_plain = |char: char| !char.is_control() && char != '"' && char != '\\';
    if name.chars().all(is_plain) {
        // A tab ends a name with blanks for `patch`.
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
