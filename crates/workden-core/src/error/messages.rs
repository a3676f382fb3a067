//! The errors that all backends share, with the same messages and hints everywhere.
//!
//! Invariant: a hint depends on the call alone. It discloses nothing from a directory, because not every caller may
//! list it.

use crate::{Error, ErrorKind, VirtualPath};

/// The reason in an error about a path through a file, after the file's path.
const IS_A_FILE: &str = " is a file, so nothing can be below it";
/// The same reason if the reader knows no name of the file.
const A_FILE_IS_ON_THE_WAY: &str = "a file is on the way, so nothing can be below it";

impl Error {
    /// Returns `cannot <verb> <path>: nothing is there`, the most frequent error of all.
    #[must_use]
    pub fn not_found(verb: &str, path: &VirtualPath) -> Self {
        let hint = match verb {
            "edit" => "list its directory, or glob `**/` with its name; to make a new file, write it",
            "write" => "it is gone since it was read; to make it again, write it without a version",
            _ => "list its directory, or glob `**/` with its name",
        };
        Self::new(ErrorKind::NotFound, format!("cannot {verb} `{path}`: there is no such file or directory")).hint(hint)
    }

    /// Returns `cannot <verb> <path>: it is a directory`.
    #[must_use]
    pub fn is_directory(verb: &str, path: &VirtualPath) -> Self {
        let hint = match verb {
            "copy" => "only files are copied; copy what is in it, one by one",
            "write" | "edit" | "copy to" => "give the path of a file in it",
            _ => "list it, or search below it",
        };
        Self::new(ErrorKind::IsDirectory, format!("cannot {verb} `{path}`: it is a directory")).hint(hint)
    }

    /// Returns `cannot <verb> <path>: it is not a directory`.
    #[must_use]
    pub fn not_directory(verb: &str, path: &VirtualPath) -> Self {
        Self::new(ErrorKind::NotDirectory, format!("cannot {verb} `{path}`: it is not a directory"))
            .hint("read it or search in it, or name the directory that it is in")
    }

    /// `cannot <verb> <path>: <file>, which is above it, is a file`.
    #[must_use]
    pub fn below_file(verb: &str, path: &VirtualPath, file: &VirtualPath) -> Self {
        Self::new(ErrorKind::NotDirectory, format!("cannot {verb} `{path}`: `{file}`{IS_A_FILE}"))
            .hint("choose a path that does not lead through a file")
    }

    /// Adds the file above `path` to an error that `path` is not a directory.
    #[must_use]
    pub fn because_of_file(self, path: &VirtualPath, file: &VirtualPath) -> Self {
        let plain = Self::not_directory("", path);
        let reason = plain.sentence().trim_start_matches("cannot  ");
        let verb = self.sentence().strip_suffix(reason).and_then(|start| start.strip_prefix("cannot "));
        match verb {
            Some(verb) if self.kind() == ErrorKind::NotDirectory => Self::below_file(verb.trim_end(), path, file),
            _ => self,
        }
    }

    /// Returns the error for a file that cannot have attributes.
    #[must_use]
    pub fn no_attributes(path: &VirtualPath) -> Self {
        let sentence = format!("cannot set attributes of `{path}`: they are not supported with its file system");
        Self::new(ErrorKind::Unsupported, sentence).hint("keep them in a file of their own")
    }

    /// Returns the error for a file beyond a limit.
    #[must_use]
    pub fn too_large(verb: &str, path: &VirtualPath, size: u64, most: u64) -> Self {
        let hint = match verb {
            "write" | "copy to" => "write it in several files",
            _ => "read a part of it, or search in it",
        };
        Self::new(ErrorKind::TooLarge, format!("cannot {verb} `{path}`: it has {size} bytes, and {most} is the most"))
            .hint(hint)
    }

    /// Returns the error for a file that changed since the caller read it.
    #[must_use]
    pub fn conflict(verb: &str, path: &VirtualPath) -> Self {
        Self::new(ErrorKind::Conflict, format!("cannot {verb} `{path}`: it has changed since it was read"))
            .hint("read it again, and base the change on what is there now")
    }

    /// Returns `cannot <verb> <path>: it exists already`.
    #[must_use]
    pub fn already_exists(verb: &str, path: &VirtualPath) -> Self {
        let (why, hint) = match verb {
            "make" => ("a file has this name", "choose another name, or remove the file first"),
            "mount at" => ("something is mounted there already", "mount it at another path"),
            "write" => ("it exists already", "read and edit it, or say that it may be replaced"),
            "edit" => ("it exists already", "only a file that exists can be edited; do not ask for it to be absent"),
            _ => ("it exists already", "choose another name, or say that it may be replaced"),
        };
        Self::new(ErrorKind::AlreadyExists, format!("cannot {verb} `{path}`: {why}")).hint(hint)
    }

    /// Returns the error for a move onto a directory.
    #[must_use]
    pub fn directory_in_place(verb: &str, path: &VirtualPath) -> Self {
        let sentence = format!("cannot {verb} `{path}`: a directory is there, and directories are never replaced");
        Self::new(ErrorKind::AlreadyExists, sentence).hint("to move into it, add the new name to the path")
    }

    /// Returns the error for a directory that would replace a file.
    #[must_use]
    pub fn file_in_place(verb: &str, path: &VirtualPath) -> Self {
        let sentence = format!("cannot {verb} `{path}`: a file is there, and no directory replaces it");
        Self::new(ErrorKind::AlreadyExists, sentence).hint("choose another name, or remove the file first")
    }

    /// Returns the error for the removal of a directory with content.
    #[must_use]
    pub fn not_empty(verb: &str, path: &VirtualPath) -> Self {
        Self::new(ErrorKind::NotEmpty, format!("cannot {verb} `{path}`: the directory is not empty"))
            .hint("remove what is in it first, or remove the whole tree")
    }

    /// Returns the error for a call that the root does not support.
    #[must_use]
    pub fn root_stays(verb: &str) -> Self {
        Self::new(ErrorKind::InvalidArgument, format!("cannot {verb} `/`, the root of the workspace"))
            .hint("name what is in it, one by one")
    }

    /// Returns the error for links that form a loop.
    #[must_use]
    pub fn link_loop(path: &VirtualPath) -> Self {
        Self::new(ErrorKind::LinkLoop, format!("cannot open `{path}`: its links go in circles"))
            .hint("use a path without the link, or remove the link")
    }
}

/// Splits a sentence about a path through a file into three parts: up to the path, the path, the file.
pub(crate) fn through_file(sentence: &str) -> Option<(&str, &str, &str)> {
    let (start, file) = sentence.strip_suffix(IS_A_FILE)?.strip_suffix('`')?.rsplit_once("`: `")?;
    let at = start.find("`/")?;
    Some((&start[..at], &start[at + 1..], file))
}

/// Rewrites a sentence about a path through a file for a reader who knows the path `real` as `typed`.
pub(crate) fn through_file_told_as(sentence: &str, real: &VirtualPath, typed: &VirtualPath) -> Option<String> {
    let (start, path, file) = through_file(sentence)?;
    let below = path.strip_prefix(real.as_str()).filter(|below| below.is_empty() || below.starts_with('/'))?;
    let told = format!("{typed}{below}");
    // If the same names follow in both paths, the file is the part before them.
    let reason = match told.strip_suffix(path.strip_prefix(file)?) {
        Some(known) if !known.is_empty() => format!("`{known}`{IS_A_FILE}"),
        _ => A_FILE_IS_ON_THE_WAY.to_owned(),
    };
    Some(format!("{start}`{told}`: {reason}"))
}

/// Rewrites a sentence about a path through a file for a reader who sees the path below `prefix`.
pub(crate) fn through_file_below(sentence: &str, prefix: &VirtualPath) -> Option<String> {
    let (start, path, file) = through_file(sentence)?;
    Some(format!("{start}`{prefix}{path}`: `{prefix}{file}`{IS_A_FILE}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(typed: &str) -> VirtualPath {
        VirtualPath::parse(typed).unwrap()
    }

    #[test]
    fn a_file_on_the_way_is_named_as_the_reader_knows_it() {
        let (real, file) = (path("/src/a.rs/y/z"), path("/src/a.rs"));
        let error = || Error::not_directory("write", &real).because_of_file(&real, &file);
        for (typed, expected) in [
            ("/src/a.rs/y/z", "cannot write `/src/a.rs/y/z`: `/src/a.rs` is a file, so nothing can be below it"),
            ("/short/a.rs/y/z", "cannot write `/short/a.rs/y/z`: `/short/a.rs` is a file, so nothing can be below it"),
            ("/file/y/z", "cannot write `/file/y/z`: `/file` is a file, so nothing can be below it"),
            ("/deep", "cannot write `/deep`: a file is on the way, so nothing can be below it"),
        ] {
            assert_eq!(error().told_as(&real, &path(typed)).sentence(), expected);
        }
        assert_eq!(
            error().below(&path("/data")).sentence(),
            "cannot write `/data/src/a.rs/y/z`: `/data/src/a.rs` is a file, so nothing can be below it"
        );
    }

    #[test]
    fn every_refusal_says_what_to_do_instead() {
        let at = path("/a");
        for verb in ["read", "write", "edit", "list", "make", "copy", "copy to", "move to", "mount at"] {
            for error in [
                Error::not_found(verb, &at),
                Error::is_directory(verb, &at),
                Error::not_directory(verb, &at),
                Error::already_exists(verb, &at),
                Error::directory_in_place(verb, &at),
                Error::file_in_place(verb, &at),
            ] {
                assert!(error.sentence().starts_with(&format!("cannot {verb} `/a`: ")), "{error}");
                assert!(error.hint_text().is_some_and(|hint| !hint.contains("/a")), "{error}");
            }
        }
    }

    #[test]
    fn only_an_error_about_the_path_itself_is_because_of_a_file() {
        let other = Error::not_directory("read", &path("/other"));
        assert_eq!(other.clone().because_of_file(&path("/f/x"), &path("/f")), other);
        let missing = Error::not_found("read", &path("/f/x"));
        assert_eq!(missing.clone().because_of_file(&path("/f/x"), &path("/f")), missing);
    }
}
