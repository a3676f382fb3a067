//! The lists that the reference publishes, and their counterparts here.
//!
//! Users put these lists into their own rulesets. A ruleset that denies a whole list means its name, secrets or the
//! system, of which workden knows more; parts of a list are taken literally.

use pyo3::prelude::*;
use workden_policy::{
    Action, PathScope, Rule,
    secrets::{SECRETS, SYSTEM},
};

use super::written_rules::WrittenRule;

/// `SECRETS_PATTERNS`.
const SECRETS_PATTERNS: [&str; 12] = [
    "**/.env",
    "**/.env.*",
    "**/*.pem",
    "**/*.key",
    "**/*.crt",
    "**/credentials*",
    "**/secrets*",
    "**/*secret*",
    "**/*password*",
    "**/.aws/**",
    "**/.ssh/**",
    "**/.gnupg/**",
];

/// `SYSTEM_PATTERNS`.
const SYSTEM_PATTERNS: [&str; 8] =
    ["/etc/**", "/var/**", "/usr/**", "/bin/**", "/sbin/**", "/boot/**", "/sys/**", "/proc/**"];

/// `DANGEROUS_COMMANDS`.
const DANGEROUS_COMMANDS: [&str; 7] =
    ["rm -rf /*", "rm -rf /", ":(){:|:&};:", "dd if=*of=/dev/*", "mkfs*", "> /dev/sda", "chmod -R 777 /"];

/// Exports them to Python under these names.
pub(crate) fn publish(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SECRETS_PATTERNS", SECRETS_PATTERNS)?;
    module.add("SYSTEM_PATTERNS", SYSTEM_PATTERNS)?;
    module.add("DANGEROUS_COMMANDS", DANGEROUS_COMMANDS)
}

/// Returns the rules that a list at the start of these stands for, and the length of the list.
pub(super) fn files(rules: &[WrittenRule], surroundings: PathScope) -> Option<(usize, Vec<Rule>)> {
    let description = &rules.first()?.description;
    let denies = |list: &[&str]| {
        let both = rules.iter().zip(list);
        rules.len() >= list.len()
            && both.clone().all(|(rule, known)| rule.action == Action::Deny && rule.pattern == *known)
            && both.clone().all(|(rule, _)| rule.description == *description)
    };
    if denies(&SECRETS_PATTERNS) {
        let ours = SECRETS.iter().map(|protected| protected.rule(description));
        return Some((SECRETS_PATTERNS.len(), ours.collect()));
    }
    if denies(&SYSTEM_PATTERNS) {
        let ours = match surroundings {
            PathScope::Machine => SYSTEM,
            PathScope::FilesOnly => &[],
        };
        return Some((SYSTEM_PATTERNS.len(), ours.iter().map(|protected| protected.rule(description)).collect()));
    }
    None
}

/// Whether this is one of the dangerous commands.
pub(super) fn is_dangerous(pattern: &str) -> bool {
    DANGEROUS_COMMANDS.contains(&pattern)
}

/// Returns a rule for a dangerous command that the analysis of commands does not cover.
pub(super) fn command(rule: &WrittenRule) -> Option<Rule> {
    let known = Rule { description: rule.description.clone(), ..Rule::new(rule.pattern.as_str(), rule.action) };
    match rule.pattern.as_str() {
        // A star of workden would include everything below, such as new build output.
        "rm -rf /*" => Some(Rule { except: vec!["rm -rf /*/?* **".to_owned()], ..known }),
        // Without blanks it is not a fork bomb, but it has no harmless use either.
        ":(){:|:&};:" => Some(Rule { pattern: ":()\\{:|:&\\};:".to_owned(), ..known }),
        "rm -rf /" | "mkfs*" | "chmod -R 777 /" => Some(known),
        _ => None,
    }
}
