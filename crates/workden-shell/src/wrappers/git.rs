//! `git`: its global options are removed, and configuration that runs programs is a doubt.
//!
//! Invariant: `git` and a subcommand are left, so that rules can be written for them.

use super::{
    options::{OptionTable, parse_options},
    unwrapped::{ScriptScope, Unwrapped, WrappedRun, joined},
};
use crate::{
    analysis::{DoubtKind, Word},
    budget::quoted,
};

const OPTIONS: OptionTable = OptionTable {
    flags: "pP",
    values: "cC",
    long_flags: &[
        "paginate",
        "no-pager",
        "bare",
        "no-replace-objects",
        "literal-pathspecs",
        "glob-pathspecs",
        "noglob-pathspecs",
        "icase-pathspecs",
        "no-optional-locks",
        "no-lazy-fetch",
        "no-advice",
        "version",
        "help",
        "html-path",
        "man-path",
        "info-path",
        "exec-path",
    ],
    long_values: &["git-dir", "work-tree", "namespace", "super-prefix", "list-cmds", "attr-source"],
};

/// Keys whose last part names or contains a program.
const PROGRAMS: &[&str] = &[
    "askpass",
    "clean",
    "cmd",
    "command",
    "diff",
    "driver",
    "editor",
    "external",
    "fsmonitor",
    "fsmonitorhookversion",
    "helper",
    "hookspath",
    "pager",
    "path",
    "process",
    "program",
    "proxy",
    "proxycommand",
    "smudge",
    "sshcommand",
    "textconv",
    "tool",
    "uploadpack",
    "receivepack",
    "vcs",
    "worktree",
    "gitproxy",
    "templatedir",
    "sendpack",
    "cvs",
    "attributesfile",
    "browser",
    "viewer",
    "alternaterefscommand",
    "sequenceeditor",
    "packobjectshook",
    "insteadof",
    "pushinsteadof",
    "url",
];
/// Sections without keys that name or contain a program.
const HARMLESS: &[&str] = &["color", "user", "advice"];
/// Sections in which any key may name or contain a program.
const SECTIONS: &[&str] = &["alias", "filter", "include", "includeif", "pager", "trailer", "credential", "protocol"];

pub(super) fn unwrap(argv: &[Word]) -> Unwrapped {
    let (given, rest) = match parse_options(argv.get(1..).unwrap_or_default(), &OPTIONS) {
        Ok(parse_options) => parse_options,
        Err(option) => return Unwrapped::option("git", &option),
    };
    let mut unwrapped = subcommand(rest);
    let mut directory: Option<Word> = None;
    for (option, value) in &given {
        match (option.as_str(), value) {
            ("c", Some(setting)) if runs_programs(setting) => unwrapped
                .doubts
                .push((DoubtKind::ForeignCode, format!("`git` runs the program in {}", quoted(setting.shown())))),
            ("C", Some(to)) => {
                directory = Some(match (directory, to) {
                    (None, to) => to.clone(),
                    (Some(Word::Literal(from)), Word::Literal(to)) => Word::Literal(format!("{from}/{to}")),
                    _ => Word::Unknown("-C".to_owned()),
                });
            }
            // The repository, with its configuration and hooks, could be anywhere.
            ("git-dir" | "work-tree", _) => {
                unwrapped.doubts.push((DoubtKind::ForeignCode, "`git` uses another repository".to_owned()));
            }
            _ => {}
        }
    }
    if given.is_empty() {
        return unwrapped;
    }
    // Unwrap once more, without the options.
    let argv = argv.iter().take(1).chain(rest).cloned().collect();
    let run = WrappedRun::Program { argv, assignments: Vec::new(), directory, input: None };
    let doubts = unwrapped.doubts;
    Unwrapped { kept: false, runs: vec![run], doubts }
}

fn runs_programs(setting: &Word) -> bool {
    let Word::Literal(setting) = setting else { return true };
    let key = setting.split('=').next().unwrap_or_default().to_ascii_lowercase();
    let section = key.split('.').next().unwrap_or_default();
    let last = key.rsplit('.').next().unwrap_or_default();
    !HARMLESS.contains(&section) && (SECTIONS.contains(&section) || PROGRAMS.contains(&last))
}

/// Unwraps subcommands that run programs from their arguments.
fn subcommand(words: &[Word]) -> Unwrapped {
    let unwrapped = Unwrapped::ordinary();
    let rest = |from: usize| words.get(from..).unwrap_or_default();
    let at = |at: usize| words.get(at).and_then(Word::literal);
    // Long options may be abbreviated, and the value of a short one may follow its letter.
    let has = |options: &[&str]| {
        words.iter().any(|word| {
            let given = word.shown().split('=').next().unwrap_or_default();
            options.iter().any(|option| match option.starts_with("--") {
                true => given.len() > 3 && option.starts_with(given),
                false => given.starts_with(option),
            })
        })
    };
    let foreign =
        |unwrapped: Unwrapped| unwrapped.and_doubt(DoubtKind::ForeignCode, "`git` runs a program that it is given");
    match (at(0), at(1)) {
        (Some("bisect"), Some("run")) if words.len() > 2 => {
            let run =
                WrappedRun::Program { argv: rest(2).to_vec(), assignments: Vec::new(), directory: None, input: None };
            Unwrapped { runs: vec![run], ..unwrapped }
        }
        (Some("submodule"), Some("foreach")) => {
            let script =
                rest(2).iter().filter(|word| word.literal() != Some("--recursive")).cloned().collect::<Vec<_>>();
            match joined(&script) {
                Some(text) => Unwrapped {
                    runs: vec![WrappedRun::Script { text, place: ScriptScope::Later, arguments: Vec::new() }],
                    ..unwrapped
                },
                None => foreign(unwrapped),
            }
        }
        (
            Some(
                "filter-branch" | "difftool" | "mergetool" | "instaweb" | "send-email" | "daemon" | "shell"
                | "for-each-repo" | "upload-pack" | "receive-pack" | "cvsserver",
            ),
            _,
        ) => foreign(unwrapped),
        (Some("rebase"), _) if has(&["-x", "--exec"]) => foreign(unwrapped),
        (Some("grep"), _)
            if words.iter().any(|word| word.shown().starts_with("-O")) || has(&["--open-files-in-pager"]) =>
        {
            foreign(unwrapped)
        }
        (Some("config"), _) if has(&["--get", "--list", "-l"]) || at(1) == Some("get") => unwrapped,
        (Some("config"), _) if words.iter().any(sets_program) => foreign(unwrapped),
        _ if has(&["--upload-pack", "--receive-pack", "--exec", "-u"])
            && matches!(at(0), Some("clone" | "fetch" | "fetch-pack" | "pull" | "ls-remote")) =>
        {
            foreign(unwrapped)
        }
        (Some("push" | "send-pack" | "archive"), _) if has(&["--receive-pack", "--exec", "--remote"]) => {
            foreign(unwrapped)
        }
        (Some("clone"), _) if has(&["-c"]) => foreign(unwrapped),
        (Some("clone" | "init" | "fetch" | "pull" | "push" | "remote" | "submodule" | "ls-remote" | "archive"), _)
            if words.iter().any(|word| word.shown().contains("ext::")) || has(&["--template", "--config"]) =>
        {
            foreign(unwrapped)
        }
        _ => unwrapped,
    }
}

fn sets_program(word: &Word) -> bool {
    !word.shown().starts_with('-') && word.shown().contains('.') && runs_programs(word)
}
