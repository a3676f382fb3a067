//! The options of a toolset.

use std::{collections::BTreeMap, time::Duration};

use crate::Dialect;

/// The default limit for images and documents.
const MEDIA_BYTES: u64 = 50 * 1024 * 1024;
/// How long decoding an image may take.
const DECODE_TIMEOUT: Duration = Duration::from_secs(30);

/// The options of a toolset. The default is the console.
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
    /// The set of tools.
    pub profile: Profile,
    /// The meaning of arguments and the words of answers.
    pub dialect: Dialect,
    /// Whether the tools for commands are offered, if the workspace has a sandbox.
    pub include_execute: bool,
    /// Whether the tools for background commands are offered, if commands are.
    pub include_background: bool,
    /// Characters of output that `execute` answers with, of a longer output the start and the end; by default 30,000.
    pub max_output_chars: Option<usize>,
    /// Tools that the console offers only when they are named here.
    pub extra_tools: Vec<ExtraTool>,
    /// How the console edits files.
    pub edit_format: EditFormat,
    /// Whether `grep` skips hidden files unless a call sets `ignore_hidden`.
    pub ignore_hidden: bool,
    /// Whether the model accepts images: `read_file` attaches them.
    pub images: bool,
    /// The largest image that is read, in bytes.
    pub max_image_bytes: u64,
    /// How long decoding one image may take, and how long a call waits for others to be decoded.
    pub decode_timeout: Duration,
    /// Whether the model accepts documents (PDF). If not, it gets text that `pdftotext` extracts in the sandbox.
    pub documents: bool,
    /// The largest document that is attached, in bytes; of a larger one the model gets the text.
    pub max_document_bytes: u64,
    /// The longest time of a command, whatever a call asks for.
    pub max_timeout: Option<Duration>,
    /// Descriptions that replace the default ones, by tool. An unknown name is an error.
    pub descriptions: BTreeMap<String, String>,
    /// How often a model may retry after a failure, in agent frameworks that count.
    pub retries: u32,
    /// Whether writes, edits and removals need approval in addition to the policy.
    pub write_approval: RequireApproval,
    /// Whether commands need approval in addition to the policy.
    pub execute_approval: RequireApproval,
}

impl Default for ToolsetOptions {
    fn default() -> Self {
        Self {
            profile: Profile::Console,
            dialect: Dialect::Workden,
            include_execute: true,
            include_background: true,
            max_output_chars: None,
            extra_tools: Vec::new(),
            edit_format: EditFormat::StrReplace,
            ignore_hidden: true,
            images: true,
            max_image_bytes: MEDIA_BYTES,
            decode_timeout: DECODE_TIMEOUT,
            documents: true,
            max_document_bytes: MEDIA_BYTES,
            max_timeout: None,
            descriptions: BTreeMap::new(),
            retries: 1,
            write_approval: RequireApproval::AsPolicy,
            execute_approval: RequireApproval::AsPolicy,
        }
    }
}

impl ToolsetOptions {
    /// Characters of output that `execute` answers with.
    pub(crate) fn output_chars(&self) -> usize {
        self.max_output_chars.unwrap_or(self.dialect.output_chars())
    }
}

/// A set of tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Tools for files, search and commands, as coding agents use them.
    #[default]
    Console,
    /// Seven tools for documents in mounted directories.
    Filesystem,
}

/// How files are edited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EditFormat {
    /// `edit_file` replaces one text by another.
    #[default]
    StrReplace,
    /// `hashline_edit` replaces lines named by number and hash, which `read_file` then shows.
    Hashline,
}

/// A tool that the console offers only when it is named.
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

    /// Returns the name of the tool.
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

/// When a call needs approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequireApproval {
    /// When the policy asks.
    #[default]
    AsPolicy,
    /// Always.
    Always,
}
