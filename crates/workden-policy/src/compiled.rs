//! A ruleset that is checked and compiled.
//!
//! Invariant: everything here was checked when it was compiled. An invalid pattern and a failed example are errors
//! then, so that no rule is ever silently ignored.

use std::sync::OnceLock;

use workden_core::{
    Error, ErrorKind, Result, RuleCase, VirtualPath,
    search::{
        TextPattern,
        glob::{PathRules, PatternOf},
    },
};

use crate::{
    Action, Operation, OperationRules, Rule, Ruleset,
    argv_pattern::{ArgvPattern, ProgramLocation},
    rule_shapes::RuleShapes,
};

/// A compiled [`Ruleset`].
#[derive(Clone, Debug)]
pub struct CompiledRuleset {
    source: Ruleset,
    paths: Vec<PathRules>,
    commands: Vec<CommandRule>,
    shapes: OnceLock<RuleShapes>,
}

#[derive(Clone, Debug)]
struct CommandRule {
    pattern: ArgvPattern,
    except: Vec<ArgvPattern>,
    /// The pattern for the whole line as written, if the rule forbids and has no exceptions.
    line: Option<TextPattern>,
}

/// The decision of a ruleset, with its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleDecision<'a> {
    /// The action that applies.
    pub action: Action,
    /// The reason.
    pub because: DecidedBy<'a>,
}

/// The reason for a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecidedBy<'a> {
    /// A rule.
    Rule {
        /// The operation of the rule.
        of: Operation,
        /// The index of the rule among those of the operation, from 0.
        index: usize,
        /// The rule.
        rule: &'a Rule,
    },
    /// No rule matched, and the operation has a default.
    OperationDefault(Operation),
    /// No rule matched, and the operation has no default.
    RulesetDefault,
}

impl<'a> RuleDecision<'a> {
    /// Returns the rule that decided, if one did.
    #[must_use]
    pub fn rule(&self) -> Option<&'a Rule> {
        match self.because {
            DecidedBy::Rule { rule, .. } => Some(rule),
            DecidedBy::OperationDefault(_) | DecidedBy::RulesetDefault => None,
        }
    }

    /// Returns the description of the rule that decided; empty if none did.
    #[must_use]
    pub fn description(&self) -> &'a str {
        self.rule().map_or("", |rule| &rule.description)
    }

    /// Returns the stricter decision; `self` if both are equally strict.
    #[must_use]
    pub fn strictest(self, other: Self) -> Self {
        if other.action > self.action { other } else { self }
    }
}

impl Ruleset {
    /// Checks and compiles the rules.
    ///
    /// # Errors
    ///
    /// Returns `InvalidPattern` if a pattern does not parse, and `InvalidArgument` if an example fails; both name the
    /// rule and its operation.
    pub fn compile(&self) -> Result<CompiledRuleset> {
        CompiledRuleset::new(self.clone())
    }
}

impl CompiledRuleset {
    fn new(source: Ruleset) -> Result<Self> {
        let mut paths = vec![PathRules::default(); Operation::ALL.len()];
        let mut commands = Vec::new();
        for operation in Operation::ALL {
            let Some(OperationRules { rules, .. }) = source.of(operation) else { continue };
            match operation {
                Operation::Execute => {
                    let compiled = rules
                        .iter()
                        .enumerate()
                        .map(|(nth, rule)| CommandRule::new(rule).map_err(|error| about(operation, nth, rule, &error)));
                    commands = compiled.collect::<Result<_>>()?;
                }
                _ => paths[operation as usize] = compile_paths(operation, rules)?,
            }
        }
        Ok(Self { source, paths, commands, shapes: OnceLock::new() })
    }

    /// Returns the rules as shapes, for the comparison with shell patterns.
    pub(crate) fn shapes(&self) -> &RuleShapes {
        self.shapes.get_or_init(|| RuleShapes::of(&self.source))
    }

    /// Returns the ruleset that this was compiled from.
    #[must_use]
    pub fn source(&self) -> &Ruleset {
        &self.source
    }

    /// Returns the decision for an operation on a path. Commands have no path: for `Execute` the default decides.
    #[must_use]
    pub fn decide_path(&self, operation: Operation, path: &VirtualPath) -> RuleDecision<'_> {
        let operation = self.source.served_by(operation);
        match self.paths[operation as usize].first_match(path) {
            Some(index) => self.by_rule(operation, index),
            None => self.by_default(operation),
        }
    }

    /// Returns the decision for running this program with these arguments.
    #[must_use]
    pub fn decide_argv(&self, argv: &[&str]) -> RuleDecision<'_> {
        let rules = self.source.execute.iter().flat_map(|execute| &execute.rules);
        let first = rules.zip(&self.commands).position(|(rule, compiled)| compiled.matches(rule.action, argv));
        match first {
            Some(index) => self.by_rule(Operation::Execute, index),
            None => self.by_default(Operation::Execute),
        }
    }

    /// Returns the decision for a whole command line as written: of the rules before `before`, the first that forbids
    /// and whose pattern matches the line. The words of a command do not include pipes and redirections, and `curl * |
    /// sh` needs both.
    pub(crate) fn decide_line(&self, line: &str, before: usize) -> Option<RuleDecision<'_>> {
        let mut earlier = self.commands.iter().take(before);
        let first = earlier.position(|rule| rule.line.as_ref().is_some_and(|pattern| pattern.is_match(line)))?;
        Some(self.by_rule(Operation::Execute, first))
    }

    /// Returns the action for an operation if none of its rules matches.
    #[must_use]
    pub fn default_of(&self, operation: Operation) -> Action {
        self.source.default_of(operation)
    }

    /// Whether an operation is denied on every path, so that it need not be offered.
    #[must_use]
    pub fn denies_everywhere(&self, operation: Operation) -> bool {
        let served = self.source.of(self.source.served_by(operation));
        let rules = served.map_or(&[][..], |rules| &rules.rules);
        self.default_of(operation) == Action::Deny && rules.iter().all(|rule| rule.action == Action::Deny)
    }

    fn by_rule(&self, of: Operation, index: usize) -> RuleDecision<'_> {
        match self.source.of(of).and_then(|rules| rules.rules.get(index)) {
            Some(rule) => RuleDecision { action: rule.action, because: DecidedBy::Rule { of, index, rule } },
            None => self.by_default(of),
        }
    }

    fn by_default(&self, operation: Operation) -> RuleDecision<'_> {
        match self.source.of(operation).and_then(|rules| rules.default) {
            Some(action) => RuleDecision { action, because: DecidedBy::OperationDefault(operation) },
            None => RuleDecision { action: self.source.default_action(), because: DecidedBy::RulesetDefault },
        }
    }
}

impl CommandRule {
    fn new(rule: &Rule) -> Result<Self> {
        if rule.case == Some(RuleCase::Insensitive) {
            return Err(
                Error::new(ErrorKind::InvalidArgument, "`case` is not supported for commands").hint("leave `case` out")
            );
        }
        let except = rule.except.iter().map(|except| ArgvPattern::new(except)).collect::<Result<_>>()?;
        let pattern = ArgvPattern::new(&rule.pattern)?;
        let line = match rule.action {
            Action::Ask | Action::Deny if rule.except.is_empty() => Some(TextPattern::new(rule.pattern.trim())?),
            Action::Allow | Action::Ask | Action::Deny => None,
        };
        let compiled = Self { pattern, except, line };
        check_examples(rule, |example| {
            let argv: Vec<&str> = example.split_whitespace().collect();
            Ok(compiled.matches(rule.action, &argv))
        })?;
        Ok(compiled)
    }

    /// Whether the rule matches, as strictly as possible. A rule that allows matches exactly these words, and does not
    /// trust a program by its name alone; a rule that forbids also matches with further arguments, and with the program
    /// in any directory. Exceptions match the other way round.
    fn matches(&self, action: Action, argv: &[&str]) -> bool {
        let exactly = |pattern: &ArgvPattern| pattern.matches_with(argv, ProgramLocation::OfTheSystem);
        let widely = |pattern: &ArgvPattern| pattern.matches_start(argv, ProgramLocation::Anywhere);
        match action {
            Action::Allow => exactly(&self.pattern) && !self.except.iter().any(widely),
            Action::Ask | Action::Deny => widely(&self.pattern) && !self.except.iter().any(exactly),
        }
    }
}

/// Rejects patterns that have a meaning in other tools and would match no real name here.
fn check_spelling(pattern: &str) -> Result<()> {
    let wrong = match pattern {
        pattern if pattern.trim() != pattern => "invalid pattern: it starts or ends with a blank",
        pattern if pattern.starts_with('!') => "invalid pattern: `!` does not negate a pattern",
        pattern if pattern.starts_with("~/") => "invalid pattern: `~` is not a home directory",
        _ => return Ok(()),
    };
    Err(Error::new(ErrorKind::InvalidPattern, wrong)
        .hint("put exceptions into `except`, start a path with `/`, and write `\\` or `[...]` for a literal character"))
}

fn compile_paths(operation: Operation, rules: &[Rule]) -> Result<PathRules> {
    for (nth, rule) in rules.iter().enumerate() {
        let mut all = std::iter::once(&rule.pattern).chain(&rule.except);
        all.try_for_each(|pattern| check_spelling(pattern)).map_err(|error| about(operation, nth, rule, &error))?;
    }
    let patterns: Vec<PatternOf<'_>> = rules
        .iter()
        .map(|rule| PatternOf { pattern: &rule.pattern, except: &rule.except, case: rule.effective_case() })
        .collect();
    let compiled = PathRules::compile(&patterns).map_err(|(nth, error)| about(operation, nth, &rules[nth], &error))?;
    for (nth, rule) in rules.iter().enumerate() {
        if rule.matches.is_empty() && rule.not_match.is_empty() {
            continue;
        }
        let checked = PathRules::compile(&patterns[nth..=nth]).map_err(|(_, error)| error).and_then(|alone| {
            check_examples(rule, |example| Ok(alone.first_match(&VirtualPath::parse(example)?).is_some()))
        });
        checked.map_err(|error| about(operation, nth, rule, &error))?;
    }
    Ok(compiled)
}

fn check_examples(rule: &Rule, matches: impl Fn(&str) -> Result<bool>) -> Result<()> {
    let must = rule.matches.iter().map(|example| (example, true));
    for (example, expected) in must.chain(rule.not_match.iter().map(|example| (example, false))) {
        if matches(example)? != expected {
            let (field, does) = if expected { ("match", "does not match") } else { ("not_match", "matches") };
            let shown: String = example.chars().take(200).flat_map(char::escape_debug).collect();
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("its pattern {does} `{shown}`, an example of `{field}`"),
            )
            .hint("correct the pattern or the example"));
        }
    }
    Ok(())
}

/// Adds the rule to an error about it.
fn about(operation: Operation, nth: usize, rule: &Rule, error: &Error) -> Error {
    let pattern: String = rule.pattern.chars().take(200).flat_map(char::escape_debug).collect();
    let told = Error::new(
        error.kind(),
        format!("rule {} of `{operation}` (pattern `{pattern}`): {}", nth + 1, error.sentence()),
    );
    match error.hint_text() {
        Some(hint) => told.hint(hint),
        None => told,
    }
}
