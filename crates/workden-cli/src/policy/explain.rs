//! `workden policy explain`: how one verdict comes about.

use std::io::Write;

use workden::policy::{
    Action, CommandJudgement, PolicyLayer, Reason, ReasonKind,
    shell::{Directories, Invocation},
};

use super::{Asked, OpName, check::action_name, judged::Judged, told};
use crate::failure::Failure;

/// Explains one verdict.
pub(super) fn run(asked: &Asked, op: OpName, target: &str) -> Result<(), Failure> {
    let judged = asked.judge(op, target).map_err(told)?;
    let text = explained(asked, op, target, &judged);
    anstream::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}

fn explained(asked: &Asked, op: OpName, target: &str, judged: &Judged) -> String {
    let mut text = format!("{}: {target}\n", action_name(judged.action));
    let mut line = |indent: usize, content: String| text.push_str(&format!("{:indent$}{content}\n", ""));
    match (&judged.command, &judged.path) {
        (Some(command), _) => of_command(command, &mut line),
        (None, Some(path)) => {
            line(0, format!("path: {path}"));
            line(0, "layers:".to_owned());
            for layer in asked.policy.layers() {
                of_layer(layer, op, path, &mut line);
            }
        }
        (None, None) => {}
    }
    line(0, format!("why: {}", judged.why));
    line(0, format!("would pass: {}", would_pass(judged)));
    text
}

fn of_command(command: &CommandJudgement, line: &mut impl FnMut(usize, String)) {
    line(0, "parsed:".to_owned());
    for invocation in &command.analysis.invocations {
        line(2, shown(invocation));
    }
    for redirection in &command.analysis.redirections {
        line(2, format!("redirection, {:?}: {}", redirection.usage, redirection.target.shown()).to_lowercase());
    }
    line(0, "verdicts:".to_owned());
    let mut reasons: Vec<&Reason> = command.reasons.iter().collect();
    // The strictest first; the order in which they were said within that.
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.action));
    for reason in reasons {
        let rule = reason.rule.as_ref().map_or_else(String::new, |rule| format!(", rule `{rule}`"));
        let kind = match reason.kind {
            ReasonKind::Program(_) => "program",
            ReasonKind::File(_) => "file",
            ReasonKind::Doubt => "doubt",
            ReasonKind::Danger => "danger",
        };
        let action = action_name(reason.action);
        line(2, format!("{action:<5} {kind:<7} {} ({}{rule})", reason.about, reason.why));
    }
}

fn shown(invocation: &Invocation) -> String {
    let words: Vec<String> = invocation.argv.iter().map(|word| format!("{:?}", word.shown())).collect();
    let through = match invocation.through.as_slice() {
        [] => String::new(),
        through => format!("  through {}", through.join(", ")),
    };
    let directories = match &invocation.directories {
        Directories::Unknown => "an unknown directory".to_owned(),
        Directories::AnyOf(all) => all.iter().map(|path| path.as_str()).collect::<Vec<_>>().join(" or "),
    };
    format!("{}  in {directories}{through}", words.join(" "))
}

fn of_layer(layer: &PolicyLayer, op: OpName, path: &workden::VirtualPath, line: &mut impl FnMut(usize, String)) {
    match layer {
        PolicyLayer::Rules(rules) => {
            for operation in op.operations() {
                let decision = rules.decide_path(*operation, path);
                let by = match decision.rule() {
                    Some(rule) if rule.description.is_empty() => format!("rule `{}`", rule.pattern),
                    Some(rule) => format!("rule `{}`: {}", rule.pattern, rule.description),
                    None => "the default".to_owned(),
                };
                line(2, format!("rules, {operation}: {} by {by}", action_name(decision.action)));
            }
        }
        PolicyLayer::Mounts(mounts) => match mounts.find(path) {
            None => line(2, "mounts: it is in none".to_owned()),
            Some(mount) => line(2, format!("mounts: in `{}`, {}", mount.at, limits(mount))),
        },
        PolicyLayer::AllowList(_) => line(2, "an allow-list of a derived policy".to_owned()),
    }
}

fn limits(mount: &workden::policy::MountRules) -> String {
    use workden::policy::{Access, Approval};
    let mut limits = vec![match mount.access {
        Access::ReadOnly => "read only".to_owned(),
        Access::ReadWrite => "read and write".to_owned(),
    }];
    limits.extend(mount.suffixes.as_ref().map(|all| format!("endings {}", all.join(" "))));
    limits.extend(mount.max_file_bytes.map(|most| format!("at most {most} bytes")));
    let asks = [(mount.read_approval, "reads ask"), (mount.write_approval, "writes ask")];
    limits
        .extend(asks.iter().filter(|(approval, _)| *approval == Approval::Needed).map(|(_, text)| (*text).to_owned()));
    limits.join(", ")
}

fn would_pass(judged: &Judged) -> String {
    match (judged.action, &judged.hint) {
        (Action::Allow, _) => "this does".to_owned(),
        (Action::Ask, _) => "this does, once somebody approves it".to_owned(),
        (Action::Deny, Some(hint)) => hint.clone(),
        (Action::Deny, None) => "nothing like it".to_owned(),
    }
}
