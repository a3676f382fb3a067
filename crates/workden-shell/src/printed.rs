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
    let mut is_redirected = false;
    for redirect in &simple.redirects {
        let errors = redirect.from == RedirectSource::Number("2".to_owned());
        match &redirect.to {
            RedirectTarget::Write(_) if errors => {}
            RedirectTarget::Read(_) if redirect.from == RedirectSource::Usual => {
                fed = true;
                is_redirected = true;
            }
            RedirectTarget::HereDocument(text)
                if redirect.from == RedirectSource::Usual && simple.redirects.len() == 1 =>
            {
                document = Some(text);
            }
            // Errors among the output are not of its form.
            _ => return None,
        }
    }
    let words = simple.words.iter().flat_map(|word| expansion::expanded(word, BraceExpansion::Expand, scope));
    let argv: Vec<Word> = words.collect();
    let (program, words) = argv.split_first()?;
    let name = wrappers::program(program).filter(|name| !scope.functions.contains(*name))?;
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
        ("nproc", []) | ("id", ["-u" | "-g"]) | ("date", ["+%s" | "+%s%N"]) => Some(Value::Count),
        ("seq", words)
            if words.iter().all(|word| is_option_or_number(word) && (*word == "-w" || !word.starts_with('-'))) =>
        {
            Some(Value::Count)
        }
        ("wc", ["-l" | "-c" | "-w" | "-m"]) if fed => Some(Value::Count),
        ("date", [format] | ["-u", format]) => is_name_of_time(format).then(|| Value::Stamp("*".to_owned())),
        ("printf", ["%03d" | "%02d" | "%04d", number]) if is_count(number, words.get(1)) => {
            Some(Value::Stamp("*".to_owned()))
        }
        ("whoami", []) | ("uname", ["-s" | "-m" | "-r"]) => Some(Value::Token),
        ("mktemp", arguments) if is_literal && !scope.assigned.contains("TMPDIR") => temporary(arguments),
        ("basename", [path, suffix @ ..]) if suffix.len() < 2 => base_name(words.first()?, path, suffix),
        ("dirname", [path]) => directory_name(words.first()?, path),
        ("git", arguments) => by_git(arguments, words),
        ("find", _) => found(words),
        ("ls", _) if !words.iter().any(|word| matches!(word, Word::Pieces(_))) => listed(words),
        ("grep", arguments) if fed && is_filter(arguments) => lines(piped, is_redirected),
        ("grep", ["-c", _]) if fed => Some(Value::Count),
        ("grep", ["-c", text, _]) if is_literal && !text.starts_with('-') => Some(Value::Count),
        ("rg" | "grep" | "fd" | "fdfind", arguments) if is_literal => matching_files(name, arguments),
        ("tr", ["\\n", " "]) => lines(piped, is_redirected),
        (name, options) if FILTERS.contains(&name) && selects_lines(options) => lines(piped, is_redirected),
        _ => None,
    }
}

/// Returns what a filter of lines leaves: some of the names, but no known text.
fn lines(piped: Option<Value>, is_redirected: bool) -> Option<Value> {
    piped.filter(|value| {
        !is_redirected && matches!(value, Value::Names(_) | Value::Token | Value::Count | Value::Stamp(_))
    })
}

/// Whether a filter has only options that select or sort whole lines.
fn selects_lines(options: &[&str]) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = |word: &&str| {
        let letters = word.strip_prefix('-').unwrap_or_default();
        matches!(letters, "r" | "u" | "n" | "V" | "rn" | "nr")
            || is_number(letters)
            || letters.strip_prefix('n').is_some_and(is_number)
    };
    match options {
        ["-n", count] => is_number(count),
        options => options.iter().all(is_plain) && !options.contains(&"-n") || options == ["-n"],
    }
}

/// Whether a word is digits.
fn is_count(text: &str, word: Option<&Word>) -> bool {
    matches!(word, Some(Word::Literal(_) | Word::Token(_))) && !text.starts_with('-')
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

/// Whether `date` prints digits and marks, with no blank, no slash and no letters of the author.
fn is_name_of_time(format: &str) -> bool {
    let Some(format) = format.strip_prefix('+') else { return false };
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        let fits = match character {
            '%' => characters.next().is_some_and(|letter| "YmdHMSsFjNyUT".contains(letter)),
            character => character.is_ascii_digit() || "-_:.TZ".contains(character),
        };
        if !fits {
            return false;
        }
    }
    format.starts_with('%')
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
    (name.starts_with("/tmp/") && name.chars().all(is_plain) && !name.contains("..")).then_some(Value::Stamp(name))
}

fn base_name(word: &Word, path: &str, suffix: &[&str]) -> Option<Value> {
    match word {
        Word::Literal(_) if !path.starts_with('-') => {
            let name = path.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty())?;
            let suffix = suffix.first().copied().unwrap_or_default();
            let bare = name.strip_suffix(suffix).filter(|bare| !bare.is_empty()).unwrap_or(name);
            Some(Value::Text(bare.to_owned()))
        }
        Word::Pattern(pattern) | Word::Pieces(pattern) => {
            let is_hidden = pattern.rsplit('/').next().is_none_or(|name| name.starts_with('.') || !name.contains('*'));
            (!is_hidden).then(|| Value::Name("*".to_owned()))
        }
        Word::Literal(_) | Word::Stamp(_) | Word::Token(_) | Word::Unknown(_) => None,
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
    if words.iter().any(|word| word.literal().is_none()) {
        return None;
    }
    let (subcommand, arguments) = arguments.split_first()?;
    let has_format = |word: &&str| word.starts_with("--format") || word.starts_with("--pretty");
    match (*subcommand, arguments) {
        // Other names are printed as they are, whether or not they are revisions.
        ("rev-parse", ["--abbrev-ref", "HEAD"]) | ("branch", ["--show-current"]) => Some(Value::Token),
        ("rev-parse", [rest @ .., revision]) if is_head(revision) => {
            let fits = |word: &&str| *word == "--short" || *word == "--verify" || *word == "-q";
            rest.iter().all(fits).then(|| Value::Stamp("*".to_owned()))
        }
        ("log", arguments) => {
            let formats = ["--format=%H", "--format=%h", "--pretty=%H", "--pretty=%h", "--pretty=format:%h"];
            let one = arguments.iter().filter(|word| has_format(word)).count() == 1;
            let fits =
                |word: &&str| formats.contains(word) || is_count_option(word) || is_revision(word) || *word == "--";
            (one && arguments.iter().all(fits)).then(|| Value::Stamp("*".to_owned()))
        }
        ("rev-list" | "merge-base", arguments) => {
            let fits = |word: &&str| {
                is_count_option(word) || is_revision(word) || matches!(*word, "--count" | "--max-parents=0" | "--all")
            };
            arguments.iter().all(fits).then(|| Value::Stamp("*".to_owned()))
        }
        ("describe", arguments) => {
            let fits = |word: &&str| matches!(*word, "--tags" | "--always" | "--abbrev=0" | "--long") || is_head(word);
            arguments.iter().all(fits).then_some(Value::Token)
        }
        ("symbolic-ref", ["--short", "HEAD"]) => Some(Value::Token),
        ("branch" | "tag" | "for-each-ref", arguments) => {
            let lists = ["--format=%(refname:short)", "--sort=-v:refname", "--sort=-creatordate", "--list", "-l"];
            let fits = |word: &&str| lists.contains(word) || matches!(*word, "refs/tags" | "refs/heads");
            let only_names = *subcommand == "tag" || arguments.contains(&"--format=%(refname:short)");
            (only_names && arguments.iter().all(fits)).then_some(Value::Token)
        }
        ("ls-files" | "diff" | "grep", arguments) => listed_by_git(subcommand, arguments),
        _ => None,
    }
}

/// Returns the names that a subcommand of git lists.
fn listed_by_git(subcommand: &str, arguments: &[&str]) -> Option<Value> {
    let allowed: &[&str] = match subcommand {
        "ls-files" => &["-z", "-m", "-o", "--cached", "--others", "--modified", "--exclude-standard"],
        "diff" => &["--name-only", "--cached", "--staged", "-z"],
        _ => &["-l", "-i", "-E", "-w", "-F"],
    };
    let is_filter = |word: &&str| {
        word.strip_prefix("--diff-filter=").is_some_and(|letters| letters.bytes().all(|byte| byte.is_ascii_uppercase()))
    };
    let is_option = |word: &&&str| word.starts_with('-') && **word != "--";
    let is_listing = match subcommand {
        "ls-files" => true,
        "diff" => arguments.contains(&"--name-only"),
        _ => arguments.contains(&"-l"),
    };
    if !is_listing || !arguments.iter().filter(is_option).all(|word| allowed.contains(word) || is_filter(word)) {
        return None;
    }
    let from = if subcommand == "ls-files" {
        0
    } else {
        arguments.iter().position(|word| *word == "--").unwrap_or(arguments.len())
    };
    let operands = arguments[from..].iter().filter(|word| !word.starts_with('-'));
    // The star of git crosses directories.
    let pattern = |word: &&str| match word.rsplit_once('/') {
        Some((directory, name))
            if directory.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_-".contains(&byte)) =>
        {
            suffix_pattern(name).map(|suffix| format!("{directory}/**/*.{suffix}"))
        }
        _ => suffix_pattern(word).map(|suffix| format!("**/*.{suffix}")),
    };
    let patterns = operands.map(|word| pattern(word).unwrap_or_else(|| ".".to_owned()));
    let patterns: Vec<String> = patterns.collect();
    Some(Value::Names(if patterns.is_empty() { vec![".".to_owned()] } else { patterns }))
}

/// Whether this is the current revision or one before it.
fn is_head(word: &str) -> bool {
    word.strip_prefix("HEAD").is_some_and(|rest| rest.bytes().all(|byte| b"~^0123456789".contains(&byte)))
}

/// Whether this can only be the name of a revision or a range of them.
fn is_revision(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"~^./_-".contains(&byte))
}

/// Whether this option says how many revisions to print: `-1`, `-n5`, `--max-count=1`.
fn is_count_option(word: &str) -> bool {
    let count =
        word.strip_prefix("--max-count=").or_else(|| word.strip_prefix("-n")).or_else(|| word.strip_prefix('-'));
    count.is_some_and(|count| !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()))
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
    let mut suffixes = Vec::new();
    let mut lists = !is_search;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        // Files in other directories are not below this one.
        if word.starts_with(['/', '~']) || word.split('/').any(|name| name == "..") {
            return None;
        }
        let suffix = match (is_search, *word) {
            (_, word) if !word.starts_with('-') => continue,
            (true, "-g" | "--glob") => words.next().copied(),
            (false, "-e" | "--extension") => {
                suffixes.push(format!("**/*.{}", suffix_pattern(&format!("*.{}", words.next()?))?));
                continue;
            }
            (true, word) if word.starts_with("--include=") => word.strip_prefix("--include="),
            (true, "--files" | "--files-with-matches") => {
                lists = true;
                continue;
            }
            (true, word) => {
                let letters = word.trim_start_matches('-');
                if word.starts_with("--") || !letters.bytes().all(|letter| b"rlniwEFsZ".contains(&letter)) {
                    return None;
                }
                lists |= letters.contains('l');
                continue;
            }
            (false, _) => return None,
        };
        suffixes.push(format!("**/*.{}", suffix_pattern(suffix?)?));
    }
    // The first operand of a search is what it searches for.
    let operands = arguments.iter().filter(|word| !word.starts_with('-')).skip(1);
    let directories: Vec<String> = operands.map(|word| (*word).to_owned()).collect();
    let is_plain = |name: &String| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/_-.".contains(&byte));
    let has_values = arguments.iter().any(|word| matches!(*word, "-g" | "--glob"));
    let names = match suffixes.is_empty() {
        false => suffixes,
        true if is_search && !has_values && !directories.is_empty() && directories.iter().all(is_plain) => directories,
        true => vec![".".to_owned()],
    };
    lists.then_some(Value::Names(names))
}

fn patterns(words: &[Word]) -> Option<Value> {
    let each = words.iter().map(|word| match word {
        Word::Pattern(pattern) | Word::Pieces(pattern) => Some(pattern.clone()),
        Word::Literal(_) | Word::Stamp(_) | Word::Token(_) | Word::Unknown(_) => None,
    });
    let patterns: Option<Vec<String>> = each.collect();
    patterns.filter(|patterns| !patterns.is_empty()).map(Value::Names)
}
