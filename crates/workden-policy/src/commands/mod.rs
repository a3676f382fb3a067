//! The judgement on commands: their effects on files, their dangers, and what the rules say.

mod command_effects;
mod danger;
mod effects;
mod embedded_code;
mod facts;
mod file_effect;
mod judgement;
mod languages;
mod layers;
mod looking;
mod named_paths;
mod options;
mod programs;
mod rule_reasons;
mod sed_script;
mod special_programs;
mod unknown_words;

pub use judgement::{CommandJudgement, Reason, ReasonKind};
