//! What a command does to files: which of its words are files, and what happens to them.
//!
//! Errs towards more: what might be a file is taken for one. Programs that are not in the table
//! touch nothing that is known, but a word of theirs that names a protected file is a mention.

use super::{
    inline,
    options::{Argument, told_apart},
    programs::{Operands, Program, Value, program},
    special,
};
use crate::{
    Operation,
    shell::{Doubt, DoubtKind, Invocation, Word},
};

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Touch {
    /// Its name or its size is looked at.
    List,
    /// It is read.
    Read,
    /// It is written, or made.
    Write,
    /// It is read and changed.
    Edit,
    /// It is removed.
    Delete,
    /// It is read and removed.
    Move,
    /// It is named to a program that is not known.
    Mention,
    /// It is named in code of another language.
    InCode,
}

impl Touch {
    /// The operations whose rules it has to pass.
    pub(crate) fn operations(self) -> &'static [Operation] {
        match self {
            Self::List => &[Operation::Ls],
            Self::Read | Self::Mention => &[Operation::Read],
            Self::Write => &[Operation::Write],
            Self::InCode => &[Operation::Read, Operation::Write],
            Self::Edit => &[Operation::Read, Operation::Edit],
            Self::Delete => &[Operation::Delete],
            Self::Move => &[Operation::Read, Operation::Delete],
        }
    }
}

/// What a command does, as far as that can be told from its words.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Words that are files, and what happens to them.
    pub(crate) files: Vec<(Touch, Word)>,
    /// What cannot be told.
    pub(crate) doubts: Vec<Doubt>,
}

/// What a command does to files.
pub(crate) fn effects(invocation: &Invocation) -> Effects {
    let mut effects = Effects::default();
    let Some((name, arguments)) = named(invocation) else { return effects };
    match program(name) {
        Some(program) => known(program, name, arguments, &mut effects),
        None => match name {
            "tar" | "bsdtar" | "gtar" => special::tar(arguments, &mut effects),
            "curl" => special::curl(arguments, &mut effects),
            "find" | "fd" | "fdfind" => special::find(arguments, &mut effects),
            _ => mentions(arguments, &mut effects),
        },
    }
    inline::look_into(name, arguments, invocation, &mut effects);
    effects
}

/// The program's name without its directory, and its arguments.
pub(crate) fn named(invocation: &Invocation) -> Option<(&str, &[Word])> {
    let (program, arguments) = invocation.argv.split_first()?;
    let name = program.literal()?;
    Some((name.rsplit('/').next().unwrap_or(name), arguments))
}

fn known(program: &Program, name: &str, arguments: &[Word], effects: &mut Effects) {
    if matches!(program.operands, Operands::Dd) {
        return special::dd(arguments, effects);
    }
    let value_of = |option: &str| program.options.iter().find(|(name, _)| *name == option).map(|(_, value)| *value);
    let mut operands: Vec<&Word> = Vec::new();
    let mut given = Vec::new();
    let mut destination = None;
    // What follows the script is the script's business.
    let is_script = matches!(program.operands, Operands::Script);
    let limit = if is_script { script_at(arguments, &value_of) } else { arguments.len() };
    for argument in told_apart(&arguments[..limit], |option| value_of(option).is_some()) {
        match argument {
            Argument::Operand(word) => operands.push(word),
            Argument::Option(option, value) => {
                given.push(option);
                match (value_of(option), value) {
                    (Some(Value::File(touch)), Some(word)) => effects.files.push((touch, word)),
                    (Some(Value::Destination(touch)), Some(word)) => destination = Some((touch, word)),
                    (Some(Value::Runs), Some(word)) => effects.doubts.push(runs(name, option, &word)),
                    (Some(Value::Plain | Value::File(_) | Value::Destination(_) | Value::Runs) | None, _) => {}
                }
            }
        }
    }
    let mut touch_all =
        |touch, words: &[&Word]| effects.files.extend(words.iter().map(|word| (touch, (*word).clone())));
    match program.operands {
        Operands::All(touch) => touch_all(touch, &operands),
        Operands::AfterFirst(touch, unless) => {
            let skipped = usize::from(!given.iter().any(|option| unless.contains(option)));
            let in_place = given.iter().any(|option| *option == "i" || *option == "in-place");
            let touch = if in_place && matches!(name, "sed" | "gsed" | "yq") { Touch::Edit } else { touch };
            touch_all(touch, operands.get(skipped..).unwrap_or_default());
        }
        Operands::Into { sources, destination: touch } => match (destination, operands.split_last()) {
            (Some((touch, word)), _) => {
                touch_all(sources, &operands);
                effects.files.push((touch, word));
            }
            (None, Some((last, []))) => touch_all(sources, &[last]),
            (None, Some((last, others))) => {
                touch_all(sources, others);
                touch_all(touch, &[last]);
            }
            (None, None) => {}
        },
        Operands::ArchiveFirst => {
            let (archive, sources) = operands.split_at(operands.len().min(1));
            touch_all(Touch::Write, archive);
            touch_all(Touch::Read, sources);
        }
        Operands::Script => touch_all(Touch::Read, &operands),
        Operands::None | Operands::Dd => {}
    }
    if is_script {
        mentions(&arguments[limit..], effects);
    }
}

/// How many of an interpreter's arguments are its own: options, and the script.
fn script_at(arguments: &[Word], value_of: &impl Fn(&str) -> Option<Value>) -> usize {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        at += 1;
        let Some(option) = word.literal().and_then(|text| text.strip_prefix('-')) else { return at };
        match option.trim_start_matches('-') {
            // Code, or a module, and its arguments.
            "c" | "e" | "E" | "m" | "p" | "eval" | "print" | "r" | "lc" => return at,
            name if value_of(name).is_some() => at += 1,
            _ => {}
        }
    }
    at
}

pub(crate) fn runs(name: &str, option: &str, word: &Word) -> Doubt {
    Doubt {
        kind: DoubtKind::ForeignCode,
        about: format!("`{name}` runs what option `{option}` says: `{}`", word.shown()),
    }
}

/// How many bytes of possible names are looked at: each `=` in a word starts one more.
const MOST_MENTIONED: usize = 32 * 1024;

/// The words of a program that is not known: each could be a file, also behind `=`, `@` or `:`.
fn mentions(arguments: &[Word], effects: &mut Effects) {
    let mut left = MOST_MENTIONED;
    for word in arguments {
        let Some(text) = word.literal() else {
            effects.files.push((Touch::Mention, word.clone()));
            continue;
        };
        effects.files.extend(mentioned(text));
        let behind = text.char_indices().filter(|(_, c)| "=@:".contains(*c)).map(|(at, _)| &text[at + 1..]);
        for name in behind {
            let Some(rest) = left.checked_sub(name.len()) else {
                let about = "its words could name more files than are looked at".to_owned();
                return effects.doubts.push(Doubt { kind: DoubtKind::TooMuch, about });
            };
            left = rest;
            effects.files.extend(mentioned(name));
        }
    }
}

fn mentioned(name: &str) -> Option<(Touch, Word)> {
    let is_one = !name.is_empty() && !name.starts_with('-');
    is_one.then(|| (Touch::Mention, Word::Literal(name.to_owned())))
}
