//! Programs whose words follow rules of their own: `dd`, `tar`, `curl`, `find`.

use super::{
    effects::{Effects, Touch, mention, runs},
    options::{Argument, told_apart},
};
use crate::shell::{Doubt, DoubtKind, Word};

pub(crate) fn dd(arguments: &[Word], effects: &mut Effects) {
    for word in arguments {
        let Some((key, value)) = word.shown().split_once('=') else { continue };
        let value = match word {
            Word::Literal(_) | Word::Pattern(_) => Word::Literal(value.to_owned()),
            Word::Unknown(_) => Word::Unknown(value.to_owned()),
        };
        match key {
            "if" => effects.files.push((Touch::Read, value)),
            "of" => effects.files.push((Touch::Write, value)),
            _ => {}
        }
    }
}

pub(crate) fn tar(arguments: &[Word], effects: &mut Effects) {
    let valued = [
        "f",
        "C",
        "T",
        "X",
        "I",
        "F",
        "g",
        "b",
        "N",
        "V",
        "K",
        "H",
        "listed-incremental",
        "newer",
        "label",
        "add-file",
        "index-file",
        "volno-file",
        "rmt-command",
        "file",
        "directory",
        "files-from",
        "exclude",
        "exclude-from",
        "transform",
        "to-command",
        "use-compress-program",
        "checkpoint-action",
        "owner",
        "group",
        "mode",
        "strip-components",
        "rsh-command",
        "new-volume-script",
        "info-script",
    ];
    // The first word may be letters without a dash, and then the values of all of them follow it in
    // their order: `tar czf x.tar.gz src`.
    let dashed: Vec<Word> = match arguments.split_first() {
        Some((Word::Literal(first), rest)) if !first.starts_with('-') => {
            let mut rest = rest.iter().cloned();
            let mut dashed = Vec::new();
            for letter in first.chars() {
                dashed.push(Word::Literal(format!("-{letter}")));
                if valued.iter().any(|option| option.strip_prefix(letter) == Some("")) {
                    dashed.extend(rest.next());
                }
            }
            dashed.extend(rest);
            dashed
        }
        _ => arguments.to_vec(),
    };
    let told = told_apart(&dashed, &valued);
    let has = |wanted: &[&str]| {
        told.iter().any(|argument| matches!(argument, Argument::Option(option, _) if wanted.contains(option)))
    };
    let extracts = has(&["x", "extract", "get"]);
    let lists = has(&["t", "list"]);
    let archive = if extracts || lists { Touch::Read } else { Touch::Write };
    let sources = if has(&["remove-files"]) { Touch::Move } else { Touch::Read };
    if extracts && has(&["P", "absolute-names"]) {
        let about = "an archive that says itself where its files go".to_owned();
        effects.doubts.push(Doubt { kind: DoubtKind::NotLiteral, about });
    }
    for argument in told {
        match argument {
            Argument::Option("f" | "file", Some(word)) => effects.files.push((archive, word)),
            Argument::Option("C" | "directory", Some(word)) => {
                effects.files.push((if extracts { Touch::Write } else { Touch::List }, word));
            }
            Argument::Option("T" | "files-from" | "X" | "exclude-from", Some(word)) => {
                effects.files.push((Touch::Read, word));
            }
            Argument::Option(
                option @ ("I"
                | "F"
                | "rmt-command"
                | "to-command"
                | "use-compress-program"
                | "checkpoint-action"
                | "rsh-command"
                | "info-script"
                | "new-volume-script"),
                Some(word),
            ) => effects.doubts.push(runs("tar", option, &word)),
            Argument::Option("g" | "listed-incremental" | "add-file", Some(word)) => {
                effects.files.push((Touch::Read, word.clone()));
                effects.files.push((Touch::Write, word));
            }
            Argument::Option("index-file" | "volno-file", Some(word)) => effects.files.push((Touch::Write, word)),
            Argument::Operand(word) if !extracts && !lists => effects.files.push((sources, word.clone())),
            Argument::Option("exclude" | "transform" | "owner" | "group" | "mode", _) => {}
            Argument::Option(_, Some(word)) => mention(&word, effects),
            Argument::Operand(_) | Argument::Option(_, None) => {}
        }
    }
}

pub(crate) fn curl(arguments: &[Word], effects: &mut Effects) {
    let valued = [
        "o",
        "output",
        "T",
        "upload-file",
        "d",
        "data",
        "data-binary",
        "data-raw",
        "data-urlencode",
        "F",
        "form",
        "H",
        "header",
        "X",
        "request",
        "u",
        "user",
        "A",
        "user-agent",
        "e",
        "referer",
        "b",
        "cookie",
        "c",
        "cookie-jar",
        "K",
        "config",
        "E",
        "cert",
        "key",
        "cacert",
        "m",
        "max-time",
        "connect-timeout",
        "retry",
        "w",
        "write-out",
        "x",
        "proxy",
        "D",
        "dump-header",
        "output-dir",
        "url",
        "json",
        "resolve",
        "trace",
        "trace-ascii",
        "netrc-file",
        "r",
        "range",
    ];
    let mut names_itself = false;
    for argument in told_apart(arguments, &valued) {
        match argument {
            Argument::Option("K" | "config", Some(Word::Literal(dash))) if dash == "-" => {
                let about = "options of `curl` that come through its input".to_owned();
                effects.doubts.push(Doubt { kind: DoubtKind::NotLiteral, about });
            }
            Argument::Option(
                "o" | "output" | "c" | "cookie-jar" | "D" | "dump-header" | "output-dir" | "trace" | "trace-ascii",
                Some(word),
            ) => {
                effects.files.push((Touch::Write, word));
            }
            Argument::Option(
                "T" | "upload-file" | "K" | "config" | "E" | "cert" | "key" | "cacert" | "netrc-file",
                Some(word),
            ) => {
                // Braces stand for several files.
                mention(&word, effects);
                effects.files.push((Touch::Read, word));
            }
            Argument::Option(
                "d" | "data" | "data-binary" | "data-urlencode" | "F" | "form" | "H" | "header" | "json",
                Some(word),
            ) => {
                let files = word
                    .shown()
                    .split(['@', '<'])
                    .skip(1)
                    .flat_map(|text| [text].into_iter().chain(text.split([';', ','])));
                let files = files.filter(|text| !text.is_empty());
                effects.files.extend(files.map(|text| (Touch::Mention, Word::Literal(text.to_owned()))));
            }
            Argument::Operand(word) => url(word, effects),
            Argument::Option("O" | "remote-name" | "remote-name-all", None) => names_itself = true,
            Argument::Option("url", Some(word)) => url(&word, effects),
            Argument::Option(_, Some(word)) => mention(&word, effects),
            Argument::Option(_, None) => {}
        }
    }
    if names_itself {
        let urls = arguments.iter().filter_map(Word::literal).filter(|text| !text.starts_with('-'));
        let names = urls.filter_map(|text| text.split(['?', '#']).next()?.rsplit('/').next());
        effects.files.extend(names.map(|name| (Touch::Write, Word::Literal(name.to_owned()))));
    }
}

/// `fd`, which runs things, too; what it searches for comes first.
pub(crate) fn fd(arguments: &[Word], effects: &mut Effects) {
    let is_exec = |word: &Word| {
        let text = word.shown();
        ["-x", "-X", "--exec"].iter().any(|option| text.starts_with(option))
    };
    if let Some(at) = arguments.iter().position(is_exec) {
        let command: Vec<&str> = arguments[at..].iter().map(Word::shown).collect();
        effects.doubts.push(runs("fd", "exec", &Word::Literal(command.join(" "))));
    }
    find(arguments, effects);
}

/// `git`, whose subcommands are programs of their own.
pub(crate) fn git(arguments: &[Word], effects: &mut Effects) {
    let operands = || arguments.iter().skip(1).filter(|word| !word.shown().starts_with('-'));
    match arguments.first().and_then(Word::literal) {
        Some("rm") => effects.files.extend(operands().map(|word| (Touch::Delete, word.clone()))),
        Some("mv") => effects.files.extend(operands().map(|word| (Touch::Move, word.clone()))),
        _ => {}
    }
}

/// Starting points come first; what `-exec` runs is an invocation of its own.
pub(crate) fn find(arguments: &[Word], effects: &mut Effects) {
    let is_expression = |word: &Word| word.literal().is_some_and(|text| text.starts_with(['-', '(', '!']));
    let starts: Vec<&Word> = arguments
        .iter()
        .skip_while(|word| matches!(word.literal(), Some("-L" | "-P" | "-H")))
        .take_while(|word| !is_expression(word))
        .collect();
    let deletes = arguments.iter().any(|word| word.literal() == Some("-delete"));
    let here = Word::Literal(".".to_owned());
    let starts = if starts.is_empty() { vec![&here] } else { starts };
    effects.files.extend(starts.iter().map(|word| (Touch::List, (*word).clone())));
    if deletes {
        let mut named = arguments.windows(2).filter(|pair| matches!(pair[0].literal(), Some("-name" | "-iname")));
        let name = named.next().and_then(|pair| pair[1].literal());
        effects.files.extend(starts.iter().map(|start| match (name, start.literal()) {
            (Some(name), Some(start)) => (Touch::Delete, Word::Pattern(format!("{start}/**/{name}"))),
            _ => (Touch::Delete, (*start).clone()),
        }));
    }
    for pair in arguments.windows(2) {
        match pair[0].literal() {
            Some("-fprint" | "-fprintf" | "-fls" | "-fprint0") => effects.files.push((Touch::Write, pair[1].clone())),
            Some("-files0-from") => effects.files.push((Touch::Read, pair[1].clone())),
            Some("-newer" | "-anewer" | "-cnewer" | "-samefile") => effects.files.push((Touch::List, pair[1].clone())),
            _ => {}
        }
    }
}

/// Files have addresses, too: `file:///x`, in any letter case, with any of it in hexadecimal digits.
fn url(word: &Word, effects: &mut Effects) {
    let text = word.shown();
    let scheme = text.get(..5).unwrap_or("");
    if !scheme.eq_ignore_ascii_case("file:") {
        // Without a scheme, what it is depends on other options.
        if !text.contains("://") {
            mention(word, effects);
        }
        return;
    }
    let path = &text[5..];
    let path = path.strip_prefix("//").map_or(path, |rest| rest.find('/').map_or(rest, |at| &rest[at..]));
    if path.contains(['[', '{', '%', '*', '?']) {
        let about = format!("which file `{text}` is");
        effects.doubts.push(Doubt { kind: DoubtKind::NotLiteral, about });
    }
    effects.files.push((Touch::Read, Word::Literal(path.to_owned())));
}
