//! The reasons of a ruleset about a command line: programs, files, doubts and dangers. The strictest
//! applies.

use workden_core::{VirtualPath, search::overlap::Shape};

use super::{
    facts::CommandFacts,
    file_effect::FileEffect,
    judgement::{Reason, ReasonKind},
    looking::{is_open, only_looks},
    named_paths::{NamedPath, named_paths},
};
use crate::{
    Action, CompiledRuleset, DecidedBy, Operation, RuleDecision,
    shell::{OpenMode, Word},
};

/// Returns the reasons of a ruleset: all that are stricter than `Allow`, or else the reasons to allow.
pub(crate) fn by_rules(rules: &CompiledRuleset, facts: &CommandFacts, script: &str) -> Vec<Reason> {
    let mut reasons = Vec::new();
    // The rules that decided about programs. Rules after them do not decide.
    let mut deciding = Vec::new();
    if let Some(most) = rules.source().dangerous_commands {
        reasons.extend(facts.dangers.iter().map(|danger| Reason {
            action: danger.action.min(most),
            kind: ReasonKind::Danger,
            about: danger.why.clone(),
            why: "Block dangerous commands".to_owned(),
            rule: None,
        }));
    }
    let reads_here = facts.analysis.redirections.iter().all(|redirection| {
        redirection.usage == OpenMode::Write
            || named_paths(&redirection.target, &redirection.directories)
                .iter()
                .all(|place| is_open(place, &facts.directory))
    });
    for invocation in &facts.analysis.invocations {
        let argv: Vec<&str> = invocation.argv.iter().map(Word::shown).collect();
        let words = argv.iter().map(|word| (*word).to_owned()).collect();
        let decision = rules.decide_argv(&argv);
        deciding.push(if let DecidedBy::Rule { index, .. } = decision.because { index } else { usize::MAX });
        let looks = rules.source().looking_commands.filter(|_| decision.rule().is_none() && reads_here);
        let mut reason = reason(decision, ReasonKind::Program(words), argv.join(" "));
        if let Some(action) = looks.filter(|_| only_looks(invocation, &facts.directory)) {
            (reason.action, reason.why) = (action, "it only looks".to_owned());
        }
        reasons.push(reason);
    }
    if facts.analysis.invocations.is_empty() {
        let about = if facts.doubts.is_empty() { "no program" } else { "no command was understood" };
        reasons.push(reason(rules.decide_argv(&[]), ReasonKind::Program(Vec::new()), about.to_owned()));
    }
    let last = deciding.iter().max().copied().unwrap_or(usize::MAX);
    match rules.decide_line(script.trim(), last) {
        // A program already has this reason.
        Some(RuleDecision { because: DecidedBy::Rule { index, .. }, .. }) if deciding.contains(&index) => {}
        Some(decision) => reasons.push(reason(decision, ReasonKind::Line, "the line as a whole".to_owned())),
        None => {}
    }
    reasons.extend(doubts(facts));
    for (touch, place) in &facts.files {
        reasons.extend(touch.operations().iter().filter_map(|operation| of_file(rules, *operation, *touch, place)));
    }
    reasons
}

/// Returns a reason to ask for each doubt.
pub(crate) fn doubts(facts: &CommandFacts) -> impl Iterator<Item = Reason> {
    facts.doubts.iter().map(|doubt| Reason {
        action: Action::Ask,
        kind: ReasonKind::Doubt,
        about: doubt.about.clone(),
        why: "Not understood".to_owned(),
        rule: None,
    })
}

fn reason(decision: RuleDecision<'_>, kind: ReasonKind, about: String) -> Reason {
    let why = match decision.because {
        DecidedBy::Rule { rule, .. } if !rule.description.is_empty() => rule.description.clone(),
        DecidedBy::Rule { of, index, .. } => format!("rule {} of `{of}`", index + 1),
        DecidedBy::OperationDefault(operation) => format!("default of `{operation}`"),
        DecidedBy::RulesetDefault => "default of the ruleset".to_owned(),
    };
    Reason { action: decision.action, kind, about, why, rule: decision.rule().map(|rule| rule.pattern.clone()) }
}

fn of_file(rules: &CompiledRuleset, operation: Operation, touch: FileEffect, place: &NamedPath) -> Option<Reason> {
    let about = |text: &str| format!("{operation} `{text}`");
    match place {
        // A doubt already covers an unknown path.
        NamedPath::Unknown(_) => None,
        NamedPath::At(path) => {
            // The path may be a directory, with everything in it.
            let below = rules.decide_path(operation, &path.child_unchecked("x"));
            let decision = rules.decide_path(operation, path);
            let decision = if below.rule().is_some() { decision.strictest(below) } else { decision };
            let only_named = touch.is_only_named();
            if only_named && (decision.rule().is_none() || decision.action == Action::Allow) {
                return None;
            }
            let mut reason = reason(decision, ReasonKind::File(operation), about(path.as_str()));
            // It is unknown whether the file is opened at all.
            reason.action = if only_named { Action::Ask } else { reason.action };
            Some(reason)
        }
        NamedPath::Matching(pattern) => Some(of_pattern(rules, operation, pattern, about(pattern))),
    }
}

/// Judges a shell pattern: it is denied if its sample path is denied, and asked about if one of its possible matches
/// would be.
fn of_pattern(rules: &CompiledRuleset, operation: Operation, pattern: &str, about: String) -> Reason {
    let kind = ReasonKind::File(operation);
    let shape = Shape::of(pattern);
    let typical = VirtualPath::parse(&shape.sample()).unwrap_or_else(|_| VirtualPath::root());
    let decision = rules.decide_path(operation, &typical);
    if decision.action == Action::Deny {
        return reason(decision, kind, about);
    }
    let served = rules.source().served_by(operation);
    match rules.shapes().stricter(served, &shape, decision.action) {
        None => reason(decision, kind, about),
        Some(index) => {
            let rule = rules.source().of(served).and_then(|rules| rules.rules.get(index));
            let description = rule.map_or("", |rule| &rule.description);
            let why = format!("it could match protected files: {description}");
            Reason { action: Action::Ask, kind, about, why, rule: rule.map(|rule| rule.pattern.clone()) }
        }
    }
}
