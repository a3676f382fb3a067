//! Lists, pipelines, simple commands and functions.
//!
//! Invariant: a list ends at the first token that cannot start a command, and the caller checks that
//! token. So a stray `)`, `fi` or `;;` is an error of the outermost list.

use std::rc::Rc;

use super::{
    cursor::{Parsed, Parser},
    modes::WordContext,
    tree::{
        Assign, CommandNode, Connector, Item, Pipeline, RawWord, RedirectSource, RunMode, Script, Simple, WordPart,
        is_name,
    },
};
use crate::budget::Nesting;

/// Words that end a list at the start of a command.
const CLOSING: &[&str] = &["then", "elif", "else", "fi", "do", "done", "esac", "}"];
/// Other reserved words.
const OPENING: &[&str] =
    &["!", "{", "[[", "]]", "case", "coproc", "for", "function", "if", "in", "select", "until", "while"];
/// Builtins whose arguments may be assignments.
const DECLARING: &[&str] = &["declare", "typeset", "local", "export", "readonly"];
/// Some versions of bash read a longer number before a redirection as a word, others as a descriptor.
const MOST_DIGITS: usize = 4;

impl Parser<'_, '_> {
    /// Reads commands up to the first token that cannot start one.
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
                    item.runs = RunMode::Background;
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

    /// Reads a list that must not be empty.
    pub(super) fn body(&mut self) -> Parsed<Script> {
        let script = self.list()?;
        if script.items.is_empty() { self.unexpected("a command") } else { Ok(script) }
    }

    /// Returns the byte after the current one, with lines joined.
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
                (Some(b'&'), Some(b'&')) => Connector::And,
                (Some(b'|'), Some(b'|')) => Connector::Or,
                _ => return Ok(Some(Item { first, rest, runs: RunMode::Foreground })),
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

    /// Reads `time` as a reserved word. Before an option other than `-p`, sh reads it as a program, and bash as a
    /// reserved word before a program of that name.
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

    /// Consumes this word, if it is next and not quoted.
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

    /// Consumes this word, which must be next.
    pub(super) fn expect(&mut self, wanted: &str) -> Parsed<()> {
        self.skip_blanks();
        if self.keyword(wanted)? { Ok(()) } else { self.unexpected(&format!("`{wanted}`")) }
    }

    fn command(&mut self) -> Parsed<Option<CommandNode>> {
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
            self.doubts.push("`coproc`, which sh reads as a command");
            return self.nested(Nesting::Other, Parser::coprocess).map(Some);
        }
        if self.keyword("function")? {
            return self.function().map(Some);
        }
        if self.keyword("in")? || self.keyword("]]")? || self.keyword("!")? {
            return self.unexpected("a command, not a reserved word,");
        }
        self.simple()
    }

    fn coprocess(&mut self) -> Parsed<CommandNode> {
        self.skip_blanks();
        let start = self.at;
        if let Some(compound) = self.compound()? {
            return Ok(CommandNode::Coprocess(Box::new(compound)));
        }
        let named = is_name(self.name());
        if named && matches!(self.peek(), Some(b' ' | b'\t')) {
            self.skip_blanks();
            if let Some(compound) = self.compound()? {
                return Ok(CommandNode::Coprocess(Box::new(compound)));
            }
        }
        self.at = start;
        match self.simple()? {
            Some(command) => Ok(CommandNode::Coprocess(Box::new(command))),
            None => self.unexpected("a command"),
        }
    }

    /// Reads `function name [()] ...`.
    fn function(&mut self) -> Parsed<CommandNode> {
        self.skip_blanks();
        let name = self.word(WordContext::Argument)?;
        let Some(name) = name.as_ref().and_then(RawWord::plain).map(str::to_owned) else {
            return self.unexpected("the name of a function");
        };
        self.skip_blanks();
        if self.peek() == Some(b'(') && self.operator_after() == Some(b')') {
            self.take(b'(');
            self.take(b')');
        }
        self.function_body(name)
    }

    fn function_body(&mut self, name: String) -> Parsed<CommandNode> {
        self.skip_lines()?;
        self.nested(Nesting::Other, |parser| match parser.compound()? {
            Some(body) => Ok(CommandNode::Function { name, body: Rc::new(body) }),
            None => parser.unexpected("the body of a function"),
        })
    }

    fn simple(&mut self) -> Parsed<Option<CommandNode>> {
        let mut simple = Simple::default();
        let mut split_by_sh = false;
        loop {
            self.skip_blanks();
            if let Some((redirect, splits)) = self.redirect(RedirectSource::Usual)? {
                split_by_sh |= splits;
                simple.redirects.push(redirect);
                continue;
            }
            let declares = simple.words.first().and_then(RawWord::plain).is_some_and(|word| DECLARING.contains(&word));
            let assigns = simple.words.is_empty() || declares;
            let Some(word) = self.word(if assigns { WordContext::Assignable } else { WordContext::Argument })? else {
                break;
            };
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
                self.doubts.push("words after `&>`, which sh runs as a separate command");
            }
            match if simple.words.is_empty() { assignment(word) } else { Err(word) } {
                Ok(assignment) => simple.assignments.push(assignment),
                Err(word) => {
                    if simple.words.is_empty() && word.plain().is_some_and(is_reserved) {
                        self.doubts.push("a reserved word as the name of a command");
                    }
                    simple.words.push(word);
                }
            }
            if simple.words.len() == 1 && simple.assignments.is_empty() && simple.redirects.is_empty() {
                self.skip_blanks();
                if self.peek() == Some(b'(') {
                    return self.function_after_name(&simple).map(Some);
                }
            }
        }
        let empty = simple.words.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty();
        Ok((!empty).then_some(CommandNode::Simple(simple)))
    }

    fn function_after_name(&mut self, simple: &Simple) -> Parsed<CommandNode> {
        let name = simple.words.first().and_then(RawWord::plain).map(str::to_owned);
        self.take(b'(');
        self.skip_blanks();
        match name {
            Some(name) if self.take(b')') => self.function_body(name),
            _ => self.unexpected("`()` after the name of a function"),
        }
    }

    /// Reads a number or `{name}` right before a redirection.
    fn descriptor(&mut self, word: &RawWord) -> Option<RedirectSource> {
        let text = word.plain()?;
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            if text.len() > MOST_DIGITS {
                self.doubts.push("a file descriptor out of range");
            }
            return Some(RedirectSource::Number(text.to_owned()));
        }
        let name = text.strip_prefix('{')?.strip_suffix('}')?;
        is_name(name).then(|| {
            self.doubts.push("`{name}` before a redirection, which sh reads as a word");
            RedirectSource::Variable(name.to_owned())
        })
    }
}

/// Whether a word is reserved at the start of a command.
fn is_reserved(word: &str) -> bool {
    CLOSING.contains(&word) || OPENING.contains(&word)
}

/// Parses `name=value`, `name+=value`, `name[subscript]=value`; returns any other word unchanged.
fn assignment(mut word: RawWord) -> Result<Assign, RawWord> {
    let head = match word.parts.as_slice() {
        [WordPart::Plain(text), ..] if text.contains('=') => 0,
        [WordPart::Plain(name), WordPart::Subscript(_), WordPart::Plain(text), ..]
            if is_name(name) && (text.starts_with('=') || text.starts_with("+=")) =>
        {
            2
        }
        _ => return Err(word),
    };
    let Some(WordPart::Plain(text)) = word.parts.get(head) else { return Err(word) };
    let Some((before, value)) = text.split_once('=') else { return Err(word) };
    let appends = before.ends_with('+');
    let before = before.strip_suffix('+').unwrap_or(before);
    if head == 0 && !is_name(before) {
        return Err(word);
    }
    let (mut name, value) = (before.to_owned(), value.to_owned());
    let mut subscript = Vec::new();
    for part in word.parts.drain(..=head) {
        match part {
            WordPart::Subscript(inner) => subscript = inner,
            WordPart::Plain(text) if head == 2 && is_name(&text) => name = text,
            _ => {}
        }
    }
    word.parts.insert(0, WordPart::Plain(value));
    Ok(Assign { name, subscript, appends, value: word })
}
