//! Commands that only look: they print what the agent may read anyway, and change nothing. `default` runs them without
//! a question, because a question that is always answered with yes teaches people not to read questions.
//!
//! Invariant: everything else about such a command is judged as always. A redirection is a write, a file is judged by
//! the rules of reading, and what is not understood is asked about. A word that leads out of the working directory
//! makes a command an ordinary one.

use workden_core::VirtualPath;

use super::{
    command_effects::effects,
    named_paths::{NamedPath, named_paths},
};
use crate::shell::{Invocation, Word};

/// Programs that only look, whatever their arguments; options that write or run something are effects of their own.
#[rustfmt::skip]
pub(crate) const PROGRAMS: &[&str] = &[
    "ls", "dir", "tree", "pwd", "cd", "stat", "file", "du", "df", "readlink", "realpath", "basename", "dirname",
    "cat", "head", "tail", "nl", "tac", "wc", "cut", "sort", "uniq", "tr", "column", "paste", "comm", "join", "fold",
    "diff", "cmp", "grep", "egrep", "fgrep", "rg", "find", "jq", "sed", "strings", "od", "xxd", "hexdump",
    "md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum", "b2sum",
    "echo", "printf", "true", "false", ":", "test", "[", "seq", "expr", "sleep",
    "whoami", "id", "groups", "uname", "arch", "nproc", "uptime", "free", "which", "type",
];

/// Subcommands of git that only look.
#[rustfmt::skip]
pub(crate) const GIT: &[&str] = &[
    "status", "diff", "log", "show", "rev-parse", "rev-list", "ls-files", "ls-tree", "blame", "annotate", "describe",
    "shortlog", "reflog", "cat-file", "merge-base", "name-rev", "count-objects", "check-ignore",
];

/// Subcommands of git that only look with these arguments alone.
const GIT_LISTS: &[(&str, &[&str])] = &[
    ("branch", &["-a", "-r", "-v", "-vv", "--all", "--remotes", "--list", "--show-current", "--no-color"]),
    ("remote", &["-v", "--verbose"]),
    ("tag", &["-l", "--list", "-n"]),
    ("stash", &["list"]),
    ("worktree", &["list"]),
    ("config", &["-l", "--list"]),
];

/// Options of git that write a file or run a program.
const GIT_DOES: &[&str] = &["--output", "--ext-diff", "--textconv", "-O", "--open-files-in-pager", "--exec"];

/// Programs that print their version and do nothing else.
#[rustfmt::skip]
pub(crate) const VERSIONS: &[&str] = &[
    "python", "python3", "pip", "pip3", "uv", "node", "npm", "npx", "pnpm", "yarn", "bun", "deno", "tsc", "cargo",
    "rustc", "rustup", "go", "gcc", "g++", "clang", "make", "cmake", "java", "javac", "ruby", "gem", "php", "perl",
    "git", "bash", "docker", "rg", "jq", "curl", "gh",
];

/// Whether a command only looks, in this directory or below it.
pub(crate) fn only_looks(invocation: &Invocation, directory: &VirtualPath) -> bool {
    let words: Option<Vec<&str>> = invocation.argv.iter().map(Word::literal).collect();
    // A pattern is an argument like others, but not the name of a program.
    let (Some(program), shown) = (invocation.argv.first().and_then(Word::literal), words) else { return false };
    let does = match (program, shown.as_deref()) {
        ("git", Some([_, arguments @ ..])) => git(arguments),
        (name, Some([_, only])) if VERSIONS.contains(&name) && matches!(*only, "--version" | "-V" | "version") => true,
        ("node", Some([_, "-v"])) => true,
        ("date", Some([_, arguments @ ..])) => arguments.iter().all(|word| word.starts_with('+') || *word == "-u"),
        ("command", Some([_, "-v", ..])) => true,
        (name, _) => PROGRAMS.contains(&name),
    };
    does && invocation.assignments.is_empty() && stays(invocation, directory)
}

fn git(arguments: &[&str]) -> bool {
    let arguments = match arguments {
        ["--no-pager" | "-P", rest @ ..] => rest,
        all => all,
    };
    let Some((subcommand, arguments)) = arguments.split_first() else { return false };
    let listed = GIT_LISTS.iter().find(|(name, _)| name == subcommand);
    match listed {
        Some((_, allowed)) => {
            arguments.iter().all(|word| allowed.contains(word))
                && (*subcommand != "stash" || !arguments.is_empty())
                && (*subcommand != "config" || !arguments.is_empty())
        }
        None => {
            GIT.contains(subcommand)
                && !arguments.iter().any(|word| GIT_DOES.iter().any(|option| word.starts_with(option)))
        }
    }
}

/// Whether every file of a command is in the working directory, or one that all may read.
fn stays(invocation: &Invocation, directory: &VirtualPath) -> bool {
    let is_open = |path: &VirtualPath| {
        let path = path.as_str();
        ["/tmp", "/usr", "/dev"].iter().any(|open| path == *open || path.starts_with(&format!("{open}/")))
    };
    effects(invocation).files.iter().all(|(_, word)| {
        named_paths(word, &invocation.directories).iter().all(|place| match place {
            NamedPath::At(path) => path.is_within(directory) || is_open(path),
            NamedPath::Matching(pattern) => {
                let prefix = if directory.is_root() { "" } else { directory.as_str() };
                pattern.starts_with(&format!("{prefix}/")) && !pattern.split('/').any(|name| name == "..")
            }
            NamedPath::Unknown(_) => false,
        })
    })
}
