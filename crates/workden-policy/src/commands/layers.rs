//! What every layer of a policy says of a command line.

use workden_core::{Execution, VirtualPath};

use super::{
    file_effect::FileEffect,
    facts::CommandFacts,
    judge::{by_rules, doubts},
    judgement::{CommandJudgement, Reason, ReasonKind},
    places::Place,
};
use crate::{
    Action, Operation, Policy, PolicyLayer,
    need::{Need, Objection},
};

impl Policy {
    /// What holds for a command line that would run in a directory. It takes its time for a long
    /// one: not for an async thread.
    #[must_use]
    pub fn judge_command(&self, script: &str, directory: &VirtualPath) -> CommandJudgement {
        self.judge_facts(script, directory, CommandFacts::of(script, directory))
    }

    /// What holds for a command that is to be run: its line, where it really runs, the variables that
    /// it is given, and what it could be told later. It takes its time for a long line.
    #[must_use]
    pub fn judge_execution(&self, execution: &Execution) -> CommandJudgement {
        let directories = &execution.directory;
        let judge = |directory| {
            let facts = CommandFacts::of_execution(execution, directory);
            self.judge_facts(&execution.script, directory, facts)
        };
        let mut judgement = judge(&directories.typed);
        if directories.real != directories.typed {
            // A relative path leads to another file there; the strictest reason of both holds.
            let real = judge(&directories.real);
            judgement.reasons.extend(real.reasons);
            judgement.directory = real.directory;
            judgement.analysis = real.analysis;
        }
        judgement
    }

    fn judge_facts(&self, script: &str, directory: &VirtualPath, facts: CommandFacts) -> CommandJudgement {
        let mut reasons = Vec::new();
        for layer in self.layers() {
            match layer {
                PolicyLayer::Rules(rules) => reasons.extend(by_rules(rules, &facts, script)),
                PolicyLayer::Mounts(_) | PolicyLayer::AllowList(_) => {
                    reasons.extend(doubts(&facts));
                    let files = facts.files.iter();
                    reasons.extend(files.flat_map(|(touch, place)| self.by_place(layer, *touch, place)));
                    reasons.extend(beyond_places(layer));
                }
            }
        }
        CommandJudgement { script: script.to_owned(), directory: directory.clone(), analysis: facts.analysis, reasons }
    }

    /// What a layer that knows places, but no commands, says of a file. What is moved or edited is read
    /// as well, as it is in a call on files.
    fn by_place(&self, layer: &PolicyLayer, touch: FileEffect, place: &Place) -> Vec<Reason> {
        let needs: &[(Operation, Need)] = match touch {
            FileEffect::List => &[(Operation::Ls, Need::List)],
            FileEffect::Read => &[(Operation::Read, Need::Read)],
            FileEffect::Write => &[(Operation::Write, Need::Write)],
            FileEffect::Edit => &[(Operation::Read, Need::Read), (Operation::Edit, Need::Change)],
            FileEffect::Delete => &[(Operation::Delete, Need::Remove)],
            FileEffect::Move => &[(Operation::Read, Need::Read), (Operation::Delete, Need::Remove)],
            // Most words of an unknown program are no files.
            FileEffect::Mention | FileEffect::MentionedPath | FileEffect::InCode => &[],
        };
        needs.iter().filter_map(|(operation, need)| self.by_need(layer, *operation, *need, place)).collect()
    }

    fn by_need(&self, layer: &PolicyLayer, operation: Operation, need: Need, place: &Place) -> Option<Reason> {
        let path = match place {
            Place::At(path) => path.clone(),
            // What matches is below this, or nowhere.
            Place::Matching(pattern) => plain_start(pattern),
            Place::Unknown(_) => return None,
        };
        // A name without an ending is a directory more often than not, and has none to be limited by.
        let need = match need {
            Need::Read if !path.name().is_some_and(|name| name.contains('.')) => Need::ReadAnything,
            need => need,
        };
        let objection = layer.object(need, &path)?;
        let action = if objection.is_ask() { Action::Ask } else { Action::Deny };
        let why = match objection {
            Objection::Denied { description, .. } | Objection::Asks { description, .. } if !description.is_empty() => {
                description
            }
            objection => self.refuse(&path, objection).sentence().to_owned(),
        };
        Some(Reason {
            action,
            kind: ReasonKind::File(operation),
            about: format!("{operation} `{path}`"),
            why,
            rule: None,
        })
    }
}

/// A program can read and write more than its words say: within narrowed places it is asked about.
fn beyond_places(layer: &PolicyLayer) -> Option<Reason> {
    let PolicyLayer::AllowList(places) = layer else { return None };
    (places.read.is_some() || places.write.is_some()).then(|| Reason {
        action: Action::Ask,
        kind: ReasonKind::Doubt,
        about: "whether a program keeps to the places of a derived policy".to_owned(),
        why: "Not understood".to_owned(),
        rule: None,
    })
}

/// The directory in which all matches of a pattern lie.
fn plain_start(pattern: &str) -> VirtualPath {
    let plain: Vec<&str> = pattern.split('/').take_while(|name| !name.contains(['*', '?', '[', '\\', '{'])).collect();
    VirtualPath::parse(&plain.join("/")).unwrap_or_else(|_| VirtualPath::root())
}
