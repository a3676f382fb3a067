//! The process that stays on the host: it waits for the owner, for PID 1 and for signals, ends the
//! sandbox when it is time, and leaves nothing of it behind.
//!
//! Invariant: it outlives everything in the sandbox, but for a first process that has said that it is the
//! last one and is on its way out. It holds no descriptor of the stream, so that
//! both ends see the end of the other.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::PathBuf,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{CWD, Mode, OFlags, openat},
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, chdir, pidfd_open, pidfd_send_signal, setsid, wait, waitpid,
    },
};
use workden_core::{Error, ErrorKind, limits};

use crate::sys::{confine::replace_stream, ending_signals, exit_now, forget_used_pages};
use crate::{cgroup::CreatedGroups, message::receive, reaper::descendants};

/// Ids of descendants that are signalled at a time.
const DESCENDANTS: usize = 32 * 1024;
/// How often what is left is killed again.
const KILL_AGAIN: Duration = Duration::from_millis(2);
/// How long what is left may take to be gone.
const ENDING: Duration = Duration::from_secs(5);

/// What a first process says when it is the last one.
pub(crate) const LAST_WORD: &[u8] = b"alone";

/// The process with which a sandbox ends.
pub(crate) struct Owner(OwnedFd);

impl Owner {
    /// By what it is watched.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Gets hold of it. An error when it is gone already.
    pub(crate) fn open(pid: Pid) -> Result<Self, Error> {
        pidfd_open(pid, PidfdFlags::empty())
            .map(Self)
            .map_err(|_| Error::new(ErrorKind::Gone, "the sandbox cannot start: whoever wanted it is gone"))
    }
}

/// What begins before a sandbox or ends with it.
#[derive(Default)]
pub(crate) struct SandboxTies {
    /// With whom the sandbox ends.
    pub(crate) owner: Option<Owner>,
    /// A directory of the host that goes when the sandbox has ended.
    pub(crate) directory: Option<PathBuf>,
}

impl SandboxTies {
    /// To an owner, and nothing else.
    pub(crate) fn to(owner: Owner) -> Self {
        Self { owner: Some(owner), directory: None }
    }
}

/// What a supervisor looks after.
pub(crate) struct SupervisedSandbox {
    /// PID 1 of the sandbox.
    pub(crate) first: Pid,
    /// A descriptor of it.
    pub(crate) process: OwnedFd,
    /// Where it says that everything else in the sandbox is gone, and it is about to end as well. It is
    /// in none of the groups then, which can be removed without waiting for it.
    pub(crate) last_word: Option<OwnedFd>,
    /// With whom the sandbox ends.
    pub(crate) owner: Option<Owner>,
    /// How long it may live.
    pub(crate) wall_clock: Option<Duration>,
    /// The groups that were made for it.
    pub(crate) groups: CreatedGroups,
    /// What its end leaves behind.
    pub(crate) left: Leftovers,
    /// A directory of the host that goes with it: where it was found by those who came back to it.
    pub(crate) directory: Option<PathBuf>,
}

/// What the end of the first process leaves behind.
pub(crate) enum Leftovers {
    /// Nothing: it was PID 1 of a namespace, and its files were in memory.
    Nothing,
    /// Descendants, who come to this process as their subreaper, and a directory.
    Descendants {
        /// Removes the files of the sandbox.
        remove_files: Box<dyn FnOnce()>,
    },
}

/// Waits until the sandbox is over, whatever ends it, tidies up and exits.
pub(crate) fn supervise(charge: SupervisedSandbox) -> ! {
    let SupervisedSandbox { first, process, mut last_word, owner, wall_clock, groups, left, directory } = charge;
    let signals = ending_signals().ok();
    let_go_of_streams();
    groups.sweep();
    forget_used_pages();
    // The keeper ends by itself when its time is over; this is for one that does not.
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
            // PID 1 is gone, and with it everything in its namespace, if it has one.
            Ok(_) if came(&watched, 0) => break,
            Ok(_) if last_word.is_some() && came(&watched, 1) => {
                // A line that just ends is a process that was killed: others may still be there.
                if last_word.take().is_some_and(|line| receive(line).is_ok_and(|said| said == LAST_WORD)) {
                    groups.remove();
                    exit_now(0)
                }
            }
            // Nobody wants it any more, its time is over, or nothing can be watched.
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
        // By descriptor and through no link. What cannot be removed is found dead by whoever looks for it.
        let _ = std::fs::remove_dir_all(directory);
    }
    exit_now(exit_code(status))
}

fn came(watched: &[PollFd<'_>], at: usize) -> bool {
    watched.get(at).is_some_and(|watched| !watched.revents().is_empty())
}

/// Waits until PID 1 is gone, and with it everything in its namespace. How it ended is told only to
/// its parent.
pub(crate) fn wait_for_end(first: Pid, process: &OwnedFd) -> Option<WaitStatus> {
    while poll(&mut [PollFd::new(process, PollFlags::IN)], None) == Err(Errno::INTR) {}
    waitpid(Some(first), WaitOptions::empty()).ok().flatten().map(|(_, status)| status)
}

/// Stops all descendants and kills them, until there are none. Gives up on what cannot be killed.
fn end_descendants() {
    let mut room = vec![0; DESCENDANTS];
    let began = Instant::now();
    while began.elapsed() < ENDING {
        let mut before = 0;
        // Who forks faster than it is killed is stopped first.
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

/// Holds on to nothing of the starter's: no stream, no directory, no terminal.
pub(crate) fn let_go_of_streams() {
    // Each of these may fail without harm: what is held on to is held on to for as long as the
    // sandbox lives, no longer.
    let _ = chdir("/");
    let _ = setsid();
    if let Ok(null) = openat(CWD, "/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        for stream in 0..=2 {
            let _ = replace_stream(null.as_fd(), stream);
        }
    }
}

/// The exit code as a shell would give it.
fn exit_code(status: Option<WaitStatus>) -> i32 {
    let Some(status) = status else { return 1 };
    status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal)).unwrap_or(1)
}
