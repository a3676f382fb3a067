//! Walks the tree of a script and records every command and every file.
//!
//! Invariant: every node is visited, whichever way conditions go, and every `match` here is exhaustive. A command in a
//! subshell (a pipe, a substitution, `&`) leaves the state of this shell unchanged.

mod compound;
mod invocations;

use crate::{
    analysis::{
        Analysis, Assignment, Doubt, DoubtKind, Invocation, OpenMode, Redirection, StandardInput, Word,
        WorkingDirectories,
    },
    budget::{Budget, Nesting, Rejection, quoted},
    directories::{After, union},
    environment,
    expansion::{self, BraceExpansion},
    syntax::{
        self, Assign, CommandNode, Connector, Item, Pipeline, RawWord, Redirect, RedirectSource, RedirectTarget,
        RunMode, Script, Simple, WordPart,
    },
    wrappers,
};

/// How deep commands are walked, including nested scripts, because each level costs stack.
const DEEPEST: usize = 32;

/// How many words brace expansion may add to a script.
const MOST_ADDED: usize = 1_024;

/// The directory of code that runs later, in functions and traps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeferredCode {
    /// The current directory; valid if the script never changes it.
    Here,
    /// Any directory.
    Anywhere,
}

pub(super) struct Walker {
    pub(super) analysis: Analysis,
    pub(super) budget: Budget,
    pub(super) directories: WorkingDirectories,
    pub(super) input: StandardInput,
    /// The wrappers around the current script.
    pub(super) through: Vec<String>,
    pub(super) deferred: DeferredCode,
    /// Whether a command changed the directory.
    pub(super) moved: bool,
    /// Whether some code runs later.
    pub(super) defers: bool,
    /// The depth of the walk.
    depth: usize,
    /// How many words brace expansion may still add.
    words: usize,
}

/// The standard input after redirections.
#[derive(Default)]
struct Feed {
    fed: bool,
    /// The text, if it is known.
    text: Option<String>,
}

impl Feed {
    /// Applies these redirections; the last one counts.
    fn of(redirects: &[Redirect]) -> Self {
        let mut feed = Self::default();
        for redirect in redirects {
            let is_input = match &redirect.from {
                RedirectSource::Usual => true,
                RedirectSource::Number(number) => number.trim_start_matches('0').is_empty(),
                RedirectSource::Variable(_) => false,
            };
            let text = match &redirect.to {
                RedirectTarget::Write(_) | RedirectTarget::DuplicateOutput => continue,
                // `<&3` may be any file that was opened earlier.
                RedirectTarget::Read(_) | RedirectTarget::ReadWrite(_) | RedirectTarget::DuplicateInput => None,
                RedirectTarget::HereString(word) => expansion::text(&word.parts),
                RedirectTarget::HereDocument(document) => {
                    document.get().and_then(|document| expansion::text(&document.parts))
                }
            };
            if is_input {
                feed = Self { fed: true, text };
            }
        }
        feed
    }
}

impl Walker {
    pub(super) fn new(directories: WorkingDirectories, deferred: DeferredCode, input: StandardInput) -> Self {
        let analysis = Analysis::default();
        let budget = Budget::new();
        let through = Vec::new();
        Self {
            analysis,
            budget,
            directories,
            input,
            through,
            deferred,
            moved: false,
            defers: false,
            depth: 0,
            words: MOST_ADDED,
        }
    }

    pub(super) fn doubt(&mut self, kind: DoubtKind, about: impl Into<String>) {
        let doubt = Doubt::new(kind, about);
        if !self.analysis.doubts.contains(&doubt) || kind == DoubtKind::NotLiteral {
            self.analysis.doubts.push(doubt);
        }
    }

    /// Parses a script and walks it.
    pub(super) fn text(&mut self, text: &str) -> After {
        match syntax::parse(text, &mut self.budget) {
            Ok(script) => self.script(&script),
            Err(Rejection { kind, about }) => {
                self.doubt(kind, about);
                After::same(&WorkingDirectories::Unknown)
            }
        }
    }

    /// Calls `inner` in a subshell, which does not change the state of this shell.
    pub(super) fn apart<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        let (directories, input) = (self.directories.clone(), self.input);
        let outcome = inner(self);
        self.directories = directories;
        self.input = input;
        outcome
    }

    pub(super) fn script(&mut self, script: &Script) -> After {
        for doubt in &script.doubts {
            self.doubt(DoubtKind::Construct, *doubt);
        }
        let mut after = After::same(&self.directories);
        for item in &script.items {
            after = self.item(item);
            self.directories = after.either();
        }
        after
    }

    fn item(&mut self, item: &Item) -> After {
        if item.runs == RunMode::Background {
            let start = After::same(&self.directories);
            self.apart(|walker| walker.chain(item));
            return start;
        }
        self.chain(item)
    }

    fn chain(&mut self, item: &Item) -> After {
        let mut after = self.pipeline(&item.first);
        for (join, pipeline) in &item.rest {
            let start = match join {
                Connector::And => &after.success,
                Connector::Or => &after.failure,
            };
            self.directories = start.clone();
            let next = self.pipeline(pipeline);
            after = match join {
                Connector::And => After { success: next.success, failure: union(&after.failure, &next.failure) },
                Connector::Or => After { success: union(&after.success, &next.success), failure: next.failure },
            };
        }
        after
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> After {
        if pipeline.timed {
            self.through.push("time".to_owned());
        }
        let after = match pipeline.commands.as_slice() {
            [only] => self.command(only),
            several => {
                let after = After::same(&self.directories);
                for (at, command) in several.iter().enumerate() {
                    self.apart(|walker| {
                        if at > 0 {
                            walker.input = StandardInput::Fed;
                        }
                        walker.command(command)
                    });
                }
                after
            }
        };
        if pipeline.timed {
            self.through.pop();
        }
        if pipeline.negated { After { success: after.failure, failure: after.success } } else { after }
    }

    pub(super) fn command(&mut self, command: &CommandNode) -> After {
        if self.depth >= DEEPEST {
            self.doubt(DoubtKind::TooMuch, "scripts nested too deep");
            return After::same(&WorkingDirectories::Unknown);
        }
        self.depth += 1;
        let after = self.command_here(command);
        self.depth -= 1;
        after
    }

    fn command_here(&mut self, command: &CommandNode) -> After {
        match command {
            CommandNode::Simple(simple) => self.simple(simple),
            CommandNode::Compound(compound, redirects) => {
                self.redirects(redirects);
                if !Feed::of(redirects).fed {
                    return self.compound(compound);
                }
                let outer = std::mem::replace(&mut self.input, StandardInput::Fed);
                let after = self.compound(compound);
                self.input = outer;
                after
            }
            CommandNode::Function { name, body } => self.function(name, body),
            CommandNode::Coprocess(body) => {
                let after = After::same(&self.directories);
                self.apart(|walker| {
                    walker.input = StandardInput::Fed;
                    walker.command(body)
                });
                after
            }
        }
    }

    /// Adds a doubt for a function that calls itself; one that does so more than once never ends.
    fn recursion(&mut self, name: &str, known: usize) {
        let own = self.analysis.invocations.iter().skip(known);
        let calls = own.filter(|invocation| invocation.argv.first().and_then(Word::literal) == Some(name));
        match calls.count() {
            0 => {}
            1 => self.doubt(DoubtKind::Construct, format!("the function {} calls itself", quoted(name))),
            _ => self.doubt(DoubtKind::Recursion, format!("the function {} calls itself more than once", quoted(name))),
        }
    }

    /// Walks the body at its definition: when it is called, and with which input, is unknown.
    fn function(&mut self, name: &str, body: &CommandNode) -> After {
        if wrappers::means_something(name) {
            self.doubt(DoubtKind::Construct, format!("a function named like the command {}", quoted(name)));
        }
        let before = self.directories.clone();
        let moved = std::mem::replace(&mut self.moved, false);
        let known = self.analysis.invocations.len();
        self.later(StandardInput::Fed, |walker| walker.command(body));
        self.recursion(name, known);
        // The directory after a call of the function is not tracked.
        let after = if self.moved { WorkingDirectories::Unknown } else { before };
        self.moved |= moved;
        After::same(&after)
    }

    /// Walks code that runs later.
    pub(super) fn later<T>(&mut self, input: StandardInput, inner: impl FnOnce(&mut Self) -> T) {
        self.defers = true;
        self.apart(|walker| {
            if walker.deferred == DeferredCode::Anywhere {
                walker.directories = WorkingDirectories::Unknown;
            }
            walker.input = input;
            inner(walker);
        });
    }

    fn simple(&mut self, simple: &Simple) -> After {
        let start = self.directories.clone();
        let assignments = simple.assignments.iter().map(|assign| self.assignment(assign)).collect();
        let after = if simple.words.is_empty() { After::same(&start) } else { self.program(simple, assignments) };
        // Nested commands run before this one, in the directory where it started.
        self.directories = start;
        self.redirects(&simple.redirects);
        let nested = simple.assignments.iter().map(|assign| &assign.value).chain(&simple.words);
        nested.for_each(|word| self.parts(&word.parts));
        after
    }

    fn program(&mut self, simple: &Simple, assignments: Vec<Assignment>) -> After {
        for assignment in &assignments {
            self.unknown(&assignment.value);
        }
        let mut argv = Vec::new();
        for word in &simple.words {
            let expanded = expansion::expanded(word, BraceExpansion::Expand);
            match self.words.checked_sub(expanded.len() - expanded.len().min(1)) {
                Some(left) => {
                    self.words = left;
                    argv.extend(expanded);
                }
                None => argv.push(Word::Unknown(word.written.clone())),
            }
        }
        argv.iter().for_each(|word| self.unknown(word));
        if let Some(Word::Pattern(pattern)) = argv.first() {
            self.doubt(DoubtKind::NotLiteral, format!("the program that {} names", quoted(pattern)));
        }
        let feed = Feed::of(&simple.redirects);
        if feed.fed && matches!(simple.words.as_slice(), [only] if only.plain() == Some("exec")) {
            self.input = StandardInput::Fed;
        }
        let input = if feed.fed { StandardInput::Fed } else { self.input };
        let (through, directories) = (self.through.clone(), self.directories.clone());
        self.invoke(Invocation { argv, through, assignments, directories, input, fed: feed.text })
    }

    /// Adds the doubt for an unknown word.
    pub(super) fn unknown(&mut self, word: &Word) {
        if let Word::Unknown(written) = word {
            self.doubt(DoubtKind::NotLiteral, format!("the value of {}", quoted(written)));
        }
    }

    fn assignment(&mut self, assign: &Assign) -> Assignment {
        self.sets(&assign.name);
        self.subscript(&assign.subscript);
        let written = || Word::Unknown(assign.value.written.clone());
        let value = expansion::text(&assign.value.parts).map_or_else(written, Word::Literal);
        Assignment { name: assign.name.clone(), value }
    }

    /// Records that a command sets this variable.
    pub(super) fn sets(&mut self, variable: &str) {
        if environment::decides_what_runs(variable) {
            self.doubt(DoubtKind::Environment, format!("{} is set", quoted(variable)));
        }
    }

    /// Records the opened files, and walks the commands nested in their names and texts.
    fn redirects(&mut self, redirects: &[Redirect]) {
        for redirect in redirects {
            if let RedirectSource::Variable(name) = &redirect.from {
                self.sets(name);
            }
            match &redirect.to {
                RedirectTarget::Read(word) => self.file(OpenMode::Read, word),
                RedirectTarget::Write(word) => self.file(OpenMode::Write, word),
                RedirectTarget::ReadWrite(word) => self.file(OpenMode::ReadWrite, word),
                RedirectTarget::DuplicateInput | RedirectTarget::DuplicateOutput => {}
                RedirectTarget::HereString(word) => self.parts(&word.parts),
                RedirectTarget::HereDocument(document) => {
                    if let Some(document) = document.get() {
                        self.parts(&document.parts);
                    }
                }
            }
        }
    }

    fn file(&mut self, usage: OpenMode, word: &RawWord) {
        let target = expansion::file(word);
        self.unknown(&target);
        let directories = self.directories.clone();
        self.analysis.redirections.push(Redirection { usage, target, directories });
        self.parts(&word.parts);
    }

    /// Walks the commands in the pieces of a word.
    pub(super) fn parts(&mut self, parts: &[WordPart]) {
        for part in parts {
            match part {
                WordPart::Plain(_) | WordPart::Quoted(_) | WordPart::Number => {}
                WordPart::Parameter(parameter) => {
                    if let Some(variable) = &parameter.sets {
                        self.sets(variable);
                    }
                    if parameter.evaluates {
                        self.doubt(DoubtKind::Construct, "an expansion that can evaluate text as code");
                    }
                    self.parts(&parameter.inner);
                }
                WordPart::Command(script) => {
                    self.apart(|walker| walker.script(script));
                }
                WordPart::Process(script) => {
                    self.apart(|walker| {
                        walker.input = StandardInput::Fed;
                        walker.script(script)
                    });
                }
                WordPart::Array(words) => words.iter().for_each(|word| self.parts(&word.parts)),
                WordPart::Arithmetic(inner) => {
                    self.evaluated(inner);
                    self.parts(inner);
                }
                WordPart::Subscript(inner) => self.subscript(inner),
                WordPart::Balanced(inner) => self.parts(inner),
            }
        }
    }

    /// Adds a doubt for arithmetic with variables: it evaluates their values as arithmetic again, including commands.
    pub(super) fn evaluated(&mut self, parts: &[WordPart]) {
        let number = |part: &WordPart| match part {
            WordPart::Quoted(text) | WordPart::Plain(text) => !text.contains(|c: char| c.is_alphabetic() || c == '_'),
            WordPart::Number => true,
            _ => false,
        };
        if !parts.iter().all(number) {
            self.doubt(DoubtKind::Construct, "arithmetic with variables");
        }
    }

    /// Walks a subscript, which is arithmetic in bash and not a subscript in sh.
    fn subscript(&mut self, parts: &[WordPart]) {
        let digits =
            |part: &WordPart| matches!(part, WordPart::Quoted(text) if text.bytes().all(|byte| byte.is_ascii_digit()));
        if !parts.iter().all(digits) {
            self.doubt(DoubtKind::Construct, "a subscript that is not a number");
        }
        self.parts(parts);
    }

    /// Calls `inner` one level deeper, for nested scripts; `None` if that is too deep.
    pub(super) fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> Option<T> {
        match self.budget.enter(Nesting::Other) {
            Ok(()) => {
                let outcome = inner(self);
                self.budget.leave(Nesting::Other);
                Some(outcome)
            }
            Err(Rejection { kind, about }) => {
                self.doubt(kind, about);
                None
            }
        }
    }
}
