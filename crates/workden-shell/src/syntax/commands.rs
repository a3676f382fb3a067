//! Lists, pipelines, simple commands and functions.
//!
//! Invariant: a list ends where something stands that cannot begin a command, and whoever asked for
//! the list says what that must be. So a stray `)`, `fi` or `;;` is an error of the outermost list.

use super::{
    super::guard::Level,
    Command, Item, Join, Parsed, Pipeline, Runs, Script, Simple, Word,
    cursor::Parser,
    is_name,
    tree::{Assign, Descriptor, Part},
    words::Place,
};

/// Words that end a list where a command could begin.
const CLOSING: &[&str] = &["then", "elif", "else", "fi", "do", "done", "esac", "}"];
/// Builtins whose arguments may be assignments.
const DECLARING: &[&str] = &["declare", "typeset", "local", "export", "readonly"];
/// A longer number before a redirection is a word to some versions of bash, and a descriptor to others.
const MOST_DIGITS: usize = 4;

impl Parser<'_, '_> {
    /// Reads commands as long as there are any.
    pub(super) fn list(&mut self) -> Parsed<Script> {
        let mut script = Script::default();
        loop {
            self.skip_lines()?;
            let Some(mut item) = self.item()? else {
                script.doubts.append(&mut self.doubts);
                return Ok(script);
            };
            self.skip_blanks();
            let ended = match (self.peek(), self.operator_after()) {
                (Some(b';'), Some(b';' | b'&')) => false,
                (Some(b';'), _) => self.take(b';'),
                (Some(b'&'), _) => {
                    item.runs = Runs::Background;
                    self.take(b'&')
                }
                (Some(b'\n'), _) => true,
                _ => false,
            };
            script.items.push(item);
            if !ended {
                script.doubts.append(&mut self.doubts);
                return Ok(script);
            }
        }
    }

    /// A list that must not be empty.
    pub(super) fn body(&mut self) -> Parsed<Script> {
        let script = self.list()?;
        if script.items.is_empty() { self.unexpected("a command") } else { Ok(script) }
    }

    /// The byte after the one at the position, lines joined.
    pub(super) fn operator_after(&mut self) -> Option<u8> {
        let start = self.at;
        self.at += 1;
        self.skip_joins();
        let found = self.peek();
        self.at = start;
        found
    }

    fn item(&mut self) -> Parsed<Option<Item>> {
        let Some(first) = self.pipeline()? else { return Ok(None) };
        let mut rest = Vec::new();
        loop {
            self.skip_blanks();
            let join = match (self.peek(), self.operator_after()) {
                (Some(b'&'), Some(b'&')) => Join::And,
                (Some(b'|'), Some(b'|')) => Join::Or,
                _ => return Ok(Some(Item { first, rest, runs: Runs::Foreground })),
            };
            self.budget.token()?;
            self.take(b'&');
            self.take(b'|');
            self.at += 1;
            self.skip_lines()?;
            match self.pipeline()? {
                Some(pipeline) => rest.push((join, pipeline)),
                None => return self.unexpected("a command"),
            }
        }
    }

    fn pipeline(&mut self) -> Parsed<Option<Pipeline>> {
        let mut pipeline = Pipeline { timed: false, negated: false, commands: Vec::new() };
        let mut prefixed = false;
        loop {
            self.skip_blanks();
            if self.keyword("!")? {
                pipeline.negated = !pipeline.negated;
            } else if self.time()? {
                pipeline.timed = true;
            } else {
                break;
            }
            prefixed = true;
        }
        loop {
            match self.command()? {
                Some(command) => pipeline.commands.push(command),
                None if pipeline.commands.is_empty() && !prefixed => return Ok(None),
                None => return self.unexpected("a command"),
            }
            self.skip_blanks();
            if self.peek() != Some(b'|') || self.operator_after() == Some(b'|') {
                return Ok(Some(pipeline));
            }
            self.budget.token()?;
            self.take(b'|');
            self.take(b'&');
            self.skip_lines()?;
        }
    }

    /// `time` as a reserved word. Before an option other than `-p` it is a program to sh, and a
    /// reserved word before a program of that name to bash.
    fn time(&mut self) -> Parsed<bool> {
        let start = self.at;
        if !self.keyword("time")? {
            return Ok(false);
        }
        self.skip_blanks();
        if self.keyword("-p")? {
            self.skip_blanks();
        }
        if self.peek() == Some(b'-') {
            self.doubts.push("an option of `time` that bash and sh read differently");
            self.at = start;
            return Ok(false);
        }
        Ok(true)
    }

    /// Takes this word, if it is next and not quoted.
    pub(super) fn keyword(&mut self, wanted: &str) -> Parsed<bool> {
        let start = self.at;
        for byte in wanted.bytes() {
            if self.peek() != Some(byte) {
                self.at = start;
                return Ok(false);
            }
            self.at += 1;
            self.skip_joins();
        }
        match self.peek() {
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>') => {
                self.budget.token()?;
                Ok(true)
            }
            Some(_) => {
                self.at = start;
                Ok(false)
            }
        }
    }

    /// Takes this word, which must be there.
    pub(super) fn expect(&mut self, wanted: &str) -> Parsed<()> {
        self.skip_blanks();
        if self.keyword(wanted)? { Ok(()) } else { self.unexpected(&format!("`{wanted}`")) }
    }

    fn command(&mut self) -> Parsed<Option<Command>> {
        self.skip_blanks();
        for closing in CLOSING {
            let start = self.at;
            if self.keyword(closing)? {
                self.at = start;
                return Ok(None);
            }
        }
        if let Some(compound) = self.compound()? {
            return Ok(Some(compound));
        }
        if self.keyword("coproc")? {
            return self.nested(Level::Other, Parser::coprocess).map(Some);
        }
        if self.keyword("function")? {
            return self.function().map(Some);
        }
        if self.keyword("in")? || self.keyword("]]")? {
            return self.unexpected("a command instead of a reserved word");
        }
        self.simple()
    }

    fn coprocess(&mut self) -> Parsed<Command> {
        self.skip_blanks();
        let start = self.at;
        if let Some(compound) = self.compound()? {
            return Ok(Command::Coprocess(Box::new(compound)));
        }
        let named = is_name(self.name());
        if named && matches!(self.peek(), Some(b' ' | b'\t')) {
            self.skip_blanks();
            if let Some(compound) = self.compound()? {
                return Ok(Command::Coprocess(Box::new(compound)));
            }
        }
        self.at = start;
        match self.simple()? {
            Some(command) => Ok(Command::Coprocess(Box::new(command))),
            None => self.unexpected("a command"),
        }
    }

    /// `function name [()] ...`.
    fn function(&mut self) -> Parsed<Command> {
        self.skip_blanks();
        let name = self.word(Place::Argument)?;
        let Some(name) = name.as_ref().and_then(Word::plain).map(str::to_owned) else {
            return self.unexpected("the name of a function");
        };
        self.skip_blanks();
        if self.peek() == Some(b'(') && self.operator_after() == Some(b')') {
            self.take(b'(');
            self.take(b')');
        }
        self.function_body(name)
    }

    fn function_body(&mut self, name: String) -> Parsed<Command> {
        self.skip_lines()?;
        self.nested(Level::Other, |parser| match parser.compound()? {
            Some(body) => Ok(Command::Function { name, body: Box::new(body) }),
            None => parser.unexpected("the body of a function"),
        })
    }

    fn simple(&mut self) -> Parsed<Option<Command>> {
        let mut simple = Simple::default();
        let mut split_by_sh = false;
        loop {
            self.skip_blanks();
            if let Some((redirect, splits)) = self.redirect(Descriptor::Usual)? {
                split_by_sh |= splits;
                simple.redirects.push(redirect);
                continue;
            }
            let declares = simple.words.first().and_then(Word::plain).is_some_and(|word| DECLARING.contains(&word));
            let assigns = simple.words.is_empty() || declares;
            let Some(word) = self.word(if assigns { Place::Assignable } else { Place::Argument })? else { break };
            if matches!(self.peek(), Some(b'<' | b'>'))
                && let Some(descriptor) = self.descriptor(&word)
            {
                match self.redirect(descriptor)? {
                    Some((redirect, _)) => simple.redirects.push(redirect),
                    None => return self.unexpected("a redirection"),
                }
                continue;
            }
            if split_by_sh {
                self.doubts.push("words behind `&>`, which for sh are a command of their own");
            }
            match if simple.words.is_empty() { assignment(word) } else { Err(word) } {
                Ok(assignment) => simple.assignments.push(assignment),
                Err(word) => simple.words.push(word),
            }
            if simple.words.len() == 1 && simple.assignments.is_empty() && simple.redirects.is_empty() {
                self.skip_blanks();
                if self.peek() == Some(b'(') {
                    return self.function_after_name(&simple).map(Some);
                }
            }
        }
        let empty = simple.words.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty();
        Ok((!empty).then_some(Command::Simple(simple)))
    }

    fn function_after_name(&mut self, simple: &Simple) -> Parsed<Command> {
        let name = simple.words.first().and_then(Word::plain).map(str::to_owned);
        self.take(b'(');
        self.skip_blanks();
        match name {
            Some(name) if self.take(b')') => self.function_body(name),
            _ => self.unexpected("a command that is not torn by `(`"),
        }
    }

    /// A number or `{name}` right before a redirection.
    fn descriptor(&mut self, word: &Word) -> Option<Descriptor> {
        let text = word.plain()?;
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            if text.len() > MOST_DIGITS {
                self.doubts.push("a descriptor that no shell has");
            }
            return Some(Descriptor::Number(text.to_owned()));
        }
        let name = text.strip_prefix('{')?.strip_suffix('}')?;
        is_name(name).then(|| {
            self.doubts.push("`{name}` before a redirection, which sh takes for a word");
            Descriptor::Variable(name.to_owned())
        })
    }
}

/// `name=value`, `name+=value`, `name[subscript]=value`; the word itself if it is none of these.
fn assignment(mut word: Word) -> Result<Assign, Word> {
    let head = match word.parts.as_slice() {
        [Part::Plain(text), ..] if text.contains('=') => 0,
        [Part::Plain(name), Part::Subscript(_), Part::Plain(text), ..]
            if is_name(name) && (text.starts_with('=') || text.starts_with("+=")) =>
        {
            2
        }
        _ => return Err(word),
    };
    let Some(Part::Plain(text)) = word.parts.get(head) else { return Err(word) };
    let Some((before, value)) = text.split_once('=') else { return Err(word) };
    let before = before.strip_suffix('+').unwrap_or(before);
    if head == 0 && !is_name(before) {
        return Err(word);
    }
    let (mut name, value) = (before.to_owned(), value.to_owned());
    let mut subscript = Vec::new();
    for part in word.parts.drain(..=head) {
        match part {
            Part::Subscript(inner) => subscript = inner,
            Part::Plain(text) if head == 2 && is_name(&text) => name = text,
            _ => {}
        }
    }
    word.parts.insert(0, Part::Plain(value));
    Ok(Assign { name, subscript, value: word })
}
