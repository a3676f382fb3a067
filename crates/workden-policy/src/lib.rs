//! Who may do what: rules, presets, mounts with limits, shell analysis and approvals. Pure
//! decisions: nothing here opens a file, starts a program or looks at a clock.

#![forbid(unsafe_code)]

mod action;
mod allow_list;
pub mod approvals;
mod argv_pattern;
mod commands;
mod compiled;
pub mod configs;
mod derive;
mod lookups;
mod mounts;
mod need;
mod policy;
mod presets;
mod rules;
mod rules_gate;
pub mod secrets;
mod sight;

pub use action::{Action, Operation};
pub use allow_list::AllowList;
pub use argv_pattern::{ArgvPattern, Programs};
pub use commands::{CommandJudgement, Reason, ReasonKind};
pub use compiled::{Because, CompiledRuleset, Decision};
pub use derive::Derive;
pub use mounts::{Access, Approval, MountRules, MountTable};
pub use policy::{Policy, PolicyLayer};
pub use presets::{BLOCKS_DANGEROUS, PROTECTS_SECRETS, PROTECTS_SYSTEM, Preset, RulesetOptions, Surroundings};
pub use rules::{OperationRules, Rule, Ruleset};
pub use workden_shell as shell;
