//! Limits of inotify. The kernel charges the instances and watches of a user namespace to the user who made it, who
//! would be left without any: `tail -F`, systemd and editors use them. Each user namespace has limits of its own below
//! those of its maker.

use std::os::fd::OwnedFd;

use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    io::{Errno, write},
};

/// Instances of all commands together; the usual limit of a user is 128.
const INSTANCES: &str = "32";
/// Watched files and directories of all commands together, each about a kilobyte of the kernel's memory.
const WATCHES: &str = "65536";

/// The host's `/proc/sys/user`, where a process finds the limits of its own user namespace.
pub(super) struct NamespaceLimits(Result<OwnedFd, Errno>);

impl NamespaceLimits {
    /// Opens it, while the host can be seen.
    pub(super) fn open() -> Self {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Self(openat(CWD, "/proc/sys/user", flags, Mode::empty()))
    }

    /// Limits inotify in the user namespace of this process, which must have all rights there. Returns what cannot be
    /// limited: in a container `/proc/sys` is often read-only.
    pub(super) fn limit_inotify(self) -> Option<String> {
        let limited = self.0.and_then(|directory| {
            for (name, most) in [("max_inotify_instances", INSTANCES), ("max_inotify_watches", WATCHES)] {
                let file = openat(&directory, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
                write(file, most.as_bytes())?;
            }
            Ok(())
        });
        let lacking = "commands can use up the inotify instances of the user who started the sandbox";
        limited.err().map(|_| lacking.to_owned())
    }
}
