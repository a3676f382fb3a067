//! Programs whose words follow rules of their own: `dd`, `tar`, `curl`, `find`.

use super::{
    effects::{Effects, Touch, runs},
    options::{Argument, told_apart},
};
use crate::shell::Word;

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
    // The first word may be letters without a dash: `tar czf x.tar.gz src`.
    let dashed: Vec<Word> = match arguments.split_first() {
        Some((Word::Literal(first), rest)) if !first.starts_with('-') => {
            std::iter::once(Word::Literal(format!("-{first}"))).chain(rest.iter().cloned()).collect()
        }
        _ => arguments.to_vec(),
    };
    let valued = [
        "f",
        "C",
        "T",
        "X",
        "I",
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
    let told = told_apart(&dashed, |option| valued.contains(&option));
    let has = |wanted: &[&str]| {
        told.iter().any(|argument| matches!(argument, Argument::Option(option, _) if wanted.contains(option)))
    };
    let extracts = has(&["x", "extract", "get"]);
    let lists = has(&["t", "list"]);
    let archive = if extracts || lists { Touch::Read } else { Touch::Write };
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
                | "to-command"
                | "use-compress-program"
                | "checkpoint-action"
                | "rsh-command"
                | "info-script"
                | "new-volume-script"),
                Some(word),
            ) => effects.doubts.push(runs("tar", option, &word)),
            Argument::Operand(word) if !extracts && !lists => effects.files.push((Touch::Read, word.clone())),
            Argument::Operand(_) | Argument::Option(..) => {}
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
    for argument in told_apart(arguments, |option| valued.contains(&option)) {
        match argument {
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
                effects.files.push((Touch::Read, word));
            }
            Argument::Option(
                "d" | "data" | "data-binary" | "data-urlencode" | "F" | "form" | "H" | "header" | "b" | "cookie"
                | "json" | "w" | "write-out",
                Some(word),
            ) => {
                let files = word.shown().split(['@', '<']).skip(1).filter(|text| !text.is_empty());
                effects.files.extend(files.map(|text| (Touch::Mention, Word::Literal(text.to_owned()))));
            }
            Argument::Operand(word) => url(word, effects),
            Argument::Option("url", Some(word)) => url(&word, effects),
            Argument::Option(..) => {}
        }
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
            Some("-newer" | "-anewer" | "-cnewer" | "-samefile") => effects.files.push((Touch::List, pair[1].clone())),
            _ => {}
        }
    }
}

fn url(word: &Word, effects: &mut Effects) {
    if let Some(path) = word.shown().strip_prefix("file://") {
        effects.files.push((Touch::Read, Word::Literal(path.to_owned())));
    }
}
