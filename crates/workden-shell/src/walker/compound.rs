//! The walk through compound commands: all branches, and loops until nothing changes.
//!
//! Invariant: after a branch that may not run, both the state before it and the state after it are possible.

use std::collections::BTreeSet;

use super::Walker;
use crate::{
    analysis::{Analysis, DoubtKind, Word, WorkingDirectories},
    directories::{After, union},
    expansion::{self, BraceExpansion},
    syntax::{Compound, RawWord, Script, WordPart},
    values::{Value, Variables},
};

/// How many values of a loop's variable are walked one by one.
const MOST_VALUES: usize = 16;

const TOO_MANY_ROUNDS: &str = "too many rounds of loops";

impl Walker {
    pub(super) fn compound(&mut self, compound: &Compound) -> After {
        match compound {
            Compound::Group(script) => self.script(script),
            Compound::Subshell(script) => {
                let after = After::same(&self.directories);
                self.apart(|walker| walker.script(script));
                after
            }
            Compound::If(scripts) => {
                let mut all = self.directories.clone();
                let mut variables = self.variables.clone();
                for script in scripts {
                    self.directories = all.clone();
                    self.variables = variables.clone();
                    all = union(&all, &self.script(script).either());
                    variables = variables.join(&self.variables);
                }
                self.variables = variables;
                After::same(&all)
            }
            Compound::Loop { variable, words, arithmetic, condition, body } => {
                words.iter().for_each(|word| self.changed_by_parts(&word.parts));
                self.counted(arithmetic);
                let values = variable.as_deref().map(|variable| self.values(variable, words));
                words.iter().for_each(|word| self.parts(&word.parts));
                if !arithmetic.is_empty() {
                    self.evaluated(arithmetic);
                    self.parts(arithmetic);
                }
                match (variable, values) {
                    (Some(variable), Some(values)) => self.for_each(variable, &values, condition, body),
                    _ => self.repeated(condition, body).0,
                }
            }
            Compound::Case { word, arms } => self.case(word, arms),
            Compound::Test(words) => {
                words.iter().for_each(|word| self.changed_by_parts(&word.parts));
                words.iter().for_each(|word| self.parts(&word.parts));
                After::same(&self.directories)
            }
            Compound::Arithmetic(parts) => {
                // A shell without this construct reads a command in two subshells.
                self.doubt(DoubtKind::Construct, "`((...))`, which sh reads as commands");
                self.variables.forget_all();
                self.parts(parts);
                After::same(&self.directories)
            }
        }
    }

    fn case(&mut self, word: &RawWord, arms: &[(Vec<RawWord>, Script)]) -> After {
        self.changed_by_parts(&word.parts);
        self.parts(&word.parts);
        let mut all = self.directories.clone();
        let mut variables = self.variables.clone();
        for (patterns, script) in arms {
            // With `;&` the previous branch continues here, too.
            self.directories = all.clone();
            self.variables = variables.clone();
            patterns.iter().for_each(|pattern| self.changed_by_parts(&pattern.parts));
            patterns.iter().for_each(|pattern| self.parts(&pattern.parts));
            all = union(&all, &self.script(script).either());
            variables = variables.join(&self.variables);
        }
        self.variables = variables;
        After::same(&all)
    }

    /// Returns the values of a loop's variable; `None` for one that is not known.
    fn values(&mut self, variable: &str, words: &[RawWord]) -> Vec<Option<Value>> {
        self.sets(variable, &Word::Unknown("the words of a loop".to_owned()));
        // Numbers stay numbers.
        if let [RawWord { parts, .. }] = words
            && let [part @ WordPart::Command { .. }] = parts.as_slice()
            && let Some(value @ (Value::Count | Value::Stamp(_))) = self.scope().part(part)
        {
            return vec![Some(value)];
        }
        let expanded = words.iter().flat_map(|word| expansion::expanded(word, BraceExpansion::Expand, self.scope()));
        let values: Vec<Option<Value>> = expanded
            .take(MOST_VALUES + 1)
            .map(|word| match word {
                Word::Literal(text) => Some(Value::Text(text)),
                Word::Pattern(pattern) => Some(Value::Name(pattern)),
                Word::Pieces(pattern) => Some(Value::Names(vec![pattern])),
                Word::Stamp(pattern) => Some(Value::Stamp(pattern)),
                Word::Token(_) => Some(Value::Token),
                Word::Unknown(_) => None,
            })
            .collect();
        // Without words the values are the arguments of the script.
        if values.is_empty() || values.len() > MOST_VALUES { vec![None] } else { values }
    }

    /// Walks a loop once for each value of its variable.
    fn for_each(&mut self, variable: &str, values: &[Option<Value>], condition: &Script, body: &Script) -> After {
        self.set_variable(variable, None);
        let recorded = self.recorded();
        let (after, start) = self.repeated(condition, body);
        let is_known = values.iter().all(Option::is_some) && self.rounds >= values.len();
        if is_known {
            // The start of a round is the same for every value.
            let unknown = self.split_off(recorded);
            for value in values {
                let Some(left) = self.rounds.checked_sub(1) else {
                    self.doubt(DoubtKind::TooMuch, TOO_MANY_ROUNDS);
                    break;
                };
                self.rounds = left;
                (self.directories, self.variables) = start.clone();
                self.set_variable(variable, value.clone());
                self.round(condition, body);
                // The body does not use its variable.
                if self.is_same_since(recorded, &unknown) {
                    break;
                }
            }
        }
        self.variables = start.1;
        self.set_variable(variable, None);
        after
    }

    /// Walks a loop until a round ends with what it started with, and returns that state. A directory that changes
    /// becomes unknown, and so does a variable that is set, unless it stays a number.
    fn repeated(&mut self, condition: &Script, body: &Script) -> (After, (WorkingDirectories, Variables)) {
        let recorded = self.recorded();
        let outer = std::mem::take(&mut self.recent);
        let mut kept = Kept::Numbers;
        let (after, start) = loop {
            let (directories, variables) = (self.directories.clone(), self.variables.clone());
            let Some(left) = self.rounds.checked_sub(1) else {
                self.doubt(DoubtKind::TooMuch, TOO_MANY_ROUNDS);
                self.variables.forget_all();
                break (WorkingDirectories::Unknown, (WorkingDirectories::Unknown, Variables::default()));
            };
            self.rounds = left;
            let defined = self.defined.len();
            let after = self.round(condition, body);
            let joined = variables.join(&self.variables);
            // A round may end early, so a variable that a loop sets has no known text, even if it is set to the same.
            let is_open =
                self.recent.iter().all(|name| variables.get(name).is_none_or(|value| *value == Value::Number));
            if after == directories && joined == variables && is_open && defined == self.defined.len() {
                let mut left = joined;
                let texts: Vec<&String> =
                    self.recent.iter().filter(|name| left.get(name) != Some(&Value::Number)).collect();
                texts.into_iter().for_each(|name| left.forget(name));
                self.variables = left.clone();
                break (after, (directories, left));
            }
            self.forget_since(recorded);
            self.directories = if after == directories { directories } else { WorkingDirectories::Unknown };
            self.variables = widened(&variables, &joined, &self.recent, kept);
            kept = Kept::Nothing;
        };
        self.recent.extend(outer);
        (After::same(&after), start)
    }

    fn is_same_since(&self, [invocations, redirections, doubts]: [usize; 3], other: &Analysis) -> bool {
        self.analysis.invocations.get(invocations..) == Some(other.invocations.as_slice())
            && self.analysis.redirections.get(redirections..) == Some(other.redirections.as_slice())
            && self.analysis.doubts.get(doubts..) == Some(other.doubts.as_slice())
    }

    /// Returns how much is recorded.
    pub(super) fn recorded(&self) -> [usize; 3] {
        [self.analysis.invocations.len(), self.analysis.redirections.len(), self.analysis.doubts.len()]
    }

    /// Removes what was recorded since then, because it is walked again.
    pub(super) fn forget_since(&mut self, [invocations, redirections, doubts]: [usize; 3]) {
        self.analysis.invocations.truncate(invocations);
        self.analysis.redirections.truncate(redirections);
        self.analysis.doubts.truncate(doubts);
    }

    fn round(&mut self, condition: &Script, body: &Script) -> WorkingDirectories {
        self.loops += 1;
        let after = self.round_here(condition, body);
        self.loops -= 1;
        after
    }

    fn round_here(&mut self, condition: &Script, body: &Script) -> WorkingDirectories {
        let before = self.directories.clone();
        let tested = self.script(condition).either();
        self.directories = tested.clone();
        let done = self.script(body).either();
        union(&before, &union(&tested, &done))
    }
}

/// What the next walk of a loop still knows about the variables that the loop sets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Numbers,
    Nothing,
}

/// Returns what is known at the start of any round.
fn widened(before: &Variables, joined: &Variables, assigned: &BTreeSet<String>, kept: Kept) -> Variables {
    let mut variables = before.clone();
    for name in assigned {
        let number = joined.get(name).filter(|value| kept == Kept::Numbers && value.is_number());
        variables.set(name, number.map(|_| Value::Number));
    }
    variables
}
