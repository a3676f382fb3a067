//! What a command prints, as far as its words tell: the value of `$(...)`, and the input of `xargs` and `read`.
//!
//! Invariant: only outputs with a known form are here. Everything else is unknown, which is never wrong.

use crate::{
    analysis::{StandardInput, Word},
    expansion::{self, BraceExpansion},
    syntax::{CommandNode, Connector, Pipeline, RedirectSource, RedirectTarget, RunMode, Script},
    values::{Scope, Value},
    wrappers,
};

/// Programs that print some of the lines that they read.
const FILTERS: &[&str] = &["sort", "uniq", "head", "tail", "shuf", "tac"];
/// Subcommands of git that print names of revisions.
const REVISIONS: &[&str] = &["merge-base", "describe", "rev-list", "symbolic-ref"];

/// Returns the output of a script, without its last line break.
pub(super) fn printed(script: &Script, scope: Scope<'_>) -> Option<Value> {
    match script.items.as_slice() {
        [item] if item.runs == RunMode::Foreground && script.doubts.is_empty() => {
            let mut output = piped(&item.first, scope)?;
            for (connector, pipeline) in &item.rest {
                match (connector, piped(pipeline, scope)?) {
                    (Connector::Or, other) if other == output => {}
                    (Connector::Or, Value::Token | Value::Stamp(_))
                        if matches!(output, Value::Token | Value::Stamp(_)) =>
                    {
                        output = Value::Token;
                    }
                    _ => return None,
                }
            }
            Some(output)
        }
        _ => None,
    }
}

fn piped(pipeline: &Pipeline, scope: Scope<'_>) -> Option<Value> {
    let mut output = None;
    for (at, command) in pipeline.commands.iter().enumerate() {
        let input = if at == 0 { StandardInput::Inherited } else { StandardInput::Fed };
        output = by_command(command, input, output, scope);
    }
    output
}

/// Returns the output of a command that reads `piped`.
pub(super) fn by_command(
    command: &CommandNode,
    input: StandardInput,
    piped: Option<Value>,
    scope: Scope<'_>,
) -> Option<Value> {
    let CommandNode::Simple(simple) = command else { return None };
    if !simple.assignments.is_empty() {
        return None;
    }
    let mut fed = input == StandardInput::Fed;
    let mut document = None;
    for redirect in &simple.redirects {
        let errors = redirect.from == RedirectSource::Number("2".to_owned());
        match &redirect.to {
            RedirectTarget::Write(_) if errors => {}
            RedirectTarget::Read(_) => fed = true,
            RedirectTarget::HereDocument(text) => document = Some(text),
            // Errors among the output are not of its form.
            _ => return None,
        }
    }
    let words = simple.words.iter().flat_map(|word| expansion::expanded(word, BraceExpansion::Expand, scope));
    let argv: Vec<Word> = words.collect();
    let (program, words) = argv.split_first()?;
    let name = wrappers::program(program)?;
    let texts: Vec<&str> = words.iter().map(Word::shown).collect();
    let is_literal = words.iter().all(|word| word.literal().is_some());
    match (name, texts.as_slice()) {
        ("echo", texts) if is_literal && !texts.iter().any(|text| text.contains('\\') || text.starts_with('-')) => {
            Some(Value::Text(texts.join(" ")))
        }
        ("cat", []) => match document?.get() {
            Some(document) => Some(Value::Text(expansion::text(&document.parts, scope)?.trim_end_matches('\n').into())),
            None => None,
        },
        ("pwd", []) => scope.directory(),
        ("nproc", _) | ("id", ["-u" | "-g"]) | ("date", ["+%s" | "+%s%N"]) => Some(Value::Number),
        ("seq", words)
            if words.iter().all(|word| is_option_or_number(word) && (*word == "-w" || !word.starts_with('-'))) =>
        {
            Some(Value::Number)
        }
        ("wc", options) if fed && options.iter().all(|word| word.starts_with('-')) && is_literal => Some(Value::Number),
        ("date", [format] | ["-u", format]) => is_name_of_time(format).then(|| Value::Stamp("*".to_owned())),
        ("printf", ["%03d" | "%02d" | "%d" | "%04d", _]) => Some(Value::Stamp("*".to_owned())),
        ("whoami", []) | ("uname", ["-s" | "-m" | "-r"]) => Some(Value::Token),
        ("mktemp", arguments) if is_literal && !scope.assigned.contains("TMPDIR") => temporary(arguments),
        ("basename", [path, suffix @ ..]) if suffix.len() < 2 => base_name(words.first()?, path, suffix),
        ("dirname", [path]) => directory_name(words.first()?, path),
        ("git", arguments) => by_git(arguments, words),
        ("find", _) => found(words),
        ("ls", _) => listed(words),
        ("grep", arguments) if fed && is_filter(arguments) => piped,
        ("grep", [count, ..]) if fed && *count == "-c" && words.len() == 2 => Some(Value::Number),
        ("grep", ["-c", _, _]) => Some(Value::Number),
        ("rg" | "grep" | "fd" | "fdfind", arguments) if is_literal => matching_files(name, arguments),
        ("tr", ["\\n", " "]) => piped,
        (name, options) if FILTERS.contains(&name) && options.iter().all(|word| is_option_or_number(word)) => piped,
        _ => None,
    }
}

fn is_option_or_number(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("-o") && !word.starts_with("--")
        || word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether `grep` prints whole lines of its input.
fn is_filter(arguments: &[&str]) -> bool {
    let (options, operands): (Vec<&str>, Vec<&str>) = arguments.iter().partition(|word| word.starts_with('-'));
    operands.len() == 1 && options.iter().all(|word| matches!(*word, "-v" | "-i" | "-E" | "-F" | "-w" | "-vE" | "-iE"))
}

/// Whether `date` prints a name: digits and marks, but no blank and no slash.
fn is_name_of_time(format: &str) -> bool {
    let Some(format) = format.strip_prefix('+') else { return false };
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        let fits = match character {
            '%' => characters.next().is_some_and(|letter| "YmdHMSsFjNyUT".contains(letter)),
            character => character.is_ascii_alphanumeric() || "-_:.".contains(character),
        };
        if !fits {
            return false;
        }
    }
    !format.is_empty() && !format.starts_with(['.', '-'])
}

/// Returns the name that `mktemp` makes.
fn temporary(arguments: &[&str]) -> Option<Value> {
    let (mut template, mut suffix) = ("/tmp/tmp.XXXXXXXXXX".to_owned(), "");
    for word in arguments {
        match word.strip_prefix("--suffix=") {
            Some(given) => suffix = given,
            None if matches!(*word, "-d" | "-q") => {}
            None if word.starts_with('-') => return None,
            None => template = (*word).to_owned(),
        }
    }
    let start = template.find("XXX")?;
    let end = start + template[start..].find(|c| c != 'X').unwrap_or(template.len() - start);
    let name = format!("{}*{}{suffix}", &template[..start], &template[end..]);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-*".contains(c);
    (name.chars().all(is_plain) && !name.contains("..")).then_some(Value::Stamp(name))
}

fn base_name(word: &Word, path: &str, suffix: &[&str]) -> Option<Value> {
    match word {
        Word::Literal(_) if !path.starts_with('-') => {
            let name = path.trim_end_matches('/').rsplit('/').next()?;
            let suffix = suffix.first().copied().unwrap_or_default();
            let bare = name.strip_suffix(suffix).filter(|bare| !bare.is_empty()).unwrap_or(name);
            Some(Value::Text(bare.to_owned()))
        }
        Word::Pattern(pattern) | Word::Pieces(pattern) => {
            let is_hidden = pattern.rsplit('/').next().is_none_or(|name| name.starts_with('.'));
            (!is_hidden).then(|| Value::Name("*".to_owned()))
        }
        Word::Stamp(_) => Some(Value::Stamp("*".to_owned())),
        Word::Literal(_) | Word::Token(_) | Word::Unknown(_) => None,
    }
}

fn directory_name(word: &Word, path: &str) -> Option<Value> {
    let directory = path.rsplit_once('/').map_or(".", |(directory, _)| directory);
    let is_plain = !directory.is_empty() && !directory.contains(['*', '?', '[']) && !path.ends_with('/');
    match word {
        Word::Literal(_) | Word::Pattern(_) if is_plain && !path.starts_with('-') => {
            Some(Value::Text(directory.to_owned()))
        }
        _ => None,
    }
}

fn by_git(arguments: &[&str], words: &[Word]) -> Option<Value> {
    let is_literal = words.iter().all(|word| word.literal().is_some());
    let (subcommand, arguments) = arguments.split_first()?;
    let is_operand = |word: &&str| !word.starts_with('-');
    match *subcommand {
        "rev-parse" => {
            let names = ["--short", "--abbrev-ref", "--verify", "-q"];
            let fits = |word: &&str| is_operand(word) || names.iter().any(|name| word.starts_with(name));
            let named = arguments.iter().any(|word| word.starts_with("--abbrev-ref"));
            let value = if named { Value::Token } else { Value::Stamp("*".to_owned()) };
            (!arguments.is_empty() && arguments.iter().all(fits)).then_some(value)
        }
        "branch" if arguments == ["--show-current"] => Some(Value::Token),
        "branch" | "tag" | "for-each-ref" => {
            let lists = ["--format=%(refname:short)", "--sort=", "--list", "-l", "--merged", "refs/", "--points-at"];
            let is_list = |word: &&str| lists.iter().any(|option| word.starts_with(option));
            let only_names = *subcommand == "tag" || arguments.contains(&"--format=%(refname:short)");
            (only_names && arguments.iter().all(is_list)).then_some(Value::Token)
        }
        "log" => {
            let formats = ["%H", "%h", "%cs", "%as"];
            let format = arguments
                .iter()
                .find_map(|word| word.strip_prefix("--format=").or_else(|| word.strip_prefix("--pretty=")))?;
            let others = |word: &&str| {
                let number = word.trim_start_matches("-n").trim_start_matches('-');
                !word.starts_with('-')
                    || number.bytes().all(|byte| byte.is_ascii_digit())
                    || word.contains("format")
                    || word.starts_with("--pretty")
            };
            let fits = formats.contains(&format.trim_start_matches("format:")) && arguments.iter().all(others);
            fits.then(|| Value::Stamp("*".to_owned()))
        }
        name if REVISIONS.contains(&name) => {
            let odd = |word: &&str| word.contains("format") || word.contains("objects") || word.contains("pretty");
            (!arguments.iter().any(odd)).then_some(Value::Token)
        }
        "ls-files" | "diff" | "grep" if is_literal => {
            let lists = |word: &&str| matches!(*word, "--name-only" | "-l" | "--files-with-matches");
            let is_listing = *subcommand == "ls-files" || arguments.iter().any(lists);
            let operands = arguments.iter().skip_while(|word| **word != "--" && *subcommand != "ls-files");
            let patterns = operands.filter(|word| !word.starts_with('-')).map(|word| match suffix_pattern(word) {
                // The star of git crosses directories.
                Some(suffix) => format!("**/*.{suffix}"),
                None => ".".to_owned(),
            });
            let patterns: Vec<String> = patterns.collect();
            let patterns = if patterns.is_empty() { vec![".".to_owned()] } else { patterns };
            is_listing.then_some(Value::Names(patterns))
        }
        _ => None,
    }
}

/// Returns the suffix of `*.suffix`.
fn suffix_pattern(word: &str) -> Option<&str> {
    let suffix = word.strip_prefix("**/").unwrap_or(word).strip_prefix("*.")?;
    let is_plain = !suffix.is_empty() && suffix.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.');
    is_plain.then_some(suffix)
}

/// Returns the names that `find` prints.
fn found(words: &[Word]) -> Option<Value> {
    let prints = |word: &Word| {
        let others = ["-printf", "-fprint", "-ls", "-exec", "-ok", "-fls", "-delete"];
        word.literal().is_some_and(|text| others.iter().any(|other| text.starts_with(other)))
    };
    if words.iter().any(prints) {
        return None;
    }
    patterns(&wrappers::found(words)).or_else(|| patterns(&wrappers::below(words)?))
}

/// Returns the names that `ls` prints: those of its operands, or those in a directory.
fn listed(words: &[Word]) -> Option<Value> {
    let is_option = |word: &&Word| word.literal().is_some_and(|text| text.starts_with('-'));
    let (options, operands): (Vec<&Word>, Vec<&Word>) = words.iter().partition(is_option);
    let plain = |word: &&Word| word.shown().trim_start_matches('-').bytes().all(|letter| b"1trSdX".contains(&letter));
    if !options.iter().all(plain) {
        return None;
    }
    let named = operands.iter().map(|word| match word {
        Word::Literal(name) => (!name.contains(['*', '?', '[', '{', '\\', '~'])).then(|| name.clone()),
        Word::Pattern(pattern) | Word::Pieces(pattern) => Some(pattern.clone()),
        Word::Stamp(_) | Word::Token(_) | Word::Unknown(_) => None,
    });
    // An operand is a file, or a directory with names in it; a pattern with a suffix intends files.
    let is_suffix = |word: &&Word| matches!(word, Word::Pattern(pattern) if pattern.contains("*."));
    let files = !operands.is_empty() && operands.iter().all(is_suffix);
    let inside = (!files).then(|| Some("*".to_owned()));
    named.chain(inside).collect::<Option<Vec<String>>>().map(Value::Names)
}

/// Returns the files that `rg -l -g '*.rs'`, `grep -rl --include='*.rs'` and `fd -e rs` print.
fn matching_files(name: &str, arguments: &[&str]) -> Option<Value> {
    let is_search = !name.starts_with("fd");
    let lists = |word: &&str| {
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-')).unwrap_or_default();
        *word == "--files" || *word == "--files-with-matches" || letters.contains('l')
    };
    let odd = |word: &&str| {
        ["--pre", "--hidden", "--no-ignore", "-c", "-o", "--json", "-0", "--follow", "-L", "-x", "-X", "--exec"]
            .iter()
            .any(|option| word.starts_with(option))
    };
    // Files in other directories are not below this one.
    let leaves = |word: &&str| word.starts_with(['/', '~']) || word.split('/').any(|name| name == "..");
    if arguments.iter().any(odd) || arguments.iter().any(leaves) || is_search && !arguments.iter().any(lists) {
        return None;
    }
    let mut suffixes = Vec::new();
    let mut before = "";
    for word in arguments {
        let value = ["--include=", "--glob=", "-g", "--extension="].iter().find_map(|option| word.strip_prefix(option));
        let value = match before {
            "-g" | "--glob" | "--include" | "-e" | "--extension" if is_search || before != "-g" => Some(*word),
            _ => value.filter(|value| !value.is_empty()),
        };
        if let Some(value) = value.filter(|_| is_search || before == "-e" || before == "--extension") {
            match suffix_pattern(value).or((!is_search).then_some(value)) {
                Some(suffix) => suffixes.push(format!("**/*.{suffix}")),
                // Another pattern excludes files, or is the text to search for.
                None if value.starts_with('!') || before == "-e" => {}
                None => return None,
            }
        }
        before = word;
    }
    if suffixes.is_empty() {
        return Some(Value::Names(vec![".".to_owned()]));
    }
    Some(Value::Names(suffixes))
}

fn patterns(words: &[Word]) -> Option<Value> {
    let each = words.iter().map(|word| match word {
        Word::Pattern(pattern) | Word::Pieces(pattern) => Some(pattern.clone()),
        Word::Literal(_) | Word::Stamp(_) | Word::Token(_) | Word::Unknown(_) => None,
    });
    let patterns: Option<Vec<String>> = each.collect();
    patterns.filter(|patterns| !patterns.is_empty()).map(Value::Names)
}
