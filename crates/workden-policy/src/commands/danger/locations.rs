//! Paths that are dangerous to change: devices, and directories that belong to the machine.

use workden_core::VirtualPath;

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
    VITAL.contains(&text) || is_home(text) || text == "/?*" || text.starts_with("/*")
}
