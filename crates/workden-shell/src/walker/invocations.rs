//! The walk through wrappers: from a command as written to the commands that run.
//!
//! Invariant: a queued command is shorter than the command that it came from, and at most [`MOST_STEPS`] commands come
//! from one.

use std::collections::VecDeque;

use super::Walker;
use crate::{
    analysis::{DoubtKind, Invocation, StandardInput, WorkingDirectories},
    directories::{After, joined, moved},
    wrappers::{ScriptScope, WrappedRun, program, unwrap},
};

/// How many wrappers and commands are examined for one command.
const MOST_STEPS: usize = 24;

impl Walker {
    /// Records the commands that a command runs, and returns the directory of the shell afterwards.
    pub(super) fn invoke(&mut self, invocation: Invocation) -> After {
        let mut after = After::same(&self.directories);
        for assignment in &invocation.assignments {
            self.sets(&assignment.name);
        }
        let mut queue = VecDeque::from([invocation]);
        let mut steps = 0;
        while let Some(invocation) = queue.pop_front() {
            steps += 1;
            if steps > MOST_STEPS {
                self.doubt(DoubtKind::TooMuch, format!("over {MOST_STEPS} nested wrappers"));
                self.analysis.invocations.push(invocation);
                break;
            }
            let unwrapped = unwrap(&invocation);
            for (kind, about) in unwrapped.doubts {
                self.doubt(kind, about);
            }
            if unwrapped.kept {
                if let Some(there) = self.goes_to(&invocation) {
                    after = there;
                }
                self.analysis.invocations.push(invocation.clone());
            }
            for run in unwrapped.runs {
                match run {
                    WrappedRun::Program { .. } => self.queue(&invocation, run, &mut queue),
                    WrappedRun::Script { text, place } => {
                        if let Some(there) = self.nested_script(&invocation, &text, place) {
                            after = there;
                        }
                    }
                }
            }
        }
        after
    }

    /// Returns the directory of the shell after a builtin that changes it.
    fn goes_to(&mut self, invocation: &Invocation) -> Option<After> {
        // After any other wrapper, the change does not happen in this shell.
        let own = invocation.through.get(self.through.len()..).unwrap_or_default();
        if !own.iter().all(|wrapper| matches!(wrapper.as_str(), "command" | "builtin" | "time")) {
            return None;
        }
        let after = match invocation.argv.first()?.literal()? {
            "source" | "." => After::same(&WorkingDirectories::Unknown),
            _ => moved(&self.directories, &invocation.argv)?,
        };
        self.moved = true;
        Some(after)
    }

    fn queue(&mut self, outer: &Invocation, run: WrappedRun, queue: &mut VecDeque<Invocation>) {
        let WrappedRun::Program { argv, assignments, directory, input } = run else { return };
        for assignment in &assignments {
            self.sets(&assignment.name);
        }
        let directories = match &directory {
            None => outer.directories.clone(),
            Some(to) => joined(&outer.directories, to),
        };
        let mut all = outer.assignments.clone();
        all.extend(assignments);
        let fed = if input.is_none() { outer.fed.clone() } else { None };
        let input = input.unwrap_or(outer.input);
        if argv.first().is_some_and(|word| word.literal().is_none()) {
            self.doubt(DoubtKind::NotLiteral, "the program that a wrapper runs");
        }
        queue.push_back(Invocation { argv, through: through(outer), assignments: all, directories, input, fed });
    }

    /// Walks a script that a command runs; returns the directory afterwards, if the script runs in this shell.
    fn nested_script(&mut self, outer: &Invocation, text: &str, place: ScriptScope) -> Option<After> {
        // A literal tilde became `./~` before the text was known to be code, in which the tilde is special again.
        if text.contains("./~") {
            self.doubt(DoubtKind::Construct, "a tilde in a nested script");
        }
        let wrappers = std::mem::replace(&mut self.through, through(outer));
        let after = self.deeper(|walker| match place {
            ScriptScope::Here => Some(walker.text(text)),
            ScriptScope::Apart | ScriptScope::Elsewhere => {
                walker.apart(|walker| {
                    let elsewhere = place == ScriptScope::Elsewhere;
                    walker.directories =
                        if elsewhere { WorkingDirectories::Unknown } else { outer.directories.clone() };
                    walker.input = outer.input;
                    walker.text(text)
                });
                None
            }
            ScriptScope::Later => {
                walker.later(StandardInput::Inherited, |walker| walker.text(text));
                None
            }
        });
        self.through = wrappers;
        after.flatten()
    }
}

fn through(outer: &Invocation) -> Vec<String> {
    let name = outer.argv.first().and_then(program).unwrap_or_default();
    outer.through.iter().cloned().chain([name.to_owned()]).collect()
}
