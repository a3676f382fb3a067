//! Words whose values are only known when they run: data that flows from a command or a variable into an argument.
//!
//! Invariant: such a word is harmless only where any text would be: as an argument of `echo`, as a commit message, as a
//! file to count. As a path to change, as a program or where it could be an option that matters, it is a doubt.

use super::{
    command_effects::{is_sentence, named},
    effects::CommandEffects,
    file_effect::FileEffect,
    programs::{Operands, Value, program},
};
use crate::shell::{Doubt, DoubtKind, Invocation, Word};

/// Programs that print or compare their arguments, whatever they are.
const PRINTS: &[&str] = &[
    "echo", "true", "false", ":", "basename", "dirname", "seq", "sleep", "expr", "exit", "return", "break", "continue",
    "shift", "which", "type", "pwd", "cd", "pushd", "whoami", "nproc", "ls", "stat", "df", "realpath", "readlink",
    "pgrep", "ps", "lsof", "jobs",
];
/// Programs that read files and show only sums, sizes and kinds of them.
const MEASURES: &[&str] = &["wc", "md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum", "b2sum", "stat", "ls", "cmp"];
/// Programs that read what a process substitution writes.
const READS: &[&str] = &[
    "diff",
    "comm",
    "cat",
    "wc",
    "sort",
    "join",
    "paste",
    "grep",
    "cmp",
    "head",
    "tail",
    "colordiff",
    "uniq",
    "jq",
    "nl",
];
/// Operators of `test` between two texts.
const COMPARES: &[&str] = &["=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

/// Returns a doubt for each word of a command that is unknown and could matter.
pub(crate) fn doubts(invocation: &Invocation, effects: &CommandEffects) -> Vec<Doubt> {
    let arguments = invocation.argv.get(1..).unwrap_or_default();
    let mut doubts = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let is_doubtful = match word {
            Word::Unknown(_) => !is_harmless(invocation, effects, at, word),
            // It could be nothing, so that the next word moves up.
            Word::Token(_) => !takes_token(invocation, at) && !is_harmless(invocation, effects, at, word),
            // A file with such a name would be an option.
            Word::Pattern(pattern) | Word::Pieces(pattern) => is_open_option(pattern) && !prints(invocation),
            Word::Literal(_) | Word::Stamp(_) => false,
        };
        if is_doubtful {
            doubts.push(Doubt::new(DoubtKind::NotLiteral, format!("the value of `{}`", shortened(word.shown()))));
        }
    }
    // A path that is a token, or a piece of a name with blanks, is not known well enough to change it.
    for (touch, word) in &effects.files {
        let changes = match touch {
            FileEffect::Write | FileEffect::Delete | FileEffect::Move => {
                matches!(word, Word::Pieces(_) | Word::Token(_))
            }
            FileEffect::Edit => match word {
                Word::Token(_) => true,
                // A directory of sources is edited as a whole, but not the project with its hidden files.
                Word::Pieces(directory) => {
                    let is_hidden = directory.split('/').any(|name| name.starts_with('.'));
                    let is_named = directory.contains('*');
                    !is_editor(invocation) || !is_named && (is_hidden || directory.starts_with(['/', '~']))
                }
                _ => false,
            },
            FileEffect::Read => match word {
                Word::Token(_) => !measures(invocation),
                // Any file of a directory could be printed, copied or sent.
                Word::Pieces(directory) => !directory.contains('*') && !searches(invocation),
                _ => false,
            },
            FileEffect::Mention | FileEffect::MentionedPath => match word {
                Word::Pieces(directory) => !directory.contains('*') && !searches(invocation),
                _ => false,
            },
            FileEffect::List | FileEffect::InCode => false,
        };
        if changes {
            let about = format!("which files `{}` names", shortened(word.shown()));
            doubts.push(Doubt::new(DoubtKind::NotLiteral, about));
        }
    }
    doubts
}

/// Whether a command shows nothing of the files that it reads, or compares texts.
fn measures(invocation: &Invocation) -> bool {
    named(invocation).is_some_and(|(name, _)| MEASURES.contains(&name) || matches!(name, "test" | "[" | "jq" | "yq"))
}

/// Whether a variable in a word has the name of a secret, which the environment of the host may have.
fn names_secret(written: &str) -> bool {
    let signs = ["SECRET", "TOKEN", "PASSWORD", "PASSWD", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL"];
    let names = written.split('$').skip(1).map(|rest| rest.trim_start_matches('{'));
    names.map(|rest| rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default()).any(
        |name| {
            let name = name.to_ascii_uppercase();
            signs.iter().any(|sign| name.contains(sign))
        },
    )
}

/// Whether a pattern could match a file whose name is an option.
fn is_open_option(pattern: &str) -> bool {
    let known = pattern.split(['*', '?', '[']).next().unwrap_or_default();
    known.starts_with('-') && !known.contains('=')
}

/// Whether a command only prints its arguments.
fn prints(invocation: &Invocation) -> bool {
    named(invocation).is_some_and(|(name, _)| PRINTS.contains(&name) || name == "printf")
}

/// Whether a command searches, counts or checks files, as it could do in a whole directory.
fn searches(invocation: &Invocation) -> bool {
    let searches = |name: &str| matches!(name, "grep" | "egrep" | "fgrep" | "rg");
    let Some((name, arguments)) = named(invocation) else { return false };
    let checks = |word: &Word| CHECKERS.contains(&word.shown());
    MEASURES.contains(&name) || searches(name) || CHECKERS.contains(&name) || arguments.iter().any(checks)
}

/// Whether a command replaces text in the files that it edits.
fn is_editor(invocation: &Invocation) -> bool {
    named(invocation).is_some_and(|(name, _)| matches!(name, "sed" | "gsed" | "perl"))
}

/// Whether this argument may be a number or the name of a revision, or nothing.
fn takes_token(invocation: &Invocation, at: usize) -> bool {
    let Some((name, arguments)) = named(invocation) else { return false };
    let is_last = at + 1 == arguments.len();
    let before = at.checked_sub(1).and_then(|before| arguments.get(before)).map_or("", Word::shown);
    match name {
        "kill" => {
            arguments[..at]
                .iter()
                .all(|word| matches!(word.shown(), "-9" | "-TERM" | "-INT" | "-KILL" | "-15" | "-2" | "-0"))
                && !arguments[at].shown().starts_with(['-', '+'])
                && is_process(arguments[at].shown())
        }
        "wait" => is_process(arguments[at].shown()),
        "head" | "tail" => matches!(before, "-n" | "-c"),
        "git" => {
            let looks =
                ["show", "log", "diff", "checkout", "switch", "blame", "rev-parse", "merge-base", "stash", "tag"];
            looks.contains(&arguments[0].shown())
                && at > 0
                && (is_last || is_quoted(arguments[at].shown()) || arguments[at].shown().contains(".."))
        }
        "go" => before == "-ldflags" && is_quoted(arguments[at].shown()),
        "make" | "ninja" | "cmake" | "ctest" | "cargo" | "pytest" => {
            matches!(before, "-j" | "--parallel" | "--jobs" | "-n")
        }
        _ => false,
    }
}

/// Whether a word as written is a variable or `$!`, and not a sum or a substitution.
fn is_process(written: &str) -> bool {
    let name = written.trim_matches('"').trim_start_matches('$').trim_matches(['{', '}']);
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'!')
}

fn is_harmless(invocation: &Invocation, effects: &CommandEffects, at: usize, word: &Word) -> bool {
    let Some((name, arguments)) = named(invocation) else { return false };
    let written = word.shown();
    let program_word = invocation.argv[0].shown();
    // A program of the project may get any text; one elsewhere only has the name of a known one.
    if program_word.contains('/') {
        let leaves = program_word.starts_with(['/', '~']) || program_word.split('/').any(|name| name == "..");
        return !leaves && !special(name);
    }
    let before = at.checked_sub(1).and_then(|before| arguments.get(before)).map_or("", Word::shown);
    match name {
        _ if names_secret(written) && name != "curl" => false,
        "curl" => is_local_request(arguments, before, written),
        "jq" | "yq" if at > 1 && matches!(arguments[at - 2].shown(), "--arg" | "--argjson") => is_quoted(written),
        // Names of branches and tags, if they cannot be options.
        "git"
            if at > 0
                && is_quoted(written)
                && starts_with_letter(written)
                && !matches!(arguments[0].shown(), "push" | "config" | "remote") =>
        {
            true
        }
        _ if CHECKERS.contains(&name) => true,
        "npx" | "pnpm" | "yarn" | "bunx" | "uv" | "poetry" | "uvx" => {
            arguments[..at].iter().any(|word| CHECKERS.contains(&word.shown()))
        }
        _ if PRINTS.contains(&name) => true,
        "printf" => arguments[0].literal().is_some_and(|format| !format.starts_with('-')),
        "test" | "[" => is_plain_test(arguments),
        "export" | "local" | "readonly" => is_assignment(written),
        "declare" | "typeset" => is_assignment(written) && !arguments.iter().any(|word| word.shown().starts_with('-')),
        _ if written.starts_with("<(") && READS.contains(&name) => true,
        "tee" if written.starts_with(">(") => true,
        _ if is_sentence(name, arguments, at) => is_quoted(written) || written.contains("=\""),
        _ => match program(name) {
            // The arguments of a script are its own, and so are those of code.
            Some(program) if matches!(program.operands, Operands::Script) => {
                !is_script_of(arguments, at) && !special(name)
            }
            Some(program) => {
                let touches = effects.files.iter().filter(|(_, file)| file == word).map(|(touch, _)| *touch);
                let does_nothing = program.options.iter().all(|(_, value)| match value {
                    Value::Plain | Value::Text | Value::File(FileEffect::Read | FileEffect::List) => true,
                    Value::File(_)
                    | Value::Destination(_)
                    | Value::ReadWrite
                    | Value::Upload
                    | Value::Data
                    | Value::Url
                    | Value::Runs => false,
                });
                let counts = MEASURES.contains(&name);
                let mut found = false;
                let harmless = touches.inspect(|_| found = true).all(|touch| match touch {
                    FileEffect::List => true,
                    FileEffect::Read => counts,
                    FileEffect::Write
                    | FileEffect::Edit
                    | FileEffect::Delete
                    | FileEffect::Move
                    | FileEffect::Mention
                    | FileEffect::MentionedPath
                    | FileEffect::InCode => false,
                });
                harmless && does_nothing && (found || is_data(name, arguments, at))
            }
            None => false,
        },
    }
}

/// Tools that check, format or test the files that they are given.
const CHECKERS: &[&str] = &[
    "pytest",
    "ruff",
    "black",
    "isort",
    "mypy",
    "flake8",
    "pylint",
    "pyright",
    "eslint",
    "tsc",
    "jest",
    "vitest",
    "mocha",
    "golangci-lint",
    "shellcheck",
    "rubocop",
    "rspec",
    "phpunit",
    "phpstan",
    "clang-tidy",
    "biome",
    "stylelint",
    "markdownlint",
    "yamllint",
    "hadolint",
];

/// Programs that run what they are given.
fn special(name: &str) -> bool {
    matches!(name, "sh" | "bash" | "dash" | "zsh" | "env" | "xargs" | "sudo" | "ssh")
}

/// Whether this argument of an interpreter is the script or an option, and not an argument of the script.
fn is_script_of(arguments: &[Word], at: usize) -> bool {
    // Options could take the next word as their value, and code could print the file that it is given.
    at == 0 || arguments[0].literal().is_none_or(|script| script.starts_with('-'))
}

/// Whether a request goes to this machine, or a header has a known name.
fn is_local_request(arguments: &[Word], before: &str, written: &str) -> bool {
    let text = written.trim_start_matches('"');
    if matches!(before, "-H" | "--header") {
        let is_named =
            text.split_once(':').is_some_and(|(name, _)| !name.is_empty() && !name.contains(['$', '`', '@', '<']));
        let is_address =
            |word: &&Word| word.shown().contains("://") || word.shown().contains(".com") || is_local(word.shown());
        let all = arguments.iter().filter(is_address).collect::<Vec<_>>();
        return is_named && is_quoted(written) && !all.is_empty() && all.iter().all(|word| is_local(word.shown()));
    }
    let takes_value =
        before.starts_with('-') && before.len() < 3 && !matches!(before, "-s" | "-f" | "-i" | "-v" | "-L" | "-k");
    is_quoted(written)
        && is_local(text)
        && !takes_value
        && !names_secret(written)
        && !text.split(['$', '`']).next().unwrap_or_default().contains('@')
}

/// Whether an address is on this machine.
fn is_local(address: &str) -> bool {
    let bare = address.trim_start_matches('"').trim_start_matches("http://").trim_start_matches("https://");
    ["localhost", "127.0.0.1", "[::1]"]
        .iter()
        .any(|host| bare.strip_prefix(host).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/'])))
}

/// Whether a word as written starts with a letter, so that it is no option.
fn starts_with_letter(written: &str) -> bool {
    let text = written.trim_start_matches('"');
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !text.contains(['/', ':'])
        && !text.split(['$', '`']).next().unwrap_or_default().contains(' ')
}

/// Whether this argument of a known program is data and not a file: a pattern, a number.
fn is_data(name: &str, arguments: &[Word], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| arguments.get(before)).map_or("", Word::shown);
    match name {
        "grep" | "egrep" | "fgrep" => {
            let letters = before.strip_prefix('-').unwrap_or_default();
            is_quoted(arguments[at].shown()) && letters.bytes().all(|letter| b"enqciwEFrlovxL-".contains(&letter))
        }
        "head" | "tail" => matches!(before, "-n" | "-c") || arguments[at].shown().starts_with("-n"),
        "cut" | "tr" => true,
        _ => false,
    }
}

/// Whether a test compares texts and numbers: `[ "$x" = y ]`, `[ -n "$x" ]`. Some operators evaluate names.
fn is_plain_test(arguments: &[Word]) -> bool {
    let words: Vec<&str> = arguments.iter().map(Word::shown).collect();
    let words = words.strip_suffix(&["]"]).unwrap_or(&words);
    let words = words.strip_prefix(&["!"]).unwrap_or(words);
    // An expansion outside of quotes could be several words.
    let is_one = |word: &Word| !matches!(word, Word::Unknown(_)) || is_quoted(word.shown());
    let is_plain = match words {
        [_] => true,
        [operator, _] => operator.len() == 2 && operator.starts_with('-') && !operator.ends_with(['v', 'R', 'o']),
        [_, operator, _] => COMPARES.contains(operator),
        _ => false,
    };
    is_plain && arguments.iter().all(is_one)
}

/// Whether a word as written is one pair of double quotes, so that it is one word whatever it expands to. Quotes in a
/// substitution are its own; `"a"$x"b"` is not quoted as a whole.
fn is_quoted(written: &str) -> bool {
    let Some(inside) = written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else { return false };
    let mut depth = 0_usize;
    let mut characters = inside.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => _ = characters.next(),
            '`' => return false,
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '"' if depth == 0 => return false,
            _ => {}
        }
    }
    depth == 0
}

/// Whether a word as written is `name=...`.
fn is_assignment(written: &str) -> bool {
    written.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(60).is_some() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::is_quoted;

    #[test]
    fn a_word_is_quoted_only_as_a_whole() {
        for quoted in [r#""$x""#, r#""a $(b "c") d""#, r#""${x}/y""#, r#""say \"$x\"""#] {
            assert!(is_quoted(quoted), "{quoted}");
        }
        for open in ["$x", r#""a"$x"b""#, r#""a"$(b)"c""#, r#""a"b"#, r#"""#, r#""`a`""#, r#""$(a" "b)""x""#] {
            assert!(!is_quoted(open), "{open}");
        }
    }
}
