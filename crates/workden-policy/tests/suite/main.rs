//! What the policy promises, from outside.

mod paths;
mod preset_table;
mod rulesets;
