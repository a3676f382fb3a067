//! Files, over the calls of a server.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use workden_core::{
    Backend, ByteRange, Changed, Content, Entry, Error, ErrorKind, Expect, HostFiles, IfExists, Removal, Replaced,
    Resolved, Result, Slice, Symlink, Version, VirtualPath, Written, limits,
    sandbox::Ended,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow, scan},
};
use workden_files::toolkit::in_memory;

use super::{FILES_TIME, FileService, ServedSandbox, commands::quoted, search, shown};

/// The most bytes of a file that is written. A request holds them in memory.
const WRITE_BYTES: u64 = 64 * 1024 * 1024;

impl<S: FileService> ServedSandbox<S> {
    /// Returns the content of a file if there is one.
    async fn existing(&self, path: &VirtualPath) -> Result<Option<Bytes>> {
        match self.service.content("write", path).await {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Runs a command that changes files.
    async fn change_by(&self, what: &str, line: &str) -> Result<()> {
        let ran = self.service.run(line, FILES_TIME).await?;
        match ran.ended {
            Ended::Exited(0) => Ok(()),
            Ended::TimedOut => Err(late(what, FILES_TIME)),
            _ => Err(Error::new(ErrorKind::Io, format!("cannot {what}: {}", shown(&ran.output)))),
        }
    }
}

fn late(what: &str, time: Duration) -> Error {
    Error::new(ErrorKind::TimedOut, format!("cannot {what}: it timed out after {} s", time.as_secs()))
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<S: FileService> Backend for ServedSandbox<S> {
    async fn resolve(&self, path: &VirtualPath, _: Symlink) -> Result<Resolved> {
        // The server follows links by itself, and does not tell.
        Ok(Resolved::literal(path.clone()))
    }

    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        self.service.entry("look at", &at.real).await
    }

    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        search::list(&self.service, &at.real, request).await
    }

    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        in_memory::slice(&at.real, &self.service.content("read", &at.real).await?, None, range)
    }

    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        scan::excerpt(&at.real, &&self.service.content("read", &at.real).await?[..], window)
    }

    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        let path = &at.real;
        let content = in_memory::collect(path, content, WRITE_BYTES).await?;
        let _one_at_a_time = self.changes.lock().await;
        let replaced = match expect {
            // What was there makes no difference, and asking would take two more calls.
            Expect::Anything => Replaced::File,
            expect => {
                let there = self.existing(path).await?;
                in_memory::check_before_write(path, there.as_deref(), expect)?;
                if there.is_some() { Replaced::File } else { Replaced::Nothing }
            }
        };
        self.service.put(path, content.clone()).await?;
        Ok(Written::new(path.clone(), Version::of(&content), replaced))
    }

    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
        let path = &at.real;
        let _one_at_a_time = self.changes.lock().await;
        let content = self.service.content("edit", path).await?;
        let in_memory::Edited { content, outcome, lines, .. } =
            in_memory::edit(path, &content, change, expect, most.min(WRITE_BYTES))?;
        self.service.put(path, content.clone()).await?;
        Ok(Changed::new(path.clone(), Version::of(&content), outcome).lines(lines))
    }

    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        let path = &at.real;
        match self.service.entry("make", path).await {
            Ok(entry) if entry.is_dir() => Ok(()),
            Ok(_) => Err(Error::already_exists("make", path)),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let line = format!("mkdir -p -- {}", quoted(path.as_str()));
                self.change_by(&format!("make `{path}`"), &line).await
            }
            Err(error) => Err(error),
        }
    }

    async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
        let path = &at.real;
        if path.parent().is_none() {
            return Err(Error::new(ErrorKind::InvalidArgument, "cannot remove `/`: it is the root"));
        }
        let entry = self.service.entry("remove", path).await?;
        let name = quoted(path.as_str());
        let line = match what {
            Removal::One if entry.is_dir() => {
                if !self.service.rows(path).await?.is_empty() {
                    return Err(Error::new(ErrorKind::NotEmpty, format!("cannot remove `{path}`: it is not empty")));
                }
                format!("rmdir -- {name}")
            }
            Removal::One => format!("rm -f -- {name}"),
            Removal::Tree => format!("rm -rf -- {name}"),
        };
        self.change_by(&format!("remove `{path}`"), &line).await
    }

    async fn rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()> {
        self.service.rename(&from.real, &to.real, if_exists).await
    }

    async fn copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written> {
        let content = self.service.content("copy", &from.real).await?;
        let expect = match if_exists {
            IfExists::Refuse => Expect::Absent,
            IfExists::Replace => Expect::Anything,
        };
        self.write(to, content.into(), expect).await
    }

    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
        search::glob(&self.service, &at.real, request).await
    }

    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
        let most = request.deadline.min(limits::SEARCH_TIME);
        match tokio::time::timeout(most, search::grep(&self.service, &at.real, request)).await {
            Ok(found) => found,
            Err(_) => Err(search::late(most)),
        }
    }

    fn host_files(&self) -> Option<&dyn HostFiles> {
        None
    }
}
