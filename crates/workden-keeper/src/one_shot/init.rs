//! PID 1 of a one-shot sandbox: it starts the command, reaps, follows the orders of its owner, and exits.

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

use super::init_message::{InitMessage, left_until, send_message};
use crate::{
    config::{CgroupJoin, KeeperConfig, LimitCounts, OomPreference},
    processes::{failure, limits_hit, prepare},
    reaper::{
        Reporting, SpawnPlan, Terminal, command, descendants,
        message::{REPORT_BYTES, ReaperOrder, ReaperReport},
    },
    supervisor::{self, LAST_WORD},
    sys::{self, BorrowedStack, ExecImage, ForkInto},
};

/// The most descendants that are signalled at a time.
const ROOM: usize = 4096;

/// Runs the command and exits. Returns only with the reason why the command did not start.
pub(super) fn run(config: KeeperConfig, command: &Command, line: BorrowedFd<'_>, supervisor: &OwnedFd) -> Error {
    match start(&config, command) {
        Err(error) => error,
        Ok(started) => {
            // The streams end with the last process that can print, which is not this one.
            supervisor::release_streams();
            sys::forget_used_pages();
            let ended = match started {
                StartedCommand::Running(leader, children) => follow(leader, &children, line),
                StartedCommand::Unrunnable(ended) => ended,
            };
            end_all_others();
            // The groups are new: their counters started at zero.
            let hits = limits_hit::between(LimitCounts::default(), counts(&config), ended, &config.limits);
            // The counters are read, so the supervisor can remove the groups while this process exits.
            let _ = send(supervisor, LAST_WORD, SendFlags::NOSIGNAL);
            send_message(line, &InitMessage::Ended(ended, hits));
            // Everything that is left ends with PID 1.
            sys::exit_now(0)
        }
    }
}

enum StartedCommand {
    Running(Pid, OwnedFd),
    /// The program does not exist; the message is printed.
    Unrunnable(Ended),
}

fn counts(config: &KeeperConfig) -> LimitCounts {
    config.watch.as_ref().map(|watch| watch.hits()).unwrap_or_default()
}

fn start(config: &KeeperConfig, command: &Command) -> Result<StartedCommand> {
    let broken = |_| Error::new(ErrorKind::Io, "cannot start the command of the sandbox");
    let environment = prepare::merged(&config.environment, const { &BTreeMap::new() });
    let image = ExecImage::new(prepare::program(command, &environment)?);
    let directory = CString::new(config.directory.as_os_str().as_bytes())
        .map_err(|_| Error::new(ErrorKind::InvalidPath, "invalid directory: its name contains a NUL byte"))?;
    let children = sys::child_signals().map_err(broken)?;
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).map_err(broken)?;
    let mut plan = SpawnPlan {
        link: theirs.as_fd(),
        streams: [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()],
        terminal: Terminal::None,
        image,
        directory: &directory,
        rlimits: &config.rlimits,
        join: &config.join,
        filter: &config.last_filter,
        domain: None,
        oom_preference: OomPreference::Default,
        // Its processes end with this one, which is PID 1.
        mark: None,
        reporting: Reporting::EndOnly,
        stack: None,
    };
    let leader = match &config.join {
        CgroupJoin::CloneInto(group) => {
            sys::fork_into(&ForkInto::Cgroup(group.as_fd()), || command::exec_command(&mut plan))
        }
        CgroupJoin::None | CgroupJoin::Tasks(_) => {
            sys::start_borrowing(&mut BorrowedStack::new(), || command::exec_command(&mut plan))
        }
    };
    let leader = leader.map_err(broken)?;
    drop(plan);
    drop(theirs);
    match failed(&ours) {
        None => Ok(StartedCommand::Running(leader, children)),
        Some((stage, why)) => match failure::failure(stage, why, command) {
            failure::StartFailure::Unrunnable(sentence, ended) => {
                // On the stream on which the command would have complained.
                let _ = rustix::io::write(rustix::stdio::stderr(), sentence.as_bytes());
                Ok(StartedCommand::Unrunnable(ended))
            }
            failure::StartFailure::Refused(error) => Err(error),
        },
    }
}

/// Waits until the command is executed, or has failed.
fn failed(reports: &OwnedFd) -> Option<(crate::reaper::message::StartStage, Errno)> {
    loop {
        let mut report = [0; REPORT_BYTES];
        match recv(reports, &mut report, RecvFlags::empty()) {
            Err(Errno::INTR) => {}
            // The command's end of the channel closes on exec.
            Err(_) | Ok((0, _)) => return None,
            Ok(_) => {
                if let Some(ReaperReport::Failed(stage, why)) = ReaperReport::decode(report) {
                    return Some((stage, why));
                }
            }
        }
    }
}

/// Reaps and follows orders until the command has ended, or its owner is gone.
fn follow(leader: Pid, children: &OwnedFd, line: BorrowedFd<'_>) -> Ended {
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
                    match ReaperOrder::decode(order[0]) {
                        Some(ReaperOrder::Signal(signal)) => {
                            let _ = kill_process_group(leader, signal);
                        }
                        _ => {
                            room.resize(ROOM, 0);
                            descendants::signal_all(&mut room, &[Signal::TERM, Signal::CONT]);
                        }
                    }
                }
                // The owner is gone.
                _ => sys::exit_now(0),
            }
        }
    }
}

/// Kills the processes that the command left, and waits until they are gone.
fn end_all_others() {
    while sys::kill_all_others() {
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::empty()) {}
    }
}

/// Reaps all children that have ended. Returns how the command ended, if it is among them.
fn reap(leader: Pid) -> Option<Ended> {
    let mut ended = None;
    while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
        if pid == leader {
            ended = status.exit_status().map(Ended::Exited).or(status.terminating_signal().map(Ended::Signalled));
        }
    }
    ended
}
