//! Commands that no agent should run without approval: they destroy a machine or its owner's files, stop the machine,
//! or open it to others.

mod locations;
mod metadata;
mod programs;
mod run_options;

use workden_core::VirtualPath;

use super::{
    command_effects::effects,
    effects::CommandEffects,
    file_effect::FileEffect,
    named_paths::{NamedPath, named_paths},
};
use crate::{
    Action,
    shell::{Analysis, DoubtKind, Invocation, OpenMode, Word, WorkingDirectories},
};
pub(crate) use locations::is_harmless_device;
use locations::{has_executed_outside, is_executed_outside, is_in_home, is_vital, reads_device};
pub(crate) use metadata::names_metadata;

/// A danger, and its severity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Danger {
    /// `Deny` for a command without a good use, `Ask` for a command that could be intended.
    pub(crate) action: Action,
    /// A short description.
    pub(crate) why: String,
}

/// Returns the dangers of a command line.
pub(crate) fn dangers_of(analysis: &Analysis) -> Vec<Danger> {
    let done: Vec<CommandEffects> = analysis.invocations.iter().map(effects).collect();
    dangers(analysis, &done)
}

/// Returns the dangers of a command line whose effects are known.
pub(crate) fn dangers(analysis: &Analysis, done: &[CommandEffects]) -> Vec<Danger> {
    let mut found = Vec::new();
    let endless = analysis.doubts.iter().filter(|doubt| doubt.kind == DoubtKind::Recursion);
    found.extend(endless.map(|doubt| deny(doubt.about.clone())));
    for redirection in &analysis.redirections {
        if redirection.usage == OpenMode::Read && reads_device(&redirection.target, &redirection.directories) {
            found.push(ask(format!("it reads the device `{}`", redirection.target.shown())));
        }
        if redirection.usage != OpenMode::Read {
            devices(&redirection.target, &redirection.directories, &mut found);
            at_home(&redirection.target, &redirection.directories, &mut found);
            executed_outside(&redirection.target, &redirection.directories, &mut found);
        } else if redirection.target.shown().starts_with("/dev/tcp/")
            || redirection.target.shown().starts_with("/dev/udp/")
        {
            found.push(ask("it opens a network connection through `/dev/tcp`"));
        }
    }
    found.extend(downloaded(analysis, done));
    for (invocation, done) in analysis.invocations.iter().zip(done) {
        found.extend(programs::dangers(invocation));
        found.extend(run_options::danger(invocation));
        for (touch, word) in &done.files {
            match *touch {
                FileEffect::Delete | FileEffect::Move => {
                    devices(word, &invocation.directories, &mut found);
                    at_home(word, &invocation.directories, &mut found);
                    executed_outside(word, &invocation.directories, &mut found);
                    destroyed(invocation, *touch, word, &mut found);
                }
                FileEffect::Write | FileEffect::Edit => {
                    devices(word, &invocation.directories, &mut found);
                    at_home(word, &invocation.directories, &mut found);
                    executed_outside(word, &invocation.directories, &mut found);
                    // A directory that something is copied or unpacked into.
                    let makes = invocation.argv.first().is_some_and(|program| program.shown() == "mkdir");
                    if !makes && named_paths(word, &invocation.directories).iter().any(has_executed_outside) {
                        found.push(ask(format!(
                            "it writes into `{}`, from which programs outside execute",
                            word.shown()
                        )));
                    }
                    if named_paths(word, &invocation.directories).contains(&NamedPath::At(VirtualPath::root())) {
                        found.push(ask("it writes into the root of the file system"));
                    }
                }
                // Code that writes such a file does so by its name.
                FileEffect::InCode => executed_outside(word, &invocation.directories, &mut found),
                // A disk contains the files of all users, whatever their names.
                FileEffect::Read if reads_device(word, &invocation.directories) => {
                    found.push(ask(format!("it reads the device `{}`", word.shown())));
                }
                FileEffect::List | FileEffect::Read | FileEffect::Mention | FileEffect::MentionedPath => {}
            }
        }
    }
    found
}

/// Returns each danger once, with its strictest action.
pub(crate) fn deduplicated(mut found: Vec<Danger>) -> Vec<Danger> {
    // The sort is stable: equally strict dangers keep their order.
    found.sort_by_key(|danger| std::cmp::Reverse(danger.action));
    let mut said = std::collections::HashSet::new();
    found.retain(|danger| said.insert(danger.why.clone()));
    found
}

fn deny(why: impl Into<String>) -> Danger {
    Danger { action: Action::Deny, why: why.into() }
}

fn ask(why: impl Into<String>) -> Danger {
    Danger { action: Action::Ask, why: why.into() }
}

fn devices(word: &Word, directories: &WorkingDirectories, found: &mut Vec<Danger>) {
    for place in named_paths(word, directories) {
        let text = match &place {
            NamedPath::At(path) if is_harmless_device(path) => continue,
            NamedPath::At(path) => path.as_str(),
            NamedPath::Matching(text) | NamedPath::Unknown(text) => text,
        };
        if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
            found.push(deny(format!("it sends to the network through `{text}`")));
        } else if text.starts_with("/dev/") {
            found.push(deny(format!("it writes to the device `{text}`")));
        }
    }
}

/// Adds a question about files of the user, which other programs of the user read.
fn at_home(word: &Word, directories: &WorkingDirectories, found: &mut Vec<Danger>) {
    if named_paths(word, directories).iter().any(|place| is_in_home(place, directories)) {
        found.push(ask(format!("it changes `{}` in the home directory", word.shown())));
    }
}

/// Returns a question for a file that is downloaded and then run.
fn downloaded(analysis: &Analysis, done: &[CommandEffects]) -> Option<Danger> {
    let mut files: Vec<NamedPath> = Vec::new();
    for (invocation, done) in analysis.invocations.iter().zip(done) {
        let program = invocation.argv.first()?;
        let paths = |word: &Word| named_paths(word, &invocation.directories);
        let name = program.shown().rsplit('/').next().unwrap_or_default();
        let operands = || invocation.argv.iter().skip(1).filter(|word| !word.shown().starts_with('-'));
        let script = operands().next().filter(|_| is_interpreter(name));
        let runs = [Some(program).filter(|word| word.shown().contains('/')), script];
        if let Some(word) = runs.into_iter().flatten().find(|word| paths(word).iter().any(|path| files.contains(path)))
        {
            return Some(ask(format!("it runs `{}`, which it downloads", word.shown())));
        }
        if matches!(name, "curl" | "wget") {
            let written = done.files.iter().filter(|(touch, _)| *touch == FileEffect::Write);
            files.extend(written.flat_map(|(_, word)| paths(word)));
            let addresses = operands().filter_map(Word::literal).filter(|text| name == "wget" && text.contains("://"));
            let names = addresses.filter_map(|text| text.split(['?', '#']).next()?.rsplit('/').next());
            files.extend(names.flat_map(|name| paths(&Word::Literal(name.to_owned()))));
        }
    }
    None
}

fn is_interpreter(name: &str) -> bool {
    let interpreters = ["sh", "bash", "dash", "zsh", ".", "source", "python", "python3", "node", "perl", "ruby", "php"];
    interpreters.contains(&name)
}

/// Adds a question about files through which programs outside of the workspace execute code.
fn executed_outside(word: &Word, directories: &WorkingDirectories, found: &mut Vec<Danger>) {
    if named_paths(word, directories).iter().any(is_executed_outside) {
        found.push(ask(format!("it changes `{}`, which programs outside of the workspace execute", word.shown())));
    }
}

fn destroyed(invocation: &Invocation, touch: FileEffect, word: &Word, found: &mut Vec<Danger>) {
    let what = if touch == FileEffect::Delete { "removes" } else { "moves away" };
    for place in named_paths(word, &invocation.directories) {
        match (&place, &invocation.directories) {
            // The working directory: `rm -rf *`, `rm -rf .`
            (NamedPath::At(path), WorkingDirectories::AnyOf(all)) if all.contains(path) => {
                found.push(ask(format!("it {what} its working directory")));
            }
            (NamedPath::At(path), WorkingDirectories::AnyOf(all))
                if all.iter().any(|directory| directory.is_within(path)) =>
            {
                found.push(deny(format!("it {what} `{}`, a parent of its working directory", word.shown())));
            }
            (NamedPath::Matching(_), _) if matches!(word.shown(), "*" | "./*" | ".*" | "**") => {
                found.push(ask(format!("it {what} everything in its working directory")));
            }
            (NamedPath::At(path), _) if path.name() == Some(".git") => {
                found.push(ask(format!("it {what} the history of a repository")));
            }
            (NamedPath::Matching(pattern), _) if pattern.to_ascii_lowercase().ends_with("/.git") => {
                found.push(ask(format!("it {what} the history of repositories")));
            }
            (place, _) if is_vital(place) => found.push(deny(format!("it {what} `{}`", word.shown()))),
            _ => {}
        }
    }
}
