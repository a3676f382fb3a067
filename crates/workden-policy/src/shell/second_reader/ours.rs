//! What our own parser saw, from its tree.
//!
//! Invariant: every node of the tree is visited, and the scripts in substitutions are handed back to
//! be compared with their own texts.

use std::borrow::Cow;

use super::{
    super::syntax::{
        Assign, Command, Compound, Descriptor, Item, Join, Part, Pipeline, Redirect, Runs, Script, Simple, Target, Word,
    },
    seen::{List, Seen, is_operator_of_test},
};

#[derive(Default)]
pub(super) struct Ours<'tree> {
    pub(super) seen: Vec<Seen<'tree>>,
    /// The scripts in substitutions.
    pub(super) nested: Vec<&'tree Script>,
}

pub(super) fn seen(script: &Script) -> Ours<'_> {
    let mut ours = Ours::default();
    ours.script(script);
    ours
}

impl<'tree> Ours<'tree> {
    fn script(&mut self, script: &'tree Script) {
        for Item { first, rest, runs } in &script.items {
            self.pipeline(first);
            for (join, pipeline) in rest {
                self.seen.mark(match join {
                    Join::And => "&&",
                    Join::Or => "||",
                });
                self.pipeline(pipeline);
            }
            self.seen.mark(match runs {
                Runs::Foreground => ";",
                Runs::Background => "&",
            });
        }
    }

    fn pipeline(&mut self, pipeline: &'tree Pipeline) {
        if pipeline.timed {
            self.seen.mark("time");
        }
        if pipeline.negated {
            self.seen.mark("!");
        }
        for command in &pipeline.commands {
            self.seen.mark("|");
            self.command(command);
        }
    }

    fn command(&mut self, command: &'tree Command) {
        match command {
            Command::Simple(simple) => self.simple(simple),
            Command::Compound(compound, redirects) => {
                self.compound(compound);
                self.redirects(redirects);
            }
            Command::Function { name, body } => {
                self.seen.mark("function");
                self.seen.word(Cow::Borrowed(name));
                self.command(body);
            }
            Command::Coprocess(body) => {
                self.seen.mark("coproc");
                self.command(body);
            }
        }
    }

    fn simple(&mut self, simple: &'tree Simple) {
        let Simple { assignments, words, redirects, dialect: _ } = simple;
        self.seen.mark("simple");
        for Assign { name: _, subscript, value } in assignments {
            self.seen.mark("assignment");
            self.parts(subscript);
            self.word(value);
        }
        self.seen.mark("words");
        words.iter().for_each(|word| self.word(word));
        self.redirects(redirects);
    }

    fn compound(&mut self, compound: &'tree Compound) {
        match compound {
            Compound::Group(script) => self.block("{", script),
            Compound::Subshell(script) => self.block("(", script),
            Compound::If(scripts) => {
                self.seen.mark("if");
                scripts.iter().for_each(|script| self.block("branch", script));
                self.seen.mark("fi");
            }
            Compound::Loop { variable: Some(variable), words, arithmetic: _, condition: _, body } => {
                self.seen.mark("for");
                self.seen.word(Cow::Borrowed(variable));
                words.iter().for_each(|word| self.word(word));
                self.block("do", body);
            }
            Compound::Loop { variable: None, words: _, arithmetic, condition, body } => {
                if condition.items.is_empty() {
                    self.seen.mark("for ((");
                    self.parts(arithmetic);
                } else {
                    self.block("while", condition);
                }
                self.block("do", body);
            }
            Compound::Case { word, arms } => {
                self.seen.mark("case");
                self.word(word);
                for (patterns, script) in arms {
                    self.seen.mark("arm");
                    patterns.iter().for_each(|pattern| self.word(pattern));
                    self.block("do", script);
                }
                self.seen.mark("esac");
            }
            Compound::Test { words, doubt: _ } => {
                self.seen.mark("[[");
                for word in words {
                    if is_operator_of_test(&word.written) {
                        self.parts(&word.parts);
                    } else {
                        self.word(word);
                    }
                }
                self.seen.mark("]]");
            }
            Compound::Arithmetic(parts) => {
                self.seen.mark("((");
                self.parts(parts);
            }
        }
    }

    fn block(&mut self, opening: &'static str, script: &'tree Script) {
        self.seen.mark(opening);
        self.script(script);
        self.seen.mark("end");
    }

    fn redirects(&mut self, redirects: &'tree [Redirect]) {
        for Redirect { from, to } in redirects {
            self.seen.mark("redirection");
            match from {
                Descriptor::Usual => {}
                // `01` is 1.
                Descriptor::Number(number) => {
                    let short = number.trim_start_matches('0');
                    self.seen.text(Cow::Borrowed(if short.is_empty() { "0" } else { short }));
                }
                Descriptor::Variable(name) => {
                    self.seen.mark("variable");
                    self.seen.text(Cow::Borrowed(name));
                }
            }
            match to {
                Target::Read(word) => self.target("<", word),
                Target::Write(word) => self.target(">", word),
                Target::ReadWrite(word) => self.target("<>", word),
                Target::DuplicateInput => self.seen.mark("<&"),
                Target::DuplicateOutput => self.seen.mark(">&"),
                Target::HereString(word) => self.target("<<<", word),
                Target::HereDocument(document) => {
                    self.seen.mark("<<");
                    if let Some(document) = document.get() {
                        self.parts(&document.parts);
                    }
                }
            }
        }
    }

    fn target(&mut self, operator: &'static str, word: &'tree Word) {
        self.seen.mark(operator);
        self.word(word);
    }

    fn word(&mut self, word: &'tree Word) {
        match word.parts.as_slice() {
            // The second reader has a node for this, and the commands in it.
            [Part::Process(script)] => {
                self.block(if word.written.starts_with('<') { "<(" } else { ">(" }, script);
            }
            [.., Part::Array(elements)] => {
                self.seen.word(Cow::Owned(array(word, elements)));
                self.parts(&word.parts);
            }
            parts => {
                self.seen.word(Cow::Borrowed(&word.written));
                self.parts(parts);
            }
        }
    }

    /// The scripts in the pieces of a word.
    fn parts(&mut self, parts: &'tree [Part]) {
        for part in parts {
            match part {
                Part::Plain(_) | Part::Quoted(_) | Part::Number => {}
                Part::Command(script) | Part::Process(script) => self.nested.push(script),
                Part::Parameter(parameter) => self.parts(&parameter.inner),
                Part::Array(words) => words.iter().for_each(|word| self.parts(&word.parts)),
                Part::Arithmetic(inner) | Part::Subscript(inner) | Part::Balanced(inner) => self.parts(inner),
            }
        }
    }
}

/// The second reader joins the elements of an array with blanks.
fn array(word: &Word, elements: &[Word]) -> String {
    let head = word.written.split_once('(').map_or("", |(head, _)| head);
    let elements: Vec<&str> = elements.iter().map(|element| element.written.as_str()).collect();
    format!("{head}({})", elements.join(" "))
}
