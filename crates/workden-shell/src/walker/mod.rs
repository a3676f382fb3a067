//! Walks the tree of a script and records every command and every file.
//!
//! Invariant: every node is visited, whichever way conditions go, and every `match` here is exhaustive. A command in a
//! subshell (a pipe, a substitution, `&`) leaves the state of this shell unchanged.

mod compound;
mod feed;
mod functions;
mod invocations;
mod variables;

use std::collections::{BTreeMap, BTreeSet};

use feed::{Feed, reads_lines};
use functions::Function;

use crate::{
    analysis::{
        Analysis, Assignment, Doubt, DoubtKind, Invocation, OpenMode, Redirection, StandardInput, Word,
        WorkingDirectories,
    },
    budget::{Budget, Nesting, Rejection, quoted},
    directories::{After, union},
    environment,
    expansion::{self, BraceExpansion},
    printed,
    syntax::{
        self, Assign, CommandNode, Connector, Item, Pipeline, RawWord, Redirect, RedirectSource, RedirectTarget,
        RunMode, Script, Simple, WordPart,
    },
    values::{Value, Variables},
};

/// How deep commands are walked, including nested scripts, because each level costs stack.
const DEEPEST: usize = 32;

/// How many words brace expansion may add to a script.
const MOST_ADDED: usize = 1_024;

/// How many rounds of loops are walked in all.
const MOST_ROUNDS: usize = 128;

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
    /// The variables with known values.
    pub(super) variables: Variables,
    /// Variables that code sets at an unknown time, so that their values stay unknown.
    volatile: BTreeSet<String>,
    /// The variables that were set.
    assigned: BTreeSet<String>,
    /// The variables that were set in the current loop or function.
    recent: BTreeSet<String>,
    /// The functions of the script.
    functions: BTreeMap<String, Function>,
    /// The names of all functions that were defined so far.
    defined: BTreeSet<String>,
    /// Variables whose values were used in code that runs later.
    frozen: BTreeSet<String>,
    /// What the standard input consists of.
    pub(super) piped: Option<Value>,
    /// How many loops are around the current command.
    loops: usize,
    /// How many rounds of loops and calls of functions may still be walked.
    rounds: usize,
    /// The depth of the walk.
    depth: usize,
    /// How many words brace expansion may still add.
    words: usize,
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
            variables: Variables::default(),
            volatile: BTreeSet::new(),
            assigned: BTreeSet::new(),
            recent: BTreeSet::new(),
            functions: BTreeMap::new(),
            defined: BTreeSet::new(),
            frozen: BTreeSet::new(),
            piped: None,
            loops: 0,
            rounds: MOST_ROUNDS,
            depth: 0,
            words: MOST_ADDED,
        }
    }

    pub(super) fn doubt(&mut self, kind: DoubtKind, about: impl Into<String>) {
        let doubt = Doubt::new(kind, about);
        if !self.analysis.doubts.contains(&doubt) || matches!(kind, DoubtKind::NotLiteral | DoubtKind::Argument) {
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
        let (variables, piped) = (self.variables.clone(), self.piped.clone());
        let outcome = inner(self);
        self.directories = directories;
        self.input = input;
        self.variables = variables;
        self.piped = piped;
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
        if item.rest.is_empty() {
            return after;
        }
        let (mut success, mut failure) = (self.variables.clone(), self.variables.clone());
        for (join, pipeline) in &item.rest {
            let (start, variables) = match join {
                Connector::And => (&after.success, &success),
                Connector::Or => (&after.failure, &failure),
            };
            self.directories = start.clone();
            self.variables = variables.clone();
            let next = self.pipeline(pipeline);
            match join {
                Connector::And => {
                    after = After { success: next.success, failure: union(&after.failure, &next.failure) };
                    failure = failure.join(&self.variables);
                    success = self.variables.clone();
                }
                Connector::Or => {
                    after = After { success: union(&after.success, &next.success), failure: next.failure };
                    success = success.join(&self.variables);
                    failure = self.variables.clone();
                }
            }
        }
        self.variables = success.join(&failure);
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
                let mut output = None;
                for (at, command) in several.iter().enumerate() {
                    let input = if at > 0 { StandardInput::Fed } else { self.input };
                    let read = std::mem::take(&mut output);
                    output = printed::by_command(command, input, read.clone(), self.scope());
                    self.apart(|walker| {
                        if at > 0 {
                            walker.input = StandardInput::Fed;
                            walker.piped = read;
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
                let Some(input) = Feed::of(redirects, self.scope()).input else {
                    let piped = self.piped.clone().filter(|_| reads_lines(compound));
                    let outer = std::mem::replace(&mut self.piped, piped);
                    let after = self.compound(compound);
                    self.piped = outer;
                    return after;
                };
                let names = self.printed_into(redirects).filter(|_| reads_lines(compound));
                let outer = std::mem::replace(&mut self.input, input);
                let piped = std::mem::replace(&mut self.piped, names);
                let after = self.compound(compound);
                self.input = outer;
                self.piped = piped;
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

    fn simple(&mut self, simple: &Simple) -> After {
        let start = self.directories.clone();
        self.changed_by_expansion(simple);
        let alone = simple.words.is_empty() && simple.redirects.is_empty();
        if !alone {
            // Shells disagree about when these are set, and for how long.
            simple.assignments.iter().for_each(|assign| self.set_variable(&assign.name, None));
        }
        let reads = simple.words.first().and_then(RawWord::plain) == Some("read");
        let counted = simple.assignments.iter().filter(|assign| !(reads && assign.name == "IFS"));
        let assignments = counted.map(|assign| self.assignment(assign, simple)).collect();
        let before = self.variables.clone();
        let after = if simple.words.is_empty() { After::same(&start) } else { self.program(simple, assignments) };
        // Nested commands run before this one, in the directory where it started.
        self.directories = start;
        let variables = std::mem::replace(&mut self.variables, before);
        self.redirects(&simple.redirects);
        let nested = simple.assignments.iter().map(|assign| &assign.value).chain(&simple.words);
        nested.for_each(|word| self.parts(&word.parts));
        self.variables = variables;
        after
    }

    fn program(&mut self, simple: &Simple, assignments: Vec<Assignment>) -> After {
        let mut argv = Vec::new();
        for word in &simple.words {
            let expanded = expansion::expanded(word, BraceExpansion::Expand, self.scope());
            match self.words.checked_sub(expanded.len() - expanded.len().min(1)) {
                Some(left) => {
                    self.words = left;
                    argv.extend(expanded);
                }
                None => argv.push(Word::Unknown(word.written.clone())),
            }
        }
        argv.iter().take(1).for_each(|word| self.unknown(word));
        argv.iter().skip(1).for_each(|word| self.unknown_argument(word));
        if let Some(Word::Pattern(program) | Word::Pieces(program) | Word::Stamp(program) | Word::Token(program)) =
            argv.first()
        {
            self.doubt(DoubtKind::NotLiteral, format!("the program that {} names", quoted(program)));
        }
        let feed = Feed::of(&simple.redirects, self.scope());
        if let Some(input) = feed.input
            && matches!(simple.words.as_slice(), [only] if only.plain() == Some("exec"))
        {
            self.input = input;
            self.piped = None;
        }
        let input = feed.input.unwrap_or(self.input);
        let (through, directories) = (self.through.clone(), self.directories.clone());
        let names = if feed.input.is_some() { self.printed_into(&simple.redirects) } else { self.piped.clone() };
        let piped = std::mem::replace(&mut self.piped, names);
        let fed = match (&self.piped, feed.input) {
            (Some(Value::Text(text)), None) => Some(text.clone()),
            _ => feed.text,
        };
        let is_exec = matches!(simple.words.as_slice(), [only] if only.plain() == Some("exec"));
        let after = self.invoke(Invocation { argv, through, assignments, directories, input, fed });
        self.piped = piped.filter(|_| !is_exec);
        after
    }

    /// Adds the doubt for an unknown word.
    pub(super) fn unknown(&mut self, word: &Word) {
        if let Word::Unknown(written) = word {
            self.doubt(DoubtKind::NotLiteral, format!("the value of {}", quoted(written)));
        }
    }

    fn assignment(&mut self, assign: &Assign, of: &Simple) -> Assignment {
        self.subscript(&assign.subscript);
        let is_plain = assign.subscript.is_empty() && !assign.appends;
        let known = expansion::value(&assign.value.parts, self.scope()).filter(|_| is_plain);
        let written = &assign.value.written;
        let written = written.split_once('=').map_or(written.as_str(), |(_, value)| value).to_owned();
        let value = match &known {
            Some(Value::Text(text)) => Word::Literal(text.clone()),
            Some(Value::Name(pattern)) => Word::Pattern(pattern.clone()),
            Some(Value::Number | Value::Count) => Word::Literal("0".to_owned()),
            Some(Value::Stamp(pattern)) => Word::Stamp(pattern.clone()),
            Some(Value::Token) => Word::Token(written),
            Some(Value::Names(_) | Value::Words(_)) | None => Word::Unknown(written),
        };
        // The program of this line is not looked for in a new path; those of the next lines are.
        if of.words.is_empty() && assign.name == "PATH" {
            self.doubt(DoubtKind::Environment, "`PATH` is set");
        }
        self.sets(&assign.name, &value);
        if of.words.is_empty() && of.redirects.is_empty() {
            self.set_variable(&assign.name, known);
        }
        Assignment { name: assign.name.clone(), value }
    }

    /// Records that a command sets this variable.
    pub(super) fn sets(&mut self, variable: &str, value: &Word) {
        if environment::decides_what_runs(variable)
            && !environment::is_harmless(variable, value.shown(), &self.directories)
        {
            self.doubt(DoubtKind::Environment, format!("{} is set", quoted(variable)));
        }
    }

    /// Adds the doubt for an argument that is not known.
    fn unknown_argument(&mut self, word: &Word) {
        if let Word::Unknown(written) = word {
            self.doubt(DoubtKind::Argument, format!("the value of {}", quoted(written)));
        }
    }

    /// Records the opened files, and walks the commands nested in their names and texts.
    fn redirects(&mut self, redirects: &[Redirect]) {
        for redirect in redirects {
            if let RedirectSource::Variable(name) = &redirect.from {
                self.sets(name, &Word::Unknown("a descriptor".to_owned()));
                self.set_variable(name, None);
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
        let target = expansion::file(word, self.scope());
        // The shell itself opens what a process substitution names.
        if !matches!(word.parts.as_slice(), [WordPart::Process(_)]) {
            self.unknown(&target);
        }
        let is_read = usage == OpenMode::Read && matches!(&target, Word::Pieces(names) if names.contains('*'));
        if let (Word::Pieces(written) | Word::Token(written), false) = (&target, is_read) {
            self.doubt(DoubtKind::NotLiteral, format!("the value of {}", quoted(written)));
        }
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
                        self.sets(variable, &Word::Unknown("its default".to_owned()));
                        self.set_variable(variable, None);
                    }
                    if parameter.evaluates {
                        self.doubt(DoubtKind::Construct, "an expansion that can evaluate text as code");
                    }
                    self.parts(&parameter.inner);
                }
                WordPart::Command { script, .. } => {
                    self.apart(|walker| walker.script(script));
                }
                WordPart::Process(script) => {
                    self.apart(|walker| {
                        walker.input = StandardInput::Fed;
                        walker.piped = None;
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
        let scope = self.scope();
        let is_number = |value: Option<Value>| value.is_some_and(|value| value.is_number());
        let number = |part: &WordPart| match part {
            WordPart::Quoted(text) | WordPart::Plain(text) => {
                variables::in_arithmetic(text).all(|name| is_number(scope.variable(name)))
            }
            part => is_number(scope.part(part)),
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
