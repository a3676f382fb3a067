//! Commands that only look: they print what the agent may read anyway, and change nothing. `default` runs them without
//! a question, because a question that is always answered with yes teaches people not to read questions.
//!
//! Invariant: everything else about such a command is judged as always. A redirection is a write, a file is judged by
//! the rules of reading, and what is not understood is asked about. A word that leads out of the working directory
//! makes a command an ordinary one.

use workden_core::VirtualPath;

use super::{
    command_effects::effects,
    danger::is_harmless_device,
    named_paths::{NamedPath, named_paths},
};
use crate::shell::{Invocation, Word, WorkingDirectories};

/// Programs that only look, whatever their arguments; options that write or run something are effects of their own.
#[rustfmt::skip]
const PROGRAMS: &[&str] = &[
    "ls", "dir", "pwd", "stat", "df", "readlink", "realpath", "basename", "dirname", "cat", "head", "tail", "nl", "tac",
    "cut", "uniq", "tr", "column", "paste", "comm", "join", "fold", "diff", "cmp", "grep", "egrep", "fgrep", "rg", "jq",
    "od", "hexdump", "md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum", "b2sum", "echo", "printf", "true", "false",
    ":", "test", "[", "seq", "expr", "sleep", "whoami", "id", "groups", "uname", "arch", "nproc", "uptime", "free",
    "which", "type",
];

/// Subcommands of git that only look.
#[rustfmt::skip]
const GIT: &[&str] = &[
    "status", "diff", "log", "show", "rev-parse", "rev-list", "ls-files", "ls-tree", "blame", "annotate", "describe",
    "shortlog", "merge-base", "name-rev", "count-objects", "check-ignore",
];

/// Subcommands of git that only look with these arguments alone.
const GIT_LISTS: &[(&str, &[&str])] = &[
    ("branch", &["-a", "-r", "-v", "-vv", "--all", "--remotes", "--show-current", "--no-color"]),
    ("remote", &["-v", "--verbose"]),
    ("tag", &["-n"]),
];

/// Subcommands of git that only look with this argument.
const GIT_WITH: &[(&str, &str)] = &[
    ("stash", "list"),
    ("worktree", "list"),
    ("config", "--list"),
    ("config", "-l"),
    ("config", "--get"),
    ("branch", "--list"),
    ("tag", "--list"),
    ("tag", "-l"),
];

/// Options of git that write a file, run a program, or leave the repository; in full, because git accepts beginnings.
const GIT_DOES: &[&str] =
    &["--output", "--ext-diff", "--textconv", "--filters", "--open-files-in-pager", "--exec", "--no-index"];

/// Programs that print their version and read no file of the project for it.
#[rustfmt::skip]
const VERSIONS: &[&str] = &[
    "python", "python3", "pip", "pip3", "uv", "node", "gcc", "g++", "clang", "make", "cmake", "java", "javac", "ruby",
    "php", "perl", "git", "bash", "docker", "rg", "jq", "curl", "gh",
];

/// Whether a command only looks, in this directory or below it.
pub(crate) fn only_looks(invocation: &Invocation, directory: &VirtualPath) -> bool {
    let Some(program) = invocation.argv.first().and_then(Word::literal) else { return false };
    let arguments: Vec<&str> = invocation.argv.iter().skip(1).map(Word::shown).collect();
    let does = match (program, arguments.as_slice()) {
        ("git", arguments) => git(arguments),
        ("go", ["version"]) | ("node", ["-v"]) | ("command", ["-v", ..]) => true,
        (name, ["--version"]) if VERSIONS.contains(&name) => true,
        ("python" | "python3", ["-V"]) => true,
        ("date", arguments) => arguments.iter().all(|word| word.starts_with('+') || *word == "-u"),
        ("cd", [to]) => !to.starts_with('-') && !to.is_empty(),
        ("sed", ["-n", script, files @ ..]) => prints_lines(script) && files.iter().all(|file| !file.starts_with('-')),
        ("file", arguments) => only_options(arguments, &["-b", "-i", "--brief", "--mime", "--mime-type"]),
        ("tree", arguments) => !has_letter(arguments, &['R', 'H', 'o']),
        ("find", [first, ..]) if first.starts_with("-O") || first.starts_with("-D") => false,
        ("find", _) => true,
        // Names in a file are not seen here.
        ("sort" | "wc" | "du", arguments) => !arguments.iter().any(|word| word.starts_with("--f")),
        (name, _) => PROGRAMS.contains(&name),
    };
    does && invocation.assignments.is_empty() && stays(invocation, directory)
}

/// Whether a file is in the working directory, or one that all may read.
pub(crate) fn is_open(place: &NamedPath, directory: &VirtualPath) -> bool {
    match place {
        NamedPath::At(path) => {
            let is_below = |open: &&str| path.as_str().strip_prefix(*open).is_some_and(|rest| rest.starts_with('/'));
            path.is_within(directory) || is_harmless_device(path) || ["/tmp", "/usr"].iter().any(is_below)
        }
        NamedPath::Matching(pattern) => {
            let prefix = if directory.is_root() { "" } else { directory.as_str() };
            pattern.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'))
                && !pattern.split('/').any(|name| name == "..")
        }
        NamedPath::Unknown(_) => false,
    }
}

fn git(arguments: &[&str]) -> bool {
    let arguments = match arguments {
        ["--no-pager" | "-P", rest @ ..] => rest,
        all => all,
    };
    let Some((subcommand, arguments)) = arguments.split_first() else { return true };
    // One more word is a name, a pattern or a range of settings.
    let is_one = |rest: &[&str]| {
        matches!(rest, [] | ["--local" | "--global"]) || matches!(rest, [word] if !word.starts_with('-'))
    };
    if let [with, rest @ ..] = arguments
        && GIT_WITH.iter().any(|(name, only)| name == subcommand && with == only)
    {
        return is_one(rest);
    }
    if let Some((_, allowed)) = GIT_LISTS.iter().find(|(name, _)| name == subcommand) {
        return arguments.iter().all(|word| allowed.contains(word));
    }
    if *subcommand == "reflog" {
        return arguments.iter().all(|word| {
            word.trim_start_matches("-n").trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit())
        });
    }
    let does_more = |word: &&str| {
        let name = word.split('=').next().unwrap_or(word);
        word.starts_with("-O") || name.len() > 3 && GIT_DOES.iter().any(|option| option.starts_with(name))
    };
    GIT.contains(subcommand) && !arguments.iter().any(does_more)
}

/// Whether a script of `sed -n` only prints lines, by their numbers or by a plain text in them: `5p`, `10,20p`,
/// `1p;10p`, `/^class /p`.
fn prints_lines(script: &str) -> bool {
    let is_number = |text: &str| text == "$" || !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_text = |text: &str| {
        text.strip_prefix('/')
            .and_then(|rest| rest.strip_suffix('/'))
            .is_some_and(|inside| !inside.contains(['/', '\n']))
    };
    let is_address = |text: &str| is_number(text) || is_text(text);
    script.split(';').all(|command| {
        let Some(lines) = command.trim().strip_suffix('p') else { return false };
        is_address(lines) || lines.split_once(',').is_some_and(|(first, last)| is_address(first) && is_address(last))
    })
}

fn only_options(arguments: &[&str], allowed: &[&str]) -> bool {
    arguments.iter().all(|word| !word.starts_with('-') || allowed.contains(word))
}

/// Whether one of these letters is an option, alone or among others.
fn has_letter(arguments: &[&str], letters: &[char]) -> bool {
    arguments.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letters))
}

/// Whether a command runs in the working directory, and all of its files are in it.
fn stays(invocation: &Invocation, directory: &VirtualPath) -> bool {
    let runs_here = match &invocation.directories {
        WorkingDirectories::AnyOf(all) => all.iter().all(|from| from.is_within(directory)),
        WorkingDirectories::Unknown => false,
    };
    runs_here
        && effects(invocation).files.iter().all(|(_, word)| {
            // The commands of a process substitution are judged themselves.
            let is_process = matches!(word, Word::Unknown(written) if written.starts_with("<("));
            is_process || named_paths(word, &invocation.directories).iter().all(|place| is_open(place, directory))
        })
}
