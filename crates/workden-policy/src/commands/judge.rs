//! What a ruleset says of a command line: of each program in it, of each file, of what is not
//! understood, and of what is dangerous. The strictest of all that holds.

use workden_core::{VirtualPath, search::overlap::Shape};

use super::{
    danger::{Danger, dangers, is_harmless_device, said_once},
    effects::{Touch, effects, handed_on},
    judgement::{Reason, ReasonKind},
    places::{Place, places},
};
use crate::{
    Action, Because, CompiledRuleset, Decision, Operation,
    shell::{Analysis, Doubt, DoubtKind, Use, Word, analyse},
};

/// A command line, and what it would do: found out once, judged by every layer.
#[derive(Debug)]
pub(crate) struct CommandFacts {
    pub(crate) analysis: Analysis,
    pub(crate) files: Vec<(Touch, Place)>,
    doubts: Vec<Doubt>,
    dangers: Vec<Danger>,
}

/// How many patterns of a shell are held against the rules, and how long they may be: it takes time.
const MOST_PATTERNS: usize = 32;
const LONGEST_PATTERN: usize = 256;

/// How much text in words is taken for commands, each counted with what it costs at least, and how
/// many files that are only named are held against the rules.
const MOST_TEXT: usize = 64 * 1_024;
const MOST_NAMED: usize = 2_048;

impl CommandFacts {
    /// Finds out what a command line would do when it is run in a directory.
    pub(crate) fn of(script: &str, directory: &VirtualPath) -> Self {
        let analysis = analyse(script, directory);
        let mut doubts = analysis.doubts.clone();
        let mut files: Vec<(Touch, Place)> = Vec::new();
        let mut found = dangers(&analysis);
        let mut texts = 0;
        for redirection in &analysis.redirections {
            let touches: &[Touch] = match redirection.usage {
                Use::Read => &[Touch::Read],
                Use::Write => &[Touch::Write],
                Use::ReadWrite => &[Touch::Read, Touch::Write],
            };
            for place in places(&redirection.target, &redirection.directories) {
                files.extend(touches.iter().map(|touch| (*touch, place.clone())));
            }
        }
        for invocation in &analysis.invocations {
            // A program that is not known may run another, and that is among its words.
            if let Some(inner) = handed_on(invocation) {
                doubts.extend(effects(&inner).doubts);
                let one = Analysis { invocations: vec![inner], ..Analysis::default() };
                found.extend(dangers(&one).into_iter().map(|danger| Danger { action: Action::Ask, ..danger }));
            }
            let did = effects(invocation);
            doubts.extend(did.doubts);
            for (touch, word) in did.files {
                let at = places(&word, &invocation.directories);
                let is_file = !touch.is_only_named();
                if is_file
                    && !matches!(word, Word::Unknown(_))
                    && at.iter().any(|place| matches!(place, Place::Unknown(_)))
                {
                    let about = format!("in which directory `{}` would be", word.shown());
                    doubts.push(Doubt { kind: DoubtKind::NotLiteral, about });
                }
                files.extend(at.into_iter().map(|place| (touch, place)));
                // A text in code may be a command for a shell, and so may a word of an unknown program.
                if let (Some(most), Word::Literal(text)) = (as_command(touch), &word)
                    && text.contains(' ')
                {
                    texts += text.len() + 1_024;
                    if texts > MOST_TEXT {
                        continue;
                    }
                    let inside = analyse(text, directory);
                    let denied = dangers(&inside).into_iter().filter(|danger| danger.action == Action::Deny);
                    found.extend(denied.map(|danger| Danger { action: most, ..danger }));
                    doubts.extend(inside.doubts.into_iter().filter(|doubt| doubt.kind == DoubtKind::ForeignCode));
                }
            }
        }
        files.sort();
        files.dedup();
        let named = files.iter().filter(|(touch, _)| touch.is_only_named()).count();
        if texts > MOST_TEXT || named > MOST_NAMED {
            // None of these is ever worth more than a question.
            files.retain(|(touch, _)| named <= MOST_NAMED || !touch.is_only_named());
            let about = "it names more than is looked at".to_owned();
            doubts.push(Doubt { kind: DoubtKind::TooMuch, about });
        }
        let patterns = files.iter().filter(|(_, place)| matches!(place, Place::Matching(_)));
        let (many, long) = patterns.fold((0, 0), |(many, long), (_, place)| match place {
            Place::Matching(pattern) => (many + 1, pattern.len().max(long)),
            Place::At(_) | Place::Unknown(_) => (many, long),
        });
        if many > MOST_PATTERNS || long > LONGEST_PATTERN {
            files.retain(|(_, place)| !matches!(place, Place::Matching(_)));
            let about = "it has more or longer patterns than are looked at".to_owned();
            doubts.push(Doubt { kind: DoubtKind::TooMuch, about });
        }
        let is_harmless = |place: &Place| matches!(place, Place::At(path) if is_harmless_device(path));
        files.retain(|(_, place)| !is_harmless(place));
        Self { analysis, files, doubts, dangers: said_once(found) }
    }
}

/// What a danger in a text is worth that may be a command, if it may be one.
fn as_command(touch: Touch) -> Option<Action> {
    match touch {
        Touch::InCode => Some(Action::Deny),
        Touch::Mention | Touch::MentionedPath => Some(Action::Ask),
        Touch::List | Touch::Read | Touch::Write | Touch::Edit | Touch::Delete | Touch::Move => None,
    }
}

/// What a ruleset says of a command line: everything that is stricter than `Allow`, and what allowed
/// it where there is nothing.
pub(crate) fn by_rules(rules: &CompiledRuleset, facts: &CommandFacts) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if let Some(most) = rules.source().dangerous_commands {
        reasons.extend(facts.dangers.iter().map(|danger| Reason {
            action: danger.action.min(most),
            kind: ReasonKind::Danger,
            about: danger.why.clone(),
            why: "Block dangerous commands".to_owned(),
            rule: None,
        }));
    }
    for invocation in &facts.analysis.invocations {
        let argv: Vec<&str> = invocation.argv.iter().map(Word::shown).collect();
        let words = argv.iter().map(|word| (*word).to_owned()).collect();
        reasons.push(reason(rules.decide_argv(&argv), ReasonKind::Program(words), argv.join(" ")));
    }
    if facts.analysis.invocations.is_empty() {
        reasons.push(reason(rules.decide_argv(&[]), ReasonKind::Program(Vec::new()), "no program".to_owned()));
    }
    reasons.extend(doubts(facts));
    for (touch, place) in &facts.files {
        reasons.extend(touch.operations().iter().filter_map(|operation| of_file(rules, *operation, *touch, place)));
    }
    reasons
}

/// What was not understood, which is asked about at least.
pub(crate) fn doubts(facts: &CommandFacts) -> impl Iterator<Item = Reason> {
    facts.doubts.iter().map(|doubt| Reason {
        action: Action::Ask,
        kind: ReasonKind::Doubt,
        about: doubt.about.clone(),
        why: "Not understood".to_owned(),
        rule: None,
    })
}

fn reason(decision: Decision<'_>, kind: ReasonKind, about: String) -> Reason {
    let why = match decision.because {
        Because::Rule { rule, .. } if !rule.description.is_empty() => rule.description.clone(),
        Because::Rule { of, index, .. } => format!("rule {} of `{of}`", index + 1),
        Because::OperationDefault(operation) => format!("default of `{operation}`"),
        Because::RulesetDefault => "default of the ruleset".to_owned(),
    };
    Reason { action: decision.action, kind, about, why, rule: decision.rule().map(|rule| rule.pattern.clone()) }
}

fn of_file(rules: &CompiledRuleset, operation: Operation, touch: Touch, place: &Place) -> Option<Reason> {
    let about = |text: &str| format!("{operation} `{text}`");
    match place {
        // A doubt says so already.
        Place::Unknown(_) => None,
        Place::At(path) => {
            // It may be a directory, and all that is in it is meant.
            let below = rules.decide_path(operation, &path.child_unchecked("x"));
            let decision = rules.decide_path(operation, path);
            let decision = if below.rule().is_some() { decision.strictest(below) } else { decision };
            let only_named = touch.is_only_named();
            if only_named && (decision.rule().is_none() || decision.action == Action::Allow) {
                return None;
            }
            let mut reason = reason(decision, ReasonKind::File(operation), about(path.as_str()));
            // Whether it is opened at all is not known.
            reason.action = if only_named { Action::Ask } else { reason.action };
            Some(reason)
        }
        Place::Matching(pattern) => Some(of_pattern(rules, operation, pattern, about(pattern))),
    }
}

/// A pattern of a shell: denied when what it looks like is denied, asked about when something that it
/// could match would be.
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
            let why = format!("it could match what is protected: {description}");
            Reason { action: Action::Ask, kind, about, why, rule: rule.map(|rule| rule.pattern.clone()) }
        }
    }
}
