//! A place for an AI agent to work.

mod config;

pub use config::{ApprovalMode, ApprovalsConfig, Config, LimitsConfig, Mode, MountConfig, RulesConfig};
