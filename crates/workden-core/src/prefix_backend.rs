//! `PrefixBackend`: a directory of a backend as a separate backend, to mount a part of a tree or to run the conformance
//! suite if `/` is not empty.

use async_trait::async_trait;

use crate::{
    Attributes, Backend, BackendExt, ByteRange, Changed, Content, Entry, Error, ErrorKind, Expect, FileIdentity,
    HostFiles, IfExists, Opened, Removal, Resolved, Result, Slice, Symlink, VirtualPath, Written,
    search::{Alias, GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing, View},
    text::{Change, Excerpt, TextWindow},
};

/// A directory of a backend, shown as `/`. The directory must exist.
///
/// Paths in requests get the directory as a prefix, and paths in answers and error messages lose it. A link that leads
/// out of the directory is refused with `Escapes`.
///
/// ```
/// # futures_executor::block_on(async {
/// use workden_core::{BackendExt, Expect, PrefixBackend, VirtualPath};
///
/// let files = workden_files::memory();
/// files.make_dir_path(&VirtualPath::parse("/workspace")?).await?;
/// let work = PrefixBackend::new(files.clone(), VirtualPath::parse("/workspace")?);
/// work.write_path(&VirtualPath::parse("/notes.md")?, "here".into(), Expect::Absent).await?;
/// assert!(files.exists(&VirtualPath::parse("/workspace/notes.md")?).await);
/// # Ok::<(), workden_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct PrefixBackend<B> {
    backend: B,
    directory: VirtualPath,
}

impl<B: Backend> PrefixBackend<B> {
    /// Creates a backend that shows `directory` of `backend` as `/`.
    pub fn new(backend: B, directory: VirtualPath) -> Self {
        Self { backend, directory }
    }

    /// Returns the underlying backend.
    pub fn inner(&self) -> &B {
        &self.backend
    }

    fn outer(&self, path: &VirtualPath) -> VirtualPath {
        path.below(&self.directory)
    }

    fn outer_at(&self, at: &Resolved) -> Resolved {
        Resolved::new(self.outer(&at.typed), self.outer(&at.real))
    }

    fn own(&self, path: &VirtualPath) -> VirtualPath {
        path.strip_prefix(&self.directory).unwrap_or_else(|| path.clone())
    }

    fn own_names(&self, names: Vec<Vec<VirtualPath>>) -> Vec<Vec<VirtualPath>> {
        let inside = |name: VirtualPath| name.strip_prefix(&self.directory);
        names.into_iter().map(|names| names.into_iter().filter_map(inside).collect()).collect()
    }

    fn told<T>(&self, answer: Result<T>) -> Result<T> {
        answer.map_err(|error| error.inside(&self.directory))
    }

    fn shown(&self, entries: Vec<Entry>) -> Vec<Entry> {
        entries.into_iter().map(|entry| Entry { path: self.own(&entry.path), ..entry }).collect()
    }

    /// Returns the view of the underlying backend for a view of this one.
    fn view(&self, view: &View) -> View {
        let aliases = view.aliases.iter();
        let aliases = aliases.map(|alias| Alias { local: self.outer(&alias.local), seen: alias.seen.clone() });
        View { part: self.outer(&view.part), aliases: aliases.collect(), ..view.clone() }
    }
}

fn root_stays(verb: &str, at: &Resolved) -> Result<()> {
    if at.real.is_root() { Err(Error::root_stays(verb)) } else { Ok(()) }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<B: Backend> Backend for PrefixBackend<B> {
    async fn resolve(&self, path: &VirtualPath, symlink: Symlink) -> Result<Resolved> {
        let resolved = self.told(self.backend.resolve(&self.outer(path), symlink).await)?;
        match resolved.real.strip_prefix(&self.directory) {
            Some(real) => {
                let own = |entry: Entry| Entry { path: self.own(&entry.path), ..entry };
                Ok(resolved.relocated(path.clone(), real, own))
            }
            None => Err(Error::new(
                ErrorKind::Escapes,
                format!("cannot open `{path}`: a link on the way leads out of the workspace"),
            )),
        }
    }

    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        let entry = self.told(self.backend.stat(&self.outer_at(at)).await)?;
        Ok(Entry { path: self.own(&entry.path), ..entry })
    }

    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        let request = ListRequest { view: self.view(&request.view), ..request.clone() };
        let listing = self.told(self.backend.list(&self.outer_at(at), &request).await)?;
        Ok(Listing { entries: self.shown(listing.entries), ..listing })
    }

    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        self.told(self.backend.read(&self.outer_at(at), range).await)
    }

    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        self.told(self.backend.read_text(&self.outer_at(at), window).await)
    }

    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        let written = self.told(self.backend.write(&self.outer_at(at), content, expect).await)?;
        Ok(Written { path: self.own(&written.path), ..written })
    }

    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
        let changed = self.told(self.backend.change(&self.outer_at(at), change, expect, most).await)?;
        Ok(Changed { path: self.own(&changed.path), ..changed })
    }

    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        self.told(self.backend.make_dir(&self.outer_at(at)).await)
    }

    async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
        root_stays("remove", at)?;
        self.told(self.backend.remove(&self.outer_at(at), what).await)
    }

    async fn rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()> {
        root_stays("move", from)?;
        self.told(self.backend.rename(&self.outer_at(from), &self.outer_at(to), if_exists).await)
    }

    async fn copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written> {
        let copied = self.told(self.backend.copy(&self.outer_at(from), &self.outer_at(to), if_exists).await)?;
        Ok(Written { path: self.own(&copied.path), ..copied })
    }

    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
        let request = GlobRequest { view: self.view(&request.view), ..request.clone() };
        let found = self.told(self.backend.glob(&self.outer_at(at), &request).await)?;
        Ok(Globbed { entries: self.shown(found.entries), ..found })
    }

    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
        let request = GrepRequest { view: self.view(&request.view), ..request.clone() };
        let mut found = self.told(self.backend.grep(&self.outer_at(at), &request).await)?;
        for file in &mut found.files {
            file.path = self.own(&file.path);
        }
        let doubtful = found.doubtful.iter().map(|path| self.own(path)).collect();
        Ok(Grepped { doubtful, ..found })
    }

    fn host_files(&self) -> Option<&dyn HostFiles> {
        self.backend.host_files().map(|_| self as &dyn HostFiles)
    }
}

#[async_trait]
impl<B: Backend> HostFiles for PrefixBackend<B> {
    async fn open_file(&self, at: &Resolved, most: u64) -> Result<Opened> {
        self.told(self.backend.open(&self.outer_at(at), most).await)
    }

    async fn read_attributes(&self, at: &Resolved, prefix: &str) -> Result<Attributes> {
        self.told(self.backend.attributes(&self.outer_at(at), prefix).await)
    }

    async fn write_attributes(&self, at: &Resolved, attributes: &Attributes) -> Result<()> {
        self.told(self.backend.set_attributes(&self.outer_at(at), attributes).await)
    }

    async fn find_other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>> {
        let files: Vec<Resolved> = files.iter().map(|file| self.outer_at(file)).collect();
        Ok(self.own_names(self.told(self.backend.other_names(&files).await)?))
    }

    async fn find_identity(&self, at: &Resolved) -> Result<Option<FileIdentity>> {
        self.told(self.backend.identify(&self.outer_at(at)).await)
    }

    async fn find_origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>> {
        let mut origins = Vec::new();
        for (path, identity) in self.told(self.backend.origins().await)? {
            match path.strip_prefix(&self.directory) {
                Some(own) => origins.push((own, identity)),
                // An origin above the directory is replaced by the directory itself, as the root.
                None if self.directory.is_within(&path) => {
                    let root = VirtualPath::root();
                    let itself = HostFiles::find_identity(self, &Resolved::literal(root.clone())).await?;
                    origins.extend(itself.map(|identity| (root, identity)));
                }
                None => {}
            }
        }
        Ok(origins)
    }

    async fn find_names(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>> {
        Ok(self.own_names(self.told(self.backend.names_of(files).await)?))
    }
}
