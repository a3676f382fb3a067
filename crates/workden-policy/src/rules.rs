//! The written form of a ruleset: ordered patterns for each operation, as JSON or TOML.
//!
//! The first matching rule of an operation decides, then the operation's default, then the ruleset's. A ruleset is
//! data; [`Ruleset::compile`] checks it and prepares it for decisions.

use serde::{Deserialize, Serialize};
use workden_core::RuleCase;

use crate::{Action, Operation};

/// The permissions of a workspace, operation by operation.
///
/// ```
/// use workden_core::VirtualPath;
/// use workden_policy::{Action, Operation, Ruleset};
///
/// let rules: Ruleset = toml::from_str(r#"
///     default = "ask"
///
///     [read]
///     default = "allow"
///     rules = [{ pattern = "*.pem", action = "deny", description = "Keys", match = ["/tls/Site.PEM"] }]
/// "#)?;
/// let rules = rules.compile()?;
/// let decide = |operation, typed| Ok::<_, workden_core::Error>(rules.decide_path(operation, &VirtualPath::parse(typed)?).action);
/// assert_eq!(decide(Operation::Read, "/a.md")?, Action::Allow);
/// assert_eq!(decide(Operation::Read, "/tls/site.pem")?, Action::Deny);
/// assert_eq!(decide(Operation::Write, "/a.md")?, Action::Ask);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(description = "The permissions of a workspace, operation by operation."))]
#[serde(deny_unknown_fields, default)]
pub struct Ruleset {
    /// The action for operations without a default; `ask` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Action>,
    /// The action for commands that are known to be dangerous, even if the rules of `execute` allow them; if absent,
    /// they are ordinary commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dangerous_commands: Option<Action>,
    /// The action for commands that only look, like `ls` and `git status`, if no rule of `execute` matches them; if
    /// absent, they are ordinary commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looking_commands: Option<Action>,
    /// Reading content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read: Option<OperationRules>,
    /// Writing whole files, and making directories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write: Option<OperationRules>,
    /// Changing parts of files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<OperationRules>,
    /// Removing; if absent, the rules of writing apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete: Option<OperationRules>,
    /// Running commands; the patterns match the words of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execute: Option<OperationRules>,
    /// Finding paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub glob: Option<OperationRules>,
    /// Finding lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grep: Option<OperationRules>,
    /// Listing directories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ls: Option<OperationRules>,
}

/// The rules of one operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct OperationRules {
    /// The action if no rule matches; if absent, the ruleset's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Action>,
    /// The rules; the first that matches decides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
}

/// One pattern, and the action for its matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// For paths: `*` within a name, `**` across directories, `{a,b}`, `[a-z]`; a pattern without a `/` is a name in
    /// any directory, any other starts at the root. For `execute`: the words of a command; rules that deny or ask also
    /// match with further words at the end, rules that allow match only as written.
    pub pattern: String,
    /// Patterns that this rule does not match.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// The action for paths or commands that match.
    pub action: Action,
    /// The reason that a refusal shows.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Examples that the rule must match; checked when the rules are loaded.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Examples that the rule must not match; checked when the rules are loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_match: Vec<String>,
    /// Whether letter case counts. The default is as strict as possible: rules that deny or ask ignore case, rules that
    /// allow do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<RuleCase>,
}

/// The action if a ruleset has no default.
const UNSAID: Action = Action::Ask;

impl Ruleset {
    /// Returns a ruleset with the same action for everything.
    #[must_use]
    pub fn all(default: Action) -> Self {
        Self { default: Some(default), ..Self::default() }
    }

    /// Whether the ruleset has neither rules nor defaults.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the action for operations without a default.
    #[must_use]
    pub fn default_action(&self) -> Action {
        self.default.unwrap_or(UNSAID)
    }

    /// Puts these rules before those of `base`: for each operation they are tried first, and absent defaults come from
    /// `base`.
    #[must_use]
    pub fn before(&self, base: &Self) -> Self {
        let mut all = Self {
            default: self.default.or(base.default),
            dangerous_commands: self.dangerous_commands.or(base.dangerous_commands),
            looking_commands: self.looking_commands.or(base.looking_commands),
            ..base.clone()
        };
        for operation in Operation::ALL {
            let Some(own) = self.of(operation) else { continue };
            // New rules for removing come before the rules of writing that applied so far.
            let served = base.of(base.served_by(operation)).cloned().unwrap_or_default();
            let rules = own.rules.iter().chain(&served.rules).cloned().collect();
            *all.of_mut(operation) = Some(OperationRules { default: own.default.or(served.default), rules });
        }
        all
    }

    /// Returns the rules of an operation, for changing them.
    pub fn of_mut(&mut self, operation: Operation) -> &mut Option<OperationRules> {
        match operation {
            Operation::Read => &mut self.read,
            Operation::Write => &mut self.write,
            Operation::Edit => &mut self.edit,
            Operation::Delete => &mut self.delete,
            Operation::Execute => &mut self.execute,
            Operation::Glob => &mut self.glob,
            Operation::Grep => &mut self.grep,
            Operation::Ls => &mut self.ls,
        }
    }

    /// Returns the rules of an operation, if it has its own.
    #[must_use]
    pub fn of(&self, operation: Operation) -> Option<&OperationRules> {
        match operation {
            Operation::Read => self.read.as_ref(),
            Operation::Write => self.write.as_ref(),
            Operation::Edit => self.edit.as_ref(),
            Operation::Delete => self.delete.as_ref(),
            Operation::Execute => self.execute.as_ref(),
            Operation::Glob => self.glob.as_ref(),
            Operation::Grep => self.grep.as_ref(),
            Operation::Ls => self.ls.as_ref(),
        }
    }

    /// Returns the operation whose rules apply to this one: removing uses the rules of writing if it has none.
    #[must_use]
    pub fn served_by(&self, operation: Operation) -> Operation {
        match operation {
            Operation::Delete if self.delete.is_none() => Operation::Write,
            operation => operation,
        }
    }

    /// Returns the action for an operation if none of its rules matches.
    #[must_use]
    pub fn default_of(&self, operation: Operation) -> Action {
        self.of(self.served_by(operation)).and_then(|rules| rules.default).unwrap_or(self.default_action())
    }
}

impl OperationRules {
    /// Returns rules with the same action for every path.
    #[must_use]
    pub fn always(default: Action) -> Self {
        Self { default: Some(default), rules: Vec::new() }
    }
}

impl Rule {
    /// Returns a rule with a pattern and an action.
    pub fn new(pattern: impl Into<String>, action: Action) -> Self {
        Self {
            pattern: pattern.into(),
            except: Vec::new(),
            action,
            description: String::new(),
            matches: Vec::new(),
            not_match: Vec::new(),
            case: None,
        }
    }

    /// Whether letter case counts.
    #[must_use]
    pub fn effective_case(&self) -> RuleCase {
        self.case.unwrap_or(match self.action {
            Action::Allow => RuleCase::Sensitive,
            Action::Ask | Action::Deny => RuleCase::Insensitive,
        })
    }
}
