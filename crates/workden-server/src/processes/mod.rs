//! Processes with streams that outlive the request that started them: several clients watch one, and come back to it.
//!
//! A task reads the output of each into a bounded log. A client that follows slows the process down before it loses
//! output, and loses output before it stops the process for good.

mod follow;
mod output_log;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

pub(crate) use follow::Piece;
use futures_util::StreamExt;
use output_log::OutputLog;
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;
use workden::{Error, ErrorKind, Result, Sandbox, Workspace};
use workden_core::sandbox::{Ended, Process, ProcessControl, ProcessEvent, ProcessEvents, SpawnRequest, Streams};

use crate::clock::Moment;

/// How long a process that has ended is remembered.
const REMEMBERED: Duration = Duration::from_secs(300);
/// The most processes of a session that are remembered after their end: each holds its last output.
const MOST_REMEMBERED: usize = 64;
/// How long output waits for a client that does not read.
const PATIENCE: Duration = Duration::from_secs(30);
/// The most processes of a session that run at a time.
const MOST: usize = 1000;

/// The processes of a session.
#[derive(Debug, Default)]
pub(crate) struct ProcessTable {
    last: AtomicU64,
    all: Mutex<BTreeMap<u64, Arc<ServedProcess>>>,
}

/// A process with streams.
pub(crate) struct ServedProcess {
    /// Its number in the session.
    pub(crate) id: u64,
    /// Its pid, as commands in the sandbox see it.
    pub(crate) pid: u32,
    /// The command, as a person would type it.
    pub(crate) line: String,
    /// What it was started with.
    pub(crate) request: SpawnRequest,
    /// A name that the client gave it.
    pub(crate) tag: Option<String>,
    pub(crate) is_terminal: bool,
    pub(crate) started_at: Moment,
    pub(crate) control: Box<dyn ProcessControl>,
    log: Mutex<OutputLog>,
    /// Counts changes of the log.
    changed: watch::Sender<u64>,
    stop: CancellationToken,
}

impl std::fmt::Debug for ServedProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ServedProcess({}, pid {})", self.id, self.pid)
    }
}

impl ProcessTable {
    /// Starts a process. It runs until it ends or is stopped, with or without a client that follows.
    pub(crate) async fn start(
        self: &Arc<Self>,
        workspace: &Workspace,
        request: &SpawnRequest,
        tag: Option<String>,
    ) -> Result<Arc<ServedProcess>> {
        if self.all().iter().filter(|process| process.ended().is_none()).count() >= MOST {
            return Err(Error::new(ErrorKind::Busy, format!("the limit of {MOST} processes is reached"))
                .hint("stop a process first"));
        }
        let Process { pid, events, control, .. } = workspace.commands()?.spawn(request).await?;
        let id = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let process = Arc::new(ServedProcess {
            id,
            pid,
            line: request.command.as_line(),
            request: request.clone(),
            tag,
            is_terminal: matches!(request.streams, Streams::Terminal(_)),
            started_at: Moment::now(),
            control,
            log: Mutex::default(),
            changed: watch::Sender::new(0),
            stop: CancellationToken::new(),
        });
        self.table().insert(id, Arc::clone(&process));
        let (table, running) = (Arc::clone(self), Arc::clone(&process));
        tokio::spawn(async move {
            running.read(events).await;
            // Its output goes as soon as the table has forgotten it.
            drop(running);
            table.forget_oldest();
            tokio::time::sleep(REMEMBERED).await;
            table.forget(id);
        });
        Ok(process)
    }

    /// Returns all processes, oldest first; for a while also those that have ended.
    pub(crate) fn all(&self) -> Vec<Arc<ServedProcess>> {
        self.table().values().cloned().collect()
    }

    /// Returns the process with this number.
    pub(crate) fn find(&self, id: u64) -> Result<Arc<ServedProcess>> {
        self.table().get(&id).cloned().ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("process {id} not found"))
                .hint("the list of processes has those that run, and those that ended a moment ago")
        })
    }

    /// Forgets a process; what follows it still sees its end.
    pub(crate) fn forget(&self, id: u64) {
        self.table().remove(&id);
    }

    /// Forgets the oldest processes that have ended, beyond those that are remembered.
    fn forget_oldest(&self) {
        let mut table = self.table();
        let ended: Vec<u64> = table.values().filter(|process| process.ended().is_some()).map(|one| one.id).collect();
        for id in &ended[..ended.len().saturating_sub(MOST_REMEMBERED)] {
            table.remove(id);
        }
    }

    fn table(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<ServedProcess>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServedProcess {
    /// Returns how it ended, once it has; an error if that is unknown.
    pub(crate) fn ended(&self) -> Option<Result<Ended>> {
        self.log().ended.clone()
    }

    /// Stops it with everything that it started.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// Stops it at a moment, whether a client follows or not.
    pub(crate) fn stop_at(self: &Arc<Self>, moment: Instant) {
        let process = Arc::clone(self);
        tokio::spawn(async move {
            let mut changes = process.changed.subscribe();
            // The process holds the sender.
            let ended = changes.wait_for(|_| process.ended().is_some());
            if tokio::time::timeout_at(moment, ended).await.is_err() {
                process.stop();
            }
        });
    }

    /// Reads its output until it ends.
    async fn read(&self, mut events: ProcessEvents) {
        loop {
            let next = tokio::select! {
                () = self.stop.cancelled() => None,
                next = events.next() => next,
            };
            match next {
                Some(Ok(ProcessEvent::Printed(stream, bytes))) => {
                    self.wait_for_room(bytes.len()).await;
                    self.change(|log| log.push(stream, bytes));
                }
                Some(Ok(ProcessEvent::LimitHit(hit))) => self.change(|log| log.limits.push(hit.sentence)),
                Some(Ok(ProcessEvent::Ended(ended))) => return self.change(|log| log.ended = Some(Ok(ended))),
                Some(Err(error)) => return self.change(|log| log.ended = Some(Err(error))),
                None if self.stop.is_cancelled() => {
                    drop(events);
                    return self.change(|log| log.ended = Some(Ok(Ended::Signalled(9))));
                }
                None => {
                    let unknown = Error::new(ErrorKind::Gone, "unknown how the process ended");
                    return self.change(|log| log.ended = Some(Err(unknown)));
                }
            }
        }
    }

    /// Waits until the clients that follow have read what the log would drop, but not for ever.
    async fn wait_for_room(&self, bytes: usize) {
        let mut changes = self.changed.subscribe();
        let room = async {
            while self.log().would_lose(bytes) {
                let _ = changes.changed().await;
            }
        };
        tokio::select! {
            () = self.stop.cancelled() => {}
            _ = tokio::time::timeout(PATIENCE, room) => {}
        }
    }

    fn log(&self) -> std::sync::MutexGuard<'_, OutputLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut OutputLog)) {
        change(&mut self.log());
        self.changed.send_modify(|count| *count += 1);
    }
}
