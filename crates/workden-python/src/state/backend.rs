//! The dictionary as a backend.

use async_trait::async_trait;
use bytes::Bytes;
use pyo3::Python;
use workden_core::{
    Backend, ByteRange, Changed, Content, Entry, Error, Expect, HostFiles, IfExists, Removal, Replaced, Resolved,
    Result, Slice, Symlink, Version, VirtualPath, Written,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow, scan},
};
use workden_files::toolkit::in_memory;

use super::{LiveFiles, Needs, at_once};

impl LiveFiles {
    /// Returns the obstacle to a file: a directory in its place, or a file among its parents.
    fn check_way(&self, py: Python<'_>, verb: &str, path: &VirtualPath) -> Result<()> {
        let mut above = path.parent();
        while let Some(directory) = above.filter(|directory| !directory.is_root()) {
            if self.find(py, &directory)?.is_some() {
                return Err(Error::below_file(verb, path, &directory));
            }
            above = directory.parent();
        }
        Ok(())
    }

    /// Returns the previous file before a write, if one may exist.
    fn replaced(&self, py: Python<'_>, path: &VirtualPath, expect: Expect) -> Result<Replaced> {
        let there = match (self.find(py, path)?, expect) {
            // Its content is read only if the decision needs it.
            (Some(file), Expect::Version(_)) => Some(file.bytes()?),
            (Some(_), _) => Some(Bytes::new()),
            (None, _) if self.has_below(py, path) => return Err(Error::is_directory("write", path)),
            (None, _) => None,
        };
        in_memory::check_before_write(path, there.as_deref(), expect)?;
        match there {
            Some(_) => Ok(Replaced::File),
            None => self.check_way(py, "write", path).map(|()| Replaced::Nothing),
        }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for LiveFiles {
    async fn resolve(&self, path: &VirtualPath, _: Symlink) -> Result<Resolved> {
        Ok(Resolved::literal(path.clone()))
    }

    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        self.in_memory(&Needs::One(at.real.clone()), |state| at_once(state.stat(at)))
    }

    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        self.in_memory(&Needs::Children(at.real.clone()), |state| at_once(state.list(at, request)))
    }

    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        in_memory::slice(&at.real, &self.content("read", &at.real)?, None, range)
    }

    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        let content = self.content("read", &at.real)?;
        scan::excerpt(&at.real, &&content[..], window)
    }

    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        let path = &at.real;
        let content = in_memory::collect(path, content, u64::MAX).await?;
        let _one_at_a_time = self.changes.lock().await;
        let replaced = Python::attach(|py| {
            let replaced = self.replaced(py, path, expect)?;
            self.put(py, path, &content).map(|()| replaced)
        })?;
        Ok(Written::new(path.clone(), Version::of(&content), replaced))
    }

    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
        let path = &at.real;
        let _one_at_a_time = self.changes.lock().await;
        let content = self.content("edit", path)?;
        let in_memory::Edited { content: edited, outcome, lines, .. } =
            in_memory::edit(path, &content, change, expect, most)?;
        Python::attach(|py| self.put(py, path, &edited))?;
        Ok(Changed::new(path.clone(), Version::of(&edited), outcome).lines(lines))
    }

    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        // The dictionary has no directories: they exist as long as they contain files.
        match self.stat(at).await {
            Ok(entry) if !entry.is_dir() => Err(Error::already_exists("make", &at.real)),
            _ => Python::attach(|py| self.check_way(py, "make", &at.real)),
        }
    }

    async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
        let _one_at_a_time = self.changes.lock().await;
        self.in_memory(&Needs::Below(at.real.clone()), |state| at_once(state.remove(at, what)))?;
        self.below(&at.real).iter().try_for_each(|file| self.forget(file))
    }

    async fn rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()> {
        let _one_at_a_time = self.changes.lock().await;
        Python::attach(|py| self.check_way(py, "move to", &to.real))?;
        let files = self.below(&from.real);
        let moved = self.in_memory(&Needs::Below(VirtualPath::root()), |state| {
            at_once(state.rename(from, to, if_exists))?;
            let moved = files.iter().filter_map(|file| {
                let now = Resolved::literal(file.strip_prefix(&from.real)?.below(&to.real));
                Some(
                    at_once(state.read(&now, ByteRange::Whole { most: u64::MAX })).map(|slice| (now.real, slice.bytes)),
                )
            });
            moved.collect::<Result<Vec<_>>>()
        })?;
        Python::attach(|py| moved.iter().try_for_each(|(path, content)| self.put(py, path, content)))?;
        files.iter().filter(|file| !moved.iter().any(|(path, _)| path == *file)).try_for_each(|file| self.forget(file))
    }

    async fn copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written> {
        let content = self.read(from, ByteRange::Whole { most: u64::MAX }).await?;
        let expect = match if_exists {
            IfExists::Refuse => Expect::Absent,
            IfExists::Replace => Expect::Anything,
        };
        self.write(to, content.bytes.into(), expect).await
    }

    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
        self.in_memory(&Needs::Below(at.real.clone()), |state| at_once(state.glob(at, request)))
    }

    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
        self.in_memory(&Needs::Below(at.real.clone()), |state| at_once(state.grep(at, request)))
    }

    fn host_files(&self) -> Option<&dyn HostFiles> {
        None
    }
}
