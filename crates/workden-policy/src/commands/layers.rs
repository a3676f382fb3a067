//! The judgement of all layers of a policy on a command line.

use workden_core::{Execution, VirtualPath};

use super::{
    facts::CommandFacts,
    file_effect::FileEffect,
    judgement::{CommandJudgement, Reason, ReasonKind},
    named_paths::NamedPath,
    rule_reasons::{by_rules, doubts},
};
use crate::{
    Action, Operation, Policy, PolicyLayer,
    requirement::{Objection, Requirement},
};

impl Policy {
    /// Judges a command line in a directory. A long line takes milliseconds: do not call this on an async thread.
    #[must_use]
    pub fn judge_command(&self, script: &str, directory: &VirtualPath) -> CommandJudgement {
        self.judge_facts(script, directory, CommandFacts::of(script, directory))
    }

    /// Judges a command with its real directory, its variables and its later input. A long line takes milliseconds.
    #[must_use]
    pub fn judge_execution(&self, execution: &Execution) -> CommandJudgement {
        let directories = &execution.directory;
        let judge = |directory| {
            let facts = CommandFacts::of_execution(execution, directory);
            self.judge_facts(&execution.script, directory, facts)
        };
        let mut judgement = judge(&directories.typed);
        if directories.real != directories.typed {
            // A relative path leads to another file there; the strictest reason of both directories applies.
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
                    reasons.extend(files.flat_map(|(touch, place)| self.by_path(layer, *touch, place)));
                    reasons.extend(beyond_places(layer));
                }
            }
        }
        CommandJudgement { script: script.to_owned(), directory: directory.clone(), analysis: facts.analysis, reasons }
    }

    /// Judges a file by a layer that has only rules for paths. Moving and editing read the file as well, as in a call
    /// on files.
    fn by_path(&self, layer: &PolicyLayer, touch: FileEffect, place: &NamedPath) -> Vec<Reason> {
        let requirements: &[(Operation, Requirement)] = match touch {
            FileEffect::List => &[(Operation::Ls, Requirement::List)],
            FileEffect::Read => &[(Operation::Read, Requirement::Read)],
            FileEffect::Write => &[(Operation::Write, Requirement::Write)],
            FileEffect::Edit => &[(Operation::Read, Requirement::Read), (Operation::Edit, Requirement::Change)],
            FileEffect::Delete => &[(Operation::Delete, Requirement::Remove)],
            FileEffect::Move => &[(Operation::Read, Requirement::Read), (Operation::Delete, Requirement::Remove)],
            // Most words of an unknown program are not files.
            FileEffect::Mention | FileEffect::MentionedPath | FileEffect::InCode => &[],
        };
        requirements
            .iter()
            .filter_map(|(operation, requirement)| self.by_requirement(layer, *operation, *requirement, place))
            .collect()
    }

    fn by_requirement(
        &self,
        layer: &PolicyLayer,
        operation: Operation,
        requirement: Requirement,
        place: &NamedPath,
    ) -> Option<Reason> {
        let path = match place {
            NamedPath::At(path) => path.clone(),
            // Every match is below this directory.
            NamedPath::Matching(pattern) => plain_start(pattern),
            NamedPath::Unknown(_) => return None,
        };
        // A name without a suffix is usually a directory, to which lists of suffixes do not apply.
        let requirement = match requirement {
            Requirement::Read if !path.name().is_some_and(|name| name.contains('.')) => Requirement::ReadAnything,
            requirement => requirement,
        };
        let objection = layer.object(requirement, &path)?;
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

/// Returns a reason to ask under an allow-list: a program can read and write more than its words show.
fn beyond_places(layer: &PolicyLayer) -> Option<Reason> {
    let PolicyLayer::AllowList(named_paths) = layer else { return None };
    (named_paths.read.is_some() || named_paths.write.is_some()).then(|| Reason {
        action: Action::Ask,
        kind: ReasonKind::Doubt,
        about: "whether a program stays within the paths of a derived policy".to_owned(),
        why: "Not understood".to_owned(),
        rule: None,
    })
}

/// Returns the directory that contains all matches of a pattern.
fn plain_start(pattern: &str) -> VirtualPath {
    let plain: Vec<&str> = pattern.split('/').take_while(|name| !name.contains(['*', '?', '[', '\\', '{'])).collect();
    VirtualPath::parse(&plain.join("/")).unwrap_or_else(|_| VirtualPath::root())
}
