//! One command in a confinement of its own, and no keeper: nobody but the command needs the place.
//! PID 1 starts it, waits for it and ends; this process carries its streams.
//!
//! Invariant: it ends as every sandbox does. PID 1 ends when its line to the owner does, with all that
//! is in its namespaces; when the command has ended, it first ends and awaits whatever else still runs.
//! The supervisor tidies up behind it, and both are waited for. Nothing of the host that is open is
//! handed in: the streams are pipes of the command's own.

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
    sandbox::{Command, Confinement, Ended, Level, LimitHit},
};

use self::{
    init_message::{InitMessage, left_until, say},
    pump::{Pump, PumpEnds},
};
use crate::{
    confine::{self, Purpose, SetupSide},
    message::receive,
    reaper::message::ReaperOrder,
    supervisor::{Owner, SandboxTies},
    sys::{self, ForkInto},
};

/// What the standard input of the command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneShotInput {
    /// That of this process.
    Passed,
    /// Nothing.
    Empty,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OneShotEnd {
    /// The command did, and these limits had a part in it.
    Command(Ended, Vec<LimitHit>),
    /// Its time was over.
    TimedOut,
    /// This process was told to end, by this signal.
    Told(i32),
    /// What the command printed cannot be written; as the kernel says it.
    NoOutput(i32),
}

/// Runs a command to its end. To be called in a process that has one thread, and ends soon after:
/// signals that would end it are held back from here on.
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
        // Without namespaces it is a reaper that leaves nothing behind, and nobody here has one.
        return Err(Error::new(ErrorKind::Unsupported, "a command at the level `landlock` needs a keeper"));
    }
    let lost = |_| Error::new(ErrorKind::Io, "the sandbox cannot start: there is no process for it");
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
            say(theirs.as_fd(), &InitMessage::Refused(refused));
            sys::exit_now(125)
        }
        SetupSide::Outside(outside) => outside,
    };
    let first = outside.first();
    let mut outside = Some(outside);
    // Whoever tidies up must outlive this process, which can be killed.
    let supervisor = sys::fork_into(&ForkInto::Here, || {
        let Some(outside) = outside.take() else { sys::exit_now(125) };
        // There are no other threads here: this child may do what it likes.
        let keep = [theirs.as_fd()];
        say(
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
    let pumps = [
        Pump::new((input == OneShotInput::Passed).then_some(PumpEnds::In(stdin, in_write))),
        Pump::new(Some(PumpEnds::Out(out_read, stdout))),
        Pump::new(Some(PumpEnds::Out(err_read, stderr))),
    ];
    sys::forget_used_pages();
    let end = match outside.as_ref() {
        Some(outside) => attend(&ours, outside.process(), &signals, pumps, timeout),
        None => Err(gone()),
    };
    // The end of the line is the end of what is left.
    drop(ours);
    if !matches!(end, Ok(OneShotEnd::Command(..))) {
        // It has had its time, and may not be where it sees the line. Somebody may even have stopped them.
        let _ = kill_process(first, Signal::KILL);
        let _ = kill_process(supervisor, Signal::CONT);
    }
    for child in [first, supervisor] {
        let _ = waitpid(Some(child), WaitOptions::empty());
    }
    end
}

/// Carries the streams and waits for the end, and brings it about when it is time.
///
/// What PID 1 says comes with its end and is heard then: to listen for it would be to wake up twice.
fn attend(
    line: &OwnedFd,
    first: BorrowedFd<'_>,
    signals: &OwnedFd,
    mut pumps: [Pump<'_>; 3],
    timeout: Option<Duration>,
) -> Result<OneShotEnd> {
    let mut deadline = timeout.map(|timeout| Instant::now() + timeout);
    let mut why = None;
    let mut heard = None;
    loop {
        // What was printed is carried to its end, which comes when the last who could print is gone.
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
                // It was told, and does not listen.
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
                    heard = Some(hear(line)?);
                    // A command that has ended has not run out of time, however slow its reader is.
                    deadline = deadline.filter(|_| why.is_some());
                }
                if came.first() == Some(&true) {
                    // Taken also when it changes nothing: one that stays would be ready for ever.
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
    // Whoever is gone needs no order.
    let _ = send(line, &[order.encode()], SendFlags::NOSIGNAL);
}

fn hear(line: &OwnedFd) -> Result<OneShotEnd> {
    let message = loop {
        match receive(line) {
            // The other end is closed with an order unread; what it said comes behind that.
            Err(Errno::CONNRESET) => {}
            heard => break heard.unwrap_or_default(),
        }
    };
    match serde_json::from_slice(&message).ok() {
        Some(InitMessage::Ended(ended, hits)) => Ok(OneShotEnd::Command(ended, hits)),
        Some(InitMessage::Refused(error)) => Err(error),
        None => Err(gone()),
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Gone, "the sandbox ended before the command did")
}
