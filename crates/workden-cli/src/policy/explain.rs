//! `workden policy explain`: how one verdict comes about.

use std::io::Write;

use workden::{
    Operation, Policy, VirtualPath,
    policy::{
        Action, CommandJudgement, DecidedBy, PolicyLayer, Reason, ReasonKind,
        shell::{Invocation, OpenMode, WorkingDirectories},
    },
};
use workden_core::{parse_size, show_size};

use super::{
    Asked,
    check::action_name,
    judged::{Judged, decisions},
};
use crate::failure::Failure;

/// Explains one verdict.
pub(super) fn run(asked: &Asked, op: Operation, target: &str) -> Result<(), Failure> {
    let judged = asked.judge(op, target).map_err(crate::failure::request)?;
    let text = explained(asked, op, target, &judged);
    anstream::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}

fn explained(asked: &Asked, op: Operation, target: &str, judged: &Judged) -> String {
    let mut text = format!("{}: {} {target}\n", action_name(judged.action), op.name());
    let mut line = |indent: usize, content: String| text.push_str(&format!("{:indent$}{content}\n", ""));
    match (&judged.command, &judged.path) {
        (Some(command), _) => {
            line(0, "parsed:".to_owned());
            parsed(command, &mut line);
        }
        (None, Some(path)) => line(0, format!("path: {path}")),
        (None, None) => {}
    }
    line(0, "layers:".to_owned());
    for (layer, name) in asked.policy.layers().iter().zip(&asked.names) {
        line(2, format!("{name}:"));
        match (&judged.command, &judged.path) {
            (Some(command), _) => {
                let alone = Policy::new().with(layer.clone());
                reasons(&alone.judge_command(&command.script, &command.directory), &mut line);
            }
            (None, Some(path)) => of_layer(layer, op, path, &mut line),
            (None, None) => {}
        }
    }
    if asked.names.is_empty() {
        line(2, "none: everything is allowed".to_owned());
    }
    line(0, format!("why: {}", judged.why));
    line(0, format!("would pass: {}", would_pass(judged)));
    if let (Action::Deny, Some(hint)) = (judged.action, &judged.hint) {
        line(0, format!("hint: {hint}"));
    }
    if op == Operation::Grep && judged.action != Action::Deny {
        line(0, "note: files that may not be read are skipped and counted".to_owned());
    }
    text
}

fn parsed(command: &CommandJudgement, line: &mut impl FnMut(usize, String)) {
    for invocation in &command.analysis.invocations {
        line(2, format!("run {}", shown(invocation)));
    }
    for redirection in &command.analysis.redirections {
        let usage = match redirection.usage {
            OpenMode::Read => "read from",
            OpenMode::Write => "write to",
            OpenMode::ReadWrite => "read from and write to",
        };
        line(2, format!("{usage} {:?}  in {}", redirection.target.shown(), places(&redirection.directories)));
    }
    if command.analysis.invocations.is_empty() && command.analysis.redirections.is_empty() {
        line(2, "no commands".to_owned());
    }
}

fn reasons(command: &CommandJudgement, line: &mut impl FnMut(usize, String)) {
    let mut reasons: Vec<&Reason> = command.reasons.iter().collect();
    // The strictest first; the sort is stable.
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.action));
    if reasons.is_empty() {
        line(4, "allow (this layer has no rule for it)".to_owned());
    }
    for reason in reasons {
        let rule = reason.rule.as_ref().map_or_else(String::new, |rule| format!(", rule `{rule}`"));
        let kind = match reason.kind {
            ReasonKind::Program(_) => "program",
            ReasonKind::Line => "line",
            ReasonKind::File(_) => "file",
            ReasonKind::Doubt => "doubt",
            ReasonKind::Danger => "danger",
        };
        let action = action_name(reason.action);
        line(4, format!("{action:<5} {kind:<7} {} ({}{rule})", reason.about, reason.why));
    }
}

fn shown(invocation: &Invocation) -> String {
    let words: Vec<String> = invocation.argv.iter().map(|word| format!("{:?}", word.shown())).collect();
    let through = match invocation.through.as_slice() {
        [] => String::new(),
        through => format!("  through {}", through.join(", ")),
    };
    format!("{}  in {}{through}", words.join(" "), places(&invocation.directories))
}

fn places(directories: &WorkingDirectories) -> String {
    match directories {
        WorkingDirectories::Unknown => "an unknown directory".to_owned(),
        WorkingDirectories::AnyOf(all) => all.iter().map(|path| path.as_str()).collect::<Vec<_>>().join(" or "),
    }
}

fn of_layer(layer: &PolicyLayer, op: Operation, path: &VirtualPath, line: &mut impl FnMut(usize, String)) {
    match layer {
        PolicyLayer::Rules(rules) => {
            for (operation, decision) in decisions(op, rules, path) {
                let action = action_name(decision.action);
                line(4, format!("{action:<5} {:<6} ({})", operation.name(), because(decision.because)));
            }
        }
        PolicyLayer::Mounts(mounts) => match mounts.find(path) {
            None => line(4, "not in any mount".to_owned()),
            Some(mount) => line(4, format!("in `{}`: {}", mount.at, limits(mount))),
        },
        PolicyLayer::AllowList(_) => line(4, "an allow-list of a derived policy".to_owned()),
    }
}

fn because(because: DecidedBy<'_>) -> String {
    match because {
        DecidedBy::Rule { rule, .. } if !rule.description.is_empty() => {
            format!("{}, rule `{}`", rule.description, rule.pattern)
        }
        DecidedBy::Rule { rule, .. } => format!("rule `{}`", rule.pattern),
        DecidedBy::OperationDefault(operation) => format!("default of `{operation}`"),
        DecidedBy::RulesetDefault => "default of the ruleset".to_owned(),
    }
}

fn limits(mount: &workden::policy::MountRules) -> String {
    use workden::policy::{MountApproval, MountMode};
    let mut limits = vec![match mount.access {
        MountMode::ReadOnly => "read only".to_owned(),
        MountMode::ReadWrite => "read and write".to_owned(),
    }];
    limits.extend(mount.suffixes.as_deref().map(endings));
    limits.extend(mount.max_file_bytes.map(|most| format!("at most {}", exact(most))));
    let asks = [(mount.read_approval, "reads ask"), (mount.write_approval, "writes ask")];
    limits.extend(
        asks.iter().filter(|(approval, _)| *approval == MountApproval::Needed).map(|(_, text)| (*text).to_owned()),
    );
    limits.join(", ")
}

/// Formats a size with its unit, if that is exact.
fn exact(bytes: u64) -> String {
    let shown = show_size(bytes);
    if parse_size(&shown).is_ok_and(|read| read == bytes) { shown } else { format!("{bytes} bytes") }
}

fn endings(all: &[String]) -> String {
    let shown = |ending: &String| if ending.is_empty() { "none at all".to_owned() } else { ending.clone() };
    match all {
        [] => "no files".to_owned(),
        all => format!("only the suffixes {}", all.iter().map(shown).collect::<Vec<_>>().join(" ")),
    }
}

fn would_pass(judged: &Judged) -> String {
    match (judged.action, &judged.command) {
        (Action::Allow, _) => "this does".to_owned(),
        (Action::Ask, _) => "the same, once approved".to_owned(),
        (Action::Deny, _) if judged.is_unasked => "only what a rule allows".to_owned(),
        (Action::Deny, Some(command)) => without_what_is_denied(command),
        (Action::Deny, None) => "nothing under this policy".to_owned(),
    }
}

/// Describes what remains of a command without its denied parts.
fn without_what_is_denied(command: &CommandJudgement) -> String {
    let is_denied = |reason: &&Reason| reason.action == Action::Deny;
    if command.reasons.iter().any(|reason| is_denied(&reason) && matches!(reason.kind, ReasonKind::Program(_))) {
        return "a command without the denied programs".to_owned();
    }
    match command.reasons.iter().any(|reason| reason.action == Action::Ask) {
        true => "the same without the denied parts, once approved".to_owned(),
        false => "the same without the denied parts".to_owned(),
    }
}
