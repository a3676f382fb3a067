//! A sandbox that is a keeper: every call goes to the keeper, but stopping, which is more than a call.

/// Makes a type with a field `keeper` a `Sandbox`.
macro_rules! delegate {
    ($sandbox:ty) => {
        const _: () = {
            use async_trait::async_trait;
            use workden_core::{
                Backend, ByteRange, Changed, Content, Entry, Existing, Expect, FileIdentity, Last, Removal, Resolved,
                Result, Sandbox, Slice, VirtualPath, Written,
                sandbox::{
                    ExecuteRequest, Executed, Isolation, Job, JobId, JobOutput, JobRead, JobRequest, Killed, Process,
                    SpawnRequest, Usage,
                },
                search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
                text::{Change, Excerpt, TextWindow},
            };

            #[async_trait]
            #[deny(clippy::missing_trait_methods)]
            impl Backend for $sandbox {
                async fn resolve(&self, path: &VirtualPath, last: Last) -> Result<Resolved> {
                    self.keeper.remote.resolve(path, last).await
                }
                async fn stat(&self, at: &Resolved) -> Result<Entry> {
                    self.keeper.remote.stat(at).await
                }
                async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
                    self.keeper.remote.list(at, request).await
                }
                async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
                    self.keeper.remote.read(at, range).await
                }
                async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
                    self.keeper.remote.read_text(at, window).await
                }
                async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
                    self.keeper.remote.write(at, content, expect).await
                }
                async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
                    self.keeper.remote.change(at, change, expect, most).await
                }
                async fn make_dir(&self, at: &Resolved) -> Result<()> {
                    self.keeper.remote.make_dir(at).await
                }
                async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
                    self.keeper.remote.remove(at, what).await
                }
                async fn rename(&self, from: &Resolved, to: &Resolved, existing: Existing) -> Result<()> {
                    self.keeper.remote.rename(from, to, existing).await
                }
                async fn copy(&self, from: &Resolved, to: &Resolved, existing: Existing) -> Result<Written> {
                    self.keeper.remote.copy(from, to, existing).await
                }
                async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
                    self.keeper.remote.glob(at, request).await
                }
                async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
                    self.keeper.remote.grep(at, request).await
                }
                async fn other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>> {
                    self.keeper.remote.other_names(files).await
                }
                async fn identify(&self, at: &Resolved) -> Result<Option<FileIdentity>> {
                    self.keeper.remote.identify(at).await
                }
                async fn origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>> {
                    self.keeper.remote.origins().await
                }
                async fn names_of(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>> {
                    self.keeper.remote.names_of(files).await
                }
            }

            #[async_trait]
            #[deny(clippy::missing_trait_methods)]
            impl Sandbox for $sandbox {
                async fn execute(&self, request: &ExecuteRequest) -> Result<Executed> {
                    self.keeper.remote.execute(request).await
                }
                async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
                    self.keeper.remote.spawn(request).await
                }
                async fn start_job(&self, request: &JobRequest) -> Result<Job> {
                    self.keeper.remote.start_job(request).await
                }
                async fn jobs(&self) -> Result<Vec<Job>> {
                    self.keeper.remote.jobs().await
                }
                async fn read_job(&self, id: &JobId, read: &JobRead) -> Result<JobOutput> {
                    self.keeper.remote.read_job(id, read).await
                }
                async fn kill_job(&self, id: &JobId) -> Result<Killed> {
                    self.keeper.remote.kill_job(id).await
                }
                async fn usage(&self) -> Result<Usage> {
                    self.keeper.remote.usage().await
                }
                async fn isolation(&self) -> Result<Isolation> {
                    self.keeper.remote.isolation().await
                }
                async fn directory(&self) -> Result<VirtualPath> {
                    self.keeper.remote.directory().await
                }
                async fn stop(&self) -> Result<()> {
                    self.keeper.stop().await
                }
            }
        };
    };
}

pub(crate) use delegate;
