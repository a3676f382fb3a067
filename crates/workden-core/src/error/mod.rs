//! `Error`: a kind for code, a sentence for the reader, and a hint that says what to do instead.
//!
//! Invariant: an error names virtual paths only. It is made from a kind and workden's own words, never from the text of
//! a host error, which may contain a host path. The host's error is its [`source`](std::error::Error::source), for
//! operators: it is neither displayed nor serialised.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{Refusal, Spelling, escape};

mod messages;

/// The result of a workden call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a call failed.
///
/// `Display` writes the sentence, followed by a `hint:` line if the error has a hint:
///
/// ```
/// use workden_core::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::ReadOnly, "cannot write `/input/a.md`: `/input` is read-only")
///     .hint("writable: /output");
/// assert_eq!(
///     error.to_string(),
///     "cannot write `/input/a.md`: `/input` is read-only\nhint: writable: /output"
/// );
/// ```
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Error(Box<Parts>);

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Parts {
    kind: ErrorKind,
    sentence: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    hint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    refusal: Option<Refusal>,
    #[serde(skip)]
    cause: Cause,
}

/// The underlying error, which does not count when two errors are compared.
#[derive(Clone, Default)]
struct Cause(Option<Arc<dyn std::error::Error + Send + Sync>>);

impl PartialEq for Cause {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Cause {}

/// The category of an error, for code that has to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The path does not exist.
    NotFound,
    /// The path exists already, and the call expected that it does not.
    AlreadyExists,
    /// The path is a directory, and the call needs a file.
    IsDirectory,
    /// The path is not a directory, and the call needs one.
    NotDirectory,
    /// The directory is not empty.
    NotEmpty,
    /// A FIFO, socket or device: only regular files are read or written.
    NotRegular,
    /// The path leads out of the workspace.
    Escapes,
    /// The symbolic links form a loop.
    LinkLoop,
    /// The path is invalid: it contains a NUL, is not UTF-8, is too long, or has a name that is reserved for workden.
    InvalidPath,
    /// The glob or regular expression does not parse.
    InvalidPattern,
    /// Another argument is invalid.
    InvalidArgument,
    /// The content is not text, or not text that can be changed without loss.
    NotText,
    /// The size exceeds a limit.
    TooLarge,
    /// The offset is past the end.
    OutOfRange,
    /// The text to replace is not in the file.
    NoMatch,
    /// The text to replace is in the file more than once.
    Ambiguous,
    /// The content of the file is not what the caller expects.
    Conflict,
    /// The path changed while it was being opened; a retry from the start may help.
    Moved,
    /// The mount or the file may not be written.
    ReadOnly,
    /// The operating system refuses.
    PermissionDenied,
    /// The policy refuses.
    Denied,
    /// The policy requires approval.
    ApprovalNeeded,
    /// No space is left.
    NoSpace,
    /// The file is in use by another call or process.
    Busy,
    /// The call took too long.
    TimedOut,
    /// The sandbox or the process no longer exists.
    Gone,
    /// The host of the sandboxes does not answer; a later retry may help.
    Unreachable,
    /// This backend does not support the call.
    Unsupported,
    /// A requested limit cannot be enforced here.
    LimitNotHeld,
    /// Another I/O error.
    Io,
}

impl Error {
    /// Creates an error of this kind, with a sentence that names the action and the obstacle.
    pub fn new(kind: ErrorKind, sentence: impl Into<String>) -> Self {
        Self(Box::new(Parts { kind, sentence: sentence.into(), hint: None, refusal: None, cause: Cause::default() }))
    }

    /// Adds the underlying error, for operators: [`source`](std::error::Error::source) returns it. It is never shown to
    /// a model or sent over the wire.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.cause = Cause(Some(Arc::new(source)));
        self
    }

    /// Adds the refusal as data, for callers that format it themselves.
    #[must_use]
    pub fn refused_for(mut self, refusal: Refusal) -> Self {
        self.0.refusal = Some(refusal);
        self
    }

    /// Returns the reason of the policy, if the policy refused the call.
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        self.0.refusal.as_ref()
    }

    /// Adds a hint: what the reader can do instead.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Returns the kind, for code.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the sentence for a reader, without the hint.
    #[must_use]
    pub fn sentence(&self) -> &str {
        &self.0.sentence
    }

    /// Returns the hint, if the error has one.
    #[must_use]
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Returns the error with every character visible, except line breaks, and of `most` characters: for an error that
    /// came from another program.
    #[must_use]
    pub fn escaped(mut self, most: usize) -> Self {
        self.0.sentence = escape::lines(&self.0.sentence, most);
        self.0.hint = self.0.hint.map(|hint| escape::lines(&hint, most));
        self
    }

    /// Rewrites the error for a reader who sees its paths below `prefix`.
    ///
    /// By convention the paths in a sentence start with `/`, stand in backquotes, and precede the reason. Quotations in
    /// the reason (a text to replace, lines of a file) are not paths, even if they look like one.
    #[must_use]
    pub fn below(mut self, prefix: &crate::VirtualPath) -> Self {
        if prefix.is_root() {
            return self;
        }
        self.0.refusal = self.0.refusal.map(|refusal| refusal.map_paths(|path| path.below(prefix)));
        let through = (self.0.kind == ErrorKind::NotDirectory).then_some(&self.0.sentence);
        if let Some(told) = through.and_then(|sentence| messages::through_file_below(sentence, prefix)) {
            self.0.sentence = told;
        } else {
            let (paths, reason) = split_at_reason(&self.0.sentence, 0);
            let paths = paths.replace("`/`", &format!("`{prefix}`"));
            // A path that was `/` already has the prefix, and must not get it twice.
            let parts: Vec<&str> = paths.split("`/").collect();
            let done = &prefix.as_str()[1..];
            let rejoined = parts.iter().skip(1).map(|part| match part.strip_prefix(done) {
                Some(rest) if rest.starts_with('`') => format!("`/{part}"),
                _ => format!("`{prefix}/{part}"),
            });
            let rejoined: String = std::iter::once(parts[0].to_owned()).chain(rejoined).collect();
            self.0.sentence = rejoined + reason;
        }
        self
    }

    /// Rewrites the error for a reader who sees `directory` as `/`: the inverse of [`below`].
    ///
    /// [`below`]: Error::below
    #[must_use]
    pub fn inside(mut self, directory: &crate::VirtualPath) -> Self {
        if directory.is_root() {
            return self;
        }
        let known_as = |path: &crate::VirtualPath| path.strip_prefix(directory).unwrap_or_else(|| path.clone());
        self.0.refusal = self.0.refusal.map(|refusal| refusal.map_paths(known_as));
        let stripped =
            |told: &str| told.replace(&format!("`{directory}`"), "`/`").replace(&format!("`{directory}/"), "`/");
        let sentence = &self.0.sentence;
        let through = (self.0.kind == ErrorKind::NotDirectory).then_some(sentence);
        self.0.sentence = match through.and_then(|sentence| messages::through_file(sentence)) {
            // The reason contains a path, too.
            Some(_) => stripped(sentence),
            None => {
                let (paths, reason) = split_at_reason(sentence, 0);
                stripped(paths) + reason
            }
        };
        self
    }

    /// Writes the paths of the error in this spelling; quotations stay unchanged.
    #[must_use]
    pub fn spelled(mut self, spelling: Spelling) -> Self {
        if spelling == Spelling::Bare {
            let (paths, reason) = split_at_reason(&self.0.sentence, 0);
            self.0.sentence = paths.replace("`/`", "`.`").replace("`/", "`") + reason;
            if let Some(hint) = self.0.refusal.as_ref().and_then(|refusal| refusal.places_hint(spelling)) {
                self.0.hint = Some(hint);
            }
        }
        self
    }

    /// Rewrites the error for a reader who knows the path `real` as `typed`: the target of a link is not disclosed
    /// before it is opened.
    #[must_use]
    pub fn told_as(mut self, real: &crate::VirtualPath, typed: &crate::VirtualPath) -> Self {
        let known_as = |path: &crate::VirtualPath| match path.strip_prefix(real) {
            Some(below) if !real.is_root() => below.below(typed),
            _ => path.clone(),
        };
        self.0.refusal = self.0.refusal.map(|refusal| refusal.map_paths(known_as));
        let through = (self.0.kind == ErrorKind::NotDirectory).then_some(&self.0.sentence);
        if let Some(told) = through.and_then(|sentence| messages::through_file_told_as(sentence, real, typed)) {
            self.0.sentence = told;
        } else if real != typed && !real.is_root() {
            let sentence = &self.0.sentence;
            let after = sentence.find(&format!("`{real}")).map_or(0, |at| at + 1 + real.as_str().len());
            let (paths, reason) = split_at_reason(sentence, after);
            let paths = paths.replace(&format!("`{real}`"), &format!("`{typed}`"));
            self.0.sentence = paths.replace(&format!("`{real}/"), &format!("`{typed}/")) + reason;
        }
        self
    }
}

/// Splits a sentence after its last path before the reason, searching from byte `from`. A sentence without a reason
/// consists of paths only.
fn split_at_reason(sentence: &str, from: usize) -> (&str, &str) {
    let end = sentence[from..].find("`: ").map_or(sentence.len(), |at| from + at + 1);
    sentence.split_at(end)
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.sentence)?;
        match &self.0.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.cause.0.as_deref().map(|cause| cause as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_get_a_prefix_where_a_mount_table_tells_the_error() {
        let prefix = crate::VirtualPath::parse("/data").unwrap();
        for (sentence, expected) in [
            ("cannot read `/a/b`: no", "cannot read `/data/a/b`: no"),
            ("cannot list `/`: no", "cannot list `/data`: no"),
            ("cannot move `/a` into itself, to `/a/b`", "cannot move `/data/a` into itself, to `/data/a/b`"),
            ("cannot read `/x`y`", "cannot read `/data/x`y`"),
            ("no path here", "no path here"),
            (
                "cannot edit `/a`: `/usr/bin` not found; 1\tsee `/`, `/etc`",
                "cannot edit `/data/a`: `/usr/bin` not found; 1\tsee `/`, `/etc`",
            ),
            (
                "edit 2 of 2 (none was applied): cannot edit `/a`: `/b` not found",
                "edit 2 of 2 (none was applied): cannot edit `/data/a`: `/b` not found",
            ),
        ] {
            assert_eq!(Error::new(ErrorKind::Io, sentence).below(&prefix).sentence(), expected);
        }
    }

    #[test]
    fn paths_lose_the_directory_that_is_the_root_of_the_reader() {
        let directory = crate::VirtualPath::parse("/desk").unwrap();
        for (kind, sentence, expected) in [
            (ErrorKind::Io, "cannot read `/desk/a/b`: no", "cannot read `/a/b`: no"),
            (ErrorKind::Io, "cannot list `/desk`: no", "cannot list `/`: no"),
            (ErrorKind::Io, "cannot read `/desktop/a`: no", "cannot read `/desktop/a`: no"),
            (
                ErrorKind::Io,
                "cannot move `/desk/a` into itself, to `/desk/a/b`",
                "cannot move `/a` into itself, to `/a/b`",
            ),
            (ErrorKind::Io, "cannot edit `/desk/a`: `/desk/b` not found", "cannot edit `/a`: `/desk/b` not found"),
            (
                ErrorKind::NotDirectory,
                "cannot read `/desk/f/x`: `/desk/f` is a file, so nothing can be below it",
                "cannot read `/f/x`: `/f` is a file, so nothing can be below it",
            ),
        ] {
            assert_eq!(Error::new(kind, sentence).inside(&directory).sentence(), expected);
        }
    }

    #[test]
    fn a_path_is_told_as_it_was_typed_and_quoted_text_as_it_stands() {
        let path = |typed| crate::VirtualPath::parse(typed).unwrap();
        for (real, sentence, expected) in [
            ("/a", "cannot read `/a`: no", "cannot read `/link`: no"),
            ("/a", "cannot move `/a` into itself, to `/a/b`", "cannot move `/link` into itself, to `/link/b`"),
            ("/a", "cannot edit `/a`: `/a` not found", "cannot edit `/link`: `/a` not found"),
            ("/a`: b", "cannot read `/a`: b`: no", "cannot read `/link`: no"),
            ("/a", "cannot read `/ab`: no", "cannot read `/ab`: no"),
        ] {
            assert_eq!(Error::new(ErrorKind::Io, sentence).told_as(&path(real), &path("/link")).sentence(), expected);
        }
    }

    #[test]
    fn kind_sentence_and_hint_survive_a_wire() {
        let error = Error::new(ErrorKind::NoSpace, "cannot write `/a`: the disk is full").hint("delete something");
        let sent = serde_json::to_string(&error).unwrap();
        assert_eq!(
            sent,
            r#"{"kind":"no_space","sentence":"cannot write `/a`: the disk is full","hint":"delete something"}"#
        );
        assert_eq!(serde_json::from_str::<Error>(&sent).unwrap(), error);
    }
}
