//! PID 1 of a sandbox for one command: it starts the command, reaps, obeys its owner, and ends.

use std::{
    collections::BTreeMap,
    ffi::CString,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    time::Instant,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair},
    process::{Pid, Signal, WaitOptions, kill_process_group},
};
use workden_core::{
    Error, ErrorKind, Result, limits,
    sandbox::{Command, Ended},
};

use super::{Said, left_until, say};
use crate::{
    minder::{
        Plan, Tells, Terminal, command, descent,
        message::{Order, REPORT_BYTES, Report},
    },
    processes::{failure, limits_hit, prepare},
    setting::{Join, LimitCounts, MemoryRunsOut, Setting},
    supervisor::{self, LAST_WORD},
    sys::{self, BorrowedStack, Image, Place},
};

/// How many descendants are signalled at a time.
const ROOM: usize = 4096;

/// Runs the command and ends this process; comes back only with the reason why there is none.
pub(super) fn live(setting: Setting, command: &Command, line: BorrowedFd<'_>, supervisor: &OwnedFd) -> Error {
    match start(&setting, command) {
        Err(error) => error,
        Ok(started) => {
            // They end with the last who can print, and that is not this process.
            supervisor::let_go_of_streams();
            sys::forget_used_pages();
            let ended = match started {
                Started::Running(leader, children) => attend(leader, &children, line),
                Started::Unrunnable(ended) => ended,
            };
            end_all_others();
            // Its groups are new, and counted nothing before.
            let hits = limits_hit::between(LimitCounts::default(), counts(&setting), ended, &setting.limits);
            // What its groups counted is read: they may go, while this process does.
            let _ = send(supervisor, LAST_WORD, SendFlags::NOSIGNAL);
            say(line, &Said::Ended(ended, hits));
            // With the first process ends everything that is left.
            sys::exit_now(0)
        }
    }
}

enum Started {
    Running(Pid, OwnedFd),
    /// There is no such program; what there was to say is said.
    Unrunnable(Ended),
}

fn counts(setting: &Setting) -> LimitCounts {
    setting.watch.as_ref().map(|watch| watch.hits()).unwrap_or_default()
}

fn start(setting: &Setting, command: &Command) -> Result<Started> {
    let broken = |_| Error::new(ErrorKind::Io, "the sandbox cannot start its command");
    let environment = prepare::merged(&setting.environment, const { &BTreeMap::new() });
    let image = Image::new(prepare::program(command, &environment)?);
    let directory = CString::new(setting.directory.as_os_str().as_bytes())
        .map_err(|_| Error::new(ErrorKind::InvalidPath, "the directory has a NUL byte in its name"))?;
    let children = sys::child_signals().map_err(broken)?;
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).map_err(broken)?;
    let mut plan = Plan {
        link: theirs.as_fd(),
        streams: [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()],
        terminal: Terminal::None,
        image,
        directory: &directory,
        rlimits: &setting.rlimits,
        join: &setting.join,
        filter: &setting.last_filter,
        domain: None,
        memory_runs_out: MemoryRunsOut::AsUsual,
        tells: Tells::End,
        stack: None,
    };
    let leader = match &setting.join {
        Join::CloneInto(group) => sys::fork_into(&Place::Cgroup(group.as_fd()), || command::become_program(&mut plan)),
        Join::None | Join::Tasks(_) => {
            sys::start_borrowing(&mut BorrowedStack::new(), || command::become_program(&mut plan))
        }
    };
    let leader = leader.map_err(broken)?;
    drop(plan);
    drop(theirs);
    match failed(&ours) {
        None => Ok(Started::Running(leader, children)),
        Some((stage, why)) => match failure::failure(stage, why, command) {
            failure::Failure::Unrunnable(sentence, ended) => {
                // Where the command itself would have complained.
                let _ = rustix::io::write(rustix::stdio::stderr(), sentence.as_bytes());
                Ok(Started::Unrunnable(ended))
            }
            failure::Failure::Refused(error) => Err(error),
        },
    }
}

/// Listens until the command is itself, or cannot be.
fn failed(reports: &OwnedFd) -> Option<(crate::minder::message::Stage, Errno)> {
    loop {
        let mut report = [0; REPORT_BYTES];
        match recv(reports, &mut report, RecvFlags::empty()) {
            Err(Errno::INTR) => {}
            // Its end of the line closes when it becomes the program.
            Err(_) | Ok((0, _)) => return None,
            Ok(_) => {
                if let Some(Report::Failed(stage, why)) = Report::decode(report) {
                    return Some((stage, why));
                }
            }
        }
    }
}

/// Reaps and obeys until the command has ended, or is not waited for any more.
fn attend(leader: Pid, children: &OwnedFd, line: BorrowedFd<'_>) -> Ended {
    let mut room = Vec::new();
    let mut end_at = None;
    loop {
        let mut watched = [PollFd::new(&line, PollFlags::IN), PollFd::new(children, PollFlags::IN)];
        if poll(&mut watched, left_until(end_at).as_ref()) == Ok(0) {
            sys::exit_now(0);
        }
        let asked = !watched[0].revents().is_empty();
        let mut taken = [0_u8; 1024];
        let _ = rustix::io::read(children, &mut taken);
        if let Some(ended) = reap(leader) {
            return ended;
        }
        if asked {
            let mut order = [0_u8; 1];
            match recv(line, &mut order, RecvFlags::DONTWAIT) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                Ok((1.., _)) => {
                    end_at = Some(Instant::now() + limits::TERM_TIME);
                    match Order::decode(order[0]) {
                        Some(Order::Signal(signal)) => {
                            let _ = kill_process_group(leader, signal);
                        }
                        _ => {
                            room.resize(ROOM, 0);
                            descent::signal_all(&mut room, &[Signal::TERM, Signal::CONT]);
                        }
                    }
                }
                // Nobody waits any more.
                _ => sys::exit_now(0),
            }
        }
    }
}

/// Ends whatever the command left running, and waits until it is gone.
fn end_all_others() {
    while sys::kill_all_others() {
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::empty()) {}
    }
}

/// Reaps all that have ended; how the command did, if it is among them.
fn reap(leader: Pid) -> Option<Ended> {
    let mut ended = None;
    while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        if pid == leader {
            ended = status.exit_status().map(Ended::Exited).or(status.terminating_signal().map(Ended::Signalled));
        }
    }
    ended
}
