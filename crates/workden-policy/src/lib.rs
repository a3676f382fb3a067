//! Who may do what: rules, presets, mounts with limits, shell analysis and approvals. Pure
//! decisions: nothing here opens a file, starts a program or looks at a clock.

mod action;
pub mod approvals;
mod argv_pattern;
mod commands;
mod compiled;
mod presets;
mod rules;
pub mod secrets;
pub mod shell;

pub use action::{Action, Operation};
pub use argv_pattern::{ArgvPattern, Programs};
pub use compiled::{Because, CompiledRuleset, Decision};
pub use presets::{BLOCKS_DANGEROUS, PROTECTS_SECRETS, PROTECTS_SYSTEM, Preset, RulesetOptions, Surroundings};
pub use rules::{OperationRules, Rule, Ruleset};
