//! The facts about a command line that rules judge: files, doubts and dangers.
//!
//! Invariant: the number of facts is bounded, and omitted facts are a doubt.

use workden_core::{Execution, ExecutionInput, VirtualPath};

use super::{
    command_effects::{effects, handed_on},
    danger::{Danger, dangers, dangers_of, deduplicated, is_harmless_device, names_metadata},
    effects::CommandEffects,
    file_effect::FileEffect,
    named_paths::{NamedPath, named_paths},
    unknown_words,
};
use crate::{
    Action,
    shell::{
        Analysis, Doubt, DoubtKind, Invocation, OpenMode, Redirection, StandardInput, Word, WorkingDirectories,
        analyse, doubt_of_variable,
    },
};

/// A command line and its effects: determined once, judged by every layer.
#[derive(Debug)]
pub(crate) struct CommandFacts {
    pub(crate) analysis: Analysis,
    /// The directory in which the command line runs.
    pub(crate) directory: VirtualPath,
    pub(crate) files: Vec<(FileEffect, NamedPath)>,
    pub(crate) doubts: Vec<Doubt>,
    pub(crate) dangers: Vec<Danger>,
}

/// How many shell patterns are compared with the rules, and how long they may be, because the comparison takes time.
const MOST_PATTERNS: usize = 32;
const LONGEST_PATTERN: usize = 256;

/// How much text in words is analysed as commands, with a minimum cost for each, and how many files that are only named
/// are checked against the rules.
const MOST_TEXT: usize = 64 * 1_024;
const MOST_NAMED: usize = 2_048;

impl CommandFacts {
    /// Determines the effects of a command line in a directory.
    pub(crate) fn of(script: &str, directory: &VirtualPath) -> Self {
        Self::from_analysis(script, analyse(script, directory, StandardInput::Inherited), directory)
    }

    /// Determines the effects of an execution, including its variables and its later input.
    pub(crate) fn of_execution(execution: &Execution, directory: &VirtualPath) -> Self {
        let input = match execution.input {
            ExecutionInput::Nothing => StandardInput::Inherited,
            ExecutionInput::Later => StandardInput::Fed,
        };
        let mut analysis = analyse(&execution.script, directory, input);
        analysis.doubts.extend(execution.environment.keys().filter_map(|name| doubt_of_variable(name)));
        Self::from_analysis(&execution.script, analysis, directory)
    }

    fn from_analysis(script: &str, analysis: Analysis, directory: &VirtualPath) -> Self {
        let done: Vec<CommandEffects> = analysis.invocations.iter().map(effects).collect();
        let mut gathered = FactCollector {
            directory,
            files: Vec::new(),
            // Whether an unknown argument matters is decided for each program.
            doubts: analysis.doubts.iter().filter(|doubt| doubt.kind != DoubtKind::Argument).cloned().collect(),
            dangers: dangers(&analysis, &done),
            texts: 0,
        };
        let words = analysis.invocations.iter().flat_map(|invocation| &invocation.argv);
        if names_metadata(script) || words.map(Word::shown).any(names_metadata) {
            let why = "it names the address at which a cloud gives out its credentials".to_owned();
            gathered.dangers.push(Danger { action: Action::Ask, why });
        }
        analysis.redirections.iter().for_each(|redirection| gathered.redirection(redirection));
        for (invocation, done) in analysis.invocations.iter().zip(done) {
            gathered.handed_on(invocation);
            gathered.invocation(invocation, done);
        }
        gathered.bound();
        let FactCollector { files, doubts, dangers, .. } = gathered;
        Self { analysis, directory: directory.clone(), files, doubts, dangers: deduplicated(dangers) }
    }
}

/// Collects facts.
struct FactCollector<'a> {
    directory: &'a VirtualPath,
    files: Vec<(FileEffect, NamedPath)>,
    doubts: Vec<Doubt>,
    dangers: Vec<Danger>,
    /// The cost of the texts that were analysed as commands.
    texts: usize,
}

impl FactCollector<'_> {
    fn redirection(&mut self, redirection: &Redirection) {
        let touches: &[FileEffect] = match redirection.usage {
            OpenMode::Read => &[FileEffect::Read],
            OpenMode::Write => &[FileEffect::Write],
            OpenMode::ReadWrite => &[FileEffect::Read, FileEffect::Write],
        };
        for place in named_paths(&redirection.target, &redirection.directories) {
            let is_lost = matches!(place, NamedPath::Unknown(_))
                && matches!(redirection.target, Word::Literal(_) | Word::Pattern(_) | Word::Stamp(_));
            if is_lost && redirection.directories == WorkingDirectories::Unknown {
                let about = format!("the directory of `{}`", redirection.target.shown());
                self.doubts.push(Doubt::new(DoubtKind::NotLiteral, about));
            }
            self.files.extend(touches.iter().map(|touch| (*touch, place.clone())));
        }
    }

    /// Adds the dangers and doubts of a command in the arguments of an unknown program, which may run it.
    fn handed_on(&mut self, invocation: &Invocation) {
        let Some(inner) = handed_on(invocation) else { return };
        let done = effects(&inner);
        self.doubts.extend(unknown_words::doubts(&inner, &done));
        let one = Analysis::of(vec![inner]);
        let found = dangers(&one, std::slice::from_ref(&done));
        self.dangers.extend(found.into_iter().map(|danger| Danger { action: Action::Ask, ..danger }));
        self.doubts.extend(done.doubts);
    }

    fn invocation(&mut self, invocation: &Invocation, done: CommandEffects) {
        self.doubts.extend(unknown_words::doubts(invocation, &done));
        self.doubts.extend(done.doubts);
        for (touch, word) in done.files {
            let at = named_paths(&word, &invocation.directories);
            let is_lost = at.iter().any(|place| matches!(place, NamedPath::Unknown(_)));
            if is_lost && !touch.is_only_named() && !matches!(word, Word::Unknown(_) | Word::Token(_)) {
                let about = format!("the directory of `{}`", word.shown());
                self.doubts.push(Doubt::new(DoubtKind::NotLiteral, about));
            }
            self.files.extend(at.into_iter().map(|place| (touch, place)));
            if let (Some(most), Word::Literal(text)) = (as_command(touch), &word) {
                self.text(text, most);
            }
        }
    }

    /// Adds the dangers and doubts of a text that may be a shell command: a string in code, or a word of an unknown
    /// program.
    fn text(&mut self, text: &str, most: Action) {
        if !text.contains(' ') {
            return;
        }
        self.texts += text.len() + 1_024;
        if self.texts > MOST_TEXT {
            return;
        }
        let inside = analyse(text, self.directory, StandardInput::Inherited);
        let denied = dangers_of(&inside).into_iter().filter(|danger| danger.action == Action::Deny);
        self.dangers.extend(denied.map(|danger| Danger { action: most, ..danger }));
        self.doubts.extend(inside.doubts.into_iter().filter(|doubt| doubt.kind == DoubtKind::ForeignCode));
    }

    /// Omits facts that would take too long to check against rules, and adds a doubt.
    fn bound(&mut self) {
        self.files.sort();
        self.files.dedup();
        let named = self.files.iter().filter(|(touch, _)| touch.is_only_named()).count();
        if self.texts > MOST_TEXT || named > MOST_NAMED {
            // A file that is only named never leads to more than a question.
            self.files.retain(|(touch, _)| named <= MOST_NAMED || !touch.is_only_named());
            self.too_much("too many file names to check");
        }
        let patterns = self.files.iter().filter_map(|(_, place)| match place {
            NamedPath::Matching(pattern) => Some(pattern.len()),
            NamedPath::At(_) | NamedPath::Unknown(_) => None,
        });
        let (many, longest) = patterns.fold((0, 0), |(many, longest), length| (many + 1, length.max(longest)));
        if many > MOST_PATTERNS || longest > LONGEST_PATTERN {
            self.files.retain(|(_, place)| !matches!(place, NamedPath::Matching(_)));
            self.too_much("too many or too long patterns to check");
        }
        let is_harmless = |place: &NamedPath| matches!(place, NamedPath::At(path) if is_harmless_device(path));
        self.files.retain(|(_, place)| !is_harmless(place));
    }

    fn too_much(&mut self, about: &str) {
        self.doubts.push(Doubt::new(DoubtKind::TooMuch, about));
    }
}

/// Returns the strictest action for a danger in a text that may be a command; `None` if it is not one.
fn as_command(touch: FileEffect) -> Option<Action> {
    match touch {
        FileEffect::InCode => Some(Action::Deny),
        FileEffect::Mention | FileEffect::MentionedPath => Some(Action::Ask),
        FileEffect::List
        | FileEffect::Read
        | FileEffect::Write
        | FileEffect::Edit
        | FileEffect::Delete
        | FileEffect::Move => None,
    }
}
