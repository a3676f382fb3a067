//! What a command does to files: which of its words are files, and what happens to them.
//!
//! Errs towards more: what might be a file is taken for one. Programs that are not in the table
//! touch nothing that is known, but a word of theirs that names a protected file is a mention.

use super::{
    embedded_code,
    options::{Argument, told_apart},
    programs::{Operands, Options, Program, Value, names, program},
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
    /// The same, by a path: it may be written as well.
    MentionedPath,
    /// It is named in code of another language.
    InCode,
}

impl Touch {
    /// Whether it is only named, and nobody knows what becomes of it.
    pub(crate) fn is_only_named(self) -> bool {
        matches!(self, Self::Mention | Self::MentionedPath | Self::InCode)
    }

    /// The operations whose rules it has to pass.
    pub(crate) fn operations(self) -> &'static [Operation] {
        match self {
            Self::List => &[Operation::Ls],
            Self::Read | Self::Mention => &[Operation::Read],
            Self::Write => &[Operation::Write],
            Self::InCode | Self::MentionedPath => &[Operation::Read, Operation::Write],
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

impl Effects {
    /// Adds what becomes of the value of an option, by the table of its program.
    pub(crate) fn option(&mut self, program: &str, options: Options, option: &str, word: Word) {
        match options.iter().find(|(name, _)| *name == option).map(|(_, value)| *value) {
            Some(Value::File(touch) | Value::Destination(touch)) => self.files.push((touch, word)),
            Some(Value::ReadWrite) => self.files.extend([(Touch::Read, word.clone()), (Touch::Write, word)]),
            Some(Value::Upload) => {
                mention(&word, self);
                self.files.push((Touch::Read, word));
            }
            Some(Value::Data) => special::data(&word, self),
            Some(Value::Url) => special::url(&word, self),
            Some(Value::Runs) => self.doubts.push(runs(program, option, &word)),
            Some(Value::Text) => {}
            // Of an option that is not known, or not to take a value, it may be anything.
            Some(Value::Plain) | None => mention(&word, self),
        }
    }
}

/// Programs by which it is told that the words of another are a command: nobody means anything else.
const COMMANDS: &[&str] = &[
    "rm", "rmdir", "shred", "dd", "find", "awk", "gawk", "sed", "perl", "python", "python3", "node", "ruby", "php",
    "lua", "sh", "bash", "dash", "zsh", "chmod", "chown", "nc", "ncat", "vim", "tar", "curl", "wget", "mv", "cp",
    "socat", "tee",
];

/// The command that an unknown program seems to be given: `npm exec -- rm -rf x`.
pub(crate) fn handed_on(invocation: &Invocation) -> Option<Invocation> {
    let (name, arguments) = named(invocation)?;
    if program(name).is_some() || matches!(name, "find" | "tar" | "curl" | "git") {
        return None;
    }
    let is_command = |word: &Word| {
        word.literal().is_some_and(|text| COMMANDS.contains(&without_version(text.rsplit('/').next().unwrap_or(text))))
    };
    let at = arguments.iter().position(is_command)?;
    Some(Invocation { argv: arguments[at..].to_vec(), ..invocation.clone() })
}

/// What a command does to files.
pub(crate) fn effects(invocation: &Invocation) -> Effects {
    let mut effects = Effects::default();
    invocation.assignments.iter().for_each(|assignment| mention(&assignment.value, &mut effects));
    let Some((name, arguments)) = named(invocation) else { return effects };
    match program(name) {
        Some(program) => known(program, name, arguments, &mut effects),
        None => match name {
            "tar" | "bsdtar" | "gtar" => special::tar(arguments, &mut effects),
            "curl" => special::curl(arguments, &mut effects),
            "find" => special::find(arguments, &mut effects),
            "fd" | "fdfind" => special::fd(arguments, &mut effects),
            name => {
                if name == "git" {
                    special::git(arguments, &mut effects);
                }
                unknown(name, arguments, &mut effects);
            }
        },
    }
    embedded_code::look_into(name, arguments, invocation, &mut effects);
    effects
}

/// The program's name without its directory, and its arguments.
pub(crate) fn named(invocation: &Invocation) -> Option<(&str, &[Word])> {
    let (program, arguments) = invocation.argv.split_first()?;
    let name = program.literal()?;
    Some((without_version(name.rsplit('/').next().unwrap_or(name)), arguments))
}

/// `python3.12` is `python`.
fn without_version(name: &str) -> &str {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    match bare {
        "ipython" => "python",
        "python" | "pypy" | "perl" | "ruby" | "lua" | "luajit" | "php" | "node" | "bash" | "vim" => bare,
        _ => name,
    }
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
    let valued = names(program.options);
    for argument in told_apart(&arguments[..limit], &valued) {
        match argument {
            Argument::Operand(word) => {
                if PAGERS.contains(&name) && does_more(word) {
                    effects.doubts.push(runs(name, "+", word));
                }
                operands.push(word);
            }
            Argument::Option(option, value) => {
                given.push(option);
                match (value_of(option), value) {
                    (Some(Value::Destination(touch)), Some(word)) => destination = Some((touch, word)),
                    (_, Some(word)) => effects.option(name, program.options, option, word),
                    (_, None) => {}
                }
            }
        }
    }
    if !matches!(program.operands, Operands::None) {
        behind_letters(&arguments[..limit], &valued, effects);
    }
    let mut touch_all =
        |touch, words: &[&Word]| effects.files.extend(words.iter().map(|word| (touch, (*word).clone())));
    match program.operands {
        Operands::All(touch) => touch_all(touch, &operands),
        Operands::AfterFirst(touch, unless) => {
            let skipped = usize::from(!given.iter().any(|option| unless.contains(option)));
            let long = |option: &str| option.len() > 1 && "in-place".starts_with(option);
            let in_place = given.iter().any(|option| *option == "i" || long(option));
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
    // What a link leads to is reached by another name from then on.
    if matches!(name, "ln" | "link")
        || name == "cp" && given.iter().any(|option| matches!(*option, "s" | "l" | "link" | "symbolic-link"))
    {
        operands.iter().for_each(|word| mention(word, effects));
    }
    if name == "install" && given.iter().any(|option| matches!(*option, "d" | "directory")) {
        effects.files.extend(operands.iter().map(|word| (Touch::Write, (*word).clone())));
    }
    if is_script {
        mentions(&arguments[limit..], effects);
    }
}

/// Programs that obey a word with a plus in front.
const PAGERS: &[&str] = &["less", "more", "most", "vi", "vim", "nvim", "view", "ex", "emacs"];

/// Whether it is more than a line to go to, or a text to search for.
fn does_more(word: &Word) -> bool {
    let Some(command) = word.literal().and_then(|text| text.strip_prefix('+')) else { return false };
    !(command.bytes().all(|byte| byte.is_ascii_digit()) || matches!(command, "G" | "F") || command.starts_with('/'))
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

/// Options of programs that keep a diary, whose values are sentences.
const SENTENCES: &[&str] =
    &["-m", "-am", "--message", "--body", "--title", "--notes", "--description", "--grep", "-S", "-G"];
const DIARIES: &[&str] = &["git", "gh", "hg", "jj", "glab", "svn"];
/// Options of programs that run tests, whose values choose some.
const CHOICES: &[&str] = &["-k", "-t", "-run", "--filter", "--testNamePattern", "--grep"];
const TESTERS: &[&str] = &["pytest", "py.test", "jest", "vitest", "mocha", "go"];
/// Compilers read what these name, and write something else.
const INCLUDES: &[&str] = &["-I", "-L", "-isystem"];
const COMPILERS: &[&str] = &["gcc", "g++", "cc", "c++", "clang", "clang++"];

/// The words of a program that is not known.
fn unknown(name: &str, arguments: &[Word], effects: &mut Effects) {
    let mut before = "";
    for word in arguments {
        let text = word.shown();
        let told_by = |options: &[&str]| {
            options.contains(&before) || text.split_once('=').is_some_and(|(option, _)| options.contains(&option))
        };
        let is_text = DIARIES.contains(&name) && told_by(SENTENCES) || TESTERS.contains(&name) && told_by(CHOICES);
        // Subcommands and names of tests.
        let is_plain = name == "cargo" && word.literal().is_some() && !text.contains(['/', '=', '.', ' ']);
        if COMPILERS.contains(&name) && INCLUDES.iter().any(|option| before == *option || text.starts_with(option)) {
            let path = text.trim_start_matches("-isystem").trim_start_matches("-I").trim_start_matches("-L");
            effects.files.push((Touch::Mention, Word::Literal(path.to_owned())));
        } else if !is_text && !is_plain {
            mention(word, effects);
        }
        before = text;
    }
}

fn mentions(arguments: &[Word], effects: &mut Effects) {
    arguments.iter().for_each(|word| mention(word, effects));
}

/// How many words of one command are looked at, pieces of words included.
const MOST_MENTIONS: usize = 2_048;

/// Each word could be a file, and so could its pieces: behind `=`, `@` or `:`, behind the letter of an
/// option, or in what may be a command of its own. All of it is no more than a few times the word.
pub(crate) fn mention(word: &Word, effects: &mut Effects) {
    let Some(text) = word.literal() else {
        effects.files.push((Touch::Mention, word.clone()));
        return;
    };
    let letter = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let letter = letter.and_then(|rest| rest.char_indices().nth(1).map(|(at, _)| &rest[at..]));
    let behind = text.split_once(MARKS).map(|(_, behind)| behind);
    let last = text.rsplit_once(MARKS).map(|(_, last)| last);
    let pieces = text.split(|c: char| MARKS.contains(&c) || BETWEEN_WORDS.contains(&c));
    let pieces = pieces.filter(|piece| piece.len() < text.len());
    for text in [Some(text), behind, last, letter].into_iter().flatten().chain(pieces) {
        if text.is_empty() || text.starts_with('-') {
            continue;
        }
        if effects.files.len() >= MOST_MENTIONS {
            let about = "it has more words than are looked at".to_owned();
            effects.doubts.push(Doubt { kind: DoubtKind::TooMuch, about });
            return;
        }
        named_in(text, effects);
    }
}

/// What stands before a file in a word.
const MARKS: &[char] = &['=', '@', ':', '+'];

/// What stands between the words of a command, in whatever language.
const BETWEEN_WORDS: &[char] = &[' ', '\t', '\n', '\'', '"', '`', ';', '|', '&', '<', '>', '(', ')', ',', '{', '}'];

fn named_in(text: &str, effects: &mut Effects) {
    let is_path = text.starts_with(['/', '~']) || text.contains('/');
    let touch = if is_path { Touch::MentionedPath } else { Touch::Mention };
    effects.files.push((touch, Word::Literal(text.to_owned())));
}

/// What follows a letter that is not known to take a value: `-oFILE`.
fn behind_letters(arguments: &[Word], valued: &[&str], effects: &mut Effects) {
    let words = arguments.iter().filter_map(Word::literal).take_while(|text| *text != "--");
    for letters in words.filter_map(|text| text.strip_prefix('-')).filter(|letters| !letters.starts_with('-')) {
        let mut all = letters.char_indices();
        let first_known =
            all.next().is_none_or(|(_, first)| valued.iter().any(|option| option.strip_prefix(first) == Some("")));
        if let (false, Some((at, _))) = (first_known, all.next()) {
            mention(&Word::Literal(letters[at..].to_owned()), effects);
        }
    }
}
