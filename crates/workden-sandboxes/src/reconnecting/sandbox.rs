//! Every call of a sandbox, over a connection that may break.

use async_trait::async_trait;
use workden_core::{
    Backend, ByteRange, Changed, Content, Entry, Expect, FileIdentity, IfExists, Opened, Removal, Resolved, Result,
    Sandbox, Slice, Symlink, VirtualPath, Written,
    sandbox::{
        ExecuteRequest, Executed, Isolation, Job, JobId, JobOutput, JobRead, JobRequest, Killed, Process, SpawnRequest,
        Usage,
    },
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow},
};

use super::{Again, Connector, ReconnectingSandbox};

/// Makes a call that may be made again.
macro_rules! reading {
    ($line:ident, $remote:ident => $call:expr) => {{
        let mut again = Again::Once;
        loop {
            let $remote = $line.remote().await?;
            let answer = tokio::select! {
                biased;
                answer = $call => answer,
                why = $line.trouble(&$remote) => Err(why),
            };
            if let Some(done) = $line.judge(&$remote, answer, &mut again).await {
                break done;
            }
        }
    }};
}

/// Makes a call that may not.
macro_rules! changing {
    ($line:ident, $remote:ident => $call:expr) => {{
        let $remote = $line.remote().await?;
        let answer = tokio::select! {
            biased;
            answer = $call => answer,
            why = $line.trouble(&$remote) => Err(why),
        };
        match $line.judge(&$remote, answer, &mut Again::Never).await {
            Some(done) => done,
            None => Err(workden_core::Error::new(workden_core::ErrorKind::Unreachable, "the call broke off")),
        }
    }};
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<C: Connector> Backend for ReconnectingSandbox<C> {
    async fn resolve(&self, path: &VirtualPath, symlink: Symlink) -> Result<Resolved> {
        reading!(self, remote => remote.resolve(path, symlink))
    }
    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        reading!(self, remote => remote.stat(at))
    }
    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        reading!(self, remote => remote.list(at, request))
    }
    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        reading!(self, remote => remote.read(at, range))
    }
    async fn open(&self, at: &Resolved, most: u64) -> Result<Opened> {
        self.read(at, ByteRange::Whole { most }).await.map(|slice| Opened::Content(slice.bytes))
    }
    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        reading!(self, remote => remote.read_text(at, window))
    }
    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        changing!(self, remote => remote.write(at, content, expect))
    }
    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
        changing!(self, remote => remote.change(at, change, expect, most))
    }
    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        changing!(self, remote => remote.make_dir(at))
    }
    async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
        changing!(self, remote => remote.remove(at, what))
    }
    async fn rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()> {
        changing!(self, remote => remote.rename(from, to, if_exists))
    }
    async fn copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written> {
        changing!(self, remote => remote.copy(from, to, if_exists))
    }
    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
        reading!(self, remote => remote.glob(at, request))
    }
    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
        reading!(self, remote => remote.grep(at, request))
    }
    async fn other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>> {
        reading!(self, remote => remote.other_names(files))
    }
    async fn identify(&self, at: &Resolved) -> Result<Option<FileIdentity>> {
        reading!(self, remote => remote.identify(at))
    }
    async fn origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>> {
        reading!(self, remote => remote.origins())
    }
    async fn names_of(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>> {
        reading!(self, remote => remote.names_of(files))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<C: Connector> Sandbox for ReconnectingSandbox<C> {
    async fn execute(&self, request: &ExecuteRequest) -> Result<Executed> {
        changing!(self, remote => remote.execute(request))
    }
    async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
        changing!(self, remote => remote.spawn(request))
    }
    async fn start_job(&self, request: &JobRequest) -> Result<Job> {
        changing!(self, remote => remote.start_job(request))
    }
    async fn jobs(&self) -> Result<Vec<Job>> {
        reading!(self, remote => remote.jobs())
    }
    async fn read_job(&self, id: &JobId, read: &JobRead) -> Result<JobOutput> {
        reading!(self, remote => remote.read_job(id, read))
    }
    async fn kill_job(&self, id: &JobId) -> Result<Killed> {
        reading!(self, remote => remote.kill_job(id))
    }
    async fn usage(&self) -> Result<Usage> {
        reading!(self, remote => remote.usage())
    }
    async fn isolation(&self) -> Result<Isolation> {
        let seen = reading!(self, remote => remote.isolation())?;
        self.connector.report(seen).await
    }
    async fn directory(&self) -> Result<VirtualPath> {
        reading!(self, remote => remote.directory())
    }
    async fn stop(&self) -> Result<()> {
        self.end().await
    }
}
