//! Failures of the filesystem profile, in the words that programs written for pydantic-ai-filesystem-sandbox match on.

use workden_core::{Error, ErrorKind, Spelling};

use crate::ToolFailure;

/// The action that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileAction {
    Read,
    Edit,
    Delete,
    Move,
    Copy,
}

/// Words an error of the filesystem profile.
pub(crate) fn failure(typed: &str, error: &Error, spelling: Spelling, action: FileAction) -> ToolFailure {
    use FileAction::{Copy, Delete, Edit, Move, Read};

    let kind = error.kind();
    let text = match (error.refusal(), kind, action) {
        (Some(refusal), _, _) => refusal.message(spelling),
        (None, ErrorKind::NotFound, Move | Copy) => format!("Source file not found: {typed}"),
        (None, ErrorKind::NotFound, _) => format!("File not found: {typed}"),
        (None, ErrorKind::IsDirectory, Delete) => format!("Cannot delete directory with delete_file: {typed}"),
        (None, ErrorKind::IsDirectory, Move) => format!("Cannot move directory: {typed}"),
        (None, ErrorKind::IsDirectory, Copy) => format!("Cannot copy directory: {typed}"),
        (None, ErrorKind::IsDirectory, Read | Edit) => format!("Not a file: {typed}"),
        (None, ErrorKind::AlreadyExists, Move | Copy) => format!("Destination already exists: {typed}"),
        (None, ErrorKind::NotText, Read | Edit) => {
            let (verb, verbs) = if action == Read { ("read", "reads") } else { ("edit", "edits") };
            format!(
                "Cannot {verb} '{typed}': file appears to be binary or not UTF-8 encoded.\nThis tool only {verbs} text \
                 files. For binary files, pass them as attachments."
            )
        }
        (None, _, _) => error.to_string(),
    };
    ToolFailure::new(kind, text)
}
