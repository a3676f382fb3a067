//! `StateBackend`: a workspace in memory, and as a document.
//!
//! Searches work on a snapshot, so they neither block writers nor see half of a change. The search engine is the same
//! as on disk.

mod document;
mod search;
mod tree;

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use bytes::Bytes;
pub use document::StateDocument;
use tree::{File, Node, Tree};

use crate::toolkit::in_memory;
use workden_core::{
    Backend, ByteRange, Changed, Clock, Content, Entry, Error, ErrorKind, Expect, HostFiles, IfExists, Presence,
    Removal, Replaced, Resolved, Result, Slice, Symlink, Version, VirtualPath, Written, limits, names,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, ChangedLines, Excerpt, Outcome, TextWindow, scan},
};

/// Files in memory, ordered by path.
///
/// Clones share the files. Use [`StateDocument`] to store them elsewhere.
#[derive(Clone, Debug)]
pub struct StateBackend {
    tree: Arc<RwLock<Arc<Tree>>>,
    clock: Arc<dyn Clock>,
    most_bytes: u64,
}

impl StateBackend {
    /// Creates an empty workspace, whose times come from `clock`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::with_tree(Tree::new(clock.now()), clock)
    }

    /// Creates a workspace with these files, and with these directories in addition to the files' parents. Of two files
    /// with one path the last one stays; files and directories below a file are left out.
    pub fn of_files(
        files: impl IntoIterator<Item = (VirtualPath, Bytes)>,
        directories: impl IntoIterator<Item = VirtualPath>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let now = clock.now();
        let mut tree = Tree::new(now);
        for (path, content) in files {
            let way = path.parent().map(|parent| tree.make_directories("load", &parent, &path, now));
            if way.is_some_and(|way| way.is_ok()) && !matches!(tree.get(&path), Some(Node::Directory { .. })) {
                tree.insert_file(path, File { content, created: now, modified: now });
            }
        }
        for path in directories {
            // A directory below a file is left out.
            let _ = tree.make_directories("load", &path, &path, now);
        }
        Self::with_tree(tree, clock)
    }

    fn with_tree(tree: Tree, clock: Arc<dyn Clock>) -> Self {
        Self { tree: Arc::new(RwLock::new(Arc::new(tree))), clock, most_bytes: limits::STATE_BYTES }
    }

    /// Sets how many bytes all files together may have; a write beyond that is `NoSpace`.
    #[must_use]
    pub fn with_most_bytes(mut self, most_bytes: u64) -> Self {
        self.most_bytes = most_bytes;
        self
    }

    /// Returns the files as a document.
    #[must_use]
    pub fn to_document(&self) -> StateDocument {
        document::of(&self.snapshot())
    }

    /// Creates a workspace with the files of a document.
    ///
    /// # Errors
    ///
    /// Returns `InvalidArgument` or `InvalidPath` if the document contradicts itself.
    pub fn from_document(document: &StateDocument, clock: Arc<dyn Clock>) -> Result<Self> {
        Ok(Self::with_tree(document::to_tree(document, clock.now())?, clock))
    }

    /// Returns the files as JSON.
    ///
    /// # Errors
    ///
    /// Returns `Io` if the document cannot be written as JSON.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(&self.to_document())
            .map_err(|error| Error::new(ErrorKind::Io, format!("cannot write the workspace as JSON: {error}")))
    }

    /// Creates a workspace from JSON.
    ///
    /// # Errors
    ///
    /// Returns `InvalidArgument` if the JSON is not a valid document; the message has the position.
    pub fn from_json(json: &str, clock: Arc<dyn Clock>) -> Result<Self> {
        let document = serde_json::from_str(json).map_err(|error| {
            // The error quotes unknown text at any length; the position comes last.
            let told = error.to_string();
            let place = format!(" at line {} column {}", error.line(), error.column());
            let why: String = told.strip_suffix(&place).unwrap_or(&told).chars().take(300).collect();
            let place = format!("line {}, column {}", error.line(), error.column());
            Error::new(ErrorKind::InvalidArgument, format!("this is not a workspace document: {why} ({place})"))
        })?;
        Self::from_document(&document, clock)
    }

    fn snapshot(&self) -> Arc<Tree> {
        // A panic under the lock cannot leave half a change behind: see `change`.
        Arc::clone(&self.tree.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes a change completely, or not at all if it fails.
    fn change<T>(&self, act: impl FnOnce(&mut Tree) -> Result<T>) -> Result<T> {
        let mut shared = self.tree.write().unwrap_or_else(PoisonError::into_inner);
        act(Arc::make_mut(&mut shared))
    }

    /// Writes a file, if the current one is as expected. `content` gets the current file.
    fn put(
        &self,
        verb: &str,
        path: &VirtualPath,
        content: impl FnOnce(Option<&File>) -> Result<Bytes>,
    ) -> Result<Written> {
        names::check_names(verb, path)?;
        let now = self.clock.now();
        self.change(|tree| {
            let before = match tree.get(path) {
                Some(Node::Directory { .. }) => return Err(Error::is_directory(verb, path)),
                Some(Node::File(file)) => Some(file.clone()),
                None => None,
            };
            if before.is_none() {
                tree.check_way(verb, path)?;
            }
            let content = content(before.as_ref())?;
            let size = content.len() as u64;
            if size > limits::STATE_FILE_BYTES {
                return Err(Error::too_large(verb, path, size, limits::STATE_FILE_BYTES));
            }
            let others = tree.total_bytes() - before.as_ref().map_or(0, |file| file.content.len() as u64);
            if others + size > self.most_bytes {
                return Err(Error::new(
                    ErrorKind::NoSpace,
                    format!("cannot {verb} `{path}`: the workspace may hold {} bytes", self.most_bytes),
                )
                .hint("remove files that are no longer needed"));
            }
            if let Some(parent) = path.parent() {
                tree.make_directories(verb, &parent, path, now)?;
            }
            let version = Version::of(&content);
            let created = before.as_ref().map_or(now, |file| file.created);
            tree.insert_file(path.clone(), File { content, created, modified: now });
            let replaced = if before.is_some() { Replaced::File } else { Replaced::Nothing };
            Ok(Written::new(path.clone(), version, replaced))
        })
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for StateBackend {
    async fn resolve(&self, path: &VirtualPath, _: Symlink) -> Result<Resolved> {
        let tree = self.snapshot();
        let presence = match tree.get(path) {
            Some(node) => Presence::Present(node.entry(path.clone())),
            None => Presence::Absent,
        };
        Ok(Resolved::literal(path.clone()).with_presence(presence))
    }

    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        let tree = self.snapshot();
        let node = tree.find("look at", &at.real)?;
        Ok(node.entry(at.real.clone()))
    }

    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        search::list(&self.snapshot(), &at.real, request)
    }

    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        let tree = self.snapshot();
        let file = tree.file("read", &at.real)?;
        in_memory::slice(&at.real, &file.content, Some(file.modified), range)
    }

    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        let tree = self.snapshot();
        let file = tree.file("read", &at.real)?;
        scan::excerpt(&at.real, &&file.content[..], window)
    }

    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        let path = &at.real;
        let content = in_memory::collect(path, content, limits::STATE_FILE_BYTES).await?;
        self.put("write", path, |before| {
            in_memory::check_before_write(path, before.map(|file| &file.content[..]), expect)?;
            Ok(content)
        })
    }

    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
        let path = &at.real;
        let (mut outcome, mut lines) = (Outcome::Replaced(0), ChangedLines::default());
        let written = self.put("edit", path, |before| {
            let file = before.ok_or_else(|| Error::not_found("edit", path))?;
            let edited = in_memory::edit(path, &file.content, change, expect, most)?;
            (outcome, lines) = (edited.outcome, edited.lines);
            Ok(edited.content)
        })?;
        Ok(Changed::new(written.path, written.version, outcome).lines(lines))
    }

    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        names::check_names("make", &at.real)?;
        let now = self.clock.now();
        self.change(|tree| tree.make_directories("make", &at.real, &at.real, now))
    }

    async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
        self.change(|tree| tree.remove("remove", &at.real, what))
    }

    async fn rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()> {
        names::check_names("move to", &to.real)?;
        let now = self.clock.now();
        self.change(|tree| tree.rename(&from.real, &to.real, if_exists, now))
    }

    async fn copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written> {
        let content = self.snapshot().file("copy", &from.real)?.content.clone();
        self.put("copy to", &to.real, |before| match (if_exists, before) {
            (IfExists::Refuse, Some(_)) => Err(Error::already_exists("copy to", &to.real)),
            _ => Ok(content),
        })
    }

    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
        search::glob(&self.snapshot(), &*self.clock, &at.real, request)
    }

    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
        search::grep(&self.snapshot(), &*self.clock, &at.real, request)
    }

    fn host_files(&self) -> Option<&dyn HostFiles> {
        None
    }
}

#[cfg(test)]
mod tests {
    use futures_executor::block_on;

    use super::*;
    use workden_core::{BackendExt, SteppingClock, text::Replacement};

    fn backend() -> StateBackend {
        StateBackend::new(Arc::new(SteppingClock::default()))
    }

    fn at(typed: &str) -> Resolved {
        Resolved::literal(VirtualPath::parse(typed).unwrap())
    }

    #[test]
    fn a_file_on_the_way_is_named_whatever_the_writer_expects() {
        let files = backend();
        block_on(files.write(&at("/f"), "x".into(), Expect::Absent)).unwrap();
        let version = Version::of(b"x");
        for expect in [Expect::Anything, Expect::Absent, Expect::Version(version)] {
            let error = block_on(files.write(&at("/f/x"), "y".into(), expect)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotDirectory, "{expect:?}");
        }
        let change = Change::Replace(vec![Replacement::once("x", "y")]);
        let error =
            block_on(Backend::change(&files, &at("/f/x"), &change, Expect::Version(version), limits::EDIT_BYTES))
                .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotDirectory);
    }

    #[test]
    fn one_file_has_a_ceiling_however_its_content_comes() {
        let files = backend().with_most_bytes(u64::MAX);
        let huge = vec![0; usize::try_from(limits::STATE_FILE_BYTES).unwrap() + 1];
        let error = block_on(files.write(&at("/f"), huge.into(), Expect::Anything)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(!block_on(files.exists(&VirtualPath::parse("/f").unwrap())));
    }
}
