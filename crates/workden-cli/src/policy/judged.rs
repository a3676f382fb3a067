//! One request to a policy, and its verdict.

use serde::Serialize;
use workden::{
    ApprovalMode, Error, Verdict, VirtualPath,
    core::{Op, Resolved},
    policy::{Action, CommandJudgement, CompiledRuleset, Operation, PolicyLayer, RuleDecision},
};

use super::Asked;

/// A verdict, and the rule that decided it.
#[derive(Debug, Serialize)]
pub(super) struct Judged {
    pub(super) action: Action,
    /// The pattern of the rule that decided, if one did.
    pub(super) rule: Option<String>,
    /// Why, in a sentence.
    pub(super) why: String,
    /// The analysis of a command.
    #[serde(skip)]
    pub(super) command: Option<CommandJudgement>,
    /// The resolved path.
    #[serde(skip)]
    pub(super) path: Option<VirtualPath>,
    /// What to do about the path.
    #[serde(skip)]
    pub(super) hint: Option<String>,
    /// Whether the policy asks, and the configuration refuses every question.
    #[serde(skip)]
    pub(super) is_unasked: bool,
}

impl Asked {
    /// Returns the policy's verdict.
    ///
    /// # Errors
    ///
    /// When the target is not a valid path.
    pub(super) fn judge(&self, op: Operation, target: &str) -> Result<Judged, Error> {
        let judged = match op {
            Operation::Execute => self.judge_command(target),
            _ => self.judge_path(op, target)?,
        };
        Ok(match (judged.action, self.approvals) {
            (Action::Ask, ApprovalMode::Strict) => {
                let why = format!("{}; `mode = \"strict\"` refuses what would be asked", judged.why);
                Judged { action: Action::Deny, why, is_unasked: true, ..judged }
            }
            _ => judged,
        })
    }

    fn judge_path(&self, op: Operation, target: &str) -> Result<Judged, Error> {
        let path = VirtualPath::parse_from(&self.directory, target)?;
        let at = Resolved::literal(path.clone());
        let asked = match op {
            Operation::Read => Op::Read(&at),
            Operation::Write => Op::Write(&at),
            Operation::Edit => Op::Change(&at),
            Operation::Delete => Op::Remove(&at),
            Operation::Glob => Op::Glob(&at),
            Operation::Grep => Op::Grep(&at),
            Operation::Ls | Operation::Execute => Op::List(&at),
        };
        let (action, error) = match self.policy.judge(asked) {
            Verdict::Allow => (Action::Allow, None),
            Verdict::Ask(error) => (Action::Ask, Some(error)),
            Verdict::Deny(error) => (Action::Deny, Some(error)),
        };
        let rule = self.deciding_rule(op, &path, action);
        let why = match &error {
            Some(error) => error.sentence().to_owned(),
            None => match &rule {
                Some(rule) => format!("rule `{rule}` allows it"),
                None => "nothing stands in the way".to_owned(),
            },
        };
        let hint = error.as_ref().and_then(|error| error.hint_text()).map(str::to_owned);
        Ok(Judged { action, rule, why, command: None, path: Some(path), hint, is_unasked: false })
    }

    fn judge_command(&self, script: &str) -> Judged {
        let judged = self.policy.judge_command(script, &self.directory);
        let action = judged.action();
        let deciding = judged.deciding();
        let rule = deciding.and_then(|reason| reason.rule.clone());
        let why = match deciding {
            Some(reason) => format!("{}: {}", reason.why, reason.about),
            None => "nothing stands in the way".to_owned(),
        };
        Judged { action, rule, why, path: None, command: Some(judged), hint: None, is_unasked: false }
    }

    /// Returns the first rule whose action is the action of the whole policy.
    fn deciding_rule(&self, op: Operation, path: &VirtualPath, action: Action) -> Option<String> {
        let rulesets = self.policy.layers().iter().filter_map(|layer| match layer {
            PolicyLayer::Rules(rules) => Some(rules),
            PolicyLayer::Mounts(_) | PolicyLayer::AllowList(_) => None,
        });
        let decisions = rulesets.flat_map(|rules| decisions(op, rules, path));
        let mut deciding = decisions.map(|(_, decision)| decision).filter(|decision| decision.action == action);
        deciding.find_map(|decision| decision.rule().map(|rule| rule.pattern.clone()))
    }
}

/// Returns a ruleset's decisions on every operation that `op` requires.
pub(super) fn decisions<'r>(
    op: Operation,
    rules: &'r CompiledRuleset,
    path: &VirtualPath,
) -> Vec<(Operation, RuleDecision<'r>)> {
    let demanded: &[Operation] = match op {
        Operation::Edit => &[Operation::Edit, Operation::Read, Operation::Write],
        Operation::Grep => &[Operation::Grep, Operation::Read],
        Operation::Read
        | Operation::Write
        | Operation::Delete
        | Operation::Execute
        | Operation::Glob
        | Operation::Ls => &[op],
    };
    let decided = demanded.iter().map(|operation| (*operation, rules.decide_path(*operation, path)));
    // An edit does not need permission to write, but a rule that denies writing denies it.
    let counts = |(operation, decision): &(Operation, RuleDecision<'_>)| {
        op != Operation::Edit
            || *operation != Operation::Write
            || decision.rule().is_some() && decision.action == Action::Deny
    };
    decided.filter(counts).collect()
}

impl Judged {
    /// Returns a denial for an invalid target or request.
    pub(super) fn no_target(error: &Error) -> Self {
        let why = error.sentence().to_owned();
        Self { action: Action::Deny, rule: None, why, command: None, path: None, hint: None, is_unasked: false }
    }
}
