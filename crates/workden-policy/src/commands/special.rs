//! Programs whose words follow rules of their own: `dd`, `tar`, `curl`, `find`.

use super::{
    effects::{Effects, Touch, mention, runs},
    options::{Argument, told_apart},
    programs::{
        Options,
        Value::{Data, File, Plain, ReadWrite, Runs, Text, Upload, Url},
        names,
    },
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

#[rustfmt::skip]
const TAR: Options = &[
    ("f", Plain), ("C", Plain), ("T", File(Touch::Read)), ("X", File(Touch::Read)), ("I", Runs), ("F", Runs), ("g", ReadWrite),
    ("b", Plain), ("N", Plain), ("V", Plain), ("K", Plain), ("H", Plain), ("listed-incremental", ReadWrite), ("newer", Plain),
    ("label", Plain), ("add-file", ReadWrite), ("index-file", File(Touch::Write)), ("volno-file", File(Touch::Write)),
    ("rmt-command", Runs), ("file", Plain), ("directory", Plain), ("files-from", File(Touch::Read)), ("exclude", Text),
    ("exclude-from", File(Touch::Read)), ("transform", Text), ("to-command", Runs), ("use-compress-program", Runs),
    ("checkpoint-action", Runs), ("owner", Text), ("group", Text), ("mode", Text), ("strip-components", Plain),
    ("rsh-command", Runs), ("new-volume-script", Runs), ("info-script", Runs),
];

/// `tar`, whose operation decides what happens to the archive and in the directory.
pub(crate) fn tar(arguments: &[Word], effects: &mut Effects) {
    // The first word may be letters without a dash, and then the values of all of them follow it in
    // their order: `tar czf x.tar.gz src`.
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
    let told = told_apart(&dashed, &names(TAR));
    let has = |wanted: &[&str]| {
        told.iter().any(|argument| matches!(argument, Argument::Option(option, _) if wanted.contains(option)))
    };
    let extracts = has(&["x", "extract", "get"]);
    let lists = has(&["t", "list"]);
    let archive = if extracts || lists { Touch::Read } else { Touch::Write };
    let directory = if extracts { Touch::Write } else { Touch::List };
    let sources = if has(&["remove-files"]) { Touch::Move } else { Touch::Read };
    if extracts && has(&["P", "absolute-names"]) {
        let about = "an archive that says itself where its files go".to_owned();
        effects.doubts.push(Doubt { kind: DoubtKind::NotLiteral, about });
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
    ("o", File(Touch::Write)), ("output", File(Touch::Write)), ("T", Upload), ("upload-file", Upload), ("d", Data), ("data", Data),
    ("data-binary", Data), ("data-raw", Plain), ("data-urlencode", Data), ("F", Data), ("form", Data), ("H", Data),
    ("header", Data), ("X", Plain), ("request", Plain), ("u", Plain), ("user", Plain), ("A", Plain), ("user-agent", Plain),
    ("e", Plain), ("referer", Plain), ("b", Plain), ("cookie", Plain), ("c", File(Touch::Write)), ("cookie-jar", File(Touch::Write)),
    ("K", Upload), ("config", Upload), ("E", Upload), ("cert", Upload), ("key", Upload), ("cacert", Upload), ("m", Plain),
    ("max-time", Plain), ("connect-timeout", Plain), ("retry", Plain), ("w", Plain), ("write-out", Plain), ("x", Plain),
    ("proxy", Plain), ("D", File(Touch::Write)), ("dump-header", File(Touch::Write)), ("output-dir", File(Touch::Write)), ("url", Url),
    ("json", Data), ("resolve", Plain), ("trace", File(Touch::Write)), ("trace-ascii", File(Touch::Write)), ("netrc-file", Upload),
    ("r", Plain), ("range", Plain),
];

pub(crate) fn curl(arguments: &[Word], effects: &mut Effects) {
    let mut names_itself = false;
    for argument in told_apart(arguments, &names(CURL)) {
        match argument {
            Argument::Option("K" | "config", Some(Word::Literal(dash))) if dash == "-" => {
                let about = "options of `curl` that come through its input".to_owned();
                effects.doubts.push(Doubt { kind: DoubtKind::NotLiteral, about });
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
        effects.files.extend(names.map(|name| (Touch::Write, Word::Literal(name.to_owned()))));
    }
}

/// What `curl` sends: files behind `@` and `<`.
pub(crate) fn data(word: &Word, effects: &mut Effects) {
    let sent = word.shown().split(['@', '<']).skip(1);
    let files = sent.flat_map(|text| [text].into_iter().chain(text.split([';', ','])));
    let files = files.filter(|text| !text.is_empty());
    effects.files.extend(files.map(|text| (Touch::Mention, Word::Literal(text.to_owned()))));
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
pub(crate) fn url(word: &Word, effects: &mut Effects) {
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
