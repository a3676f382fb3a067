//! The rules of a workspace: what a program and its configurations say, combined into one policy.

use workden_core::{Result, VirtualPath};
use workden_policy::{PathScope, Policy, PolicyLayer, Preset, Ruleset};

use crate::Config;

/// Rules from one source.
#[derive(Debug)]
pub(crate) enum Layer {
    Preset(Preset),
    Rules(Box<Ruleset>),
    Policy(Policy),
    Config(Box<Config>),
}

#[cfg(feature = "linux")]
impl Layer {
    /// Whether one of its rules may be about `/workspace` by that name.
    pub(crate) fn may_name_workspace(&self) -> bool {
        let names = |rules: &Ruleset| {
            let all = workden_policy::Operation::ALL.into_iter().filter_map(|operation| rules.of(operation));
            let mut all = all.flat_map(|rules| &rules.rules);
            all.any(|rule| std::iter::once(&rule.pattern).chain(&rule.except).any(|text| text.contains("workspace")))
        };
        match self {
            Self::Preset(_) => false,
            Self::Rules(rules) => names(rules),
            Self::Policy(_) => true,
            Self::Config(config) => names(&config.rules),
        }
    }
}

/// Combines all rules and policies into one policy.
///
/// Where nothing masks the files that are denied to read, a command that only looks is an ordinary one: `grep -r`
/// reads whatever is there.
pub(crate) fn combine(all: Vec<Layer>, surroundings: PathScope, project: &VirtualPath, masks: bool) -> Result<Policy> {
    let mut policy = Policy::new();
    let looking = |rules: Ruleset| Ruleset { looking_commands: rules.looking_commands.filter(|_| masks), ..rules };
    for layer in all {
        let next = match layer {
            Layer::Preset(preset) => Policy::new().with_rules(&looking(preset.ruleset_in(surroundings)))?,
            Layer::Rules(rules) => Policy::new().with_rules(&rules)?,
            Layer::Policy(policy) => policy,
            Layer::Config(config) => config.policy_with(surroundings, project, looking)?,
        };
        let layers: &[PolicyLayer] = next.layers();
        policy = layers.iter().cloned().fold(policy, Policy::with);
    }
    Ok(policy)
}
