//! Failures in the words that programs written for the tools for documents look for.

use workden_core::{Error, ErrorKind, Spelling};

use crate::ToolFailure;

/// What was to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Read,
    Edit,
    Delete,
    Move,
    Copy,
}

/// A failure of a tool for documents.
pub(crate) fn for_documents(typed: &str, error: &Error, spelling: Spelling, deed: Deed) -> ToolFailure {
    let kind = error.kind();
    let text = match (error.refusal(), kind, deed) {
        (Some(refusal), _, _) => refusal.message(spelling),
        (None, ErrorKind::NotFound, Deed::Move | Deed::Copy) => format!("Source file not found: {typed}"),
        (None, ErrorKind::NotFound, _) => format!("File not found: {typed}"),
        (None, ErrorKind::IsDirectory, Deed::Delete) => format!("Cannot delete directory with delete_file: {typed}"),
        (None, ErrorKind::IsDirectory, Deed::Move) => format!("Cannot move directory: {typed}"),
        (None, ErrorKind::IsDirectory, Deed::Copy) => format!("Cannot copy directory: {typed}"),
        (None, ErrorKind::IsDirectory, Deed::Read | Deed::Edit) => format!("Not a file: {typed}"),
        (None, ErrorKind::AlreadyExists, Deed::Move | Deed::Copy) => format!("Destination already exists: {typed}"),
        (None, ErrorKind::NotText, Deed::Read | Deed::Edit) => {
            let (verb, verbs) = if deed == Deed::Read { ("read", "reads") } else { ("edit", "edits") };
            format!(
                "Cannot {verb} '{typed}': file appears to be binary or not UTF-8 encoded.\nThis tool only {verbs} text \
                 files. For binary files, pass them as attachments."
            )
        }
        (None, _, _) => error.to_string(),
    };
    ToolFailure::new(kind, text)
}
