//! The dictionary as a backend.

use async_trait::async_trait;
use workden_core::{
    Backend, ByteRange, Changed, Content, Entry, Error, Existing, Expect, FileIdentity, Last, Removal, Resolved,
    Result, Slice, VirtualPath, Written,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow},
};

use super::{LiveFiles, Needs};

impl LiveFiles {
    async fn one(&self, at: &Resolved) -> Result<workden_core::StateBackend> {
        self.taken(Needs::One(at.real.clone())).await
    }

    /// A file on the way to another is no directory.
    async fn check_way(&self, verb: &str, path: &VirtualPath) -> Result<()> {
        let mut above = path.parent();
        while let Some(directory) = above.filter(|directory| !directory.is_root()) {
            let is_file = pyo3::Python::attach(|py| self.find(py, &directory).map(|found| found.is_some()))?;
            if is_file {
                return Err(Error::below_file(verb, path, &directory));
            }
            above = directory.parent();
        }
        Ok(())
    }

    async fn put_back(&self, from: &workden_core::StateBackend, at: &Resolved) -> Result<()> {
        let content = from.read(at, ByteRange::Whole { most: u64::MAX }).await?;
        self.put(&at.real, &content.bytes).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for LiveFiles {
    async fn resolve(&self, path: &VirtualPath, _: Last) -> Result<Resolved> {
        Ok(Resolved::literal(path.clone()))
    }

    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        self.one(at).await?.stat(at).await
    }

    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        self.taken(Needs::Children(at.real.clone())).await?.list(at, request).await
    }

    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        self.one(at).await?.read(at, range).await
    }

    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        self.one(at).await?.read_text(at, window).await
    }

    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        let _one_at_a_time = self.changes.lock().await;
        self.check_way("write", &at.real).await?;
        let state = self.one(at).await?;
        let written = state.write(at, content, expect).await?;
        self.put_back(&state, at).await?;
        Ok(written)
    }

    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
        let _one_at_a_time = self.changes.lock().await;
        let state = self.one(at).await?;
        let changed = Backend::change(&state, at, change, expect, most).await?;
        self.put_back(&state, at).await?;
        Ok(changed)
    }

    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        // The dictionary has no directories: they are there as long as something is in them.
        match self.one(at).await?.stat(at).await {
            Ok(entry) if !entry.is_dir() => Err(Error::file_in_place("make", &at.real)),
            _ => self.check_way("make", &at.real).await,
        }
    }

    async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
        let _one_at_a_time = self.changes.lock().await;
        let state = self.taken(Needs::Below(at.real.clone())).await?;
        state.remove(at, what).await?;
        self.below(&at.real).iter().try_for_each(|file| self.forget(file))
    }

    async fn rename(&self, from: &Resolved, to: &Resolved, existing: Existing) -> Result<()> {
        let _one_at_a_time = self.changes.lock().await;
        self.check_way("move to", &to.real).await?;
        let state = self.taken(Needs::Below(VirtualPath::root())).await?;
        state.rename(from, to, existing).await?;
        for file in self.below(&from.real) {
            let Some(below) = file.strip_prefix(&from.real) else { continue };
            self.put_back(&state, &Resolved::literal(below.below(&to.real))).await?;
            self.forget(&file)?;
        }
        Ok(())
    }

    async fn copy(&self, from: &Resolved, to: &Resolved, existing: Existing) -> Result<Written> {
        let content = self.read(from, ByteRange::Whole { most: u64::MAX }).await?;
        let expect = match existing {
            Existing::Refuse => Expect::Absent,
            Existing::Replace => Expect::Anything,
        };
        self.write(to, content.bytes.into(), expect).await
    }

    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
        self.taken(Needs::Below(at.real.clone())).await?.glob(at, request).await
    }

    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
        self.taken(Needs::Below(at.real.clone())).await?.grep(at, request).await
    }

    async fn other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>> {
        Ok(vec![Vec::new(); files.len()])
    }

    async fn identify(&self, _: &Resolved) -> Result<Option<FileIdentity>> {
        Ok(None)
    }

    async fn origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>> {
        Ok(Vec::new())
    }

    async fn names_of(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>> {
        Ok(vec![Vec::new(); files.len()])
    }
}
