//! What a toolset offers, and how.

use std::{collections::BTreeMap, time::Duration};

/// Bytes of an image or a document that are still read.
const MEDIA_BYTES: u64 = 50 * 1024 * 1024;
/// How long decoding an image may take.
const DECODE_TIMEOUT: Duration = Duration::from_secs(30);

/// What a toolset offers, and how. Start from the default, which is the console.
///
/// ```
/// use workden_tools::{EditFormat, ToolsetOptions};
///
/// let mut options = ToolsetOptions::default();
/// options.edit_format = EditFormat::Hashline;
/// options.include_background = false;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "named switches, each set by its name")]
pub struct ToolsetOptions {
    /// Which set of tools.
    pub profile: Profile,
    /// Whether commands are offered, where there is a sandbox.
    pub include_execute: bool,
    /// Whether commands in the background are offered, where commands are.
    pub include_background: bool,
    /// Tools that the console has only when they are named.
    pub extra_tools: Vec<ExtraTool>,
    /// How files are edited in the console.
    pub edit_format: EditFormat,
    /// Whether `grep` passes over hidden files unless a call says otherwise.
    pub ignore_hidden: bool,
    /// Whether the model takes images: `read_file` then answers with them.
    pub images: bool,
    /// Bytes of an image that is still read.
    pub max_image_bytes: u64,
    /// How long decoding one image may take, and how long a call waits for others to be decoded.
    pub decode_timeout: Duration,
    /// Whether the model takes documents (PDF). If not, it gets text that `pdftotext` extracts in the sandbox.
    pub documents: bool,
    /// Bytes of a document that is still given as it is; of a larger one the model gets the text.
    pub max_document_bytes: u64,
    /// Descriptions to use in place of ours, by tool. A name that no tool has is an error.
    pub descriptions: BTreeMap<String, String>,
    /// How often a face lets a model try again after a failure, where its framework counts.
    pub retries: u32,
    /// Whether writes, edits and removals have to be approved, besides what the policy says.
    pub write_approval: Approval,
    /// Whether commands have to be approved, besides what the policy says.
    pub execute_approval: Approval,
}

impl Default for ToolsetOptions {
    fn default() -> Self {
        Self {
            profile: Profile::Console,
            include_execute: true,
            include_background: true,
            extra_tools: Vec::new(),
            edit_format: EditFormat::StrReplace,
            ignore_hidden: true,
            images: true,
            max_image_bytes: MEDIA_BYTES,
            decode_timeout: DECODE_TIMEOUT,
            documents: true,
            max_document_bytes: MEDIA_BYTES,
            descriptions: BTreeMap::new(),
            retries: 1,
            write_approval: Approval::AsPolicy,
            execute_approval: Approval::AsPolicy,
        }
    }
}

/// A set of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Files, search and commands, as coding agents know them.
    #[default]
    Console,
    /// Seven tools for documents in mounted directories.
    Filesystem,
}

/// How files are edited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EditFormat {
    /// `edit_file`: a text is replaced by another.
    #[default]
    StrReplace,
    /// `hashline_edit`: lines are named by number and hash, which `read_file` then shows.
    Hashline,
}

/// A tool that the console has only when it is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExtraTool {
    /// `delete_file`.
    DeleteFile,
    /// `move_file`.
    MoveFile,
    /// `copy_file`.
    CopyFile,
    /// `list_files`.
    ListFiles,
    /// `multi_edit`: several replacements in one file, all or none.
    MultiEdit,
}

impl ExtraTool {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::DeleteFile, Self::MoveFile, Self::CopyFile, Self::ListFiles, Self::MultiEdit];

    /// What the tool is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::DeleteFile => "delete_file",
            Self::MoveFile => "move_file",
            Self::CopyFile => "copy_file",
            Self::ListFiles => "list_files",
            Self::MultiEdit => "multi_edit",
        }
    }
}

/// When a call has to be approved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approval {
    /// When the policy says so.
    #[default]
    AsPolicy,
    /// Always.
    Always,
}
