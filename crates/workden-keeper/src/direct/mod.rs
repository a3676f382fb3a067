//! One command in a confinement of its own, with the pipes of this process for its streams, and no
//! keeper: nobody but the command needs the place. PID 1 starts it, waits for it and ends.
//!
//! Invariant: it ends as every sandbox does. PID 1 ends when its line to the owner does, with all that
//! is in its namespaces, and the supervisor tidies up behind it. A terminal or a socket is never
//! handed in, nor a pipe of the user that the command is: who holds one can do more with it than print.

mod first;

use std::{
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat, major, minor},
    io::Errno,
    net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair},
    process::{Pid, WaitOptions, getpid, waitpid},
};
use serde::{Deserialize, Serialize};
use workden_core::{
    Error, ErrorKind, Result, limits,
    sandbox::{Command, Confinement, Ended, LimitHit},
};

use crate::{
    confine,
    minder::message::Order,
    sys::{self, Place},
};

/// Bytes that one message of PID 1 may have.
const MESSAGE: usize = 64 * 1024;

/// The bits of a mode by which others than the owner may read or write.
const OF_OTHERS: u32 = 0o066;

/// What the standard input of the command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// That of this process.
    Passed,
    /// Nothing.
    Empty,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The command did, and these limits had a part in it.
    Command(Ended, Vec<LimitHit>),
    /// Its time was over.
    TimedOut,
    /// This process was told to end, by this signal.
    Told(i32),
}

/// What PID 1 says to the owner.
#[derive(Debug, Serialize, Deserialize)]
enum Said {
    /// There is no sandbox, or no command.
    Refused(Error),
    Ended(Ended, Vec<LimitHit>),
}

/// Whether a stream of this process can be handed in: the null device, or a pipe that the command
/// cannot open again. Who can do that with a pipe to read from can write to it, and whoever reads from
/// it after the command, perhaps a shell its script, reads that.
#[must_use]
pub fn may_be_handed_in(stream: BorrowedFd<'_>) -> bool {
    let Ok(stat) = fstat(stream) else { return false };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Fifo => {
            confine::user_of_commands().is_some_and(|user| user != stat.st_uid) && stat.st_mode & OF_OTHERS == 0
        }
        FileType::CharacterDevice => (major(stat.st_rdev), minor(stat.st_rdev)) == (1, 3),
        _ => false,
    }
}

/// Runs a command to its end. To be called in a process that has one thread, and ends soon after:
/// signals that would end it are held back from here on.
///
/// # Errors
///
/// As [`confine::enter`]; and when the sandbox is lost.
pub fn run(confinement: &Confinement, command: &Command, input: Input, timeout: Option<Duration>) -> Result<End> {
    let lost = |_| Error::new(ErrorKind::Io, "the sandbox cannot start: there is no process for it");
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).map_err(lost)?;
    let signals = sys::ending_signals().map_err(lost)?;
    let owner = getpid();
    let streams = StreamFlags::now();
    let supervisor = sys::fork_into(&Place::Here, || {
        // There are no other threads here: this child may do what it likes.
        sys::close_all_but(&mut [0, 1, 2, theirs.as_raw_fd()]);
        let refused = match confine::enter_with_open_files(confinement, Some(owner)) {
            Ok(setting) => first::live(setting, command, input, theirs.as_fd()),
            Err(error) => error,
        };
        say(theirs.as_fd(), &Said::Refused(refused));
        sys::exit_now(125)
    });
    let supervisor = supervisor.map_err(lost)?;
    drop(theirs);
    let end = attend(&ours, &signals, timeout);
    // The end of the line is the end of what is left.
    drop(ours);
    let _ = waitpid(Some(supervisor), WaitOptions::empty());
    streams.restore();
    end
}

/// The flags of the standard streams. Whoever else has these pipes open shares them, and a command can
/// change them: a shell that goes on reading would be told that there is nothing.
struct StreamFlags([Option<OFlags>; 3]);

impl StreamFlags {
    fn now() -> Self {
        Self(standard_streams().map(|stream| fcntl_getfl(stream).ok()))
    }

    fn restore(self) {
        for (stream, flags) in standard_streams().into_iter().zip(self.0) {
            // A stream that is closed has no flags to restore.
            let _ = flags.map(|flags| fcntl_setfl(stream, flags));
        }
    }
}

fn standard_streams() -> [BorrowedFd<'static>; 3] {
    [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()]
}

/// Waits for the end, and brings it about when it is time.
fn attend(line: &OwnedFd, signals: &OwnedFd, timeout: Option<Duration>) -> Result<End> {
    let mut deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut why = None;
    loop {
        let mut watched = [PollFd::new(line, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
        match poll(&mut watched, left_until(deadline).as_ref()) {
            Ok(0) => match why {
                // It was told, and does not listen.
                Some(why) => return Ok(why),
                None => {
                    order(line, Order::Terminate);
                    why = Some(End::TimedOut);
                    deadline = Some(Instant::now() + limits::TERM_TIME);
                }
            },
            Err(Errno::INTR) => {}
            Err(_) => return Err(gone()),
            Ok(_) if !watched[0].revents().is_empty() => {
                let heard = hear(line)?;
                return Ok(why.unwrap_or(heard));
            }
            Ok(_) => {
                let mut record = sys::SIGNAL_RECORD;
                if rustix::io::read(signals, &mut record).is_ok() && why.is_none() {
                    let number = sys::signal_number(&record);
                    order(line, Order::decode(u8::try_from(number).unwrap_or(0)).unwrap_or(Order::Terminate));
                    why = Some(End::Told(number));
                    deadline = Some(Instant::now() + limits::TERM_TIME);
                }
            }
        }
    }
}

fn order(line: &OwnedFd, order: Order) {
    // Whoever is gone needs no order.
    let _ = send(line, &[order.encode()], SendFlags::NOSIGNAL);
}

fn hear(line: &OwnedFd) -> Result<End> {
    let mut message = vec![0; MESSAGE];
    let length = recv(line, &mut message, RecvFlags::empty()).map_or(0, |(length, _)| length);
    match message.get(..length).and_then(|message| serde_json::from_slice(message).ok()) {
        Some(Said::Ended(ended, hits)) => Ok(End::Command(ended, hits)),
        Some(Said::Refused(error)) => Err(error),
        None => Err(gone()),
    }
}

fn say(line: BorrowedFd<'_>, said: &Said) {
    // Whoever does not hear it sees the end of the line.
    let _ = send(line, &serde_json::to_vec(said).unwrap_or_default(), SendFlags::NOSIGNAL);
}

fn gone() -> Error {
    Error::new(ErrorKind::Gone, "the sandbox ended before the command did")
}

fn left_until(deadline: Option<Instant>) -> Option<Timespec> {
    let left = deadline?.saturating_duration_since(Instant::now());
    Some(Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() })
}

/// The process that was started, by its number.
fn signal_all(room: &mut [i32], signals: &[rustix::process::Signal]) {
    let found = crate::minder::descent::descendants(room);
    for pid in room.iter().take(found).filter_map(|&pid| Pid::from_raw(pid)) {
        for &signal in signals {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}
