//! Files of a Python backend.

use async_trait::async_trait;
use bytes::Bytes;
use pyo3::prelude::*;
use workden_core::{
    Backend, ByteRange, Changed, Content, Entry, Error, ErrorKind, Expect, HostFiles, IfExists, Removal, Replaced,
    Resolved, Result, Slice, Symlink, Version, VirtualPath, Written,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow, scan},
};
use workden_files::toolkit::in_memory;

use super::{Foreign, search};

impl Foreign {
    /// Writes a file, and returns its previous state.
    async fn put(&self, path: &VirtualPath, content: Bytes, replaced: Replaced) -> Result<Written> {
        let version = Version::of(&content);
        let text = std::str::from_utf8(&content).ok().map(str::to_owned);
        let read = |answer: &Bound<'_, PyAny>| answer.getattr("error")?.extract::<Option<String>>();
        let error = match text {
            // Text is passed as `str`: some backends accept nothing else.
            Some(text) => self.call("write", (path.to_string(), text), read).await?,
            None => self.call("write", (path.to_string(), content.to_vec()), read).await?,
        };
        match error {
            None => Ok(Written::new(path.clone(), version, replaced)),
            Some(said) => Err(Error::new(ErrorKind::Io, format!("cannot write `{path}`: {said}"))),
        }
    }

    fn unsupported(verb: &str, path: &VirtualPath) -> Error {
        Error::new(ErrorKind::Unsupported, format!("cannot {verb} `{path}`: the backend does not support it"))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for Foreign {
    async fn resolve(&self, path: &VirtualPath, _: Symlink) -> Result<Resolved> {
        Ok(Resolved::literal(path.clone()))
    }

    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        self.entry(&at.real).await
    }

    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        search::list(self, &at.real, request).await
    }

    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        in_memory::slice(&at.real, &self.content("read", &at.real).await?, None, range)
    }

    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        if self.reads {
            return self.shown(&at.real, window).await;
        }
        let content = self.content("read", &at.real).await?;
        scan::excerpt(&at.real, &&content[..], window)
    }

    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        let path = &at.real;
        let content = in_memory::collect(path, content, u64::MAX).await?;
        let _one_at_a_time = self.changes.lock().await;
        let replaced = match expect {
            Expect::Anything => Replaced::File,
            Expect::Absent => match self.entry(path).await {
                Ok(_) => return Err(Error::already_exists("write", path)),
                Err(_) => Replaced::Nothing,
            },
            Expect::Version(version) => match Version::of(&self.content("write", path).await?) == version {
                true => Replaced::File,
                false => return Err(Error::conflict("write", path)),
            },
        };
        self.put(path, content, replaced).await
    }

    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
        let path = &at.real;
        let _one_at_a_time = self.changes.lock().await;
        if let Change::Replace(all) = change
            && let [replacement] = &all[..]
            && self.has("edit")
        {
            match self.edited(path, replacement, expect, most).await {
                // The method exists only for the protocol.
                Err(error) if error.kind() == ErrorKind::Unsupported => {}
                edited => return edited,
            }
        }
        let content = self.content("edit", path).await?;
        let in_memory::Edited { content: edited, outcome, lines, .. } =
            in_memory::edit(path, &content, change, expect, most)?;
        let written = self.put(path, edited, Replaced::File).await?;
        Ok(Changed::new(written.path, written.version, outcome).lines(lines))
    }

    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        // Directories exist only through their files, so there is nothing to create.
        match self.entry(&at.real).await {
            Ok(entry) if !entry.is_dir() => Err(Error::already_exists("make", &at.real)),
            _ => Ok(()),
        }
    }

    async fn remove(&self, at: &Resolved, _: Removal) -> Result<()> {
        match self.has("delete") {
            true => self.call("delete", (at.real.to_string(),), |_| Ok(())).await,
            false => Err(Self::unsupported("remove", &at.real)),
        }
    }

    async fn rename(&self, from: &Resolved, _: &Resolved, _: IfExists) -> Result<()> {
        Err(Self::unsupported("move", &from.real))
    }

    async fn copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written> {
        let content = self.content("copy", &from.real).await?;
        let expect = match if_exists {
            IfExists::Refuse => Expect::Absent,
            IfExists::Replace => Expect::Anything,
        };
        self.write(to, content.into(), expect).await
    }

    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
        search::glob(self, &at.real, request).await
    }

    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
        search::grep(self, &at.real, request).await
    }

    fn host_files(&self) -> Option<&dyn HostFiles> {
        None
    }
}
