//! A handle on a process that never means another process, even when its pid is reused: a pidfd.
//!
//! Only Linux has them, and only there are keepers started as child processes.

#[cfg(target_os = "linux")]
pub(super) use linux::ProcessHandle;
#[cfg(not(target_os = "linux"))]
pub(super) use unsupported::ProcessHandle;

#[cfg(target_os = "linux")]
mod linux {
    use std::{future::Future, io, os::fd::OwnedFd};

    use rustix::{
        io::Errno,
        process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
    };
    use tokio::io::{Interest, unix::AsyncFd};

    #[derive(Debug)]
    pub(in crate::keeper) struct ProcessHandle(OwnedFd);

    impl ProcessHandle {
        pub(in crate::keeper) fn open(pid: u32) -> io::Result<Self> {
            let pid = Pid::from_raw(pid.cast_signed()).ok_or(Errno::SRCH)?;
            Ok(Self(pidfd_open(pid, PidfdFlags::NONBLOCK)?))
        }

        /// Returns a future that completes when the process has exited.
        pub(in crate::keeper) fn exited(&self) -> io::Result<impl Future<Output = io::Result<()>> + Send + use<>> {
            #[expect(
                deprecated,
                reason = "the new way is unsafe for what can change its descriptor, and an `OwnedFd` cannot"
            )]
            let watched = AsyncFd::with_interest(self.0.try_clone()?, Interest::READABLE)?;
            Ok(async move { watched.readable().await.map(drop) })
        }

        /// Sends a signal. A process that has exited receives none.
        pub(in crate::keeper) fn signal(&self, signal: Signal) {
            let _ = pidfd_send_signal(&self.0, signal);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod unsupported {
    use std::{convert::Infallible, future::Future, io};

    use rustix::process::Signal;

    #[derive(Debug)]
    pub(in crate::keeper) struct ProcessHandle(Infallible);

    impl ProcessHandle {
        pub(in crate::keeper) fn open(_pid: u32) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in crate::keeper) fn exited(&self) -> io::Result<impl Future<Output = io::Result<()>> + Send + use<>> {
            let Self(never) = *self;
            match never {}
            #[expect(unreachable_code, reason = "names the type of the future")]
            Ok(std::future::pending())
        }

        pub(in crate::keeper) fn signal(&self, _signal: Signal) {
            match self.0 {}
        }
    }
}
