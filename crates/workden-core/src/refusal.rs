//! `Refusal`: the reason of a policy's denial, as data.
//!
//! An [`Error`] made from a refusal has workden's message and hint; a caller that must answer with the messages of
//! another library formats the data itself ([`Refusal::message`]). Refusals name virtual paths only.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Result, VirtualPath};

/// The reason why a policy denies a call, and what it allows instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Refusal {
    /// The path is in no readable mount.
    Outside {
        /// The requested path.
        path: VirtualPath,
        /// The readable mounts.
        readable: Vec<VirtualPath>,
    },
    /// The path may be read, but not written.
    ReadOnly {
        /// The requested path.
        path: VirtualPath,
        /// The writable mounts.
        writable: Vec<VirtualPath>,
    },
    /// Files with this suffix are not allowed there.
    Suffix {
        /// The requested path.
        path: VirtualPath,
        /// The suffix in lower case; empty if the name has none.
        suffix: String,
        /// The allowed suffixes, as configured.
        allowed: Vec<String>,
    },
    /// The file is larger than is allowed there.
    TooLarge {
        /// The requested path.
        path: VirtualPath,
        /// The size in bytes.
        size: u64,
        /// The largest allowed size.
        limit: u64,
    },
    /// The text of an edit does not occur, or occurs more than once.
    Edit {
        /// The file to edit.
        path: VirtualPath,
        /// How often the text occurs.
        matches: u64,
        /// The text to replace.
        old_text: String,
    },
    /// A rule, or the default of an operation, denies the call.
    Rule {
        /// The operation, by its name in a ruleset.
        operation: String,
        /// The path or the command.
        target: String,
        /// The description of the rule; empty if it has none.
        description: String,
    },
    /// The call needs approval, and no approver is configured.
    Unapproved {
        /// The operation, by its name in a ruleset.
        operation: String,
        /// The path or the command.
        target: String,
        /// Why the call needs approval; empty if no reason is known.
        description: String,
    },
    /// The approver refused the call.
    Disapproved {
        /// The operation, by its name in a ruleset.
        operation: String,
        /// The path or the command.
        target: String,
        /// The approver's note; empty if there was none.
        note: String,
    },
}

/// How paths are written: a user who mounted `input` types `input/a.md`, and expects that spelling in answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spelling {
    /// `/input/a.md`.
    #[default]
    Rooted,
    /// `input/a.md`; the root is `.`.
    Bare,
}

impl Spelling {
    /// Returns the spelling of a typed path.
    #[must_use]
    pub fn of(typed: &str) -> Self {
        if typed.starts_with('/') { Self::Rooted } else { Self::Bare }
    }

    /// Returns a path in this spelling.
    #[must_use]
    pub fn spell(self, path: &VirtualPath) -> &str {
        match self {
            Self::Rooted => path.as_str(),
            Self::Bare if path.is_root() => ".",
            Self::Bare => path.relative(),
        }
    }

    fn spell_all(self, paths: &[VirtualPath]) -> String {
        let all: Vec<&str> = paths.iter().map(|path| self.spell(path)).collect();
        if all.is_empty() { "none".to_owned() } else { all.join(", ") }
    }
}

impl Refusal {
    /// Returns the message that programs written for pydantic-ai-filesystem-sandbox and pydantic-ai-backend expect.
    #[must_use]
    pub fn message(&self, spelling: Spelling) -> String {
        match self {
            Self::Outside { path, readable } => format!(
                "Cannot access '{}': path is outside sandbox.\nReadable paths: {}",
                spelling.spell(path),
                spelling.spell_all(readable)
            ),
            Self::ReadOnly { path, writable } => format!(
                "Cannot write to '{}': path is read-only.\nWritable paths: {}",
                spelling.spell(path),
                spelling.spell_all(writable)
            ),
            Self::Suffix { path, suffix, allowed } => format!(
                "Cannot access '{}': suffix '{suffix}' not allowed.\nAllowed suffixes: {}",
                spelling.spell(path),
                if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") }
            ),
            Self::TooLarge { path, size, limit } => format!(
                "Cannot read '{}': file too large ({} bytes).\nMaximum allowed: {} bytes",
                spelling.spell(path),
                grouped(*size),
                grouped(*limit)
            ),
            Self::Edit { path, matches, old_text } => {
                let reason = match matches {
                    0 => "text not found in file".to_owned(),
                    matches => format!("text found {matches} times (must be unique)"),
                };
                format!("Cannot edit '{}': {reason}.\nSearched for: {}", spelling.spell(path), preview(old_text))
            }
            Self::Rule { operation, target, description } => {
                let target = spelled_target(operation, target, spelling);
                with_reason(format!("Permission denied for {operation} on '{target}'"), description)
            }
            Self::Unapproved { operation, target, description } => {
                let target = spelled_target(operation, target, spelling);
                with_reason(format!("Permission required for {operation} on '{target}'"), description)
            }
            Self::Disapproved { operation, target, note } => {
                let target = spelled_target(operation, target, spelling);
                let note = if note.is_empty() { "no reason given" } else { note };
                format!("User denied {operation} on '{target}': {note}")
            }
        }
    }

    /// Refuses a size beyond the limit for a path.
    ///
    /// # Errors
    ///
    /// Returns `TooLarge`, with the refusal as data, if `size` is more than `most`.
    pub fn check_size(path: &VirtualPath, size: u64, most: u64) -> Result<()> {
        match size > most {
            true => Err(Self::TooLarge { path: path.clone(), size, limit: most }.into()),
            false => Ok(()),
        }
    }

    /// Returns the refusal with its paths renamed.
    pub(crate) fn map_paths(self, known_as: impl Fn(&VirtualPath) -> VirtualPath) -> Self {
        let all = |paths: Vec<VirtualPath>| paths.iter().map(&known_as).collect();
        let target = |operation: &str, target: String| match VirtualPath::parse(&target) {
            Ok(path) if operation != "execute" && path.as_str() == target => known_as(&path).to_string(),
            _ => target,
        };
        match self {
            Self::Outside { path, readable } => Self::Outside { path: known_as(&path), readable: all(readable) },
            Self::ReadOnly { path, writable } => Self::ReadOnly { path: known_as(&path), writable: all(writable) },
            Self::Suffix { path, suffix, allowed } => Self::Suffix { path: known_as(&path), suffix, allowed },
            Self::TooLarge { path, size, limit } => Self::TooLarge { path: known_as(&path), size, limit },
            Self::Edit { path, matches, old_text } => Self::Edit { path: known_as(&path), matches, old_text },
            Self::Rule { operation, target: of, description } => {
                Self::Rule { target: target(&operation, of), operation, description }
            }
            Self::Unapproved { operation, target: of, description } => {
                Self::Unapproved { target: target(&operation, of), operation, description }
            }
            Self::Disapproved { operation, target: of, note } => {
                Self::Disapproved { target: target(&operation, of), operation, note }
            }
        }
    }

    fn error(&self) -> Error {
        match self {
            Self::Outside { path, .. } => {
                Error::new(ErrorKind::Denied, format!("cannot access `{path}`: it is outside of what may be used"))
            }
            Self::ReadOnly { path, .. } => {
                Error::new(ErrorKind::ReadOnly, format!("cannot write `{path}`: it may only be read"))
            }
            Self::Suffix { path, suffix, allowed } => {
                let what = match suffix.as_str() {
                    "" => "files without an ending are".to_owned(),
                    suffix => format!("files that end in `{suffix}` are"),
                };
                Error::new(ErrorKind::Denied, format!("cannot access `{path}`: {what} not allowed there")).hint(
                    match allowed.as_slice() {
                        [] => "no file is allowed there".to_owned(),
                        allowed => format!("allowed: {}", allowed.join(", ")),
                    },
                )
            }
            Self::TooLarge { path, size, limit } => Error::new(
                ErrorKind::TooLarge,
                format!("cannot access `{path}`: it has {size} bytes, and {limit} is the most that is allowed there"),
            )
            .hint("use a smaller file, or several"),
            Self::Edit { path, matches: 0, .. } => {
                Error::new(ErrorKind::NoMatch, format!("cannot edit `{path}`: the text to replace is not in it"))
            }
            Self::Edit { path, matches, .. } => Error::new(
                ErrorKind::Ambiguous,
                format!("cannot edit `{path}`: the text to replace is in it {matches} times"),
            ),
            Self::Rule { operation, target, description } => Error::new(
                ErrorKind::Denied,
                with_reason(format!("cannot {} `{target}`: the policy denies it", verb(operation)), description),
            )
            .hint("do it another way, or ask the owner of this workspace"),
            Self::Unapproved { operation, target, description } => Error::new(
                ErrorKind::ApprovalNeeded,
                with_reason(format!("cannot {} `{target}` without approval", verb(operation)), description),
            )
            .hint(
                "it has to be approved first; without approval, say what you would do and why, and continue without it",
            ),
            Self::Disapproved { operation, target, note } => Error::new(
                ErrorKind::Denied,
                with_reason(format!("cannot {} `{target}`: it was not approved", verb(operation)), note),
            )
            .hint("do not try the same again; do it another way, or ask what would be acceptable"),
        }
    }
}

impl Refusal {
    /// Returns the hint that lists the allowed paths, for the refusals that have one.
    pub(crate) fn places_hint(&self, spelling: Spelling) -> Option<String> {
        let (what, paths) = match self {
            Self::Outside { readable, .. } => ("readable", readable),
            Self::ReadOnly { writable, .. } => ("writable", writable),
            _ => return None,
        };
        Some(match paths.as_slice() {
            [] => format!("nothing is {what}"),
            paths => format!("{what}: {}", spelling.spell_all(paths)),
        })
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let error = refusal.error();
        let error = match refusal.places_hint(Spelling::Rooted) {
            Some(hint) => error.hint(hint),
            None => error,
        };
        error.refused_for(refusal)
    }
}

/// Returns the target of a rule: a path in this spelling, a command unchanged.
fn spelled_target(operation: &str, target: &str, spelling: Spelling) -> String {
    match VirtualPath::parse(target) {
        Ok(path) if operation != "execute" && path.as_str() == target => spelling.spell(&path).to_owned(),
        _ => target.to_owned(),
    }
}

fn verb(operation: &str) -> &str {
    match operation {
        "execute" => "run",
        "ls" => "list",
        "glob" => "search",
        "grep" => "search in",
        operation => operation,
    }
}

fn with_reason(mut sentence: String, reason: &str) -> String {
    if !reason.is_empty() {
        let _ = write!(sentence, ": {reason}");
    }
    sentence
}

/// Formats `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns the first hundred characters, quoted as Python does.
fn preview(text: &str) -> String {
    const SHOWN_CHARS: usize = 100;
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if text.chars().nth(SHOWN_CHARS).is_some() {
        shown.push_str("...");
    }
    // Newlines are escaped first, and the backslash of that escape is then escaped again.
    let shown = shown.replace('\n', "\\n").replace('\\', "\\\\").replace('\t', "\\t").replace('\r', "\\r");
    match shown.contains('\'') {
        true if !shown.contains('"') => format!("\"{shown}\""),
        _ => format!("'{}'", shown.replace('\'', "\\'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(typed: &str) -> VirtualPath {
        VirtualPath::parse(typed).unwrap()
    }

    #[test]
    fn other_libraries_words_are_kept_to_the_letter() {
        let check = |refusal: Refusal, expected: &str| assert_eq!(refusal.message(Spelling::Bare), expected);
        check(
            Refusal::Outside { path: path("/etc/passwd"), readable: vec![path("/input"), path("/output")] },
            "Cannot access 'etc/passwd': path is outside sandbox.\nReadable paths: input, output",
        );
        check(
            Refusal::ReadOnly { path: path("/input/a.md"), writable: vec![] },
            "Cannot write to 'input/a.md': path is read-only.\nWritable paths: none",
        );
        check(
            Refusal::Suffix {
                path: path("/in/a.EXE"),
                suffix: ".exe".into(),
                allowed: vec![".md".into(), ".txt".into()],
            },
            "Cannot access 'in/a.EXE': suffix '.exe' not allowed.\nAllowed suffixes: .md, .txt",
        );
        check(
            Refusal::TooLarge { path: path("/in/a"), size: 1_234_567, limit: 1000 },
            "Cannot read 'in/a': file too large (1,234,567 bytes).\nMaximum allowed: 1,000 bytes",
        );
        check(
            Refusal::Edit { path: path("/a"), matches: 0, old_text: "x\ny".into() },
            "Cannot edit 'a': text not found in file.\nSearched for: 'x\\\\ny'",
        );
        check(
            Refusal::Edit { path: path("/a"), matches: 3, old_text: "it's".into() },
            "Cannot edit 'a': text found 3 times (must be unique).\nSearched for: \"it's\"",
        );
    }

    #[test]
    fn what_a_rule_is_about_is_spelled_unless_it_is_a_command() {
        let rule = |operation: &str, target: &str| {
            let (operation, target) = (operation.to_owned(), target.to_owned());
            Refusal::Rule { operation, target, description: String::new() }.message(Spelling::Bare)
        };
        assert_eq!(rule("read", "/in/.env"), "Permission denied for read on 'in/.env'");
        assert_eq!(rule("execute", "/in/x"), "Permission denied for execute on '/in/x'");
    }

    #[test]
    fn paths_are_told_as_the_reader_knows_them_in_the_data_too() {
        let error = Error::from(Refusal::TooLarge { path: path("/a"), size: 2, limit: 1 });
        let expected = Refusal::TooLarge { path: path("/data/a"), size: 2, limit: 1 };
        assert_eq!(error.clone().below(&path("/data")).refusal(), Some(&expected));
        let linked = error.told_as(&path("/a"), &path("/link"));
        assert_eq!(linked.refusal(), Some(&Refusal::TooLarge { path: path("/link"), size: 2, limit: 1 }));
        let rule = |target: &str| Refusal::Rule {
            operation: "read".into(),
            target: target.into(),
            description: String::new(),
        };
        assert_eq!(Error::from(rule("/a")).below(&path("/data")).refusal(), Some(&rule("/data/a")));
    }

    #[test]
    fn our_own_sentence_says_what_is_allowed_instead() {
        let error = Error::from(Refusal::ReadOnly { path: path("/input/a.md"), writable: vec![path("/output")] });
        assert_eq!(error.to_string(), "cannot write `/input/a.md`: it may only be read\nhint: writable: /output");
        assert!(matches!(error.refusal(), Some(Refusal::ReadOnly { .. })));
        assert_eq!(
            error.spelled(Spelling::Bare).to_string(),
            "cannot write `input/a.md`: it may only be read\nhint: writable: output"
        );
        let plain = Error::not_found("move", &path("/a")).spelled(Spelling::Bare);
        assert_eq!(plain.sentence(), "cannot move `a`: there is no such file or directory");
        let root = Error::is_directory("read", &VirtualPath::root()).spelled(Spelling::Bare);
        assert_eq!(root.sentence(), "cannot read `.`: it is a directory");
    }
}
