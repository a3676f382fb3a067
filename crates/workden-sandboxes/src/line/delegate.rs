//! A sandbox at the end of a line: every call goes over it, but the report of isolation, to which whoever made the
//! sandbox has something to add.

/// Makes a type with a field `line` and a method `report` a `Sandbox`.
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
                    self.line.resolve(path, last).await
                }
                async fn stat(&self, at: &Resolved) -> Result<Entry> {
                    self.line.stat(at).await
                }
                async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
                    self.line.list(at, request).await
                }
                async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
                    self.line.read(at, range).await
                }
                async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
                    self.line.read_text(at, window).await
                }
                async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
                    self.line.write(at, content, expect).await
                }
                async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
                    self.line.change(at, change, expect, most).await
                }
                async fn make_dir(&self, at: &Resolved) -> Result<()> {
                    self.line.make_dir(at).await
                }
                async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
                    self.line.remove(at, what).await
                }
                async fn rename(&self, from: &Resolved, to: &Resolved, existing: Existing) -> Result<()> {
                    self.line.rename(from, to, existing).await
                }
                async fn copy(&self, from: &Resolved, to: &Resolved, existing: Existing) -> Result<Written> {
                    self.line.copy(from, to, existing).await
                }
                async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
                    self.line.glob(at, request).await
                }
                async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
                    self.line.grep(at, request).await
                }
                async fn other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>> {
                    self.line.other_names(files).await
                }
                async fn identify(&self, at: &Resolved) -> Result<Option<FileIdentity>> {
                    self.line.identify(at).await
                }
                async fn origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>> {
                    self.line.origins().await
                }
                async fn names_of(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>> {
                    self.line.names_of(files).await
                }
            }

            #[async_trait]
            #[deny(clippy::missing_trait_methods)]
            impl Sandbox for $sandbox {
                async fn execute(&self, request: &ExecuteRequest) -> Result<Executed> {
                    self.line.execute(request).await
                }
                async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
                    self.line.spawn(request).await
                }
                async fn start_job(&self, request: &JobRequest) -> Result<Job> {
                    self.line.start_job(request).await
                }
                async fn jobs(&self) -> Result<Vec<Job>> {
                    self.line.jobs().await
                }
                async fn read_job(&self, id: &JobId, read: &JobRead) -> Result<JobOutput> {
                    self.line.read_job(id, read).await
                }
                async fn kill_job(&self, id: &JobId) -> Result<Killed> {
                    self.line.kill_job(id).await
                }
                async fn usage(&self) -> Result<Usage> {
                    self.line.usage().await
                }
                async fn isolation(&self) -> Result<Isolation> {
                    self.report().await
                }
                async fn directory(&self) -> Result<VirtualPath> {
                    self.line.directory().await
                }
                async fn stop(&self) -> Result<()> {
                    Sandbox::stop(&*self.line).await
                }
            }
        };
    };
}

pub(crate) use delegate;
