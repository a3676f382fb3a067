//! Minders from a nursery, as the program sees them that uses it.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use rustix::{
    io::Errno,
    net::{RecvFlags, Shutdown, recv, shutdown},
};
use tokio::time::{sleep, timeout};
use workden_core::{Error, ErrorKind, Result};

use super::{READY, Request};
use crate::{
    message::{Wait, receive, send_with},
    minder::letter::Letter,
    processes::{MinderId, Minders, Start, hang_up, link},
    sys,
};

/// How long a sweep may take. What cannot be killed is given up earlier.
const SWEEP_TIME: Duration = Duration::from_secs(5);
/// How long to wait for a descriptor that is needed for one.
const TRY_AGAIN: Duration = Duration::from_millis(10);

/// Minders that wait for a command at most: those of more commands at once end with them.
const MOST_WAITING: usize = 4;

/// Minders that a nursery makes.
#[derive(Debug)]
pub struct Nursery {
    requests: OwnedFd,
    cradle: Mutex<Cradle>,
}

#[derive(Debug, Default)]
struct Cradle {
    /// Minders that wait for a command.
    waiting: Vec<(OwnedFd, MinderId)>,
    made: u64,
}

impl Nursery {
    /// The nursery at the other end of this socket, which keeps messages apart; waits until it is ready.
    ///
    /// # Errors
    ///
    /// `Gone` when it ends before that, `Unsupported` when it is of another kind.
    pub async fn connect(requests: OwnedFd) -> Result<Self> {
        let broken = |_| Error::new(ErrorKind::Io, "there is no watching of the socket of the nursery");
        let watched = sys::watched(requests).map_err(broken)?;
        let mut ready = watched.readable().await.map_err(broken)?;
        let said = receive(watched.get_ref()).unwrap_or_default();
        ready.clear_ready();
        drop(ready);
        match said.as_slice() {
            READY => {}
            [] => return Err(Error::new(ErrorKind::Gone, "the nursery ended before it was ready")),
            _ => return Err(Error::new(ErrorKind::Unsupported, "the nursery is of another version")),
        }
        let requests = watched.into_inner();
        let mut cradle = Cradle::default();
        cradle.make_one_wait(requests.as_fd());
        Ok(Self { requests, cradle: Mutex::new(cradle) })
    }

    fn cradle(&self) -> MutexGuard<'_, Cradle> {
        self.cradle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, request: Request, enclosed: &[BorrowedFd<'_>]) -> std::result::Result<(), Errno> {
        send_with(&self.requests, &request.encode(), enclosed, Wait::Never)
    }
}

impl Cradle {
    /// Has the next one wait, if none does.
    fn make_one_wait(&mut self, requests: BorrowedFd<'_>) {
        if self.waiting.is_empty() {
            let made = self.make(requests);
            self.waiting.extend(made);
        }
    }

    fn make(&mut self, requests: BorrowedFd<'_>) -> std::result::Result<(OwnedFd, MinderId), Errno> {
        let (ours, theirs) = link()?;
        self.made += 1;
        send_with(requests, &Request::Make(self.made).encode(), &[theirs.as_fd()], Wait::Never)?;
        Ok((ours, MinderId(self.made)))
    }
}

#[async_trait]
impl Minders for Nursery {
    fn start(&self, start: Start<'_>) -> std::result::Result<(OwnedFd, MinderId), Errno> {
        let Start { program, directory, streams, terminal, tells } = start;
        let letter = Letter { program, directory: directory.to_owned(), terminal, tells };
        let mut cradle = self.cradle();
        let minder = loop {
            let (minder, waited) = match cradle.waiting.pop() {
                Some(minder) => (minder, true),
                None => (cradle.make(self.requests.as_fd())?, false),
            };
            match letter.send(&minder.0, streams) {
                Ok(()) => break minder,
                // Somebody has killed it while it waited.
                Err(Errno::PIPE | Errno::CONNRESET) if waited => hang_up(&minder.0),
                // There was no process to be had for it, and that is said on its link.
                Err(Errno::PIPE | Errno::CONNRESET) if has_said_something(&minder.0) => break minder,
                Err(why) => {
                    hang_up(&minder.0);
                    // Of the link, and not of the nursery.
                    return Err(if why == Errno::PIPE { Errno::AGAIN } else { why });
                }
            }
        };
        // While the command runs there is time for the next one.
        cradle.make_one_wait(self.requests.as_fd());
        Ok(minder)
    }

    /// The nursery lets them go on as soon as they are stopped.
    fn wake(&self, _minder: MinderId) {}

    fn kill(&self, MinderId(number): MinderId) {
        let _ = self.ask(Request::Kill(number), &[]);
    }

    fn are_children(&self) -> bool {
        false
    }

    /// The nursery does that.
    async fn reaped(&self, _minder: MinderId) {}

    async fn swept(&self, dying: Option<MinderId>) {
        let request = Request::Sweep(dying.map(|MinderId(number)| number));
        let sweep = async {
            let answer = loop {
                // Without descriptors there is no answer, and without an answer nobody knows that nothing is left.
                let asked = link().and_then(|(ours, theirs)| self.ask(request, &[theirs.as_fd()]).map(|()| ours));
                match asked.map(sys::watched) {
                    Ok(Ok(answer)) => break answer,
                    Err(Errno::PIPE | Errno::CONNRESET) => return,
                    _ => sleep(TRY_AGAIN).await,
                }
            };
            let _ = answer.readable().await.map(|_| ());
        };
        let _ = timeout(SWEEP_TIME, sweep).await;
    }

    fn reap_all(&self) {}

    fn take_back(&self, minder: MinderId, link: &OwnedFd) {
        let mut cradle = self.cradle();
        match link.try_clone() {
            Ok(link) if cradle.waiting.len() < MOST_WAITING => cradle.waiting.push((link, minder)),
            _ => hang_up(link),
        }
    }

    fn let_go(&self) {
        // Also for those who follow a tree and hold this: the nursery ends, and everything with it.
        let _ = shutdown(&self.requests, Shutdown::Both);
    }
}

/// Whether something came on a link.
fn has_said_something(link: &OwnedFd) -> bool {
    let mut byte = [0; 1];
    matches!(recv(link, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT), Ok((_, 1..)))
}
