//! The variables that a script sets.
//!
//! Invariant: a variable is forgotten as soon as a command could set it to something unknown, before any word is
//! expanded that could see the new value.

use super::Walker;
use crate::{
    analysis::{DoubtKind, Invocation, Word},
    budget::quoted,
    printed,
    syntax::{Redirect, RedirectSource, RedirectTarget, Simple, WordPart, is_name},
    values::{Scope, Value},
    wrappers,
};

impl Walker {
    pub(super) fn scope(&self) -> Scope<'_> {
        let Self { variables, directories, assigned, defined, .. } = self;
        Scope { variables, directories, assigned, functions: defined }
    }

    /// Remembers the value of a variable, or forgets it.
    pub(super) fn set_variable(&mut self, name: &str, value: Option<Value>) {
        self.assigned.insert(name.to_owned());
        self.recent.insert(name.to_owned());
        if self.frozen.contains(name) {
            self.doubt(DoubtKind::Construct, format!("{} is set again, which code that runs later uses", quoted(name)));
        }
        let value = value.filter(|_| !self.volatile.contains(name));
        self.variables.set(name, value);
    }

    /// Forgets all variables, since any of them could have been set.
    fn forget_variables(&mut self) {
        self.variables.forget_all();
        if !self.frozen.is_empty() {
            self.doubt(DoubtKind::Construct, "a variable may be set again that code that runs later uses");
        }
    }

    /// Applies what the expansion of a command's words does to variables: `${x:=y}`, `$((x = 1))`.
    pub(super) fn changed_by_expansion(&mut self, simple: &Simple) {
        let assigned = simple.assignments.iter().map(|assign| &assign.value);
        for word in assigned.chain(&simple.words) {
            self.changed_by_parts(&word.parts);
        }
        for redirect in &simple.redirects {
            match &redirect.to {
                RedirectTarget::Read(word)
                | RedirectTarget::Write(word)
                | RedirectTarget::ReadWrite(word)
                | RedirectTarget::HereString(word) => self.changed_by_parts(&word.parts),
                RedirectTarget::HereDocument(document) => {
                    if let Some(document) = document.get() {
                        self.changed_by_parts(&document.parts);
                    }
                }
                RedirectTarget::DuplicateInput | RedirectTarget::DuplicateOutput => {}
            }
        }
    }

    pub(super) fn changed_by_parts(&mut self, parts: &[WordPart]) {
        for part in parts {
            match part {
                WordPart::Parameter(parameter) => {
                    if let Some(name) = &parameter.sets {
                        self.set_variable(name, None);
                    }
                    self.changed_by_parts(&parameter.inner);
                }
                WordPart::Arithmetic(inner) => self.changed_by_arithmetic(inner),
                WordPart::Array(words) => words.iter().for_each(|word| self.changed_by_parts(&word.parts)),
                WordPart::Subscript(inner) | WordPart::Balanced(inner) => self.changed_by_parts(inner),
                // A substitution runs in a subshell.
                WordPart::Plain(_)
                | WordPart::Quoted(_)
                | WordPart::Number
                | WordPart::Command { .. }
                | WordPart::Process(_) => {}
            }
        }
    }

    /// Sets the counter of `for ((i = 0; ...))`, which is a number in every round.
    pub(super) fn counted(&mut self, arithmetic: &[WordPart]) {
        if let [WordPart::Quoted(text) | WordPart::Plain(text), ..] = arithmetic {
            let first = text.split(';').next().unwrap_or_default();
            if let Some((name, value)) = first.split_once('=') {
                let is_number = !value.trim().is_empty() && value.trim().bytes().all(|byte| byte.is_ascii_digit());
                if is_name(name.trim()) && is_number {
                    self.set_variable(name.trim(), Some(Value::Number));
                }
            }
        }
        self.changed_by_arithmetic(arithmetic);
    }

    /// Arithmetic can set every variable that it names, and only to numbers.
    fn changed_by_arithmetic(&mut self, parts: &[WordPart]) {
        let has_sign = |part: &WordPart| match part {
            WordPart::Plain(text) | WordPart::Quoted(text) => ["=", "++", "--"].iter().any(|sign| text.contains(sign)),
            _ => false,
        };
        if parts.iter().any(has_sign) {
            for part in parts {
                if let WordPart::Plain(text) | WordPart::Quoted(text) = part {
                    let names: Vec<String> = in_arithmetic(text).map(str::to_owned).collect();
                    for name in names {
                        let was_number = self.scope().variable(&name).is_some_and(|value| value.is_number());
                        self.set_variable(&name, was_number.then_some(Value::Number));
                    }
                }
            }
        }
        self.changed_by_parts(parts);
    }

    /// Applies a builtin that sets variables.
    pub(super) fn set_by_builtin(&mut self, invocation: &Invocation) {
        let Some((program, words)) = invocation.argv.split_first() else { return };
        // After any other wrapper, the change does not happen in this shell.
        let own = invocation.through.get(self.through.len()..).unwrap_or_default();
        if !own.iter().all(|wrapper| matches!(wrapper.as_str(), "command" | "builtin" | "time")) {
            return;
        }
        let Some(name) = program.literal() else { return self.forget_variables() };
        match name {
            "shift" | "set" => self.variables.forget_arguments(),
            "source" | "." | "eval" => self.forget_variables(),
            // In sh there is no `declare`, and what is read-only keeps its value.
            "declare" | "typeset" | "readonly" => {
                for variable in words.iter().filter_map(named) {
                    self.set_variable(variable, None);
                    self.volatile.insert(variable.to_owned());
                }
            }
            // It is an error outside of a function, and local to it inside.
            "local" => words.iter().filter_map(named).for_each(|variable| self.set_variable(variable, None)),
            "export" => {
                let has_options = words.iter().any(|word| word.shown().starts_with(['-', '+']));
                for word in words {
                    match (word, named(word)) {
                        (Word::Literal(text), Some(variable)) => {
                            let value = text.strip_prefix(variable).and_then(|rest| rest.strip_prefix('='));
                            let value = value.map(str::to_owned);
                            // Without a value the variable keeps its own.
                            if let Some(value) = value.filter(|value| !value.contains('~') && !has_options) {
                                let twice = words.iter().filter(|word| named(word) == Some(variable)).count() > 1;
                                self.set_variable(variable, (!twice).then_some(Value::Text(value)));
                            } else if text.contains('=') || has_options {
                                self.set_variable(variable, None);
                            }
                        }
                        (Word::Stamp(text), Some(variable)) => {
                            let value = text.split_once('=').map(|(_, value)| Value::Stamp(value.to_owned()));
                            self.set_variable(variable, value);
                        }
                        (_, Some(variable)) => self.set_variable(variable, None),
                        (_, None) => self.forget_variables(),
                    }
                }
            }
            "read" => {
                let is_list =
                    |value: &Value| matches!(value, Value::Names(_) | Value::Token | Value::Count | Value::Stamp(_));
                let names = self.piped.clone().filter(is_list);
                let variables: Vec<&str> =
                    words.iter().filter(|word| !word.shown().starts_with('-')).filter_map(named).collect();
                let alone = variables.len() == 1 && words.iter().all(|word| word.literal().is_some());
                let plain = words.iter().all(|word| matches!(word.shown(), "-r" | "-d" | "") || named(word).is_some());
                words.iter().filter_map(named).for_each(|variable| self.set_variable(variable, None));
                match variables.as_slice() {
                    [only] if alone && plain => self.set_variable(only, names),
                    _ if plain && words.iter().all(|word| word.literal().is_some()) => {}
                    _ => self.forget_variables(),
                }
            }
            "wait" if !words.iter().any(|word| word.shown().starts_with('-')) => {}
            name if wrappers::sets_variables(name) => {
                for word in words {
                    match (word.literal(), named(word)) {
                        (Some(_), Some(variable)) => self.set_variable(variable, None),
                        (Some(text), None) => {
                            // `printf -vname`, `read -aname`.
                            if let Some(variable) = text.get(2..).filter(|name| is_name(name)) {
                                self.set_variable(variable, None);
                            }
                        }
                        // The words of `printf` after its format are data.
                        (None, _) if name == "printf" && !sets_by_option(words) => {}
                        (None, _) => self.forget_variables(),
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns what a redirected input consists of: `done < <(find ...)`.
    pub(super) fn printed_into(&self, redirects: &[Redirect]) -> Option<Value> {
        let is_input = |redirect: &&Redirect| match &redirect.from {
            RedirectSource::Usual => true,
            RedirectSource::Number(number) => number == "0",
            RedirectSource::Variable(_) => false,
        };
        let reads =
            |redirect: &&Redirect| !matches!(redirect.to, RedirectTarget::Write(_) | RedirectTarget::DuplicateOutput);
        // The last redirection of the input decides.
        let last = redirects.iter().filter(is_input).rfind(reads)?;
        let RedirectTarget::Read(word) = &last.to else { return None };
        match word.parts.as_slice() {
            [WordPart::Process(script)] => printed::printed(script, self.scope()),
            _ => None,
        }
    }
}

/// Returns the names of variables in the text of arithmetic; numbers such as `0x1f` are none.
pub(super) fn in_arithmetic(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

/// Returns the variable in `name`, `name=value`, `name+=value` and `name[0]=value`.
fn named(word: &Word) -> Option<&str> {
    let text = word.shown();
    let name = text.split(['=', '[', '+']).next()?;
    let is_written = word.literal().is_some() || text.len() > name.len();
    (is_name(name) && is_written).then_some(name)
}

fn sets_by_option(words: &[Word]) -> bool {
    words.first().is_none_or(|word| word.literal().is_none_or(|text| text.starts_with("-v")))
}
