//! Implements `Sandbox` for types that forward to another sandbox, with [`workden_core::forward_backend!`] and
//! [`workden_core::forward_sandbox!`].
//!
//! Invariant: the first expression selects the other sandbox for every call, and the second converts every answer. A
//! type implements only `spawn` and `stop` itself.

/// Implements `Sandbox` for a type: `delegate!(Type, |this| target, |answer| converted answer, { spawn and stop })`.
/// The value of the first expression lives until the call returns.
#[doc(hidden)]
#[macro_export]
macro_rules! delegate {
    ($sandbox:ty, |$this:ident| $other:expr, |$answer:ident| $back:expr, { $($own:tt)* }) => {
        const _: () = {
            use workden_core::{
                BackendExt, Result, forward_backend, forward_sandbox,
                sandbox::{Process, SpawnRequest},
            };

            forward_backend! {
                impl[] for $sandbox;
                looks: [|$this| $other, |$answer| $back],
                changes: [|$this| $other, |$answer| $back],
                host_files: own
            }

            forward_sandbox! {
                impl[] for $sandbox;
                looks: [|$this| $other, |$answer| $back],
                changes: [|$this| $other, |$answer| $back],
                forward: [execute start_job jobs read_job kill_job connect_port watch usage isolation directory],
                { $($own)* }
            }
        };
    };
}

/// Implements `Sandbox` for a type with a field `keeper`: every call goes to the keeper, except `stop`, which does
/// more than one call.
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
