//! The ordered tree behind `StateBackend`.
//!
//! Invariant: the parent of every file and directory is in the map, and a path sorts right before the paths below it.
//! So the children of a directory are found by seeking from one to the next, however large the rest of the tree is.

use std::{
    collections::{BTreeMap, btree_map::Range},
    ops::Bound,
};

use bytes::Bytes;
use workden_core::{Entry, EntryKind, Error, ErrorKind, IfExists, Removal, Result, Timestamp, VirtualPath, names};

/// A file in memory.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) content: Bytes,
    pub(super) created: Timestamp,
    pub(super) modified: Timestamp,
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    File(File),
    Directory { modified: Timestamp },
}

impl Node {
    pub(super) fn entry(&self, path: VirtualPath) -> Entry {
        let (kind, size, modified) = match self {
            Self::File(file) => (EntryKind::File, Some(file.content.len() as u64), file.modified),
            Self::Directory { modified } => (EntryKind::Directory, None, *modified),
        };
        Entry::new(path, kind).size(size).modified(modified)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Tree {
    nodes: BTreeMap<VirtualPath, Node>,
    total_bytes: u64,
}

impl Tree {
    pub(super) fn new(now: Timestamp) -> Self {
        let nodes = BTreeMap::from([(VirtualPath::root(), Node::Directory { modified: now })]);
        Self { nodes, total_bytes: 0 }
    }

    pub(super) fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    pub(super) fn get(&self, path: &VirtualPath) -> Option<&Node> {
        self.nodes.get(path)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&VirtualPath, &Node)> {
        self.nodes.iter()
    }

    /// Returns the node at a path; a path through a file is `NotDirectory`, as on disk.
    pub(super) fn find(&self, verb: &str, path: &VirtualPath) -> Result<&Node> {
        self.get(path).ok_or_else(|| self.missing(verb, path))
    }

    /// Refuses a path that leads through a file; missing directories in the path do not matter.
    pub(super) fn check_way(&self, verb: &str, path: &VirtualPath) -> Result<()> {
        match self.missing(verb, path) {
            error if error.kind() == ErrorKind::NotDirectory => Err(error),
            _ => Ok(()),
        }
    }

    fn missing(&self, verb: &str, path: &VirtualPath) -> Error {
        let mut above = path.parent();
        while let Some(directory) = above {
            match self.get(&directory) {
                Some(Node::File(_)) => return Error::below_file(verb, path, &directory),
                Some(Node::Directory { .. }) => break,
                None => above = directory.parent(),
            }
        }
        Error::not_found(verb, path)
    }

    pub(super) fn file(&self, verb: &str, path: &VirtualPath) -> Result<&File> {
        match self.find(verb, path)? {
            Node::File(file) => Ok(file),
            Node::Directory { .. } => Err(Error::is_directory(verb, path)),
        }
    }

    /// Returns the direct children of a directory, in order.
    pub(super) fn children(&self, directory: &VirtualPath) -> Children<'_> {
        let below = self.nodes.range((Bound::Excluded(directory.clone()), Bound::Unbounded));
        Children { tree: self, directory: directory.clone(), below }
    }

    pub(super) fn insert_file(&mut self, path: VirtualPath, file: File) {
        self.total_bytes += file.content.len() as u64;
        if let Some(Node::File(before)) = self.nodes.insert(path, Node::File(file)) {
            self.total_bytes -= before.content.len() as u64;
        }
    }

    /// Makes a directory and its missing parents, for the requested path.
    pub(super) fn make_directories(
        &mut self,
        verb: &str,
        path: &VirtualPath,
        asked: &VirtualPath,
        now: Timestamp,
    ) -> Result<()> {
        let mut missing = Vec::new();
        let mut above = Some(path.clone());
        while let Some(directory) = above {
            match self.get(&directory) {
                Some(Node::Directory { .. }) => break,
                Some(Node::File(_)) if directory == *path && verb == "make" => {
                    return Err(Error::already_exists(verb, path));
                }
                Some(Node::File(_)) if directory == *asked => return Err(Error::not_directory(verb, asked)),
                Some(Node::File(_)) => return Err(Error::below_file(verb, asked, &directory)),
                None => {
                    above = directory.parent();
                    missing.push(directory);
                }
            }
        }
        for directory in missing {
            self.nodes.insert(directory, Node::Directory { modified: now });
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, verb: &str, path: &VirtualPath, what: Removal) -> Result<()> {
        let node = self.find(verb, path)?;
        if path.is_root() {
            return Err(Error::root_stays(verb));
        }
        if matches!(node, Node::Directory { .. }) && what == Removal::One && self.children(path).next().is_some() {
            return Err(Error::not_empty(verb, path));
        }
        self.take_subtree(path);
        Ok(())
    }

    fn take_subtree(&mut self, path: &VirtualPath) -> Vec<(VirtualPath, Node)> {
        let range = (Bound::Included(path.clone()), Bound::Excluded(path.after_subtree()));
        let taken: Vec<_> = self.nodes.extract_if(range, |_, _| true).collect();
        self.total_bytes -= taken.iter().map(|(_, node)| bytes_of(node)).sum::<u64>();
        taken
    }

    pub(super) fn rename(
        &mut self,
        from: &VirtualPath,
        to: &VirtualPath,
        if_exists: IfExists,
        now: Timestamp,
    ) -> Result<()> {
        let is_directory = matches!(self.find("move", from)?, Node::Directory { .. });
        if is_directory && to.is_within(from) {
            return Err(Error::new(ErrorKind::InvalidArgument, format!("cannot move `{from}` into itself, to `{to}`")));
        }
        match self.get(to) {
            _ if from == to => return Ok(()),
            Some(Node::Directory { .. }) => return Err(Error::directory_in_place("move to", to)),
            Some(Node::File(_)) if is_directory => return Err(Error::file_in_place("move to", to)),
            Some(Node::File(_)) if if_exists == IfExists::Refuse => {
                return Err(Error::already_exists("move to", to));
            }
            Some(Node::File(_)) | None => {}
        }
        let subtree = (Bound::Included(from.clone()), Bound::Excluded(from.after_subtree()));
        for (path, _) in self.nodes.range(subtree) {
            names::check_length("move", to.as_str().len() + path.as_str().len() - from.as_str().len())?;
        }
        if let Some(parent) = to.parent() {
            self.make_directories("move to", &parent, to, now)?;
        }
        self.take_subtree(to);
        for (path, node) in self.take_subtree(from) {
            let moved = path.strip_prefix(from).map_or_else(|| to.clone(), |below| below.below(to));
            self.total_bytes += bytes_of(&node);
            self.nodes.insert(moved, node);
        }
        Ok(())
    }
}

fn bytes_of(node: &Node) -> u64 {
    match node {
        Node::File(file) => file.content.len() as u64,
        Node::Directory { .. } => 0,
    }
}

/// The iterator of [`Tree::children`].
pub(super) struct Children<'a> {
    tree: &'a Tree,
    directory: VirtualPath,
    below: Range<'a, VirtualPath, Node>,
}

impl<'a> Iterator for Children<'a> {
    type Item = (&'a VirtualPath, &'a Node);

    fn next(&mut self) -> Option<Self::Item> {
        let (path, node) = self.below.next().filter(|(path, _)| path.is_within(&self.directory))?;
        if let Node::Directory { .. } = node {
            // Skip everything below the child, however much that is.
            self.below = self.tree.nodes.range(path.after_subtree()..);
        }
        Some((path, node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> Tree {
        let now = Timestamp::from_nanos(0);
        let mut tree = Tree::new(now);
        for file in files {
            let path = VirtualPath::parse(file).unwrap();
            tree.make_directories("write", &path.parent().unwrap(), &path, now).unwrap();
            tree.insert_file(path, File { content: Bytes::from_static(b"xx"), created: now, modified: now });
        }
        tree
    }

    fn children(tree: &Tree, directory: &str) -> Vec<String> {
        tree.children(&VirtualPath::parse(directory).unwrap()).map(|(path, _)| path.to_string()).collect()
    }

    #[test]
    fn children_are_found_past_deep_and_similar_neighbours() {
        let tree = tree(&["/a/b/c/d", "/a/b2", "/a-x", "/a/z", "/b", "/a\u{1}", "/a/b\u{1}"]);
        assert_eq!(children(&tree, "/"), ["/a", "/a\u{1}", "/a-x", "/b"]);
        assert_eq!(children(&tree, "/a"), ["/a/b", "/a/b\u{1}", "/a/b2", "/a/z"]);
        assert_eq!(children(&tree, "/a/b"), ["/a/b/c"]);
    }

    #[test]
    fn nothing_moves_to_where_it_would_be_too_long_to_be_written() {
        let deep = "/x".repeat(1_500);
        let mut tree = tree(&[&format!("/a{deep}")]);
        let to = VirtualPath::parse(&"/y".repeat(1_500)).unwrap();
        let from = VirtualPath::parse("/a").unwrap();
        let error = tree.rename(&from, &to, IfExists::Refuse, Timestamp::from_nanos(0)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidPath);
        assert_eq!(children(&tree, "/"), ["/a"], "nothing was changed");
    }

    #[test]
    fn listing_a_directory_does_not_cost_the_store() {
        let files: Vec<String> = (0..20_000).map(|n| format!("/big/{}/{n}", n % 100)).collect();
        let mut all: Vec<&str> = files.iter().map(String::as_str).collect();
        all.push("/small/x");
        let tree = tree(&all);
        let mut steps = 0;
        for _ in tree.children(&VirtualPath::root()) {
            steps += 1;
        }
        assert_eq!(steps, 2, "one step a child, whatever is below");
    }

    #[test]
    fn bytes_are_counted_through_moves_and_removals() {
        let mut tree = tree(&["/a/x", "/a/y", "/b"]);
        let path = |typed| VirtualPath::parse(typed).unwrap();
        assert_eq!(tree.total_bytes(), 6);
        tree.rename(&path("/a"), &path("/c/d"), IfExists::Refuse, Timestamp::from_nanos(0)).unwrap();
        assert_eq!((tree.total_bytes(), children(&tree, "/c/d")), (6, vec!["/c/d/x".into(), "/c/d/y".into()]));
        tree.rename(&path("/b"), &path("/c/d/x"), IfExists::Replace, Timestamp::from_nanos(0)).unwrap();
        assert_eq!(tree.total_bytes(), 4);
        tree.remove("remove", &path("/c"), Removal::Tree).unwrap();
        assert_eq!(tree.total_bytes(), 0);
    }
}
