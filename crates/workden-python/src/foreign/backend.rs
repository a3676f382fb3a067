//! Its files.

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt;
use pyo3::prelude::*;
use workden_core::{
    Backend, Before, ByteRange, Changed, Content, Entry, Error, ErrorKind, Existing, Expect, FileIdentity, Last,
    Refusal, Removal, Resolved, Result, Slice, Version, VirtualPath, Written,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow, scan, splice},
};

use super::{Foreign, search};

impl Foreign {
    /// Writes a file, and says what it was.
    async fn put(&self, path: &VirtualPath, content: Bytes, before: Before) -> Result<Written> {
        let version = Version::of(&content);
        let text = std::str::from_utf8(&content).ok().map(str::to_owned);
        let read = |answer: &Bound<'_, PyAny>| answer.getattr("error")?.extract::<Option<String>>();
        let error = match text {
            // Text goes as text: there are backends that know nothing else.
            Some(text) => self.call("write", (path.to_string(), text), read).await?,
            None => self.call("write", (path.to_string(), content.to_vec()), read).await?,
        };
        match error {
            None => Ok(Written { path: path.clone(), version, before }),
            Some(said) => Err(Error::new(ErrorKind::Io, format!("cannot write `{path}`: {said}"))),
        }
    }

    fn unsupported(verb: &str, path: &VirtualPath) -> Error {
        Error::new(ErrorKind::Unsupported, format!("cannot {verb} `{path}`: this backend has no way to do it"))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for Foreign {
    async fn resolve(&self, path: &VirtualPath, _: Last) -> Result<Resolved> {
        Ok(Resolved::literal(path.clone()))
    }

    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        self.entry(&at.real).await
    }

    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        search::list(self, &at.real, request).await
    }

    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        let content = self.content("read", &at.real).await?;
        let size = content.len() as u64;
        let bytes = match range {
            ByteRange::Whole { most } if size > most => return Err(Error::too_large("read", &at.real, size, most)),
            ByteRange::Whole { .. } => content,
            ByteRange::Part { offset, length } => {
                let index = |at: u64| usize::try_from(at.min(size)).unwrap_or(content.len());
                content.slice(index(offset)..index(offset.saturating_add(length)))
            }
        };
        Ok(Slice { bytes, size, modified: None })
    }

    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        let content = self.content("read", &at.real).await?;
        scan::excerpt(&at.real, &&content[..], window)
    }

    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        let path = &at.real;
        let content = match content {
            Content::Whole(bytes) => bytes,
            Content::Stream(mut stream) => {
                let mut all = bytes::BytesMut::new();
                while let Some(piece) = stream.next().await {
                    all.extend_from_slice(&piece?);
                }
                all.freeze()
            }
        };
        let _one_at_a_time = self.changes.lock().await;
        let before = match expect {
            Expect::Anything => Before::File,
            Expect::Absent => match self.entry(path).await {
                Ok(_) => return Err(Error::already_exists("write", path)),
                Err(_) => Before::Nothing,
            },
            Expect::Version(version) => match Version::of(&self.content("write", path).await?) == version {
                true => Before::File,
                false => return Err(Error::conflict("write", path)),
            },
        };
        self.put(path, content, before).await
    }

    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
        let path = &at.real;
        let _one_at_a_time = self.changes.lock().await;
        let content = self.content("edit", path).await?;
        match expect {
            Expect::Absent => return Err(Error::already_exists("edit", path)),
            Expect::Version(version) if Version::of(&content) != version => return Err(Error::conflict("edit", path)),
            Expect::Anything | Expect::Version(_) => {}
        }
        Refusal::check_size(path, content.len() as u64, most)?;
        let plan = change.plan(path, &content)?;
        let edited = splice::apply_splices(&content, &plan.splices)?;
        Refusal::check_size(path, edited.len() as u64, most)?;
        let written = self.put(path, edited.into(), Before::File).await?;
        Ok(Changed { path: written.path, version: written.version, outcome: plan.outcome })
    }

    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        // Directories come and go with their files here: there is nothing to make that a write would not.
        match self.entry(&at.real).await {
            Ok(entry) if !entry.is_dir() => Err(Error::file_in_place("make", &at.real)),
            _ => Ok(()),
        }
    }

    async fn remove(&self, at: &Resolved, _: Removal) -> Result<()> {
        match self.has("delete") {
            true => self.call("delete", (at.real.to_string(),), |_| Ok(())).await,
            false => Err(Self::unsupported("remove", &at.real)),
        }
    }

    async fn rename(&self, from: &Resolved, _: &Resolved, _: Existing) -> Result<()> {
        Err(Self::unsupported("move", &from.real))
    }

    async fn copy(&self, from: &Resolved, to: &Resolved, existing: Existing) -> Result<Written> {
        let content = self.content("copy", &from.real).await?;
        let expect = match existing {
            Existing::Refuse => Expect::Absent,
            Existing::Replace => Expect::Anything,
        };
        self.write(to, content.into(), expect).await
    }

    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
        search::glob(self, &at.real, request).await
    }

    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
        search::grep(self, &at.real, request).await
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
