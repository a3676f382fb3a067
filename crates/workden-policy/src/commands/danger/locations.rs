//! Paths that are dangerous to change: devices, and directories that belong to the machine.

use workden_core::{
    VirtualPath,
    host_executed::{GIT_DIRECTORY, IN_GIT_DIRECTORY, OF_CLIENTS},
};

use super::super::named_paths::{HOME, NamedPath, named_paths};
use crate::shell::{Word, WorkingDirectories};

/// Directories that belong to the machine or contain the files of all users.
#[rustfmt::skip]
pub(super) const VITAL: &[&str] = &[
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/media", "/mnt", "/opt", "/proc", "/root",
    "/run", "/sbin", "/srv", "/sys", "/usr", "/usr/bin", "/usr/lib", "/usr/local", "/usr/sbin", "/usr/share", "/var",
    "/var/lib", "/var/log", "/Users", "/System", "/Library", "/Applications", HOME, "/workspace",
];

/// Devices that any program may read and write.
#[rustfmt::skip]
const HARMLESS_DEVICES: &[&str] = &[
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/stdin", "/dev/stdout", "/dev/stderr",
    "/dev/tty", "/dev/ptmx",
];

/// Whether this is a device that any program may use, a descriptor, or shared memory.
pub(crate) fn is_harmless_device(path: &VirtualPath) -> bool {
    let text = path.as_str();
    HARMLESS_DEVICES.contains(&text)
        || ["/dev/fd/", "/dev/pts/", "/dev/shm/"].iter().any(|start| text.starts_with(start))
}

/// Whether a word could be a device with data of other users.
pub(super) fn reads_device(word: &Word, directories: &WorkingDirectories) -> bool {
    let is_device = |place: &NamedPath| match place {
        NamedPath::At(path) => path.as_str().starts_with("/dev/") && !is_harmless_device(path),
        NamedPath::Matching(text) | NamedPath::Unknown(text) => text.starts_with("/dev/"),
    };
    named_paths(word, directories).iter().any(is_device)
}

/// Files that a service runs when they are pushed, and directories of such files.
const OF_SERVICES: &[&str] = &[
    ".github/workflows/*",
    ".github/actions/*",
    ".gitlab-ci.yml",
    ".circleci/config.yml",
    ".travis.yml",
    "azure-pipelines.yml",
    "Jenkinsfile",
    ".woodpecker.yml",
    ".claude/*",
    ".vscode/tasks.json",
    ".git/info/attributes",
];

/// Whether programs outside of the workspace execute code through this file: git, clients of the Model Context
/// Protocol, and services that build what was pushed.
pub(super) fn is_executed_outside(place: &NamedPath) -> bool {
    let text = match place {
        NamedPath::At(path) => path.as_str(),
        NamedPath::Matching(text) | NamedPath::Unknown(text) => text,
    };
    let names: Vec<&str> = text.split('/').filter(|name| !name.is_empty()).collect();
    let same = |one: &str, other: &str| match one.split_once(['*', '?', '[']) {
        Some((start, _)) => start.len() > 2 && other.to_ascii_lowercase().starts_with(&start.to_ascii_lowercase()),
        None => one.eq_ignore_ascii_case(other),
    };
    let in_git = names.windows(2).any(|pair| {
        let is_open = pair[1].contains(['*', '?', '[', '{', '$']);
        same(pair[0], GIT_DIRECTORY) && (is_open || IN_GIT_DIRECTORY.iter().any(|executed| same(pair[1], executed)))
    });
    in_git || OF_CLIENTS.iter().chain(OF_SERVICES).any(|listed| is_listed(&names, listed))
}

/// Whether this is in the home directory of a user, outside of the working directories and of caches.
pub(super) fn is_in_home(place: &NamedPath, directories: &WorkingDirectories) -> bool {
    let text = match place {
        NamedPath::At(path) => path.as_str(),
        NamedPath::Matching(text) => text,
        NamedPath::Unknown(_) => return false,
    };
    let rest = text.strip_prefix("/root/").or_else(|| {
        let rest = text.strip_prefix("/home/").or_else(|| text.strip_prefix("/Users/"))?;
        rest.split_once('/').map(|(_, rest)| rest)
    });
    let is_here = match directories {
        WorkingDirectories::AnyOf(all) => all.iter().any(|directory| {
            text.strip_prefix(directory.as_str()).is_some_and(|rest| rest.starts_with('/')) && !directory.is_root()
        }),
        WorkingDirectories::Unknown => false,
    };
    // A project may be in a home directory, and is named by its path where its directory is not known.
    let is_own = |rest: &str| rest.starts_with('.') || text.starts_with(HOME);
    rest.is_some_and(|rest| !rest.starts_with(".cache/") && is_own(rest)) && !is_here
}

/// Whether this is a directory with such files, so that copying into it may change one.
pub(super) fn has_executed_outside(place: &NamedPath) -> bool {
    let NamedPath::At(path) = place else { return false };
    let names: Vec<&str> = path.components().collect();
    [GIT_DIRECTORY, ".github", ".github/workflows", ".github/actions", ".claude", ".circleci"]
        .iter()
        .any(|listed| is_listed(&names, listed))
}

/// Whether these names end with a listed file, in any directory; `a/*` lists everything below a directory `a`.
fn is_listed(names: &[&str], listed: &str) -> bool {
    // A pattern that begins like the name could match it.
    let is_like = |one: &str, other: &str| match one.split_once(['*', '?', '[', '{']) {
        Some((start, _)) => !start.is_empty() && other.to_ascii_lowercase().starts_with(&start.to_ascii_lowercase()),
        None => one.eq_ignore_ascii_case(other),
    };
    let same = |part: &[&str], whole: &[&str]| {
        part.len() == whole.len() && part.iter().zip(whole).all(|(one, other)| is_like(one, other))
    };
    let parts: Vec<&str> = listed.split('/').collect();
    match parts.as_slice() {
        [directory @ .., "*"] => {
            let above = names.split_last().map_or(names, |(_, above)| above);
            above.windows(directory.len()).any(|part| same(part, directory))
        }
        file => names.len().checked_sub(file.len()).is_some_and(|start| same(&names[start..], file)),
    }
}

/// Whether removing, moving or opening up this path affects a vital directory or everything in it.
pub(super) fn is_vital(place: &NamedPath) -> bool {
    let text = match place {
        NamedPath::At(path) => path.as_str(),
        NamedPath::Matching(pattern) => pattern.strip_suffix("/*").or(pattern.strip_suffix("/.*")).unwrap_or(pattern),
        NamedPath::Unknown(written) => {
            let bare: String = written.chars().filter(|c| !matches!(c, '"' | '\'' | '{' | '}')).collect();
            return matches!(bare.trim_end_matches(['*', '/', '.']), "$HOME" | "$PWD" | "$OLDPWD");
        }
    };
    let text = if text.is_empty() { "/" } else { text };
    let is_home = |text: &str| {
        text.strip_prefix("/home/").or(text.strip_prefix("/Users/")).is_some_and(|rest| !rest.contains('/'))
    };
    VITAL.contains(&text) || is_home(text) || text.starts_with("/?") || text.starts_with("/*")
}
