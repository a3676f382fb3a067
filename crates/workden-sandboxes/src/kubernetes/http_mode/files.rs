//! Files, over the routes of the protocol.
//!
//! The server sends files as text. Content that does not have the size that the server lists was changed on the way:
//! such a file is refused, so that no read returns other bytes than the file has, and no edit loses any.

use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use workden_core::{
    Backend, ByteRange, Changed, Content, Entry, Error, ErrorKind, Expect, HostFiles, IfExists, Removal, Replaced,
    Resolved, Result, Slice, Symlink, Version, VirtualPath, Written, directory_entry, limits,
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow, scan},
};
use workden_files::toolkit::in_memory;

use super::{HttpPod, commands::quoted, messages, rows, search, server::CallLimits};

/// The most bytes of a file that is written. The request holds them in base64.
const WRITE_BYTES: u64 = 64 * 1024 * 1024;

impl HttpPod {
    /// Lists a directory, as the server does. A missing directory may be an empty list, or an error.
    pub(super) async fn rows(&self, directory: &VirtualPath) -> Result<Vec<Entry>> {
        let path = directory.to_string();
        let rows = self
            .call(async |server| server.ask("/ls", &messages::ListRequest { path: &path }, CallLimits::FILES).await)
            .await;
        match rows {
            Ok(rows) => Ok(rows::of_directory(directory, rows)),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(Error::not_found("list", directory)),
            Err(error) => Err(error),
        }
    }

    /// Returns one file or directory, as the listing of its directory shows it.
    pub(super) async fn entry_at(&self, verb: &str, path: &VirtualPath) -> Result<Entry> {
        let Some(parent) = path.parent() else { return Ok(directory_entry(path.clone())) };
        let listed = match self.rows(&parent).await {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            listed => listed?,
        };
        listed.into_iter().find(|entry| entry.path == *path).ok_or_else(|| Error::not_found(verb, path))
    }

    /// Returns the content of a file.
    pub(super) async fn content(&self, verb: &str, path: &VirtualPath) -> Result<Bytes> {
        let name = path.to_string();
        let read = self.call(async |server| {
            let request = messages::ReadRequest { path: &name, offset: 0, limit: messages::ALL_LINES };
            server.ask::<_, messages::ReadAnswer>("/read", &request, CallLimits::FILES).await
        });
        let (read, entry) = tokio::join!(read, self.entry_at(verb, path));
        let entry = entry?;
        if entry.is_dir() {
            return Err(Error::is_directory(verb, path));
        }
        let content = match read {
            Ok(answer) => Bytes::from(answer.content.unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(Error::not_found(verb, path)),
            Err(error) => return Err(error),
        };
        match entry.size {
            Some(size) if size != content.len() as u64 => {
                let sentence = format!("cannot {verb} `{path}`: the server in the pod does not send its exact bytes");
                Err(Error::new(ErrorKind::NotText, sentence)
                    .hint(format!("it may not be UTF-8: use a command, such as `base64 {}`", quoted(&name))))
            }
            _ => Ok(content),
        }
    }

    async fn put(&self, path: &VirtualPath, content: &[u8]) -> Result<()> {
        let name = path.to_string();
        let request = messages::WriteRequest { path: &name, content_b64: STANDARD.encode(content) };
        self.call(async |server| server.tell("/write", &request).await).await
    }

    /// Returns the content of a file if there is one.
    async fn existing(&self, path: &VirtualPath) -> Result<Option<Bytes>> {
        match self.content("write", path).await {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Runs a command that changes files.
    async fn change_by(&self, what: &str, line: &str) -> Result<()> {
        let (output, code) = self.run(line, CallLimits::FILES.time).await?;
        if code == 0 {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Io, format!("cannot {what}: {}", super::super::errors::shown(&output))))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for HttpPod {
    async fn resolve(&self, path: &VirtualPath, _: Symlink) -> Result<Resolved> {
        // The server follows links by itself, and does not tell.
        Ok(Resolved::literal(path.clone()))
    }

    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        self.entry_at("look at", &at.real).await
    }

    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        search::list(self, &at.real, request).await
    }

    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        in_memory::slice(&at.real, &self.content("read", &at.real).await?, None, range)
    }

    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        scan::excerpt(&at.real, &&self.content("read", &at.real).await?[..], window)
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
        self.put(path, &content).await?;
        Ok(Written::new(path.clone(), Version::of(&content), replaced))
    }

    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
        let path = &at.real;
        let _one_at_a_time = self.changes.lock().await;
        let content = self.content("edit", path).await?;
        let in_memory::Edited { content, outcome, lines, .. } =
            in_memory::edit(path, &content, change, expect, most.min(WRITE_BYTES))?;
        self.put(path, &content).await?;
        Ok(Changed::new(path.clone(), Version::of(&content), outcome).lines(lines))
    }

    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        let path = &at.real;
        match self.entry_at("make", path).await {
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
        let entry = self.entry_at("remove", path).await?;
        let name = quoted(path.as_str());
        let line = match what {
            Removal::One if entry.is_dir() => {
                if !self.rows(path).await?.is_empty() {
                    return Err(Error::new(ErrorKind::NotEmpty, format!("cannot remove `{path}`: it is not empty")));
                }
                format!("rmdir -- {name}")
            }
            Removal::One => format!("rm -f -- {name}"),
            Removal::Tree => format!("rm -rf -- {name}"),
        };
        self.change_by(&format!("remove `{path}`"), &line).await
    }

    async fn rename(&self, from: &Resolved, _: &Resolved, _: IfExists) -> Result<()> {
        // A command cannot check and rename in one step on every image.
        let sentence = format!("cannot move `{}`: moving is not supported with the HTTP mode", from.real);
        Err(Error::new(ErrorKind::Unsupported, sentence).hint("use the command `mv`"))
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
        let most = request.deadline.min(limits::SEARCH_TIME);
        match tokio::time::timeout(most, search::grep(self, &at.real, request)).await {
            Ok(found) => found,
            Err(_) => {
                let sentence = format!("search timed out after {} s", most.as_secs());
                Err(Error::new(ErrorKind::TimedOut, sentence).hint("search in a smaller directory"))
            }
        }
    }

    fn host_files(&self) -> Option<&dyn HostFiles> {
        None
    }
}
