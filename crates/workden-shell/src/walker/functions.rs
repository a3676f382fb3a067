//! Functions, and code that runs later: traps and nested scripts of other times.
//!
//! Invariant: a function is walked with the arguments of each call. One that is never called is walked once, with
//! arguments that are not known.

use std::rc::Rc;

use super::{DEEPEST, DeferredCode, Walker};
use crate::{
    analysis::{Analysis, Doubt, DoubtKind, Invocation, StandardInput, Word, WorkingDirectories},
    budget::quoted,
    directories::After,
    syntax::CommandNode,
    wrappers,
};

/// A function, and what it would do with unknown arguments.
pub(super) struct Function {
    body: Rc<CommandNode>,
    /// What is known of it until it is called; empty afterwards.
    pub(super) uncalled: Analysis,
}

/// The values of variables in code that runs later.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Later {
    AsNow,
    Unknown,
}

impl Walker {
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
    pub(super) fn function(&mut self, name: &str, body: &Rc<CommandNode>) -> After {
        if wrappers::means_something(name) {
            self.doubt(DoubtKind::Construct, format!("a function named like the command {}", quoted(name)));
        }
        let before = self.directories.clone();
        let moved = std::mem::replace(&mut self.moved, false);
        if name == "command_not_found_handle" {
            self.doubt(DoubtKind::Construct, "a function that runs for unknown commands");
        }
        self.defined.insert(name.to_owned());
        let known = self.analysis.invocations.len();
        let recorded = self.recorded();
        self.walk_later(StandardInput::Fed, Later::Unknown, &|walker: &mut Self| walker.command(body));
        self.recursion(name, known);
        // A call tells more, with its arguments. In a loop a call may come before the function.
        if self.loops == 0 && !self.functions.contains_key(name) && !self.moved {
            let uncalled = self.split_off(recorded);
            self.functions.insert(name.to_owned(), Function { body: Rc::clone(body), uncalled });
        } else if let Some(former) = self.functions.remove(name) {
            self.append(former.uncalled);
        }
        // The directory after a call of the function is not tracked.
        let after = if self.moved { WorkingDirectories::Unknown } else { before };
        self.moved |= moved;
        After::same(&after)
    }

    /// Walks a function with the arguments of a call.
    pub(super) fn call(&mut self, invocation: &Invocation) -> bool {
        let Some(name) = invocation.argv.first().and_then(Word::literal) else { return false };
        if invocation.through.len() > self.through.len() {
            return false;
        }
        let Some(function) = self.functions.get_mut(name) else { return false };
        let body = Rc::clone(&function.body);
        let uncalled = std::mem::take(&mut function.uncalled);
        // A function that calls itself is a doubt of its own.
        if self.rounds == 0 || self.depth >= DEEPEST / 2 {
            self.append(uncalled);
            self.doubt(DoubtKind::TooMuch, "too many calls of functions");
            return false;
        }
        let itself = |doubt: &&Doubt| doubt.kind == DoubtKind::Recursion || doubt.about.ends_with("calls itself");
        self.analysis.doubts.extend(uncalled.doubts.iter().filter(itself).cloned());
        self.rounds -= 1;
        let outer = std::mem::take(&mut self.recent);
        let caller = self.variables.clone();
        self.variables.set_arguments(invocation.argv.get(1..).unwrap_or_default());
        self.command(&body);
        // A local variable has its former value again.
        let mut variables = std::mem::take(&mut self.variables).with_arguments_of(&caller);
        self.recent.iter().for_each(|name| variables.forget(name));
        self.variables = variables;
        self.recent.extend(outer);
        true
    }

    /// Records what functions do that are never called.
    pub(crate) fn finish(mut self) -> Self {
        for (_, function) in std::mem::take(&mut self.functions) {
            self.append(function.uncalled);
        }
        self
    }

    pub(super) fn split_off(&mut self, [invocations, redirections, doubts]: [usize; 3]) -> Analysis {
        Analysis {
            invocations: self.analysis.invocations.split_off(invocations),
            redirections: self.analysis.redirections.split_off(redirections),
            doubts: self.analysis.doubts.split_off(doubts),
        }
    }

    pub(super) fn append(&mut self, analysis: Analysis) {
        self.analysis.invocations.extend(analysis.invocations);
        self.analysis.redirections.extend(analysis.redirections);
        self.analysis.doubts.extend(analysis.doubts);
    }

    /// Walks code that runs later.
    ///
    /// The code sees the present values of variables if it sets none itself, and if they are not set again.
    pub(super) fn later<T>(&mut self, input: StandardInput, inner: impl Fn(&mut Self) -> T) {
        let recorded = self.recorded();
        let before = self.recent.len();
        self.walk_later(input, Later::Unknown, &inner);
        if self.recent.len() == before && !self.variables.is_empty() {
            self.forget_since(recorded);
            self.walk_later(input, Later::AsNow, &inner);
            self.frozen.extend(self.variables.names());
        }
    }

    fn walk_later<T>(&mut self, input: StandardInput, variables: Later, inner: &impl Fn(&mut Self) -> T) {
        self.defers = true;
        let before = std::mem::take(&mut self.recent);
        self.apart(|walker| {
            if walker.deferred == DeferredCode::Anywhere {
                walker.directories = WorkingDirectories::Unknown;
            }
            walker.input = input;
            walker.piped = None;
            walker.variables.forget_arguments();
            if variables == Later::Unknown {
                walker.variables.forget_all();
            }
            inner(walker);
        });
        for name in &self.recent {
            self.variables.forget(name);
        }
        self.volatile.extend(self.recent.iter().cloned());
        self.recent.extend(before);
    }
}
