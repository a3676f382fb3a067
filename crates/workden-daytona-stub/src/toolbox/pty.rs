//! `Pty`: a shell in a terminal, whose output a WebSocket shows.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Mutex,
};

use bytes::Bytes;
use futures_util::StreamExt;
use tokio::{sync::watch, task::JoinHandle};
use workden_core::{
    Result,
    sandbox::{Command, Ended, ProcessControl, ProcessEvent, ProcessEvents, SpawnRequest, WindowSize},
};

use crate::{
    answer::{Refused, now},
    place::{self, Place},
    shared::locked,
};

const SHELL: &str = "command -v bash >/dev/null && exec bash -i; exec sh -i";
/// Pieces of output that a client which connects late still gets.
const KEPT: usize = 1024;

/// What a terminal is started with.
#[derive(Clone, Debug)]
pub(super) struct PtyPlan {
    pub(super) id: String,
    pub(super) directory: Option<String>,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) size: WindowSize,
}

/// A running or ended terminal. Dropping it ends the shell and what it started.
pub(super) struct Pty {
    pub(super) plan: PtyPlan,
    pub(super) created: String,
    pub(super) size: Mutex<WindowSize>,
    pub(super) control: Box<dyn ProcessControl>,
    screen: watch::Sender<Screen>,
    reader: JoinHandle<()>,
}

/// The output so far.
#[derive(Debug, Default)]
struct Screen {
    pieces: VecDeque<Bytes>,
    /// Pieces that were there before the kept ones.
    dropped: usize,
    ended: Option<Ended>,
}

/// What comes next from a terminal.
pub(super) enum Next {
    Output(Vec<Bytes>),
    Ended(Ended),
}

impl std::fmt::Debug for Pty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pty({:?})", self.plan)
    }
}

impl Pty {
    pub(super) async fn start(place: &Place, plan: PtyPlan) -> Result<Self, Refused> {
        let words = ["sh", "-c", SHELL].map(str::to_owned).to_vec();
        let mut variables = plan.variables.clone();
        variables.entry("TERM".to_owned()).or_insert_with(|| "xterm-256color".to_owned());
        let request = SpawnRequest::in_terminal(Command::Program(words), plan.size)
            .directory(place::directory(plan.directory.as_deref())?)
            .environment(variables);
        let process = place.spawn(&request).await?;
        let screen = watch::Sender::new(Screen::default());
        let reader = tokio::spawn(read(process.events, screen.clone()));
        let size = Mutex::new(plan.size);
        Ok(Self { plan, created: now(), size, control: process.control, screen, reader })
    }

    pub(super) fn is_active(&self) -> bool {
        self.screen.borrow().ended.is_none()
    }

    pub(super) async fn resize(&self, size: WindowSize) -> Result<(), Refused> {
        if !self.is_active() {
            return Err(Refused::new(hyper::StatusCode::GONE, "the terminal has ended"));
        }
        self.control.resize(size).await?;
        *locked(&self.size) = size;
        Ok(())
    }

    /// Ends the shell and what it started; clients that are connected see the end.
    pub(super) fn kill(&self) {
        self.reader.abort();
        end(&self.screen, Ended::Signalled(9));
    }

    /// Waits for output after the pieces that were seen, or for the end.
    pub(super) async fn next(&self, seen: &mut usize) -> Next {
        let mut changes = self.screen.subscribe();
        let is_new = |screen: &Screen| screen.dropped + screen.pieces.len() > *seen;
        let Ok(screen) = changes.wait_for(|screen| is_new(screen) || screen.ended.is_some()).await else {
            return Next::Ended(Ended::Exited(-1));
        };
        match screen.ended {
            Some(ended) if !is_new(&screen) => Next::Ended(ended),
            _ => {
                let skipped = seen.saturating_sub(screen.dropped);
                let pieces = screen.pieces.iter().skip(skipped).cloned().collect();
                *seen = screen.dropped + screen.pieces.len();
                Next::Output(pieces)
            }
        }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn read(mut events: ProcessEvents, screen: watch::Sender<Screen>) {
    let mut ended = Ended::Exited(-1);
    while let Some(Ok(event)) = events.next().await {
        match event {
            ProcessEvent::Printed(_, bytes) => screen.send_modify(|screen| {
                screen.pieces.push_back(bytes);
                if screen.pieces.len() > KEPT {
                    screen.pieces.pop_front();
                    screen.dropped += 1;
                }
            }),
            ProcessEvent::LimitHit(_) => {}
            ProcessEvent::Ended(how) => {
                ended = how;
                break;
            }
        }
    }
    end(&screen, ended);
}

fn end(screen: &watch::Sender<Screen>, how: Ended) {
    screen.send_modify(|screen| {
        screen.ended.get_or_insert(how);
    });
}
