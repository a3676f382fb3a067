//! Macros that forward all calls of a type to another backend or sandbox. A type defines how one call is made, and
//! writes by hand only the calls that differ.

/// Implements [`Backend`](crate::Backend) for a type that forwards its calls.
///
/// `looks` and `changes` define how one call is made, for calls that read and for calls that change something. Each is
/// the name of a macro that is invoked as `name!(self, method(arguments))`, or `[|this| receiver, |answer| answer]`:
/// the receiver of the call, which lives until the call has returned, and a function of the answer. `host_files` is the
/// answer of [`Backend::host_files`](crate::Backend::host_files); with `host_files: own` the type implements
/// [`HostFiles`](crate::HostFiles) itself and forwards its calls in the same ways; the calling module then imports
/// [`BackendExt`](crate::BackendExt).
///
/// ```
/// use workden_core::{Backend, forward_backend};
///
/// #[derive(Debug)]
/// struct Counted<B> {
///     inner: B,
///     calls: std::sync::atomic::AtomicU64,
/// }
///
/// macro_rules! counted {
///     ($this:ident, $method:ident($($argument:expr),*)) => {{
///         $this.calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
///         $this.inner.$method($($argument),*).await
///     }};
/// }
///
/// forward_backend! {
///     impl[B: Backend] for Counted<B>;
///     looks: counted, changes: counted, host_files: |this| this.inner.host_files()
/// }
/// ```
#[macro_export]
macro_rules! forward_backend {
    (
        impl[$($generics:tt)*] for $type:ty;
        looks: $look:tt, changes: $change:tt, host_files: own
    ) => {
        $crate::forward_backend! {
            impl[$($generics)*] for $type;
            looks: $look, changes: $change, host_files: |this| Some(this)
        }

        #[$crate::__private::async_trait]
        impl<$($generics)*> $crate::HostFiles for $type {
            async fn open_file(&self, at: &$crate::Resolved, most: u64) -> $crate::Result<$crate::Opened> {
                $crate::__forward_call!($look self open(at, most))
            }

            async fn read_attributes(&self, at: &$crate::Resolved, prefix: &str) -> $crate::Result<$crate::Attributes> {
                $crate::__forward_call!($look self attributes(at, prefix))
            }

            async fn write_attributes(
                &self,
                at: &$crate::Resolved,
                attributes: &$crate::Attributes,
            ) -> $crate::Result<()> {
                $crate::__forward_call!($change self set_attributes(at, attributes))
            }

            async fn find_other_names(&self, files: &[$crate::Resolved]) -> $crate::Result<Vec<Vec<$crate::VirtualPath>>> {
                $crate::__forward_call!($look self other_names(files))
            }

            async fn find_identity(&self, at: &$crate::Resolved) -> $crate::Result<Option<$crate::FileIdentity>> {
                $crate::__forward_call!($look self identify(at))
            }

            async fn find_origins(&self) -> $crate::Result<Vec<($crate::VirtualPath, $crate::FileIdentity)>> {
                $crate::__forward_call!($look self origins())
            }

            async fn find_names(
                &self,
                files: &[$crate::FileIdentity],
            ) -> $crate::Result<Vec<Vec<$crate::VirtualPath>>> {
                $crate::__forward_call!($look self names_of(files))
            }
        }
    };
    (
        impl[$($generics:tt)*] for $type:ty;
        looks: $look:tt, changes: $change:tt, host_files: |$this:ident| $host_files:expr
    ) => {
        #[$crate::__private::async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<$($generics)*> $crate::Backend for $type {
            async fn resolve(
                &self,
                path: &$crate::VirtualPath,
                symlink: $crate::Symlink,
            ) -> $crate::Result<$crate::Resolved> {
                $crate::__forward_call!($look self resolve(path, symlink))
            }

            async fn stat(&self, at: &$crate::Resolved) -> $crate::Result<$crate::Entry> {
                $crate::__forward_call!($look self stat(at))
            }

            async fn list(
                &self,
                at: &$crate::Resolved,
                request: &$crate::search::ListRequest,
            ) -> $crate::Result<$crate::search::Listing> {
                $crate::__forward_call!($look self list(at, request))
            }

            async fn read(&self, at: &$crate::Resolved, range: $crate::ByteRange) -> $crate::Result<$crate::Slice> {
                $crate::__forward_call!($look self read(at, range))
            }

            async fn read_text(
                &self,
                at: &$crate::Resolved,
                window: $crate::text::TextWindow,
            ) -> $crate::Result<$crate::text::Excerpt> {
                $crate::__forward_call!($look self read_text(at, window))
            }

            async fn write(
                &self,
                at: &$crate::Resolved,
                content: $crate::Content,
                expect: $crate::Expect,
            ) -> $crate::Result<$crate::Written> {
                $crate::__forward_call!($change self write(at, content, expect))
            }

            async fn change(
                &self,
                at: &$crate::Resolved,
                change: &$crate::text::Change,
                expect: $crate::Expect,
                most: u64,
            ) -> $crate::Result<$crate::Changed> {
                $crate::__forward_call!($change self change(at, change, expect, most))
            }

            async fn make_dir(&self, at: &$crate::Resolved) -> $crate::Result<()> {
                $crate::__forward_call!($change self make_dir(at))
            }

            async fn remove(&self, at: &$crate::Resolved, what: $crate::Removal) -> $crate::Result<()> {
                $crate::__forward_call!($change self remove(at, what))
            }

            async fn rename(
                &self,
                from: &$crate::Resolved,
                to: &$crate::Resolved,
                if_exists: $crate::IfExists,
            ) -> $crate::Result<()> {
                $crate::__forward_call!($change self rename(from, to, if_exists))
            }

            async fn copy(
                &self,
                from: &$crate::Resolved,
                to: &$crate::Resolved,
                if_exists: $crate::IfExists,
            ) -> $crate::Result<$crate::Written> {
                $crate::__forward_call!($change self copy(from, to, if_exists))
            }

            async fn glob(
                &self,
                at: &$crate::Resolved,
                request: &$crate::search::GlobRequest,
            ) -> $crate::Result<$crate::search::Globbed> {
                $crate::__forward_call!($look self glob(at, request))
            }

            async fn grep(
                &self,
                at: &$crate::Resolved,
                request: &$crate::search::GrepRequest,
            ) -> $crate::Result<$crate::search::Grepped> {
                $crate::__forward_call!($look self grep(at, request))
            }

            fn host_files(&self) -> Option<&dyn $crate::HostFiles> {
                let $this = self;
                $host_files
            }
        }
    };
}

/// Implements [`Sandbox`](crate::Sandbox) for a type that forwards most of its calls.
///
/// `looks` and `changes` are as for [`forward_backend!`]; `forward` lists the methods to forward, and the block
/// implements the others.
///
/// ```ignore
/// forward_sandbox! {
///     impl[] for LazySandbox;
///     looks: started, changes: started,
///     forward: [execute spawn start_job read_job kill_job connect_port watch usage isolation],
///     {
///         async fn jobs(&self) -> Result<Vec<Job>> { .. }
///         async fn directory(&self) -> Result<VirtualPath> { .. }
///         async fn stop(&self) -> Result<()> { .. }
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward_sandbox {
    (
        impl[$($generics:tt)*] for $type:ty;
        looks: $look:tt, changes: $change:tt,
        forward: [$($method:ident)*], { $($own:tt)* }
    ) => {
        $crate::forward_sandbox!(@next [$($generics)*] [$type] $look $change [$($method)*] { $($own)* });
    };
    (@next [$($generics:tt)*] [$type:ty] $look:tt $change:tt [] { $($done:tt)* }) => {
        #[$crate::__private::async_trait]
        #[deny(clippy::missing_trait_methods)]
        impl<$($generics)*> $crate::Sandbox for $type {
            $($done)*
        }
    };
    (@next [$($generics:tt)*] [$type:ty] $look:tt $change:tt [execute $($rest:ident)*] { $($done:tt)* }) => {
        $crate::forward_sandbox!(@next [$($generics)*] [$type] $look $change [$($rest)*] {
            $($done)*
            async fn execute(
                &self,
                request: &$crate::sandbox::ExecuteRequest,
            ) -> $crate::Result<$crate::sandbox::Executed> {
                $crate::__forward_call!($change self execute(request))
            }
        });
    };
    (@next [$($generics:tt)*] [$type:ty] $look:tt $change:tt [spawn $($rest:ident)*] { $($done:tt)* }) => {
        $crate::forward_sandbox!(@next [$($generics)*] [$type] $look $change [$($rest)*] {
            $($done)*
            async fn spawn(
                &self,
                request: &$crate::sandbox::SpawnRequest,
            ) -> $crate::Result<$crate::sandbox::Process> {
                $crate::__forward_call!($change self spawn(request))
            }
        });
    };
    (@next [$($generics:tt)*] [$type:ty] $look:tt $change:tt [start_job $($rest:ident)*] { $($done:tt)* }) => {
        $crate::forward_sandbox!(@next [$($generics)*] [$type] $look $change [$($rest)*] {
            $($done)*
            async fn start_job(&self, request: &$crate::sandbox::JobRequest) -> $crate::Result<$crate::sandbox::Job> {
                $crate::__forward_call!($change self start_job(request))
            }
        });
    };
    (@next [$($generics:tt)*] [$type:ty] $look:tt $change:tt [jobs $($rest:ident)*] { $($done:tt)* }) => {
        $crate::forward_sandbox!(@next [$($generics)*] [$type] $look $change [$($rest)*] {
            $($done)*
            async fn jobs(&self) -> $crate::Result<Vec<$crate::sandbox::Job>> {
                $crate::__forward_call!($look self jobs())
            }
        });
    };
    (@next [$($generics:tt)*] [$type:ty] $look:tt $change:tt [read_job $($rest:ident)*] { $($done:tt)* }) => {
        $crate::forward_sandbox!(@next [$($generics)*] [$type] $look $change [$($rest)*] {
            $($done)*
            async fn read_job(
                &self,
                id: &$crate::sandbox::JobId,
                read: &$crate::sandbox::JobRead,
            ) -> $crate::Result<$crate::sandbox::JobOutput> {
                $crate::__forward_call!($look self read_job(id, read))
            }
        });
    };
    (@next [$($generics:tt)*] [$type:ty] $look:tt $change:tt [kill_job $($rest:ident)*] { $($done:tt)* }) => {
        $crate::forward_sandbox!(@next [$($generics)*] [$type] $look $change [$($rest)*] {
            $($done)*
            async fn kill_job(&self, id: &$crate::sandbox::JobId) -> $crate::Result<$crate::sandbox::Killed> {
                $crate::__forward_call!($look self kill_job(id))
            }
        });
    };
    (@next [$($generics:tt)*] [$type:ty] $look:tt $change:tt [connect_port $($rest:ident)*] { $($done:tt)* }) => {
        $crate::forward_sandbox!(@next [$($generics)*] [$type] $look $change [$($rest)*] {
            $($done)*
            async fn connect_port(&self, port: u16) -> $crate::Result<$crate::sandbox::PortStream> {
                $crate::__forward_call!($change self connect_port(port))
            }
        });
    };
    (@next [$($generics:tt)*] [$type:ty] $look:tt $change:tt [watch $($rest:ident)*] { $($done:tt)* }) => {
        $crate::forward_sandbox!(@next [$($generics)*] [$type] $look $change [$($rest)*] {
            $($done)*
            async fn watch(
                &self,
                at: &$crate::Resolved,
                request: &$crate::sandbox::WatchRequest,
            ) -> $crate::Result<$crate::sandbox::FileEvents> {
                $crate::__forward_call!($look self watch(at, request))
            }
        });
    };
    (@next [$($generics:tt)*] [$type:ty] $look:tt $change:tt [usage $($rest:ident)*] { $($done:tt)* }) => {
        $crate::forward_sandbox!(@next [$($generics)*] [$type] $look $change [$($rest)*] {
            $($done)*
            async fn usage(&self) -> $crate::Result<$crate::sandbox::Usage> {
                $crate::__forward_call!($look self usage())
            }
        });
    };
    (@next [$($generics:tt)*] [$type:ty] $look:tt $change:tt [isolation $($rest:ident)*] { $($done:tt)* }) => {
        $crate::forward_sandbox!(@next [$($generics)*] [$type] $look $change [$($rest)*] {
            $($done)*
            async fn isolation(&self) -> $crate::Result<$crate::sandbox::Isolation> {
                $crate::__forward_call!($look self isolation())
            }
        });
    };
    (@next [$($generics:tt)*] [$type:ty] $look:tt $change:tt [directory $($rest:ident)*] { $($done:tt)* }) => {
        $crate::forward_sandbox!(@next [$($generics)*] [$type] $look $change [$($rest)*] {
            $($done)*
            async fn directory(&self) -> $crate::Result<$crate::VirtualPath> {
                $crate::__forward_call!($look self directory())
            }
        });
    };
    (@next [$($generics:tt)*] [$type:ty] $look:tt $change:tt [stop $($rest:ident)*] { $($done:tt)* }) => {
        $crate::forward_sandbox!(@next [$($generics)*] [$type] $look $change [$($rest)*] {
            $($done)*
            async fn stop(&self) -> $crate::Result<()> {
                $crate::__forward_call!($change self stop())
            }
        });
    };
}

/// Makes one call in the way that the forwarding macro was given.
#[doc(hidden)]
#[macro_export]
macro_rules! __forward_call {
    ($make:ident $self:ident $method:ident($($argument:expr),*)) => {
        $make!($self, $method($($argument),*))
    };
    ([|$this:ident| $receiver:expr, |$answer:ident| $back:expr] $self:ident $method:ident($($argument:expr),*)) => {{
        let $this = $self;
        let receiver = $receiver;
        let $answer = receiver.$method($($argument),*).await;
        $back
    }};
}

mod pointers {
    use std::sync::Arc;

    use crate::{Backend, Sandbox};

    crate::forward_backend! {
        impl[B: Backend + ?Sized] for Arc<B>;
        looks: [|this| &**this, |answer| answer], changes: [|this| &**this, |answer| answer], host_files: |this| (**this).host_files()
    }

    crate::forward_backend! {
        impl[B: Backend + ?Sized] for Box<B>;
        looks: [|this| &**this, |answer| answer], changes: [|this| &**this, |answer| answer], host_files: |this| (**this).host_files()
    }

    crate::forward_sandbox! {
        impl[S: Sandbox + ?Sized] for Arc<S>;
        looks: [|this| &**this, |answer| answer], changes: [|this| &**this, |answer| answer],
        forward: [execute spawn start_job jobs read_job kill_job connect_port watch usage isolation directory stop], {}
    }

    crate::forward_sandbox! {
        impl[S: Sandbox + ?Sized] for Box<S>;
        looks: [|this| &**this, |answer| answer], changes: [|this| &**this, |answer| answer],
        forward: [execute spawn start_job jobs read_job kill_job connect_port watch usage isolation directory stop], {}
    }
}
