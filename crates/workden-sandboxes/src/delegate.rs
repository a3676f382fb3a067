//! A sandbox that hands its calls on to another, by [`workden_core::forward_backend!`] and
//! [`workden_core::forward_sandbox!`].
//!
//! Invariant: every call takes the same way, by the expression that names the other sandbox, and its answer
//! comes back by the second one. Only what a type writes itself is different: `spawn` and `stop`.

/// Makes a type a `Sandbox`: `delegate!(Type, |this| whom to ask, |answer| what to answer, { spawn and stop })`.
/// What the first expression gives lives until the answer is there.
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
                forward: [execute start_job jobs read_job kill_job usage isolation directory],
                { $($own)* }
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
