//! The answers to a question for approval.

use serde::{Deserialize, Serialize};
use workden_core::{ApprovalRequest, VirtualPath};

/// The answer to a question for approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The call is approved, with this scope.
    Approve(Scope),
    /// The call is denied.
    Deny {
        /// A note for the model: the reason, and an acceptable alternative.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The question could not be asked.
    Unanswered {
        /// How to enable approval, for the reader of the refusal.
        how: String,
    },
}

impl Decision {
    /// Returns a denial with its reason.
    pub fn deny(note: impl Into<String>) -> Self {
        Self::Deny { note: Some(note.into()) }
    }

    /// Returns the decision where the user cannot be asked: `how` says what to do, and the rule that would allow the
    /// call is added to it.
    #[must_use]
    pub fn unanswered(how: &str, request: &ApprovalRequest) -> Self {
        let how = match rule_that_allows(request) {
            Some(rule) => format!("{how}; the rule that allows it in `workden.toml`: {rule}"),
            None => how.to_owned(),
        };
        Self::Unanswered { how }
    }
}

/// The scope of an approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Only this call.
    Once,
    /// The same call on the same paths, until the session ends; the content may differ.
    Session,
    /// Commands that start with these words, run in this directory or below it, until the session ends. The approval
    /// covers only commands that were fully understood and run nothing but these programs.
    CommandPrefix {
        /// The first words.
        words: Vec<String>,
        /// The directory.
        directory: VirtualPath,
    },
}

impl Scope {
    /// Returns the approval of every command like the one in question, to offer beside the approval of exactly this one:
    /// `pytest` for `pytest -q tests`, `git push` for `git push origin`.
    ///
    /// `None` for a call without a command, for a line that was not fully understood or runs several programs, and for
    /// programs that run others or delete: the first word of those says nothing about what they do.
    #[must_use]
    pub fn prefix_of(request: &ApprovalRequest) -> Option<Self> {
        let command = request.command.as_ref()?;
        let (first, others) = command.understood.as_deref()?.split_first()?;
        let words = prefix(first)?;
        let is_same = others.iter().all(|argv| argv.starts_with(&words));
        is_same.then(|| Self::CommandPrefix { words, directory: command.directory.clone() })
    }
}

/// Programs whose first argument says what they do.
const WITH_SUBCOMMANDS: [&str; 23] = [
    "apt",
    "apt-get",
    "brew",
    "bundle",
    "cargo",
    "conda",
    "docker",
    "dotnet",
    "gh",
    "git",
    "go",
    "helm",
    "just",
    "kubectl",
    "make",
    "mvn",
    "npm",
    "pip",
    "pnpm",
    "poetry",
    "terraform",
    "uv",
    "yarn",
];

/// Programs that run whatever they are given, or delete it.
const ANYTHING: [&str; 37] = [
    ".",
    "awk",
    "bash",
    "bun",
    "busybox",
    "chroot",
    "command",
    "dash",
    "dd",
    "deno",
    "doas",
    "env",
    "eval",
    "exec",
    "expect",
    "find",
    "fish",
    "gdb",
    "ksh",
    "lua",
    "nohup",
    "node",
    "npx",
    "osascript",
    "perl",
    "php",
    "python",
    "python3",
    "rm",
    "ruby",
    "sh",
    "source",
    "ssh",
    "sudo",
    "timeout",
    "xargs",
    "zsh",
];

/// The words by which commands like this one are recognised.
fn prefix(argv: &[String]) -> Option<Vec<String>> {
    let is_plain = |word: &&String| {
        let mut characters = word.chars();
        characters.next().is_some_and(|first| first.is_ascii_alphanumeric())
            && characters.all(|character| character.is_ascii_alphanumeric() || "_-+.:".contains(character))
    };
    let program = argv.first().filter(is_plain)?;
    if ANYTHING.contains(&program.as_str()) {
        return None;
    }
    match WITH_SUBCOMMANDS.contains(&program.as_str()) {
        true => Some(vec![program.clone(), argv.get(1).filter(is_plain)?.clone()]),
        false => Some(vec![program.clone()]),
    }
}

/// Returns the rule of a `workden.toml` that would allow the call, in one line.
fn rule_that_allows(request: &ApprovalRequest) -> Option<String> {
    let (operation, pattern) = match (&request.command, request.paths.as_slice(), request.operations.as_slice()) {
        (Some(_), ..) => match Scope::prefix_of(request)? {
            Scope::CommandPrefix { words, .. } => ("execute", format!("{} **", words.join(" "))),
            Scope::Once | Scope::Session => return None,
        },
        (None, [path], [operation]) => (operation.as_str(), path.typed.to_string()),
        _ => return None,
    };
    // A path with signs of a pattern would have to be quoted.
    let is_literal = request.command.is_some() || !pattern.contains(['*', '?', '[', '{', '\\', '"', '\'', '\n', '`']);
    is_literal.then(|| format!("[[rules.{operation}.rules]] with pattern = \"{pattern}\" and action = \"allow\""))
}

#[cfg(test)]
mod tests {
    use workden_core::{CommandLine, Resolved};

    use super::*;

    fn running(script: &str, understood: Option<&[&[&str]]>) -> ApprovalRequest {
        let words = |argv: &&[&str]| argv.iter().map(|&word| word.to_owned()).collect();
        ApprovalRequest::new("execute", "Run it", "it asks").command(CommandLine {
            script: script.to_owned(),
            directory: VirtualPath::root(),
            understood: understood.map(|all| all.iter().map(words).collect()),
        })
    }

    #[test]
    fn a_prefix_is_offered_where_it_says_what_is_run() {
        let check = |understood: Option<&[&[&str]]>, expected: Option<&[&str]>| {
            let words = Scope::prefix_of(&running("x", understood)).map(|scope| match scope {
                Scope::CommandPrefix { words, .. } => words,
                other => panic!("{other:?}"),
            });
            assert_eq!(
                words.as_deref().map(|words| words.iter().map(String::as_str).collect()),
                expected.map(<[_]>::to_vec)
            );
        };
        check(Some(&[&["pytest", "-q", "tests"]]), Some(&["pytest"]));
        check(Some(&[&["git", "push", "origin"]]), Some(&["git", "push"]));
        check(Some(&[&["git", "push"], &["git", "push", "--tags"]]), Some(&["git", "push"]));
        check(Some(&[&["git", "push"], &["make", "test"]]), None);
        check(Some(&[&["git", "-C", "x", "push"]]), None);
        check(Some(&[&["python3", "-c", "x"]]), None);
        check(Some(&[&["rm", "a"]]), None);
        check(Some(&[&["./run.sh"]]), None);
        check(Some(&[&["a\nb"]]), None);
        check(Some(&[]), None);
        check(None, None);
    }

    #[test]
    fn where_the_user_cannot_be_asked_the_rule_is_named() {
        let how = |request: &ApprovalRequest| match Decision::unanswered("tell the user", request) {
            Decision::Unanswered { how } => how,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            how(&running("pytest -q", Some(&[&["pytest", "-q"]]))),
            "tell the user; the rule that allows it in `workden.toml`: [[rules.execute.rules]] with pattern = \"pytest **\" \
             and action = \"allow\""
        );
        assert_eq!(how(&running("x $y", None)), "tell the user");
        let path = |typed: &str| vec![Resolved::literal(VirtualPath::parse(typed).unwrap())];
        let write = |typed: &str| ApprovalRequest::new("write", "Write it", "it asks").paths(path(typed));
        assert!(
            how(&write("/workspace/a.md"))
                .ends_with("[[rules.write.rules]] with pattern = \"/workspace/a.md\" and action = \"allow\"")
        );
        assert_eq!(how(&write("/a*")), "tell the user");
    }
}
