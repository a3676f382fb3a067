//! Programs with a special syntax: `dd`, `tar`, `curl`, `find`.

use super::{
    effects::{CommandEffects, runs, url},
    file_effect::FileEffect,
    options::{Argument, parse_arguments},
    programs::{
        Options,
        Value::{Data, File, Plain, ReadWrite, Runs, Text, Upload, Url},
        names,
    },
};
use crate::shell::{Doubt, DoubtKind, Word};

pub(crate) fn dd(arguments: &[Word], effects: &mut CommandEffects) {
    for word in arguments {
        let Some((key, value)) = word.shown().split_once('=') else { continue };
        let value = match word {
            Word::Literal(_) | Word::Pattern(_) => Word::Literal(value.to_owned()),
            Word::Stamp(_) => Word::Stamp(value.to_owned()),
            Word::Pieces(_) | Word::Token(_) | Word::Unknown(_) => Word::Unknown(value.to_owned()),
        };
        match key {
            "if" => effects.files.push((FileEffect::Read, value)),
            "of" => effects.files.push((FileEffect::Write, value)),
            _ => {}
        }
    }
}

#[rustfmt::skip]
const TAR: Options = &[
    ("f", Plain), ("C", Plain), ("T", File(FileEffect::Read)), ("X", File(FileEffect::Read)), ("I", Runs), ("F", Runs), ("g", ReadWrite),
    ("b", Plain), ("N", Plain), ("V", Plain), ("K", Plain), ("H", Plain), ("listed-incremental", ReadWrite), ("newer", Plain),
    ("label", Plain), ("add-file", ReadWrite), ("index-file", File(FileEffect::Write)), ("volno-file", File(FileEffect::Write)),
    ("rmt-command", Runs), ("file", Plain), ("directory", Plain), ("files-from", File(FileEffect::Read)), ("exclude", Text),
    ("exclude-from", File(FileEffect::Read)), ("transform", Text), ("to-command", Runs), ("use-compress-program", Runs),
    ("checkpoint-action", Runs), ("owner", Text), ("group", Text), ("mode", Text), ("strip-components", Plain),
    ("rsh-command", Runs), ("new-volume-script", Runs), ("info-script", Runs),
];

/// Adds the effects of `tar`, whose operation decides how the archive and the directory are used.
pub(crate) fn tar(arguments: &[Word], effects: &mut CommandEffects) {
    // The first word may be letters without a dash, followed by the values of these letters in order: `tar czf x.tar.gz
    // src`.
    let dashed: Vec<Word> = match arguments.split_first() {
        Some((Word::Literal(first), rest)) if !first.starts_with('-') && first.len() < 64 => {
            let mut rest = rest.iter().cloned();
            let mut dashed = Vec::new();
            for letter in first.chars() {
                dashed.push(Word::Literal(format!("-{letter}")));
                if TAR.iter().any(|(option, _)| option.strip_prefix(letter) == Some("")) {
                    dashed.extend(rest.next());
                }
            }
            dashed.extend(rest);
            dashed
        }
        _ => arguments.to_vec(),
    };
    let told = parse_arguments(&dashed, &names(TAR));
    let has = |wanted: &[&str]| {
        told.iter().any(|argument| matches!(argument, Argument::Option(option, _) if wanted.contains(option)))
    };
    let extracts = has(&["x", "extract", "get"]);
    let lists = has(&["t", "list"]);
    let archive = if extracts || lists { FileEffect::Read } else { FileEffect::Write };
    let directory = if extracts { FileEffect::Write } else { FileEffect::List };
    let sources = if has(&["remove-files"]) { FileEffect::Move } else { FileEffect::Read };
    if extracts && has(&["P", "absolute-names"]) {
        let about = "an archive with absolute paths";
        effects.doubts.push(Doubt::new(DoubtKind::NotLiteral, about));
    }
    for argument in told {
        match argument {
            Argument::Option("f" | "file", Some(word)) => effects.files.push((archive, word)),
            Argument::Option("C" | "directory", Some(word)) => effects.files.push((directory, word)),
            Argument::Option(option, Some(word)) => effects.option("tar", TAR, option, word),
            Argument::Operand(word) if !extracts && !lists => effects.files.push((sources, word.clone())),
            Argument::Operand(_) | Argument::Option(_, None) => {}
        }
    }
}

#[rustfmt::skip]
const CURL: Options = &[
    ("o", File(FileEffect::Write)), ("output", File(FileEffect::Write)), ("T", Upload), ("upload-file", Upload), ("d", Data), ("data", Data),
    ("data-binary", Data), ("data-raw", Plain), ("data-urlencode", Data), ("F", Data), ("form", Data), ("H", Data),
    ("header", Data), ("X", Plain), ("request", Plain), ("u", Plain), ("user", Plain), ("A", Plain), ("user-agent", Plain),
    ("e", Plain), ("referer", Plain), ("b", Plain), ("cookie", Plain), ("c", File(FileEffect::Write)), ("cookie-jar", File(FileEffect::Write)),
    ("K", Upload), ("config", Upload), ("E", Upload), ("cert", Upload), ("key", Upload), ("cacert", Upload), ("m", Plain),
    ("max-time", Plain), ("connect-timeout", Plain), ("retry", Plain), ("w", Plain), ("write-out", Plain), ("x", Plain),
    ("proxy", Plain), ("D", File(FileEffect::Write)), ("dump-header", File(FileEffect::Write)), ("output-dir", File(FileEffect::Write)), ("url", Url),
    ("json", Data), ("resolve", Plain), ("trace", File(FileEffect::Write)), ("trace-ascii", File(FileEffect::Write)), ("netrc-file", Upload),
    ("r", Plain), ("range", Plain),
];

pub(crate) fn curl(arguments: &[Word], effects: &mut CommandEffects) {
    let mut names_itself = false;
    for argument in parse_arguments(arguments, &names(CURL)) {
        match argument {
            Argument::Option("K" | "config", Some(Word::Literal(dash))) if dash == "-" => {
                let about = "options of `curl` from its standard input";
                effects.doubts.push(Doubt::new(DoubtKind::NotLiteral, about));
            }
            Argument::Option(option, Some(word)) => effects.option("curl", CURL, option, word),
            Argument::Option(option, None) => {
                names_itself |= matches!(option, "O" | "remote-name" | "remote-name-all");
            }
            Argument::Operand(word) => url(word, effects),
        }
    }
    if names_itself {
        let urls = arguments.iter().filter_map(Word::literal).filter(|text| !text.starts_with('-'));
        let names = urls.filter_map(|text| text.split(['?', '#']).next()?.rsplit('/').next());
        effects.files.extend(names.map(|name| (FileEffect::Write, Word::Literal(name.to_owned()))));
    }
}

/// Adds the effects of `fd`, which can also run programs; the search pattern comes first.
pub(crate) fn fd(arguments: &[Word], effects: &mut CommandEffects) {
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

/// Adds the effects of `git`, whose subcommands are separate programs.
pub(crate) fn git(arguments: &[Word], effects: &mut CommandEffects) {
    let operands = || arguments.iter().skip(1).filter(|word| !word.shown().starts_with('-'));
    let output = arguments.iter().filter_map(|word| word.literal()?.strip_prefix("--output="));
    effects.files.extend(output.map(|file| (FileEffect::Write, Word::Literal(file.to_owned()))));
    match arguments.first().and_then(Word::literal) {
        Some("rm") => {
            // A pathspec with magic names other files than its text.
            if operands().any(|word| word.shown().starts_with(':')) {
                effects.doubts.push(Doubt::new(DoubtKind::NotLiteral, "the files that a pathspec of `git rm` names"));
            }
            effects.files.extend(operands().map(|word| (FileEffect::Delete, word.clone())));
        }
        Some("mv") => effects.files.extend(operands().map(|word| (FileEffect::Move, word.clone()))),
        _ => {}
    }
}

/// Adds the effects of `find`: starting points come first; the command of `-exec` is a separate invocation.
pub(crate) fn find(arguments: &[Word], effects: &mut CommandEffects) {
    let is_expression = |word: &Word| word.literal().is_some_and(|text| text.starts_with(['-', '(', '!']));
    let starts: Vec<&Word> = arguments
        .iter()
        .skip_while(|word| matches!(word.literal(), Some("-L" | "-P" | "-H")))
        .take_while(|word| !is_expression(word))
        .collect();
    let deletes = arguments.iter().any(|word| word.literal() == Some("-delete"));
    let here = Word::Literal(".".to_owned());
    let starts = if starts.is_empty() { vec![&here] } else { starts };
    effects.files.extend(starts.iter().map(|word| (FileEffect::List, (*word).clone())));
    if deletes {
        let named = arguments.windows(2).filter(|pair| matches!(pair[0].literal(), Some("-name" | "-iname")));
        // Each alternative has a name, and only paths are excluded.
        let count = |wanted: &[&str]| {
            arguments.iter().filter(|word| word.literal().is_some_and(|text| wanted.contains(&text))).count()
        };
        let negates = arguments
            .windows(2)
            .any(|pair| matches!(pair[0].literal(), Some("!" | "-not")) && pair[1].literal() != Some("-path"));
        let is_plain = count(&["-name"]) == count(&["-o", "-or"]) + 1 && count(&["-iname", ","]) == 0 && !negates;
        let names: Vec<&str> = named.filter_map(|pair| pair[1].literal()).filter(|_| is_plain).collect();
        for start in &starts {
            match start.literal().filter(|_| !names.is_empty()) {
                Some(start) => effects
                    .files
                    .extend(names.iter().map(|name| (FileEffect::Delete, Word::Pattern(format!("{start}/**/{name}"))))),
                None => effects.files.push((FileEffect::Delete, (*start).clone())),
            }
        }
    }
    for pair in arguments.windows(2) {
        match pair[0].literal() {
            Some("-fprint" | "-fprintf" | "-fls" | "-fprint0") => {
                effects.files.push((FileEffect::Write, pair[1].clone()))
            }
            Some("-files0-from") => effects.files.push((FileEffect::Read, pair[1].clone())),
            Some("-newer" | "-anewer" | "-cnewer" | "-samefile") => {
                effects.files.push((FileEffect::List, pair[1].clone()))
            }
            _ => {}
        }
    }
}
