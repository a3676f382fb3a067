//! A workspace as a document, for storage in a database row.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use workden_core::{Error, ErrorKind, Result, Timestamp, VirtualPath, names};

use super::tree::{File, Node, Tree};

/// The files of a workspace, and its empty directories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateDocument {
    /// The files by path.
    pub files: BTreeMap<String, StateFile>,
    /// The empty directories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<String>,
}

/// One file of a [`StateDocument`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateFile {
    /// The content: as text, or in base64 if it is not UTF-8.
    pub content: String,
    /// The encoding of `content`.
    #[serde(default, skip_serializing_if = "StateEncoding::is_text")]
    pub encoding: StateEncoding,
    /// When the file was created.
    pub created_at: Timestamp,
    /// When the file last changed.
    pub modified_at: Timestamp,
}

/// The encoding of a [`StateFile`]'s content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StateEncoding {
    /// Plain text.
    #[default]
    #[serde(rename = "utf-8")]
    Text,
    /// Base64.
    #[serde(rename = "base64")]
    Base64,
}

impl StateEncoding {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_text(&self) -> bool {
        *self == Self::Text
    }
}

pub(super) fn of(tree: &Tree) -> StateDocument {
    let mut document = StateDocument::default();
    for (path, node) in tree.iter() {
        match node {
            Node::File(file) => _ = document.files.insert(path.to_string(), state_file(file)),
            Node::Directory { .. } => {
                if !path.is_root() && tree.children(path).next().is_none() {
                    document.directories.push(path.to_string());
                }
            }
        }
    }
    document
}

fn state_file(file: &File) -> StateFile {
    let (content, encoding) = match std::str::from_utf8(&file.content) {
        Ok(text) => (text.to_owned(), StateEncoding::Text),
        Err(_) => (STANDARD.encode(&file.content), StateEncoding::Base64),
    };
    StateFile { content, encoding, created_at: file.created, modified_at: file.modified }
}

pub(super) fn to_tree(document: &StateDocument, now: Timestamp) -> Result<Tree> {
    let mut tree = Tree::new(now);
    for (typed, file) in &document.files {
        let path = VirtualPath::parse(typed)?;
        names::check_names("load", &path)?;
        let twice =
            |why: &str| Error::new(ErrorKind::InvalidArgument, format!("cannot load `{typed}` of the document: {why}"));
        if tree.get(&path).is_some() {
            return Err(twice("it is there twice, or as a directory"));
        }
        let content = match file.encoding {
            StateEncoding::Text => Bytes::from(file.content.clone()),
            StateEncoding::Base64 => Bytes::from(
                STANDARD
                    .decode(&file.content)
                    .map_err(|error| twice("its content is not base64").with_source(error))?,
            ),
        };
        if let Some(parent) = path.parent() {
            tree.make_directories("load", &parent, &path, now)?;
        }
        tree.insert_file(path, File { content, created: file.created_at, modified: file.modified_at });
    }
    for typed in &document.directories {
        let path = VirtualPath::parse(typed)?;
        names::check_names("load", &path)?;
        tree.make_directories("load", &path, &path, now)?;
    }
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::StateBackend;
    use workden_core::{ErrorKind, SteppingClock};

    fn load(json: &str) -> workden_core::Result<StateBackend> {
        StateBackend::from_json(json, Arc::new(SteppingClock::default()))
    }

    const DOCUMENT: &str = r#"{"files":{"/a/b.txt":{"content":"héllo\r\n","created_at":"2026-01-31T12:00:00.123456000+00:00","modified_at":"2026-01-31T12:00:01.000000000+00:00"},"/bin":{"content":"AP+A","encoding":"base64","created_at":"2026-01-31T12:00:00.000000000+00:00","modified_at":"2026-01-31T12:00:00.000000000+00:00"}},"directories":["/empty/deep"]}"#;

    #[test]
    fn a_document_goes_in_and_comes_out_the_same() {
        assert_eq!(load(DOCUMENT).unwrap().to_json().unwrap(), DOCUMENT);
    }

    #[test]
    fn the_place_of_a_mistake_is_told_once() {
        assert_eq!(
            load("{\"files\": 1}").unwrap_err().sentence(),
            "this is not a workspace document: invalid type: integer `1`, expected a map (line 1, column 11)"
        );
    }

    #[test]
    fn a_document_that_contradicts_itself_is_refused() {
        let file = r#"{"content":"x","created_at":"2026-01-31T12:00:00Z","modified_at":"2026-01-31T12:00:00Z"}"#;
        for (json, kind) in [
            (format!(r#"{{"files":{{"/a":{file},"/a/b":{file}}}}}"#), ErrorKind::NotDirectory),
            (format!(r#"{{"files":{{"/a":{file},"a":{file}}}}}"#), ErrorKind::InvalidArgument),
            (format!(r#"{{"files":{{"/../a":{file}}}}}"#), ErrorKind::Escapes),
            (format!(r#"{{"files":{{"/":{file}}}}}"#), ErrorKind::InvalidArgument),
            (format!(r#"{{"files":{{"/a":{file}}},"directories":["/a"]}}"#), ErrorKind::NotDirectory),
            (r#"{"files":{},"directories":["/.workden-tmp-x/y"]}"#.to_owned(), ErrorKind::InvalidPath),
            (format!(r#"{{"files":{{}},"directories":["/{}"]}}"#, "x".repeat(256)), ErrorKind::InvalidPath),
            (DOCUMENT.replace("AP+A", "!!"), ErrorKind::InvalidArgument),
            (DOCUMENT.replace("base64", "rot13"), ErrorKind::InvalidArgument),
            (DOCUMENT.replace("héllo", "\\ud800"), ErrorKind::InvalidArgument),
            ("[]".to_owned(), ErrorKind::InvalidArgument),
        ] {
            assert_eq!(load(&json).unwrap_err().kind(), kind, "{json}");
        }
    }
}
