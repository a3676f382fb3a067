//! Walks the tree of a script and writes down every command and every file.
//!
//! Invariant: every node is visited, whichever way conditions go, and every `match` here is
//! exhaustive. What runs in a shell of its own (a pipe, a substitution, `&`) leaves no trace in the
//! state of this one.

use super::{
    analysis::{Analysis, Assignment, Directories, Doubt, DoubtKind, Input, Invocation, Redirection, Use, Word},
    directories::{After, union},
    environment,
    guard::{Budget, Level, Refused, quoted},
    syntax::{self, Assign, Command, Descriptor, Item, Join, Part, Pipeline, Redirect, Runs, Script, Simple, Target},
    words::{self, Braces},
};

/// How deep commands are walked, scripts within scripts included: it costs stack.
const DEEPEST: usize = 32;

/// How many words braces add to a script.
const MOST_ADDED: usize = 1_024;

/// Where code runs that is run later, in functions and traps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deferred {
    /// Where the shell is now; holds as long as the script goes nowhere.
    Here,
    /// Nobody knows.
    Anywhere,
}

pub(super) struct Collector {
    pub(super) analysis: Analysis,
    pub(super) budget: Budget,
    pub(super) directories: Directories,
    pub(super) input: Input,
    /// The wrappers around the script that is being walked.
    pub(super) through: Vec<String>,
    pub(super) deferred: Deferred,
    /// Some command went to another directory.
    pub(super) moved: bool,
    /// Some code runs later.
    pub(super) defers: bool,
    /// How deep the walk is.
    depth: usize,
    /// How many words braces may still add.
    words: usize,
}

/// What redirections say about the input.
#[derive(Default)]
struct Feed {
    fed: bool,
    /// The text, where that is known.
    text: Option<String>,
}

impl Feed {
    /// What these redirections say; the last one counts.
    fn of(redirects: &[Redirect]) -> Self {
        let mut feed = Self::default();
        for redirect in redirects {
            let is_input = match &redirect.from {
                Descriptor::Usual => true,
                Descriptor::Number(number) => number.trim_start_matches('0').is_empty(),
                Descriptor::Variable(_) => false,
            };
            let text = match &redirect.to {
                Target::Write(_) | Target::DuplicateOutput => continue,
                // `<&3` may be any file that was opened before.
                Target::Read(_) | Target::ReadWrite(_) | Target::DuplicateInput => None,
                Target::HereString(word) => words::text(&word.parts),
                Target::HereDocument(document) => document.get().and_then(|document| words::text(&document.parts)),
            };
            if is_input {
                feed = Self { fed: true, text };
            }
        }
        feed
    }
}

impl Collector {
    pub(super) fn new(directories: Directories, deferred: Deferred, input: Input) -> Self {
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
        let doubt = Doubt { kind, about: about.into() };
        if !self.analysis.doubts.contains(&doubt) || kind == DoubtKind::NotLiteral {
            self.analysis.doubts.push(doubt);
        }
    }

    /// Parses a script and walks it.
    pub(super) fn text(&mut self, text: &str) -> After {
        match syntax::parse(text, &mut self.budget) {
            Ok(script) => {
                self.script(&script)
            }
            Err(Refused { kind, about }) => {
                self.doubt(kind, about);
                After::same(&Directories::Unknown)
            }
        }
    }

    /// Does something whose traces stay in a shell of its own.
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
        if item.runs == Runs::Background {
            let start = After::same(&self.directories);
            self.apart(|collector| collector.chain(item));
            return start;
        }
        self.chain(item)
    }

    fn chain(&mut self, item: &Item) -> After {
        let mut after = self.pipeline(&item.first);
        for (join, pipeline) in &item.rest {
            let start = match join {
                Join::And => &after.success,
                Join::Or => &after.failure,
            };
            self.directories = start.clone();
            let next = self.pipeline(pipeline);
            after = match join {
                Join::And => After { success: next.success, failure: union(&after.failure, &next.failure) },
                Join::Or => After { success: union(&after.success, &next.success), failure: next.failure },
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
                    self.apart(|collector| {
                        if at > 0 {
                            collector.input = Input::Fed;
                        }
                        collector.command(command)
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

    pub(super) fn command(&mut self, command: &Command) -> After {
        if self.depth >= DEEPEST {
            self.doubt(DoubtKind::TooMuch, "scripts within scripts");
            return After::same(&Directories::Unknown);
        }
        self.depth += 1;
        let after = self.command_here(command);
        self.depth -= 1;
        after
    }

    fn command_here(&mut self, command: &Command) -> After {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.redirects(redirects);
                if !Feed::of(redirects).fed {
                    return self.compound(compound);
                }
                let outer = std::mem::replace(&mut self.input, Input::Fed);
                let after = self.compound(compound);
                self.input = outer;
                after
            }
            Command::Function { name, body } => self.function(name, body),
            Command::Coprocess(body) => {
                let after = After::same(&self.directories);
                self.apart(|collector| {
                    collector.input = Input::Fed;
                    collector.command(body)
                });
                after
            }
        }
    }

    /// A function that starts itself once more than it ends never comes to an end.
    fn recursion(&mut self, name: &str, known: usize) {
        let own = self.analysis.invocations.iter().skip(known);
        let calls = own.filter(|invocation| invocation.argv.first().and_then(Word::literal) == Some(name));
        match calls.count() {
            0 => {}
            1 => self.doubt(DoubtKind::Construct, format!("the function {} calls itself", quoted(name))),
            _ => {
                self.doubt(DoubtKind::Recursion, format!("the function {} starts itself again and again", quoted(name)))
            }
        }
    }

    /// The body is walked where it is defined. When it is called, and with what input, nobody knows.
    fn function(&mut self, name: &str, body: &Command) -> After {
        if super::wrappers::means_something(name) {
            self.doubt(DoubtKind::Construct, format!("a function that takes the place of {}", quoted(name)));
        }
        let before = self.directories.clone();
        let moved = std::mem::replace(&mut self.moved, false);
        let known = self.analysis.invocations.len();
        self.later(Input::Fed, |collector| collector.command(body));
        self.recursion(name, known);
        // Where a call of it leads is not followed.
        let after = if self.moved { Directories::Unknown } else { before };
        self.moved |= moved;
        After::same(&after)
    }

    /// Does something that runs later.
    pub(super) fn later<T>(&mut self, input: Input, inner: impl FnOnce(&mut Self) -> T) {
        self.defers = true;
        self.apart(|collector| {
            if collector.deferred == Deferred::Anywhere {
                collector.directories = Directories::Unknown;
            }
            collector.input = input;
            inner(collector);
        });
    }

    fn simple(&mut self, simple: &Simple) -> After {
        let start = self.directories.clone();
        let assignments = simple.assignments.iter().map(|assign| self.assignment(assign)).collect();
        let after = if simple.words.is_empty() { After::same(&start) } else { self.program(simple, assignments) };
        // What is nested runs before the command does, and so where that began.
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
            let expanded = words::expanded(word, Braces::Expand);
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
            self.doubt(DoubtKind::NotLiteral, format!("which program {} is", quoted(pattern)));
        }
        let feed = Feed::of(&simple.redirects);
        if feed.fed && matches!(simple.words.as_slice(), [only] if only.plain() == Some("exec")) {
            self.input = Input::Fed;
        }
        let input = if feed.fed { Input::Fed } else { self.input };
        let (through, directories) = (self.through.clone(), self.directories.clone());
        self.invoke(Invocation { argv, through, assignments, directories, input, fed: feed.text })
    }

    /// Adds the doubt that belongs to a word that is not known.
    pub(super) fn unknown(&mut self, word: &Word) {
        if let Word::Unknown(written) = word {
            self.doubt(DoubtKind::NotLiteral, format!("what {} becomes", quoted(written)));
        }
    }

    fn assignment(&mut self, assign: &Assign) -> Assignment {
        self.sets(&assign.name);
        self.subscript(&assign.subscript);
        let written = || Word::Unknown(assign.value.written.clone());
        let value = words::text(&assign.value.parts).map_or_else(written, Word::Literal);
        Assignment { name: assign.name.clone(), value }
    }

    /// Something sets this variable.
    pub(super) fn sets(&mut self, variable: &str) {
        if environment::decides_what_runs(variable) {
            self.doubt(DoubtKind::Environment, format!("{} is set", quoted(variable)));
        }
    }

    /// Writes down the files that are opened, and walks what is nested in their names and texts.
    fn redirects(&mut self, redirects: &[Redirect]) {
        for redirect in redirects {
            if let Descriptor::Variable(name) = &redirect.from {
                self.sets(name);
            }
            match &redirect.to {
                Target::Read(word) => self.file(Use::Read, word),
                Target::Write(word) => self.file(Use::Write, word),
                Target::ReadWrite(word) => self.file(Use::ReadWrite, word),
                Target::DuplicateInput | Target::DuplicateOutput => {}
                Target::HereString(word) => self.parts(&word.parts),
                Target::HereDocument(document) => {
                    if let Some(document) = document.get() {
                        self.parts(&document.parts);
                    }
                }
            }
        }
    }

    fn file(&mut self, usage: Use, word: &syntax::Word) {
        let target = words::file(word);
        self.unknown(&target);
        let directories = self.directories.clone();
        self.analysis.redirections.push(Redirection { usage, target, directories });
        self.parts(&word.parts);
    }

    /// The commands in the pieces of a word.
    pub(super) fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            match part {
                Part::Plain(_) | Part::Quoted(_) | Part::Number => {}
                Part::Parameter(parameter) => {
                    if let Some(variable) = &parameter.sets {
                        self.sets(variable);
                    }
                    if parameter.evaluates {
                        self.doubt(DoubtKind::Construct, "an expansion that can evaluate text as code");
                    }
                    self.parts(&parameter.inner);
                }
                Part::Command(script) => {
                    self.apart(|collector| collector.script(script));
                }
                Part::Process(script) => {
                    self.apart(|collector| {
                        collector.input = Input::Fed;
                        collector.script(script)
                    });
                }
                Part::Array(words) => words.iter().for_each(|word| self.parts(&word.parts)),
                Part::Arithmetic(inner) => {
                    self.evaluated(inner);
                    self.parts(inner);
                }
                Part::Subscript(inner) => self.subscript(inner),
                Part::Balanced(inner) => self.parts(inner),
            }
        }
    }

    /// Arithmetic evaluates variables, and what is in them as arithmetic again, commands included.
    pub(super) fn evaluated(&mut self, parts: &[Part]) {
        let number = |part: &Part| match part {
            Part::Quoted(text) | Part::Plain(text) => !text.contains(|c: char| c.is_alphabetic() || c == '_'),
            Part::Number => true,
            _ => false,
        };
        if !parts.iter().all(number) {
            self.doubt(DoubtKind::Construct, "arithmetic with variables");
        }
    }

    /// A subscript is arithmetic, and to sh it is no subscript at all.
    fn subscript(&mut self, parts: &[Part]) {
        let digits = |part: &Part| matches!(part, Part::Quoted(text) if text.bytes().all(|byte| byte.is_ascii_digit()));
        if !parts.iter().all(digits) {
            self.doubt(DoubtKind::Construct, "a subscript that is not a number");
        }
        self.parts(parts);
    }

    /// One level down, for scripts in scripts; nothing when that is too deep.
    pub(super) fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> Option<T> {
        match self.budget.enter(Level::Other) {
            Ok(()) => {
                let outcome = inner(self);
                self.budget.leave(Level::Other);
                Some(outcome)
            }
            Err(Refused { kind, about }) => {
                self.doubt(kind, about);
                None
            }
        }
    }
}
