//! The promises of the policy, tested from outside.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod commands;
mod configs;
mod derive;
mod mounts;
mod operations;
mod paths;
mod preset_table;
mod properties;
mod rulesets;
mod through_guarded;

use workden_core::{Op, Refusal, Resolved, Verdict, VirtualPath};
use workden_policy::{MountRules, MountTable, Policy};

fn path(typed: &str) -> VirtualPath {
    VirtualPath::parse(typed).unwrap()
}

fn at(typed: &str) -> Resolved {
    Resolved::literal(path(typed))
}

fn paths(typed: &[&str]) -> Vec<VirtualPath> {
    typed.iter().map(|typed| path(typed)).collect()
}

fn mounted(mounts: Vec<MountRules>) -> Policy {
    Policy::new().with_mounts(MountTable::new(mounts).unwrap())
}

/// A verdict in one word, and the refusal that came with it.
fn told(verdict: Verdict) -> (&'static str, Option<Refusal>) {
    match verdict {
        Verdict::Allow => ("allow", None),
        Verdict::Ask(error) => ("ask", error.refusal().cloned()),
        Verdict::Deny(error) => ("deny", error.refusal().cloned()),
    }
}

fn verdict(policy: &Policy, op: Op<'_>) -> &'static str {
    told(policy.judge(op)).0
}
