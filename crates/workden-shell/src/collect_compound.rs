//! Compound commands in the walk: all branches, loops until nothing changes.
//!
//! Invariant: a branch that may not run leaves both what was before it and what is after it.

use super::{
    analysis::{Directories, DoubtKind},
    collect::Collector,
    directories::{After, union},
    syntax::{Compound, Script, Word},
};

impl Collector {
    pub(super) fn compound(&mut self, compound: &Compound) -> After {
        match compound {
            Compound::Group(script) => self.script(script),
            Compound::Subshell(script) => {
                let after = After::same(&self.directories);
                self.apart(|collector| collector.script(script));
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
                // To a shell without it this is a command in two subshells.
                self.doubt(DoubtKind::Construct, "`((...))`, which sh takes for commands");
                self.parts(parts);
                After::same(&self.directories)
            }
        }
    }

    fn case(&mut self, word: &Word, arms: &[(Vec<Word>, Script)]) -> After {
        self.parts(&word.parts);
        let mut all = self.directories.clone();
        for (patterns, script) in arms {
            // With `;&` the one before leads here, too.
            self.directories = all.clone();
            patterns.iter().for_each(|pattern| self.parts(&pattern.parts));
            all = union(&all, &self.script(script).either());
        }
        After::same(&all)
    }

    /// If one round goes somewhere else, the next begins there: then nobody knows.
    fn repeated(&mut self, condition: &Script, body: &Script) -> After {
        let before = self.directories.clone();
        let (invocations, redirections, doubts) =
            (self.analysis.invocations.len(), self.analysis.redirections.len(), self.analysis.doubts.len());
        let mut after = self.round(condition, body);
        if after != before {
            self.analysis.invocations.truncate(invocations);
            self.analysis.redirections.truncate(redirections);
            self.analysis.doubts.truncate(doubts);
            self.directories = Directories::Unknown;
            after = self.round(condition, body);
        }
        After::same(&after)
    }

    fn round(&mut self, condition: &Script, body: &Script) -> Directories {
        let before = self.directories.clone();
        let tested = self.script(condition).either();
        self.directories = tested.clone();
        let done = self.script(body).either();
        union(&before, &union(&tested, &done))
    }
}
