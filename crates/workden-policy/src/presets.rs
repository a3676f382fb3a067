//! The rulesets that come with workden: default, permissive, readonly and strict.
//!
//! Their decisions and the descriptions of their rules are those of pydantic-ai-backend; the protected paths are in
//! [`secrets`](crate::secrets).

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use workden_core::{Error, ErrorKind, Result, nearest};

use crate::{
    Action, OperationRules, Ruleset,
    secrets::{Protected, SECRETS, SYSTEM},
};

/// The description in refusals about secrets.
pub const PROTECTS_SECRETS: &str = "Protect sensitive files";
/// The description in refusals that protect the system as well.
pub const PROTECTS_SYSTEM: &str = "Protect sensitive and system files";

/// A ruleset that comes with workden.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Reading and searching are allowed, also by commands that only look; changes and other commands require approval.
    #[default]
    Default,
    /// Everything is allowed, except access to secrets and the system.
    Permissive,
    /// Reading and searching are allowed; changes are denied.
    Readonly,
    /// Everything requires approval.
    Strict,
}

/// The paths that a ruleset covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathScope {
    /// A whole machine, as in a sandbox: `/etc` and `/bin` belong to the system.
    #[default]
    Machine,
    /// A workspace of files: `/bin` is an ordinary directory of the project.
    FilesOnly,
}

impl Preset {
    /// All presets.
    pub const ALL: [Self; 4] = [Self::Default, Self::Permissive, Self::Readonly, Self::Strict];

    /// Returns the name of the preset in a configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Permissive => "permissive",
            Self::Readonly => "readonly",
            Self::Strict => "strict",
        }
    }

    /// Returns the rules of the preset for a whole machine.
    #[must_use]
    pub fn ruleset(self) -> Ruleset {
        self.ruleset_in(PathScope::Machine)
    }

    /// Returns the rules of the preset for these paths.
    #[must_use]
    pub fn ruleset_in(self, scope: PathScope) -> Ruleset {
        use Action::{Allow, Ask, Deny};
        let but_secrets = |default| Some(protecting(default, PROTECTS_SECRETS, SECRETS));
        let always = |default| Some(OperationRules::always(default));
        match self {
            Self::Default => Ruleset {
                dangerous_commands: Some(Deny),
                looking_commands: Some(Allow),
                read: but_secrets(Allow),
                write: but_secrets(Ask),
                edit: but_secrets(Ask),
                delete: but_secrets(Ask),
                execute: always(Ask),
                glob: always(Allow),
                grep: always(Allow),
                ls: always(Allow),
                ..Ruleset::all(Ask)
            },
            Self::Permissive => {
                let all: Vec<Protected> = match scope {
                    PathScope::Machine => [SECRETS, SYSTEM].concat(),
                    PathScope::FilesOnly => SECRETS.to_vec(),
                };
                let but_all = || Some(protecting(Allow, PROTECTS_SYSTEM, &all));
                Ruleset {
                    dangerous_commands: Some(Deny),
                    read: but_secrets(Allow),
                    write: but_all(),
                    edit: but_all(),
                    delete: but_all(),
                    execute: always(Allow),
                    glob: always(Allow),
                    grep: always(Allow),
                    ls: always(Allow),
                    ..Ruleset::all(Allow)
                }
            }
            Self::Readonly => Ruleset {
                read: but_secrets(Allow),
                write: always(Deny),
                edit: always(Deny),
                delete: always(Deny),
                execute: always(Deny),
                glob: always(Allow),
                grep: always(Allow),
                ls: always(Allow),
                ..Ruleset::all(Deny)
            },
            Self::Strict => Ruleset {
                dangerous_commands: Some(Deny),
                read: but_secrets(Ask),
                write: but_secrets(Ask),
                edit: but_secrets(Ask),
                delete: but_secrets(Ask),
                execute: always(Ask),
                glob: always(Ask),
                grep: always(Ask),
                ls: always(Ask),
                ..Ruleset::all(Ask)
            },
        }
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Preset {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name).ok_or_else(|| {
            let meant = nearest(name, Self::ALL.map(Self::name));
            let meant = meant.map_or_else(String::new, |meant| format!("did you mean `{meant}`? "));
            Error::new(ErrorKind::InvalidArgument, format!("invalid preset `{}`", name.escape_debug()))
                .hint(format!("{meant}use default, permissive, readonly or strict"))
        })
    }
}

/// The options of `create_ruleset`: the operations that are allowed without approval. The others require it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RulesetOptions {
    /// The action if nothing else applies.
    pub default: Action,
    /// Whether reading is allowed.
    pub allow_read: bool,
    /// Whether writing and removing are allowed.
    pub allow_write: bool,
    /// Whether editing is allowed.
    pub allow_edit: bool,
    /// Whether running commands is allowed. No command counts as dangerous.
    pub allow_execute: bool,
    /// Whether finding paths is allowed.
    pub allow_glob: bool,
    /// Whether finding lines is allowed.
    pub allow_grep: bool,
    /// Whether listing is allowed.
    pub allow_ls: bool,
    /// Whether reading, writing, editing and removing secrets is denied.
    pub deny_secrets: bool,
}

impl Default for RulesetOptions {
    fn default() -> Self {
        Self {
            default: Action::Ask,
            allow_read: true,
            allow_write: false,
            allow_edit: false,
            allow_execute: false,
            allow_glob: true,
            allow_grep: true,
            allow_ls: true,
            deny_secrets: true,
        }
    }
}

impl RulesetOptions {
    /// Returns the rules for these options.
    #[must_use]
    pub fn ruleset(&self) -> Ruleset {
        let action = |is_allowed| if is_allowed { Action::Allow } else { Action::Ask };
        let secrets = if self.deny_secrets { SECRETS } else { &[] };
        let files = |is_allowed| Some(protecting(action(is_allowed), PROTECTS_SECRETS, secrets));
        let always = |is_allowed| Some(OperationRules::always(action(is_allowed)));
        Ruleset {
            read: files(self.allow_read),
            write: files(self.allow_write),
            edit: files(self.allow_edit),
            delete: files(self.allow_write),
            execute: always(self.allow_execute),
            glob: always(self.allow_glob),
            grep: always(self.allow_grep),
            ls: always(self.allow_ls),
            ..Ruleset::all(self.default)
        }
    }
}

fn protecting(default: Action, description: &str, all: &[Protected]) -> OperationRules {
    OperationRules { default: Some(default), rules: all.iter().map(|protected| protected.rule(description)).collect() }
}
