//! The process that stays on the host: it waits for the owner, for PID 1 and for signals, ends the sandbox when it is
//! time, and cleans up.
//!
//! Invariant: it outlives everything in the sandbox, except for a PID 1 that has reported to be the last process and
//! is exiting. It holds no descriptor of the stream, so that both ends see the other close.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::PathBuf,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{CWD, Mode, OFlags, openat},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, chdir, pidfd_open, pidfd_send_signal, wait, waitpid},
};
use workden_core::{Error, ErrorKind, limits};

use crate::sys::{confine::replace_stream, ending_signals, exit_now, forget_used_pages, new_session};
use crate::{cgroup::CreatedGroups, message::receive, reaper::descendants};

/// The most descendants that are signalled at a time.
const DESCENDANTS: usize = 32 * 1024;
/// The interval at which remaining processes are killed again.
const KILL_AGAIN: Duration = Duration::from_millis(2);
/// The time for remaining processes to end.
const ENDING: Duration = Duration::from_secs(5);

/// The message of a PID 1 that is the last process.
pub(crate) const LAST_WORD: &[u8] = b"alone";

/// The process with which a sandbox ends.
pub(crate) struct Owner(OwnedFd);

impl Owner {
    /// Returns the descriptor by which it is watched.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Opens the process. Fails when it has exited.
    pub(crate) fn open(pid: Pid) -> Result<Self, Error> {
        pidfd_open(pid, PidfdFlags::empty())
            .map(Self)
            .map_err(|_| Error::new(ErrorKind::Gone, "the sandbox cannot start: the owning process has exited"))
    }
}

/// What the lifetime of a sandbox is tied to.
#[derive(Default)]
pub(crate) struct SandboxTies {
    /// The process with which the sandbox ends.
    pub(crate) owner: Option<Owner>,
    /// A directory of the host that is removed when the sandbox has ended.
    pub(crate) directory: Option<PathBuf>,
}

impl SandboxTies {
    /// Returns ties to an owner only.
    pub(crate) fn to(owner: Owner) -> Self {
        Self { owner: Some(owner), directory: None }
    }
}

/// A sandbox and what its supervisor has to clean up.
pub(crate) struct SupervisedSandbox {
    /// PID 1 of the sandbox.
    pub(crate) first: Pid,
    /// A descriptor of it.
    pub(crate) process: OwnedFd,
    /// The channel on which PID 1 reports that it is the last process, and is exiting. It is in none of the groups
    /// then, so they can be removed without waiting for it.
    pub(crate) last_word: Option<OwnedFd>,
    /// The process with which the sandbox ends.
    pub(crate) owner: Option<Owner>,
    /// How long it may live.
    pub(crate) wall_clock: Option<Duration>,
    /// The groups to remove.
    pub(crate) groups: CreatedGroups,
    /// What remains after its end.
    pub(crate) left: Leftovers,
    /// A directory of the host that is removed with it, by which clients found it.
    pub(crate) directory: Option<PathBuf>,
}

/// What remains after the end of the first process.
pub(crate) enum Leftovers {
    /// Nothing: it was PID 1 of a namespace, and its files were in memory.
    Nothing,
    /// Descendants, which this process adopts as their subreaper, and files.
    Descendants {
        /// Removes the files of the sandbox.
        remove_files: Box<dyn FnOnce()>,
    },
}

/// Waits until the sandbox ends for any reason, cleans up and exits.
pub(crate) fn supervise(charge: SupervisedSandbox) -> ! {
    let SupervisedSandbox { first, process, mut last_word, owner, wall_clock, groups, left, directory } = charge;
    let signals = ending_signals().ok();
    release_streams();
    groups.sweep();
    forget_used_pages();
    // The keeper ends by itself at its wall clock limit; this is the fallback.
    let deadline = wall_clock.map(|time| Instant::now() + time + limits::TERM_TIME * 2);
    loop {
        let mut watched = vec![PollFd::new(&process, PollFlags::IN)];
        let others = [last_word.as_ref(), owner.as_ref().map(|owner| &owner.0), signals.as_ref()];
        watched.extend(others.into_iter().flatten().map(|other| PollFd::new(other, PollFlags::IN)));
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let left =
            left.map(|left| Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() });
        match poll(&mut watched, left.as_ref()) {
            Err(Errno::INTR) => continue,
            // PID 1 is gone, and with it its PID namespace, if it has one.
            Ok(_) if came(&watched, 0) => break,
            Ok(_) if last_word.is_some() && came(&watched, 1) => {
                // A channel that closes without the message means that PID 1 was killed: other processes may be left.
                if last_word.take().is_some_and(|line| receive(line).is_ok_and(|said| said == LAST_WORD)) {
                    groups.remove();
                    exit_now(0)
                }
            }
            // The owner is gone, a signal arrived, the time is over, or polling failed.
            _ => {
                let _ = pidfd_send_signal(&process, Signal::KILL);
                break;
            }
        }
    }
    let status = wait_for_end(first, &process);
    if let Leftovers::Descendants { remove_files } = left {
        end_descendants();
        remove_files();
    }
    groups.remove();
    if let Some(directory) = directory {
        // Removed by descriptor, without following links. A directory that remains is recognised as stale by the next
        // user.
        let _ = std::fs::remove_dir_all(directory);
    }
    exit_now(exit_code(status))
}

fn came(watched: &[PollFd<'_>], at: usize) -> bool {
    watched.get(at).is_some_and(|watched| !watched.revents().is_empty())
}

/// Waits until PID 1 is gone, and with it its PID namespace. Only its parent learns how it ended.
pub(crate) fn wait_for_end(first: Pid, process: &OwnedFd) -> Option<WaitStatus> {
    while poll(&mut [PollFd::new(process, PollFlags::IN)], None) == Err(Errno::INTR) {}
    waitpid(Some(first), WaitOptions::empty()).ok().flatten().map(|(_, status)| status)
}

/// Stops all descendants and kills them, until none is left. Gives up on processes that cannot be killed.
fn end_descendants() {
    let mut room = vec![0; DESCENDANTS];
    let began = Instant::now();
    while began.elapsed() < ENDING {
        let mut before = 0;
        // A process that forks faster than it is killed has to be stopped first.
        for _ in 0..16 {
            let found = descendants::signal_all(&mut room, &[Signal::STOP]);
            if found <= before {
                break;
            }
            before = found;
        }
        descendants::signal_all(&mut room, &[Signal::KILL]);
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        std::thread::sleep(KILL_AGAIN);
    }
}

/// Releases the streams, directory and terminal of the starting process.
pub(crate) fn release_streams() {
    // Best effort: whatever is not released is held only as long as the sandbox lives.
    let _ = chdir("/");
    let _ = new_session();
    if let Ok(null) = openat(CWD, "/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        for stream in 0..=2 {
            let _ = replace_stream(null.as_fd(), stream);
        }
    }
}

/// Returns the exit code as a shell would.
fn exit_code(status: Option<WaitStatus>) -> i32 {
    let Some(status) = status else { return 1 };
    status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal)).unwrap_or(1)
}
