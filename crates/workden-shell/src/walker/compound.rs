//! The walk through compound commands: all branches, and loops until nothing changes.
//!
//! Invariant: after a branch that may not run, both the state before it and the state after it are possible.

use super::Walker;
use crate::{
    analysis::{DoubtKind, WorkingDirectories},
    directories::{After, union},
    syntax::{Compound, RawWord, Script},
};

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
                for script in scripts {
                    self.directories = all.clone();
                    all = union(&all, &self.script(script).either());
                }
                After::same(&all)
            }
            Compound::Loop { variable, words, arithmetic, condition, body } => {
                if let Some(variable) = variable {
                    self.sets(variable);
                }
                words.iter().for_each(|word| self.parts(&word.parts));
                if !arithmetic.is_empty() {
                    self.evaluated(arithmetic);
                    self.parts(arithmetic);
                }
                self.repeated(condition, body)
            }
            Compound::Case { word, arms } => self.case(word, arms),
            Compound::Test(words) => {
                words.iter().for_each(|word| self.parts(&word.parts));
                After::same(&self.directories)
            }
            Compound::Arithmetic(parts) => {
                // A shell without this construct reads a command in two subshells.
                self.doubt(DoubtKind::Construct, "`((...))`, which sh reads as commands");
                self.parts(parts);
                After::same(&self.directories)
            }
        }
    }

    fn case(&mut self, word: &RawWord, arms: &[(Vec<RawWord>, Script)]) -> After {
        self.parts(&word.parts);
        let mut all = self.directories.clone();
        for (patterns, script) in arms {
            // With `;&` the previous branch continues here, too.
            self.directories = all.clone();
            patterns.iter().for_each(|pattern| self.parts(&pattern.parts));
            all = union(&all, &self.script(script).either());
        }
        After::same(&all)
    }

    /// Walks a loop. If one round changes the directory, the next round starts there: then the directory is unknown.
    fn repeated(&mut self, condition: &Script, body: &Script) -> After {
        let before = self.directories.clone();
        let (invocations, redirections, doubts) =
            (self.analysis.invocations.len(), self.analysis.redirections.len(), self.analysis.doubts.len());
        let mut after = self.round(condition, body);
        if after != before {
            self.analysis.invocations.truncate(invocations);
            self.analysis.redirections.truncate(redirections);
            self.analysis.doubts.truncate(doubts);
            self.directories = WorkingDirectories::Unknown;
            after = self.round(condition, body);
        }
        After::same(&after)
    }

    fn round(&mut self, condition: &Script, body: &Script) -> WorkingDirectories {
        let before = self.directories.clone();
        let tested = self.script(condition).either();
        self.directories = tested.clone();
        let done = self.script(body).either();
        union(&before, &union(&tested, &done))
    }
}
