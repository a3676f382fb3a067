//! Access policy: rules, presets, mounts with limits, shell analysis and approvals. All decisions are pure: nothing
//! here opens a file, starts a program or reads a clock.

#![forbid(unsafe_code)]

mod action;
mod allow_list;
pub mod approvals;
mod argv_pattern;
mod commands;
mod compiled;
pub mod configs;
mod derive;
mod mounts;
mod policy;
mod presets;
mod queries;
mod requirement;
mod rule_objections;
mod rule_shapes;
mod rules;
pub mod secrets;
mod visibility;

pub use action::{Action, Operation};
pub use allow_list::AllowList;
pub use argv_pattern::{ArgvPattern, ProgramLocation};
pub use commands::{CommandJudgement, Reason, ReasonKind};
pub use compiled::{CompiledRuleset, DecidedBy, RuleDecision};
pub use derive::Derive;
pub use mounts::{MountApproval, MountMode, MountRules, MountTable};
pub use policy::{Policy, PolicyLayer};
pub use presets::{PROTECTS_SECRETS, PROTECTS_SYSTEM, PathScope, Preset, RulesetOptions};
pub use rules::{OperationRules, Rule, Ruleset};
pub use workden_shell as shell;
