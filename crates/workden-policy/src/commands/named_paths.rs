//! The paths that a word of a command names from the directories in which it could run.

use workden_core::VirtualPath;

use crate::shell::{Word, WorkingDirectories};

/// A path that a word names, seen from one directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NamedPath {
    /// This path.
    At(VirtualPath),
    /// All paths that match this pattern, in shell syntax.
    Matching(String),
    /// A path that is unknown until the command runs; as written.
    Unknown(String),
}

/// The assumed home directory of the user: a unique path, below which the usual names (`.ssh`) have their usual
/// meaning.
pub(crate) const HOME: &str = "/home/~";

/// Returns the paths that a word could name.
pub(crate) fn named_paths(word: &Word, directories: &WorkingDirectories) -> Vec<NamedPath> {
    let text = match word {
        Word::Token(written) | Word::Unknown(written) => return vec![NamedPath::Unknown(written.clone())],
        Word::Literal(text) | Word::Pattern(text) | Word::Pieces(text) | Word::Stamp(text) => text,
    };
    let is_pattern = match word {
        Word::Pattern(_) | Word::Stamp(_) => true,
        // Names in a directory are judged like the directory.
        Word::Pieces(text) => text.contains(['*', '?', '[']),
        Word::Literal(_) | Word::Token(_) | Word::Unknown(_) => false,
    };
    let rooted = match text.strip_prefix('~') {
        Some("") => Some(HOME.to_owned()),
        Some(rest) if rest.starts_with('/') => Some(format!("{HOME}{rest}")),
        // The home of another user.
        Some(rest) if is_user(rest) => Some(format!("/home/{rest}")),
        _ if text.starts_with('/') => Some(text.clone()),
        _ => None,
    };
    let from_each = |directory: &VirtualPath| -> NamedPath {
        match is_pattern {
            false => clamped(&[directory.as_str(), text]),
            true => pattern(&[&escaped(directory.as_str()), text]),
        }
    };
    match (rooted, directories) {
        (Some(path), _) if is_pattern => vec![pattern(&[&path])],
        (Some(path), _) => vec![clamped(&[&path])],
        (None, WorkingDirectories::AnyOf(all)) => all.iter().map(from_each).collect(),
        (None, WorkingDirectories::Unknown) => vec![NamedPath::Unknown(text.clone())],
    }
}

fn is_user(rest: &str) -> bool {
    let name = rest.split('/').next().unwrap_or("");
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

/// Joins and normalises like the kernel: `..` at the root stays at the root.
fn clamped(parts: &[&str]) -> NamedPath {
    let mut names: Vec<&str> = Vec::new();
    for name in parts.iter().flat_map(|part| part.split('/')) {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            name => names.push(name),
        }
    }
    match VirtualPath::parse(&format!("/{}", names.join("/"))) {
        Ok(path) => NamedPath::At(path),
        Err(_) => NamedPath::Unknown(parts.concat()),
    }
}

fn pattern(parts: &[&str]) -> NamedPath {
    match clamped(parts) {
        NamedPath::At(path) => NamedPath::Matching(path.as_str().to_owned()),
        other => other,
    }
}

/// Escapes the special characters of a pattern.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if "*?[]{}\\!".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(word: Word, expected: &[&str]) {
        let directories =
            WorkingDirectories::AnyOf(vec![VirtualPath::parse("/workspace").unwrap(), VirtualPath::root()]);
        let found: Vec<String> = named_paths(&word, &directories)
            .into_iter()
            .map(|place| match place {
                NamedPath::At(path) => path.as_str().to_owned(),
                NamedPath::Matching(pattern) => format!("m:{pattern}"),
                NamedPath::Unknown(text) => format!("?:{text}"),
            })
            .collect();
        assert_eq!(found, expected, "{word:?}");
    }

    #[test]
    fn a_word_leads_somewhere_from_every_directory() {
        let literal = |text: &str| Word::Literal(text.to_owned());
        check(literal("a/../b"), &["/workspace/b", "/b"]);
        check(literal("../../../etc"), &["/etc", "/etc"]);
        check(literal("/etc//passwd"), &["/etc/passwd"]);
        check(literal("~/.ssh/id_rsa"), &["/home/~/.ssh/id_rsa"]);
        check(literal("~"), &["/home/~"]);
        check(literal("~ann/x"), &[&format!("/home/{}/x", "ann")]);
        check(literal("./~"), &["/workspace/~", "/~"]);
        check(Word::Pattern("src/*.rs".to_owned()), &["m:/workspace/src/*.rs", "m:/src/*.rs"]);
        check(Word::Unknown("$x".to_owned()), &["?:$x"]);
    }
}
