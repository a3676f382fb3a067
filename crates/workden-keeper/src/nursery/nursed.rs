//! Minders from a nursery, as the program sees them that uses it.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use rustix::{
    io::Errno,
    net::{Shutdown, shutdown, sockopt},
};

use workden_core::{Error, ErrorKind, Result};

use super::{READY, Request};
use crate::{
    message::{receive, send_with},
    minder::letter::Letter,
    processes::{MinderId, Minders, Start, link},
    sys,
};

/// How long a nursery may take to make room for a request. One takes far less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(10);

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
        let patience = sockopt::set_socket_timeout(&requests, sockopt::Timeout::Send, Some(PATIENCE));
        patience.map_err(|why| broken(why.into()))?;
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
        send_with(&self.requests, &request.encode(), enclosed)
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
        send_with(requests, &Request::Make(self.made).encode(), &[theirs.as_fd()])?;
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
                Err(Errno::PIPE | Errno::CONNRESET) if waited => {}
                Err(why) => return Err(why),
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
        let Ok((ours, theirs)) = link() else { return };
        if self.ask(Request::Sweep(dying.map(|MinderId(number)| number)), &[theirs.as_fd()]).is_err() {
            return;
        }
        drop(theirs);
        if let Ok(answer) = sys::watched(ours) {
            let _ = answer.readable().await.map(|_| ());
        }
    }

    fn reap_all(&self) {}

    fn take_back(&self, minder: MinderId, link: &OwnedFd) {
        let mut cradle = self.cradle();
        if cradle.waiting.len() < MOST_WAITING {
            cradle.waiting.extend(link.try_clone().map(|link| (link, minder)));
        }
    }

    fn let_go(&self) {
        // Also for those who follow a tree and hold this: the nursery ends, and everything with it.
        let _ = shutdown(&self.requests, Shutdown::Both);
    }
}
