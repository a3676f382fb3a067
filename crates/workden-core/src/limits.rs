//! The limits on the cost and the answer of a call, in one place.

use std::time::Duration;

/// Characters that one text read may return.
pub const READ_CHARS: u64 = 200_000;
/// Lines that one text read returns by default.
pub const READ_LINES: u64 = 2_000;
/// Bytes that one whole-file read may return.
pub const READ_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of the largest file that can be edited.
pub const EDIT_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes that one in-memory workspace may hold in a single file.
pub const STATE_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// Entries that one listing returns.
pub const LIST_ENTRIES: usize = 100_000;
/// Entries that one glob returns.
pub const GLOB_ENTRIES: usize = 100_000;
/// Matching lines that one grep returns.
pub const GREP_KEPT_LINES: usize = 100_000;
/// Matches after which a grep stops counting.
pub const GREP_MATCHES: u64 = 1_000_000;
/// Bytes of one line that a grep returns.
pub const GREP_LINE_BYTES: usize = 2_000;
/// Bytes of one line (or, for a multi-line search, of one file) that a grep holds in memory.
pub const GREP_HEAP_BYTES: usize = 32 * 1024 * 1024;
/// How long a search may take.
pub const SEARCH_TIME: Duration = Duration::from_secs(30);
/// The deepest directory that a search enters: opening each directory by its path costs as much as the path is long, and
/// a tree of thirty thousand levels would take minutes.
pub const SEARCH_DEPTH: usize = 2_000;
/// Bytes of a `.gitignore` that are read; the rest is ignored.
pub const IGNORE_FILE_BYTES: usize = 1024 * 1024;
/// Rules of one `.gitignore` that apply.
pub const IGNORE_RULES: usize = 5_000;
/// Rules that apply from all `.gitignore` files between a directory and its repository's root: a compiled rule takes
/// kilobytes.
pub const IGNORE_RULES_ABOVE: usize = 20_000;
/// Filter globs that one grep accepts.
pub const FILTER_GLOBS: usize = 1_000;
/// Bytes that the attributes of a file with one prefix may have, names and values together.
pub const ATTRIBUTE_BYTES: usize = 4096;
/// Bytes that the name of an attribute may have, with its prefix: Linux permits 255, of which `user.` takes 5.
pub const ATTRIBUTE_NAME_BYTES: usize = 250;
/// How often a call is retried when its path keeps changing.
pub const MOVED_RETRIES: usize = 20;
/// Symbolic links followed in one path before it counts as a loop.
pub const LINK_DEPTH: usize = 40;
/// Names in the links followed in one path before it counts as a loop, too: each name costs an open, and `a/../a/../a`
/// loops without a second link.
pub const LINK_NAMES: usize = 4_096;
/// Bytes that one in-memory workspace may hold.
pub const STATE_BYTES: u64 = 1024 * 1024 * 1024;
/// Bytes that a path pattern may have.
pub const PATTERN_BYTES: usize = 16 * 1024;
/// How deep the braces of a path pattern may be nested.
pub const PATTERN_NESTING: usize = 16;
/// How many patterns without braces a path pattern may expand to.
pub const PATTERN_ALTERNATIVES: usize = 1_000;
/// Bytes that a compiled pattern may take in memory.
pub const COMPILED_PATTERN_BYTES: usize = 10 * 1024 * 1024;
/// Bytes that a regular expression may have.
pub const REGEX_BYTES: usize = 10_000;
/// Bytes that a literal search text may have.
pub const LITERAL_BYTES: usize = 64 * 1024;
/// Characters of output that one command returns; of longer output, head and tail are kept.
pub const OUTPUT_CHARS: usize = 100_000;
/// Characters of output that a model gets of one command. Its client may cut or refuse longer answers.
pub const ANSWER_CHARS: usize = 30_000;
/// How long a command may take by default.
pub const EXECUTE_TIME: Duration = Duration::from_secs(120);
/// How long a command has between `TERM` and `KILL`.
pub const TERM_TIME: Duration = Duration::from_secs(2);
/// Bytes of a job's output that one read returns.
pub const JOB_READ_BYTES: u64 = 100_000;
/// Bytes of one job's or command's output that its log holds: the last ones. Earlier bytes are counted.
pub const LOG_BYTES: u64 = 16 * 1024 * 1024;
/// Logs of finished commands and jobs that are kept; older logs are deleted.
pub const LOGS_KEPT: usize = 32;
/// Jobs and processes that one sandbox runs at a time.
pub const RUNNING_COMMANDS: usize = 256;
