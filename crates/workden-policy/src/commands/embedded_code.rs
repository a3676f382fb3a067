//! Code of other languages in a command: `python -c`, `perl -e`, `awk`, `sed`.
//!
//! The code is not parsed, only searched: a name in it that runs programs or removes files is a doubt, and so is code
//! from elsewhere. Strings in it that name protected files are mentions, like words of an unknown program.

use super::{
    effects::CommandEffects,
    file_effect::FileEffect,
    languages::{Foreign, Interpreter, OPENERS, POWERS, foreign, interpreter},
    options::{Argument, parse_arguments},
    sed_script,
};
use crate::shell::{Doubt, DoubtKind, Invocation, StandardInput, Word};

/// Examines the code in the arguments of a command.
pub(crate) fn look_into(name: &str, arguments: &[Word], invocation: &Invocation, effects: &mut CommandEffects) {
    match (name, arguments) {
        ("sed" | "gsed", _) => SED.look_into(arguments, effects),
        ("awk" | "gawk" | "mawk" | "nawk" | "original-awk" | "goawk", _) => {
            AWK.look_into(arguments, effects);
            let reads = arguments.iter().filter_map(Word::literal).filter(|text| text.contains("getline"));
            let reads: Vec<&str> = reads.collect();
            // A name that is put together is not among the strings.
            if reads.iter().any(|text| text.matches("getline").count() != text.matches("< \"").count()) {
                foreign_code(effects, "the file that an `awk` program reads".to_owned());
            }
            let texts = reads.into_iter().flat_map(strings);
            effects.files.extend(texts.map(|text| (FileEffect::InCode, Word::Literal(text.to_owned()))));
        }
        // Filters that read files by themselves.
        ("jq" | "yq", _) => {
            let reads = |text: &&str| ["load", "import", "include"].iter().any(|name| text.contains(name));
            let texts = arguments.iter().filter_map(Word::literal).filter(reads).flat_map(strings);
            effects.files.extend(texts.map(|text| (FileEffect::InCode, Word::Literal(text.to_owned()))));
            // Without an expression the first word of `yq` is a file.
            let operand = arguments.iter().find(|word| !word.shown().starts_with('-'));
            if let (Some(word), "yq") = (operand, name) {
                effects.files.push((FileEffect::Mention, word.clone()));
            }
        }
        ("deno", [Word::Literal(first), rest @ ..]) if first == "eval" => {
            rest.iter().for_each(|word| code(name, word, effects));
        }
        _ => match (interpreter(name), foreign(name)) {
            (Some(interpreter), _) => interpreted(interpreter, name, arguments, invocation, effects),
            (None, Some(foreign)) => not_looked_into(foreign, name, arguments, invocation, effects),
            (None, None) => {}
        },
    }
}

fn interpreted(
    of: &Interpreter,
    name: &str,
    arguments: &[Word],
    invocation: &Invocation,
    effects: &mut CommandEffects,
) {
    let mut from_input = true;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.literal().filter(|text| text.starts_with('-') && *text != "-") else {
            // The script; the arguments after it belong to the script.
            from_input &= is_input(word);
            break;
        };
        if let Some(long) = text.strip_prefix("--") {
            let (option, value) = long.split_once('=').map_or((long, None), |(option, value)| (option, Some(value)));
            if of.long_code.contains(&option) {
                from_input = false;
                match value {
                    Some(value) => code(name, &Word::Literal(value.to_owned()), effects),
                    None => words.by_ref().take(1).for_each(|word| code(name, word, effects)),
                }
            }
            from_input &= !matches!(option, "version" | "help");
            continue;
        }
        let mut given = text.char_indices().skip(1);
        // The value of an option letter is the rest of the word, or else the next word.
        let valued =
            given.find(|(_, letter)| of.code.contains(*letter) || of.values.contains(*letter) || *letter == 'm');
        let Some((at, letter)) = valued else {
            from_input &= !matches!(text, "-V" | "-v" | "-h");
            continue;
        };
        let rest = &text[at + letter.len_utf8()..];
        match letter {
            'm' => {
                from_input = false;
                // Some modules take code, others do not.
                let module = if rest.is_empty() { words.next().map_or("", Word::shown) } else { rest };
                if matches!(module, "timeit" | "pdb" | "trace" | "profile" | "cProfile") {
                    words.by_ref().for_each(|word| code(name, word, effects));
                }
                break;
            }
            letter if of.code.contains(letter) => {
                from_input = false;
                if !rest.is_empty() {
                    code(name, &Word::Literal(rest.to_owned()), effects);
                }
                // `-pe code`: letters of both kinds.
                if rest.is_empty() || rest.chars().all(|c| c.is_ascii_alphabetic()) {
                    words.by_ref().take(1).for_each(|word| code(name, word, effects));
                }
            }
            _ if rest.is_empty() => drop(words.next()),
            _ => {}
        }
    }
    if from_input && invocation.input == StandardInput::Fed {
        match &invocation.fed {
            Some(text) => code(name, &Word::Literal(text.clone()), effects),
            None => foreign_code(effects, format!("`{name}` runs code from its standard input")),
        }
    }
}

fn is_input(word: &Word) -> bool {
    matches!(word.literal(), Some("-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"))
}

fn not_looked_into(
    of: &Foreign,
    name: &str,
    arguments: &[Word],
    invocation: &Invocation,
    effects: &mut CommandEffects,
) {
    let does_more = |text: &str| of.signs.is_empty() || of.signs.iter().any(|sign| text.contains(sign));
    let mut before = "";
    let mut found = false;
    for text in arguments.iter().map(Word::shown) {
        let attached =
            text.split_once('=').is_some_and(|(option, _)| option.starts_with("--") && of.options.contains(&option));
        found |= (attached || of.options.contains(&before) || of.options == ["*"]) && does_more(text);
        before = text;
    }
    let is_make = matches!(name, "make" | "gmake");
    let fed = invocation.input == StandardInput::Fed
        && (!is_make || arguments.iter().any(|word| word.shown().trim_start_matches("-f") == "-" || is_input(word)))
        && invocation.fed.as_deref().is_none_or(does_more);
    let elsewhere = is_make && arguments.iter().any(|word| word.shown().starts_with("SHELL="));
    if found || fed || elsewhere {
        foreign_code(effects, format!("code for `{name}`, which is not analysed"));
    }
}

fn foreign_code(effects: &mut CommandEffects, about: String) {
    effects.doubts.push(Doubt::new(DoubtKind::ForeignCode, about));
}

fn code(language: &str, word: &Word, effects: &mut CommandEffects) {
    // A word that is not literal is already a doubt.
    let Some(text) = word.literal() else { return };
    let mut names = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let power = names.find(|name| POWERS.contains(name));
    let quoted = matches!(language, "perl" | "ruby" | "php" | "julia") && text.contains(['`', '|'])
        || language == "ruby" && text.contains("%x")
        || language.starts_with("lua") && text.contains("execute")
        || text.contains("environ") && text.contains("http");
    if let Some(power) = power.or(quoted.then_some("`")) {
        foreign_code(effects, format!("`{language}` code that could run programs or remove files (`{power}`)"));
    }
    if let Some(opener) = opens_unnamed(text) {
        let about = format!("the file that `{language}` code opens (`{opener}`)");
        effects.doubts.push(Doubt::new(DoubtKind::NotLiteral, about));
    }
    effects.files.extend(strings(text).into_iter().map(|text| (FileEffect::InCode, Word::Literal(text.to_owned()))));
}

/// Returns a function with which the code opens a file whose name is not written out: concatenated, computed, or
/// escaped.
fn opens_unnamed(code: &str) -> Option<&'static str> {
    for opener in OPENERS {
        for (at, _) in code.match_indices(opener) {
            let rest = code[at + opener.len()..].trim_start();
            let Some(quote) = rest.chars().next().filter(|c| "'\"`".contains(*c)) else {
                // Arguments are checked as words of the command, and numbers are open descriptors.
                let known = ["sys.argv[", "process.argv[", "sys.stdin", ")"];
                let number =
                    rest.split([',', ')']).next().is_some_and(|name| name.trim().bytes().all(|b| b.is_ascii_digit()));
                let name = rest.split([',', ')', '.']).next().unwrap_or_default().trim();
                if number || known.iter().any(|known| rest.starts_with(known)) || is_only_text(code, name) {
                    continue;
                }
                return Some(opener);
            };
            let mut parts = rest[1..].splitn(2, quote);
            let (name, after) = (parts.next().unwrap_or(""), parts.next().unwrap_or("").trim_start());
            if name.contains(['\\', '$']) || !after.starts_with([',', ')']) {
                return Some(opener);
            }
        }
    }
    None
}

/// Whether a variable of the code is only ever set to quoted strings, which are checked like all strings.
fn is_only_text(code: &str, name: &str) -> bool {
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name || name.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let mut set = 0;
    for (at, _) in code.match_indices(name) {
        let (before, after) = (&code[..at], code[at + name.len()..].trim_start());
        let part_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        if before.ends_with(part_of_name) || code[at + name.len()..].starts_with(part_of_name) {
            continue;
        }
        // A loop, an import, a parameter or a second target sets it to something else.
        let word_before = before.trim_end().rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        if matches!(word_before, "for" | "as" | "def" | "lambda" | "import" | "global" | "in" | "function")
            || before.trim_end().ends_with(':') && after.starts_with('=')
        {
            return false;
        }
        let Some(value) = after.strip_prefix('=').filter(|rest| !rest.starts_with('=')) else {
            let assigns = ["+=", "-=", "*=", "|=", "%=", ":="].iter().any(|sign| after.starts_with(sign));
            let line = before.rsplit(['\n', ';']).next().unwrap_or_default();
            let is_target = after.starts_with(',')
                && !line.contains('(')
                && after.split(['\n', ';']).next().is_some_and(|line| line.contains('='));
            if assigns || is_target {
                return false;
            }
            continue;
        };
        let value = value.trim_start();
        let Some(quote) = value.chars().next().filter(|c| "'\"`".contains(*c)) else { return false };
        let Some((text, rest)) = value[1..].split_once(quote) else { return false };
        let ends = rest.trim_start_matches(' ');
        if text.contains(['\\', '$']) || !(ends.is_empty() || ends.starts_with(['\n', ';', '#'])) {
            return false;
        }
        set += 1;
    }
    set > 0
}

/// Returns the quoted strings in a piece of code.
fn strings(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = code;
    while let Some(start) = rest.find(['\'', '"', '`']) {
        let quote = &rest[start..=start];
        let inside = &rest[start + 1..];
        let end = inside.find(quote).unwrap_or(inside.len());
        if end > 0 {
            found.push(&inside[..end]);
        }
        rest = inside.get(end + 1..).unwrap_or("");
    }
    found
}

/// A stream editor, whose script is an argument or the value of an option.
struct StreamEditor {
    /// The name of a script in messages.
    script: &'static str,
    /// Options that take a value.
    valued: &'static [&'static str],
    /// Options whose value is a script.
    scripts: &'static [&'static str],
    /// Options that name a file with a script.
    files: &'static [&'static str],
    /// Whether options may follow the first operand.
    permutes: bool,
    does_more: fn(&str) -> bool,
}

const SED: StreamEditor = StreamEditor {
    script: "a `sed` script",
    valued: &["e", "expression", "f", "file", "l", "line-length"],
    scripts: &["e", "expression"],
    files: &["f", "file"],
    permutes: true,
    does_more: |script| !sed_script::only_prints_and_replaces(script),
};

#[rustfmt::skip]
const AWK: StreamEditor = StreamEditor {
    script: "an `awk` program",
    valued: &["F", "v", "f", "i", "l", "E", "e", "field-separator", "assign", "file", "exec", "source", "include", "load"],
    scripts: &["e", "source"],
    files: &["f", "file", "E", "exec"],
    permutes: false,
    does_more: awk_does_more,
};

impl StreamEditor {
    fn look_into(&self, arguments: &[Word], effects: &mut CommandEffects) {
        let (mut scripts, mut operand, mut given) = (Vec::new(), None, false);
        for argument in parse_arguments(arguments, self.valued) {
            match argument {
                Argument::Option(option, Some(word)) if self.scripts.contains(&option) => {
                    given = true;
                    scripts.push(word);
                }
                Argument::Option(option, value) => {
                    let is_file = self.files.contains(&option);
                    given |= is_file;
                    if is_file && value.is_some_and(|word| is_input(&word)) {
                        foreign_code(effects, format!("{} from the standard input", self.script));
                    }
                }
                Argument::Operand(word) => {
                    operand.get_or_insert_with(|| word.clone());
                    if !self.permutes {
                        break;
                    }
                }
            }
        }
        let scripts = scripts.into_iter().chain(operand.filter(|_| !given));
        // A number or a date in a script is digits.
        let is_known = |word: &Word| matches!(word, Word::Literal(_) | Word::Stamp(_));
        for script in scripts.filter(|word| is_known(word) && (self.does_more)(word.shown())) {
            let shown = shortened(script.shown());
            foreign_code(effects, format!("{} that could write files or run programs: `{shown}`", self.script));
        }
    }
}

/// Removes strings and regular expressions from an `awk` program.
fn without_literals(program: &str) -> String {
    let mut rest = String::with_capacity(program.len());
    let mut inside = None;
    let mut characters = program.chars();
    while let Some(c) = characters.next() {
        match inside {
            Some(end) if c == end => inside = None,
            Some(_) if c == '\\' => _ = characters.next(),
            Some(_) => {}
            None if c == '"' => inside = Some('"'),
            // A slash after a value divides.
            None if c == '/' && !rest.trim_end().ends_with(|c: char| c.is_alphanumeric() || c == ')' || c == '_') => {
                inside = Some('/');
            }
            None => rest.push(c),
        }
    }
    if inside.is_some() { program.to_owned() } else { rest }
}

fn awk_does_more(program: &str) -> bool {
    let plain = without_literals(program);
    let program = plain.as_str();
    let pipes = program.replace("||", "").contains('|');
    let calls = program.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    let statements = program.split(['}', ';', '\n']);
    let redirects =
        statements.filter_map(|text| text.find("print").map(|at| &text[at..])).any(|rest| rest.contains('>'));
    pipes || redirects || program.contains('@') || calls.into_iter().any(|name| matches!(name, "system" | "ARGV"))
}

fn shortened(text: &str) -> String {
    let mut shown: String = text.chars().take(60).collect();
    if text.chars().nth(60).is_some() {
        shown.push_str("...");
    }
    shown
}
