//! What is known about the values of variables while a script is walked.
//!
//! Invariant: a known value is the value in every run that reaches this point, in bash and in sh. A variable that is
//! not known is absent; when in doubt, forget it.

use std::collections::{BTreeMap, BTreeSet};

use workden_core::VirtualPath;

use crate::{
    analysis::{Word, WorkingDirectories},
    printed,
    syntax::{Parameter, WordPart},
};

/// The length of the longest text that is remembered: a script could double it in each line.
const LONGEST: usize = 4_096;

/// Variables that shells set by themselves, so that an assignment says nothing about their value.
const SET_BY_SHELLS: &[&str] = &[
    "_",
    "BASHPID",
    "COPROC",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HISTCMD",
    "LINENO",
    "MAPFILE",
    "OLDPWD",
    "OPTARG",
    "OPTIND",
    "PIPESTATUS",
    "PPID",
    "PWD",
    "RANDOM",
    "REPLY",
    "SECONDS",
    "SHLVL",
    "SRANDOM",
    "UID",
];

/// A text of which something is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// This text.
    Text(String),
    /// One name that matches this pattern.
    Name(String),
    /// Names that match these patterns, with blanks or line breaks between them.
    Names(Vec<String>),
    /// A text without blanks and slashes, in which a star of this pattern stands for digits and letters.
    Stamp(String),
    /// The words of an array.
    Words(Vec<Word>),
    /// A number.
    Number,
    /// Numbers with line breaks between them, or nothing.
    Count,
    /// A word without blanks that is not an option: the name of a revision, of a user.
    Token,
}

/// The variables with known values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Variables(BTreeMap<String, Value>);

impl Value {
    /// Whether arithmetic reads this value as a number.
    pub(super) fn is_number(&self) -> bool {
        match self {
            Self::Number | Self::Count => true,
            Self::Text(text) => !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()),
            Self::Name(_) | Self::Names(_) | Self::Stamp(_) | Self::Words(_) | Self::Token => false,
        }
    }

    /// Returns what both values have in common.
    fn join(&self, other: &Self) -> Option<Self> {
        if self == other {
            return Some(self.clone());
        }
        let is_count = matches!(self, Self::Count) || matches!(other, Self::Count);
        let number = if is_count { Self::Count } else { Self::Number };
        (self.is_number() && other.is_number()).then_some(number)
    }
}

impl Variables {
    /// Remembers a value, or forgets the variable.
    pub(super) fn set(&mut self, name: &str, value: Option<Value>) {
        let fits = |value: &Value| match value {
            Value::Text(text) | Value::Name(text) | Value::Stamp(text) => text.len() <= LONGEST,
            Value::Names(patterns) => patterns.iter().map(String::len).sum::<usize>() <= LONGEST,
            Value::Words(words) => words.iter().map(|word| word.shown().len() + 1).sum::<usize>() <= LONGEST,
            Value::Number | Value::Count | Value::Token => true,
        };
        match value.filter(fits) {
            Some(value) if !SET_BY_SHELLS.contains(&name) => _ = self.0.insert(name.to_owned(), value),
            _ => _ = self.0.remove(name),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.0.keys().cloned()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub(super) fn forget(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Sets the arguments of a script or a function.
    pub(super) fn set_arguments(&mut self, words: &[Word]) {
        self.forget_arguments();
        let is_known = |word: &Word| !matches!(word, Word::Unknown(_) | Word::Pieces(_));
        if words.iter().all(is_known) {
            self.set("@", Some(Value::Words(words.to_vec())));
            let texts: Option<Vec<&str>> = words.iter().map(Word::literal).collect();
            self.set("*", texts.map(|texts| Value::Text(texts.join(" "))));
        }
        let pieces: Option<Vec<String>> = words
            .iter()
            .map(|word| match word {
                Word::Pieces(pattern) => Some(pattern.clone()),
                _ => None,
            })
            .collect();
        // One marker of `xargs` can stand for names of several patterns.
        if let Some(patterns) = pieces.filter(|patterns| patterns.len() > 1) {
            return self.set("1", Some(Value::Names(patterns)));
        }
        for (at, word) in words.iter().take(9).enumerate() {
            let value = match word {
                Word::Literal(text) => Some(Value::Text(text.clone())),
                Word::Pattern(pattern) => Some(Value::Name(pattern.clone())),
                Word::Pieces(pattern) => Some(Value::Names(vec![pattern.clone()])),
                Word::Stamp(pattern) => Some(Value::Stamp(pattern.clone())),
                Word::Token(_) => Some(Value::Token),
                Word::Unknown(_) => None,
            };
            // After a word that could be several, the positions are not known.
            if matches!(word, Word::Pattern(_) | Word::Pieces(_) | Word::Unknown(_))
                && words.len() > 1
                && at + 1 < words.len()
            {
                break;
            }
            self.set(&(at + 1).to_string(), value);
        }
    }

    pub(super) fn forget_arguments(&mut self) {
        self.0.retain(|name, _| !name.starts_with(|c: char| c.is_ascii_digit() || c == '@' || c == '*'));
    }

    /// Returns these variables with the arguments of others.
    pub(super) fn with_arguments_of(mut self, others: &Self) -> Self {
        self.forget_arguments();
        let is_argument = |name: &str| name.starts_with(|c: char| c.is_ascii_digit() || c == '@' || c == '*');
        self.0.extend(
            others.0.iter().filter(|(name, _)| is_argument(name)).map(|(name, value)| (name.clone(), value.clone())),
        );
        self
    }

    pub(super) fn forget_all(&mut self) {
        self.0.clear();
    }

    /// Returns what is known if either state is possible.
    pub(super) fn join(&self, other: &Self) -> Self {
        let both = self.0.iter().filter_map(|(name, value)| Some((name.clone(), value.join(other.0.get(name)?)?)));
        Self(both.collect())
    }
}

/// Everything that decides about the values in a word.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    /// The functions that the script has defined so far, which may replace any program.
    pub(super) functions: &'a BTreeSet<String>,
    pub(super) variables: &'a Variables,
    pub(super) directories: &'a WorkingDirectories,
    /// The variables that the script has set so far.
    pub(super) assigned: &'a BTreeSet<String>,
}

impl Scope<'_> {
    /// Returns the value of a variable.
    pub(super) fn variable(&self, name: &str) -> Option<Value> {
        match name {
            "PWD" => self.directory(),
            // The last background process, if there is one.
            "!" => Some(Value::Count),
            name => self.variables.0.get(name).cloned(),
        }
    }

    /// Returns the directory, if there is only one in which the script can be.
    pub(super) fn directory(&self) -> Option<Value> {
        match self.directories {
            WorkingDirectories::AnyOf(all) => match all.as_slice() {
                [only] => Some(Value::Text(VirtualPath::as_str(only).to_owned())),
                _ => None,
            },
            WorkingDirectories::Unknown => None,
        }
    }

    /// Returns the value of a part of a word that is not text.
    pub(super) fn part(&self, part: &WordPart) -> Option<Value> {
        match part {
            WordPart::Number | WordPart::Arithmetic(_) => Some(Value::Number),
            WordPart::Parameter(parameter) => self.parameter(parameter),
            WordPart::Command { script, .. } => printed::printed(script, *self),
            WordPart::Plain(_)
            | WordPart::Quoted(_)
            | WordPart::Process(_)
            | WordPart::Array(_)
            | WordPart::Subscript(_)
            | WordPart::Balanced(_) => None,
        }
    }

    fn parameter(&self, parameter: &Parameter) -> Option<Value> {
        if parameter.length {
            return Some(Value::Number);
        }
        let name = parameter.name.as_deref()?;
        let is_all = matches!(parameter.inner.as_slice(), [WordPart::Plain(all)] if all == "[@]" || all == "[*]");
        let is_item = matches!(parameter.inner.as_slice(), [WordPart::Plain(item)]
            if item.trim_matches(['[', ']']).bytes().all(|byte| byte.is_ascii_digit()) && item.starts_with('['));
        if name == "PIPESTATUS" && is_item && !self.assigned.contains(name) {
            return Some(Value::Count);
        }
        // Within quotes `*` makes one word of all.
        if is_all && matches!(parameter.inner.as_slice(), [WordPart::Plain(all)] if all == "[*]") {
            return None;
        }
        let value = self.variable(name)?;
        match parameter.inner.as_slice() {
            // Without a subscript an array is its first word.
            _ if matches!(value, Value::Words(_)) => Some(value).filter(|_| is_all || matches!(name, "@" | "*")),
            [] => Some(value),
            [WordPart::Plain(operation)] => removed(&value, operation),
            _ => None,
        }
    }
}

/// Returns the value after `${x%suffix}`, `${x##*/}` and the like.
fn removed(value: &Value, operation: &str) -> Option<Value> {
    let special = |text: &str| text.contains(['*', '?', '[', '\\', '/', '~']) || text.is_empty();
    if let Value::Text(text) = value
        && let Some(rest) = cut(text, operation)
    {
        return Some(Value::Text(rest.to_owned()));
    }
    match (operation, value) {
        ("##*/", Value::Text(text)) => Some(Value::Text(text.rsplit('/').next().unwrap_or_default().to_owned())),
        ("##*/", Value::Name(pattern)) => {
            let is_hidden = pattern.rsplit('/').next().is_none_or(|name| name.starts_with('.'));
            (!is_hidden).then(|| Value::Name("*".to_owned()))
        }
        (operation, value) => {
            let suffix = operation.strip_prefix("%%").or_else(|| operation.strip_prefix('%'))?;
            match value {
                _ if special(suffix) => None,
                Value::Text(text) => Some(Value::Text(text.strip_suffix(suffix).unwrap_or(text).to_owned())),
                // The rest of the name is in the same directory.
                Value::Name(pattern) => match pattern.rsplit_once('/') {
                    Some((directory, _)) => Some(Value::Name(format!("{directory}/*"))),
                    None => Some(Value::Name("*".to_owned())),
                },
                Value::Names(patterns) => {
                    let each = patterns.iter().map(|pattern| pattern.strip_suffix(suffix).map(str::to_owned));
                    each.collect::<Option<Vec<String>>>().map(Value::Names)
                }
                Value::Stamp(_) | Value::Words(_) | Value::Number | Value::Count | Value::Token => None,
            }
        }
    }
}

/// Returns the text after `${x%.*}`, `${x%%.*}`, `${x#*.}` and `${x##*.}`, with any plain character.
fn cut<'a>(text: &'a str, operation: &str) -> Option<&'a str> {
    let plain = |c: &char| c.is_ascii_alphanumeric() || ".-_=:/,@".contains(*c);
    let sign = if operation.starts_with('%') { '%' } else { '#' };
    let pattern = operation.trim_start_matches(sign);
    let signs = operation.len() - pattern.len();
    let mut characters = pattern.chars();
    let (first, second, end) = (characters.next()?, characters.next()?, characters.next());
    if end.is_some() || signs == 0 || signs > 2 {
        return None;
    }
    match (operation.starts_with('%'), first, second) {
        (true, mark, '*') if plain(&mark) => {
            let at = if signs == 1 { text.rfind(mark) } else { text.find(mark) };
            Some(at.map_or(text, |at| &text[..at]))
        }
        (false, '*', mark) if plain(&mark) => {
            let at = if signs == 1 { text.find(mark) } else { text.rfind(mark) };
            Some(at.map_or(text, |at| &text[at + mark.len_utf8()..]))
        }
        _ => None,
    }
}
