//! A sandbox that hands its calls on to another: the one place where all of them are listed.
//!
//! Invariant: every call takes the same way, by the expression that names the other sandbox, and its answer
//! comes back by the second one. Only what a type writes itself is different: `spawn` and `stop`.

/// Makes a type a `Sandbox`: `delegate!(Type, |this| whom to ask, |answer| what to answer, { spawn and stop })`.
/// What the first expression gives lives until the answer is there.
#[doc(hidden)]
#[macro_export]
macro_rules! delegate {
    (@ask ($self:ident, $this:ident, $other:expr, $answer:ident, $back:expr) $call:ident($($argument:expr),*)) => {{
        let $this = $self;
        let other = $other;
        let $answer = other.$call($($argument),*).await;
        $back
    }};
    ($sandbox:ty, |$this:ident| $other:expr, |$answer:ident| $back:expr, { $($own:tt)* }) => {
        const _: () = {
            use async_trait::async_trait;
            use workden_core::{
                Backend, ByteRange, Changed, Content, Entry, Expect, FileIdentity, IfExists, Opened, Removal, Resolved,
                Result, Sandbox, Slice, Symlink, VirtualPath, Written,
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
                async fn resolve(&self, path: &VirtualPath, symlink: Symlink) -> Result<Resolved> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) resolve(path, symlink))
                }
                async fn stat(&self, at: &Resolved) -> Result<Entry> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) stat(at))
                }
                async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) list(at, request))
                }
                async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) read(at, range))
                }
                async fn open(&self, at: &Resolved, most: u64) -> Result<Opened> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) open(at, most))
                }
                async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) read_text(at, window))
                }
                async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) write(at, content, expect))
                }
                async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) change(at, change, expect, most))
                }
                async fn make_dir(&self, at: &Resolved) -> Result<()> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) make_dir(at))
                }
                async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) remove(at, what))
                }
                async fn rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) rename(from, to, if_exists))
                }
                async fn copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) copy(from, to, if_exists))
                }
                async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) glob(at, request))
                }
                async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) grep(at, request))
                }
                async fn other_names(&self, files: &[Resolved]) -> Result<Vec<Vec<VirtualPath>>> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) other_names(files))
                }
                async fn identify(&self, at: &Resolved) -> Result<Option<FileIdentity>> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) identify(at))
                }
                async fn origins(&self) -> Result<Vec<(VirtualPath, FileIdentity)>> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) origins())
                }
                async fn names_of(&self, files: &[FileIdentity]) -> Result<Vec<Vec<VirtualPath>>> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) names_of(files))
                }
            }

            #[async_trait]
            #[deny(clippy::missing_trait_methods)]
            impl Sandbox for $sandbox {
                async fn execute(&self, request: &ExecuteRequest) -> Result<Executed> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) execute(request))
                }
                async fn start_job(&self, request: &JobRequest) -> Result<Job> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) start_job(request))
                }
                async fn jobs(&self) -> Result<Vec<Job>> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) jobs())
                }
                async fn read_job(&self, id: &JobId, read: &JobRead) -> Result<JobOutput> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) read_job(id, read))
                }
                async fn kill_job(&self, id: &JobId) -> Result<Killed> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) kill_job(id))
                }
                async fn usage(&self) -> Result<Usage> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) usage())
                }
                async fn isolation(&self) -> Result<Isolation> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) isolation())
                }
                async fn directory(&self) -> Result<VirtualPath> {
                    $crate::delegate!(@ask (self, $this, $other, $answer, $back) directory())
                }
                $($own)*
            }
        };
    };
}

/// Makes a type with a field `keeper` a `Sandbox`: every call goes to the keeper, but stopping, which is more
/// than a call.
macro_rules! delegate_to_keeper {
    ($sandbox:ty) => {
        $crate::delegate!($sandbox, |this| &this.keeper.remote, |answer| answer, {
            async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
                self.keeper.remote.spawn(request).await
            }
            async fn stop(&self) -> Result<()> {
                self.keeper.stop().await
            }
        });
    };
}

pub(crate) use delegate_to_keeper;
