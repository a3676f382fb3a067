//! The walk through wrappers: from a command as written to the commands that run.
//!
//! Invariant: a queued command is shorter than the command that it came from, and at most [`MOST_STEPS`] commands come
//! from one.

use std::collections::VecDeque;

use super::Walker;
use crate::{
    analysis::{DoubtKind, Invocation, StandardInput, Word, WorkingDirectories},
    directories::{After, joined, moved},
    values::Value,
    wrappers::{ScriptScope, Unwrapped, WrappedRun, program, unwrap},
};

/// How many wrappers and commands are examined for one command.
const MOST_STEPS: usize = 24;

impl Walker {
    /// Records the commands that a command runs, and returns the directory of the shell afterwards.
    pub(super) fn invoke(&mut self, invocation: Invocation) -> After {
        let mut after = After::same(&self.directories);
        let mut queue = VecDeque::from([invocation]);
        let mut steps = 0;
        while let Some(invocation) = queue.pop_front() {
            steps += 1;
            if steps > MOST_STEPS {
                self.doubt(DoubtKind::TooMuch, format!("over {MOST_STEPS} nested wrappers"));
                self.analysis.invocations.push(invocation);
                break;
            }
            let read = match &self.piped {
                Some(Value::Names(patterns)) => patterns.iter().cloned().map(Word::Pieces).collect(),
                Some(Value::Token) => vec![Word::Token("...".to_owned())],
                Some(Value::Count) => vec![Word::Stamp("*".to_owned())],
                Some(Value::Number | Value::Stamp(_)) => vec![Word::Token("...".to_owned())],
                _ => Vec::new(),
            };
            let unwrapped = unwrap(&invocation, &read);
            self.lost(&invocation, &unwrapped);
            for (kind, about) in unwrapped.doubts {
                self.doubt(kind, about);
            }
            if unwrapped.kept {
                // The function may not be there, and then the name is that of a program.
                self.call(&invocation);
                self.set_by_builtin(&invocation);
                if let Some(there) = self.goes_to(&invocation) {
                    after = there;
                }
                self.analysis.invocations.push(invocation.clone());
            }
            for run in unwrapped.runs {
                match run {
                    WrappedRun::Program { .. } => self.queue(&invocation, run, &mut queue),
                    WrappedRun::Script { text, place, arguments } => {
                        if let Some(there) = self.nested_script(&invocation, &text, place, &arguments) {
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
            // The script of a virtual environment stays where it is.
            "source" | "." if activates(&invocation.argv) => return None,
            "source" | "." => After::same(&WorkingDirectories::Unknown),
            _ => moved(&self.directories, &invocation.argv)?,
        };
        self.moved = true;
        Some(after)
    }

    /// Adds a doubt for unknown words of a wrapper that is removed: one of them could be an option, or the program.
    fn lost(&mut self, invocation: &Invocation, unwrapped: &Unwrapped) {
        let count = |argv: &[Word]| argv.iter().filter(|word| matches!(word, Word::Unknown(_))).count();
        let kept: usize = unwrapped
            .runs
            .iter()
            .map(|run| match run {
                WrappedRun::Program { argv, .. } => count(argv),
                WrappedRun::Script { arguments, .. } => count(arguments),
            })
            .sum();
        if !unwrapped.kept && count(&invocation.argv) > kept {
            self.doubt(DoubtKind::NotLiteral, "an argument of a wrapper");
        }
    }

    fn queue(&mut self, outer: &Invocation, run: WrappedRun, queue: &mut VecDeque<Invocation>) {
        let WrappedRun::Program { argv, assignments, directory, input } = run else { return };
        for assignment in &assignments {
            self.sets(&assignment.name, &assignment.value);
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
    fn nested_script(
        &mut self,
        outer: &Invocation,
        text: &str,
        place: ScriptScope,
        arguments: &[Word],
    ) -> Option<After> {
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
                    // Another shell knows only what was exported.
                    walker.variables.forget_all();
                    walker.variables.set_arguments(arguments);
                    let functions = std::mem::take(&mut walker.functions);
                    let after = walker.text(text);
                    let own = std::mem::replace(&mut walker.functions, functions);
                    own.into_values().for_each(|function| walker.append(function.uncalled));
                    after
                });
                None
            }
            ScriptScope::Later => {
                let moved = std::mem::replace(&mut walker.moved, false);
                walker.later(StandardInput::Inherited, |walker| walker.text(text));
                let moves = std::mem::replace(&mut walker.moved, moved);
                walker.moved |= moves;
                // From now on the script may be anywhere.
                moves.then(|| After::same(&WorkingDirectories::Unknown))
            }
        });
        self.through = wrappers;
        after.flatten()
    }
}

/// Whether this is the script of a virtual environment in the project.
fn activates(argv: &[Word]) -> bool {
    let [_, Word::Literal(script)] = argv else { return false };
    let is_inside = !script.starts_with(['/', '~']) && !script.split('/').any(|name| name == "..");
    is_inside && script.ends_with("/bin/activate")
}

fn through(outer: &Invocation) -> Vec<String> {
    let name = outer.argv.first().and_then(program).unwrap_or_default();
    outer.through.iter().cloned().chain([name.to_owned()]).collect()
}
