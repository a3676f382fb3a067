//! One command in a sandbox of its own, without a keeper. PID 1 starts it, waits for it and exits; this process
//! carries its streams.
//!
//! Invariant: it ends as every sandbox does. PID 1 exits when its channel to the owner closes, with everything in its
//! namespaces; when the command has ended, it first kills and reaps all other processes. The supervisor cleans up,
//! and this process waits for both. No open file of the host gets inside: the streams are pipes made for the command.

mod init;
mod init_message;
mod pump;

use std::{
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    net::{AddressFamily, SendFlags, SocketFlags, SocketType, send, socketpair},
    pipe::{PipeFlags, pipe_with},
    process::{Signal, WaitOptions, getpid, kill_process, waitpid},
};
use workden_core::{
    Error, ErrorKind, Result, limits,
    sandbox::{Command, Confinement, Ended, Hint, Level, LimitHit, Output},
};

use self::{
    init_message::{InitMessage, left_until, send_message},
    pump::{Pump, PumpEnds},
};
use crate::{
    confine::{self, Purpose, SetupSide},
    message::receive,
    reaper::message::ReaperOrder,
    supervisor::{Owner, SandboxTies},
    sys::{self, ForkInto},
};

/// The standard input of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneShotInput {
    /// The standard input of this process.
    Passed,
    /// Empty.
    Empty,
}

/// How a one-shot command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OneShotEnd {
    /// The command ended, hit these limits, and failed for these reasons.
    Command(Ended, Vec<LimitHit>, Vec<Hint>),
    /// The timeout expired.
    TimedOut,
    /// This process received this signal.
    Told(i32),
    /// The output of the command could not be written, with this errno.
    NoOutput(i32),
}

/// Runs a command to its end. For a process with one thread that exits soon after: signals that would end it are
/// blocked from here on.
///
/// # Errors
///
/// As [`confine::enter`]; and when the sandbox is lost.
pub fn run(
    confinement: &Confinement,
    command: &Command,
    input: OneShotInput,
    timeout: Option<Duration>,
) -> Result<OneShotEnd> {
    if confinement.level == Level::Landlock {
        // Without namespaces only a reaper cleans up after a command, and a one-shot sandbox has none.
        return Err(Error::new(ErrorKind::Unsupported, "the level `landlock` is not supported without a keeper"));
    }
    let lost = |_| Error::new(ErrorKind::Io, "the sandbox cannot start: the system has no process to spare");
    let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(lost);
    let (ours, theirs) =
        socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).map_err(lost)?;
    let signals = sys::ending_signals().map_err(lost)?;
    let ((in_read, in_write), (out_read, out_write), (err_read, err_write)) = (pipe()?, pipe()?, pipe()?);
    let owner = Owner::open(getpid())?;
    let outside = match confine::begin(confinement, Purpose::OneCommand)? {
        SetupSide::Inside(inside) => {
            sys::hold_all_signals();
            let streams = [in_read.as_fd(), out_write.as_fd(), err_write.as_fd()];
            let taken = streams.iter().zip(0..).try_for_each(|(stream, at)| sys::confine::replace_stream(*stream, at));
            if taken.is_err() {
                sys::exit_now(125);
            }
            let mut kept = [0, 1, 2, theirs.as_raw_fd(), inside.descriptor().as_raw_fd()];
            sys::close_all_but(&mut kept);
            let (config, supervisor) = inside.finish(confinement, Purpose::OneCommand);
            let refused = init::run(config, command, theirs.as_fd(), &supervisor);
            send_message(theirs.as_fd(), &InitMessage::Refused(refused));
            sys::exit_now(125)
        }
        SetupSide::Outside(outside) => outside,
    };
    let first = outside.first();
    let mut outside = Some(outside);
    // The supervisor must outlive this process, which can be killed.
    let supervisor = sys::fork_into(&ForkInto::Here, || {
        let Some(outside) = outside.take() else { sys::exit_now(125) };
        // This child may allocate: there are no other threads.
        let keep = [theirs.as_fd()];
        send_message(
            theirs.as_fd(),
            &InitMessage::Refused(outside.oversee(confinement, Purpose::OneCommand, SandboxTies::to(owner), &keep)),
        );
        sys::exit_now(125)
    });
    let supervisor = supervisor.map_err(|errno| {
        outside.take().into_iter().for_each(|outside| outside.abandon());
        lost(errno)
    })?;
    drop((theirs, in_read, out_write, err_write));
    let (stdin, stdout, stderr) = (rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr());
    let mut pumps = [
        Pump::new((input == OneShotInput::Passed).then_some(PumpEnds::In(stdin, in_write))),
        Pump::new(Some(PumpEnds::Out(out_read, stdout))),
        Pump::keeping_tail(PumpEnds::Out(err_read, stderr)),
    ];
    sys::forget_used_pages();
    let end = match outside.as_ref() {
        Some(outside) => follow(&ours, outside.process(), &signals, &mut pumps, timeout),
        None => Err(gone()),
    };
    // Closing the channel ends everything that is left.
    drop(ours);
    if !matches!(end, Ok(OneShotEnd::Command(..))) {
        // PID 1 had its time, and may be stopped or not read the channel.
        let _ = kill_process(first, Signal::KILL);
        let _ = kill_process(supervisor, Signal::CONT);
    }
    for child in [first, supervisor] {
        let _ = waitpid(Some(child), WaitOptions::empty());
    }
    Ok(match end? {
        OneShotEnd::Command(ended, hits, _) if ended != Ended::Exited(0) => {
            let [_, _, errors] = &pumps;
            OneShotEnd::Command(ended, hits, Hint::of(&Output::new(errors.tail()), confinement.network))
        }
        end => end,
    })
}

/// Carries the streams until the command has ended, and ends it when it is time.
///
/// PID 1 sends its message just before it exits, so it is read then: waiting for it would wake this process twice.
fn follow(
    line: &OwnedFd,
    first: BorrowedFd<'_>,
    signals: &OwnedFd,
    pumps: &mut [Pump<'_>; 3],
    timeout: Option<Duration>,
) -> Result<OneShotEnd> {
    let mut deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut why = None;
    let mut heard = None;
    loop {
        // Output is carried to its end, which comes when the last process that can print is gone.
        if let (Some(heard), true) = (&heard, pumps.iter().skip(1).all(Pump::is_over)) {
            return Ok(why.unwrap_or_else(|| OneShotEnd::clone(heard)));
        }
        let mut watched = vec![PollFd::new(signals, PollFlags::IN)];
        if heard.is_none() {
            watched.push(PollFd::new(&first, PollFlags::IN));
        }
        let first_pump = watched.len();
        watched.extend(pumps.iter().filter_map(Pump::wanted));
        let ready = poll(&mut watched, left_until(deadline).as_ref());
        let came: Vec<bool> = watched.iter().map(|fd| !fd.revents().is_empty()).collect();
        drop(watched);
        match ready {
            Ok(0) => match why {
                // PID 1 got its order and did not follow it.
                Some(why) => return Ok(why),
                None => {
                    order(line, ReaperOrder::Terminate);
                    why = Some(OneShotEnd::TimedOut);
                    deadline = Some(Instant::now() + limits::TERM_TIME);
                }
            },
            Err(Errno::INTR) => {}
            Err(_) => return Err(gone()),
            Ok(_) => {
                let of_pumps = came.get(first_pump..).unwrap_or_default();
                for (pump, came) in pumps.iter_mut().filter(|pump| !pump.is_over()).zip(of_pumps) {
                    match came.then(|| pump.go_on()) {
                        None | Some(Ok(())) => {}
                        Some(Err(errno)) => return Ok(OneShotEnd::NoOutput(errno.raw_os_error())),
                    }
                }
                if first_pump == 2 && came.get(1) == Some(&true) {
                    heard = Some(match (receive_end(line), &why) {
                        // PID 1 was ordered to end the command, and ended before that was done.
                        (Err(error), Some(why)) if error.kind() == ErrorKind::Gone => OneShotEnd::clone(why),
                        (end, _) => end?,
                    });
                    // A command that has ended has not timed out, however slow its reader is.
                    deadline = deadline.filter(|_| why.is_some());
                }
                if came.first() == Some(&true) {
                    // Read in any case: an unread signal would keep the descriptor ready.
                    let mut record = sys::SIGNAL_RECORD;
                    if rustix::io::read(signals, &mut record).is_ok() && why.is_none() {
                        let number = sys::signal_number(&record);
                        order(
                            line,
                            ReaperOrder::decode(u8::try_from(number).unwrap_or(0)).unwrap_or(ReaperOrder::Terminate),
                        );
                        why = Some(OneShotEnd::Told(number));
                        deadline = Some(Instant::now() + limits::TERM_TIME);
                    }
                }
            }
        }
    }
}

fn order(line: &OwnedFd, order: ReaperOrder) {
    // A process that is gone needs no order.
    let _ = send(line, &[order.encode()], SendFlags::NOSIGNAL);
}

fn receive_end(line: &OwnedFd) -> Result<OneShotEnd> {
    let message = loop {
        match receive(line) {
            // The other end closed with an unread order. Its message is still in the queue.
            Err(Errno::CONNRESET) => {}
            heard => break heard.unwrap_or_default(),
        }
    };
    match serde_json::from_slice(&message).ok() {
        Some(InitMessage::Ended(ended, hits)) => Ok(OneShotEnd::Command(ended, hits, Vec::new())),
        Some(InitMessage::Refused(error)) => Err(error),
        None => Err(gone()),
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Gone, "the sandbox ended before the command did")
}
