//! `spawn`: starts a command with streams of its own, pipes or a terminal.
//!
//! Invariant: output that was read and not taken is bounded, so that a slow reader slows the command down.

use std::{
    os::fd::{AsFd, OwnedFd},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use async_trait::async_trait;
use bytes::Bytes;
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
    process,
    pty::OpenptFlags,
    termios::{Winsize, tcsetwinsize},
};
use tokio::sync::{Mutex, mpsc, watch};
use workden_core::{
    Error, ErrorKind, Result,
    sandbox::{Command, Ended, LimitHit, Process, ProcessControl, ProcessEvent, Signal, Stream, Streams, WindowSize},
};

use super::{
    engine::{CommandSpec, Engine},
    execute::EndOnDrop,
    failure::{self, StartFailure, broken},
    pipes::{self, AtEnd, Watched},
    tree::ProcessTree,
};
use crate::reaper::Terminal;

/// Pieces of output that wait to be taken.
const WAITING_PIECES: usize = 4;
/// Bytes of such a piece.
const PIECE_BYTES: usize = 16 * 1024;
/// The byte that ends the input of a terminal: ^D.
const END_OF_INPUT: &[u8] = b"\x04";

impl Engine {
    /// Starts a command with streams.
    pub(crate) async fn spawn(&self, spec: CommandSpec<'_>, streams: Streams) -> Result<Process> {
        let hits = self.limits_hit_from_now();
        let (tree, input, outputs) = match streams {
            Streams::Pipes => {
                let (input, their_input) = pipes::to_command()?;
                let (output, their_output) = pipes::from_command()?;
                let (error, their_error) = pipes::from_command()?;
                let theirs = [their_input.as_fd(), their_output.as_fd(), their_error.as_fd()];
                let tree = self.start(&spec, theirs, Terminal::None).await?;
                let outputs = vec![(Stream::Output, Arc::new(output)), (Stream::Error, Arc::new(error))];
                (tree, SpawnInput::Pipe(Mutex::new(Some(input))), outputs)
            }
            Streams::Terminal(size) => {
                let (ours, theirs) = terminal(size)?;
                let tree = self.start(&spec, [theirs.as_fd(); 3], Terminal::Controlling).await?;
                let ours = Arc::new(ours);
                (tree, SpawnInput::Terminal(Arc::clone(&ours)), vec![(Stream::Output, ours)])
            }
        };
        let waiting = EndOnDrop::new(tree, outputs.iter().map(|(_, output)| Arc::clone(output)));
        let tree = Arc::clone(&waiting.tree);
        let state = tree.started().await;
        let Some(pid) = state.pid else {
            return Err(match failure::of(&state, spec.command) {
                Some(StartFailure::Refused(error)) => error,
                _ => Error::new(ErrorKind::Io, "the process was killed before it started"),
            });
        };
        let (sender, receiver) = mpsc::channel(WAITING_PIECES);
        tokio::spawn(forward(Arc::clone(&tree), outputs, sender, spec.command.clone(), hits));
        let events = SpawnEvents { receiver, waiting };
        Ok(Process::new(pid, Box::pin(events), Box::new(SpawnControl { tree, input })))
    }
}

/// Opens a terminal of this size: our side, and the command's.
fn terminal(size: WindowSize) -> Result<(Watched, OwnedFd)> {
    let failed = |why: Errno| broken("open a terminal", why);
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = rustix::pty::openpt(flags).map_err(failed)?;
    rustix::pty::unlockpt(&ours).map_err(failed)?;
    let theirs = match rustix::pty::ioctl_tiocgptpeer(&ours, flags) {
        // gVisor does not have this call. By name, the terminal is found where the keeper's own `/dev/pts` is mounted.
        Err(Errno::NOTTY | Errno::INVAL) => {
            let name = rustix::pty::ptsname(&ours, Vec::new()).map_err(failed)?;
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
            rustix::fs::open(name, flags, Mode::empty()).map_err(failed)?
        }
        opened => opened.map_err(failed)?,
    };
    set_size(&ours, size).map_err(failed)?;
    Ok((Watched::new(ours)?, theirs))
}

fn set_size(terminal: &OwnedFd, size: WindowSize) -> Result<(), Errno> {
    tcsetwinsize(terminal, Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 })
}

/// Forwards output, and then the end. Processes that are left may go on printing; their output is discarded.
async fn forward(
    tree: Arc<ProcessTree>,
    outputs: Vec<(Stream, Arc<Watched>)>,
    sender: mpsc::Sender<Result<ProcessEvent>>,
    command: Command,
    hits: impl FnOnce(Ended) -> Vec<LimitHit>,
) {
    let (end, ended) = watch::channel(false);
    let readers: Vec<_> = outputs
        .iter()
        .map(|(stream, pipe)| tokio::spawn(read(*stream, Arc::clone(pipe), sender.clone(), ended.clone())))
        .collect();
    let state = tree.ended().await;
    let _ = end.send(true);
    let mut open = Vec::new();
    for (reader, (_, pipe)) in readers.into_iter().zip(outputs) {
        if let Ok(AtEnd::No) = reader.await {
            open.push(pipe);
        }
    }
    let mut last = state.ended.unwrap_or(Ended::Exited(127));
    let sentence = match failure::of(&state, &command) {
        Some(StartFailure::Unrunnable(sentence, end)) => {
            last = end;
            Some(sentence)
        }
        Some(StartFailure::Refused(error)) => {
            last = Ended::Exited(126);
            Some(format!("{error}\n"))
        }
        None => None,
    };
    if let Some(sentence) = sentence {
        let _ = sender.send(Ok(ProcessEvent::Printed(Stream::Error, sentence.into()))).await;
    }
    for hit in hits(last) {
        let _ = sender.send(Ok(ProcessEvent::LimitHit(hit))).await;
    }
    let _ = sender.send(Ok(ProcessEvent::Ended(last))).await;
    drop(sender);
    for pipe in open {
        tokio::spawn(async move { pipe.discard().await });
    }
}

/// Forwards one stream until it ends, or the command has ended and all its output was read.
async fn read(
    stream: Stream,
    pipe: Arc<Watched>,
    sender: mpsc::Sender<Result<ProcessEvent>>,
    mut ended: watch::Receiver<bool>,
) -> AtEnd {
    loop {
        // Reserve a slot before reading: output that is not taken stays in the pipe.
        let Ok(place) = sender.reserve().await else { return AtEnd::No };
        let mut piece = Vec::new();
        tokio::select! {
            biased;
            read = pipe.read(&mut piece, PIECE_BYTES) => match read {
                0 => return AtEnd::Yes,
                _ => place.send(Ok(ProcessEvent::Printed(stream, piece.into()))),
            },
            () = command_ended(&mut ended) => {
                drop(place);
                let mut pieces = Vec::new();
                let at_end = pipe.drain(|bytes| pieces.push(Bytes::copy_from_slice(bytes)));
                for piece in pieces {
                    let _ = sender.send(Ok(ProcessEvent::Printed(stream, piece))).await;
                }
                return at_end;
            }
        }
    }
}

async fn command_ended(ended: &mut watch::Receiver<bool>) {
    let _ = ended.wait_for(|&ended| ended).await;
}

/// The events of a process. Dropping it before the end event ends the process tree.
struct SpawnEvents {
    receiver: mpsc::Receiver<Result<ProcessEvent>>,
    waiting: EndOnDrop,
}

impl futures_util::Stream for SpawnEvents {
    type Item = Result<ProcessEvent>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let event = self.receiver.poll_recv(context);
        if let Poll::Ready(Some(Ok(ProcessEvent::Ended(_)))) = &event {
            self.waiting.release();
        }
        event
    }
}

/// Where input is written.
enum SpawnInput {
    Pipe(Mutex<Option<Watched>>),
    Terminal(Arc<Watched>),
}

struct SpawnControl {
    tree: Arc<ProcessTree>,
    input: SpawnInput,
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ProcessControl for SpawnControl {
    async fn write(&self, bytes: Bytes) -> Result<()> {
        let no_more = || Error::new(ErrorKind::Gone, "the process has closed its input");
        let written = match &self.input {
            SpawnInput::Pipe(pipe) => pipe.lock().await.as_ref().ok_or_else(no_more)?.write_all(&bytes).await,
            SpawnInput::Terminal(terminal) => tokio::select! {
                written = terminal.write_all(&bytes) => written,
                () = self.tree.gone() => Err(Errno::IO),
            },
        };
        written.map_err(|_| no_more())
    }

    async fn close_input(&self) -> Result<()> {
        match &self.input {
            SpawnInput::Pipe(pipe) => drop(pipe.lock().await.take()),
            SpawnInput::Terminal(terminal) => {
                // A process that has ended needs no end of input.
                let _ = terminal.write_all(END_OF_INPUT).await;
            }
        }
        Ok(())
    }

    async fn signal(&self, signal: Signal) -> Result<()> {
        self.tree.signal(match signal {
            Signal::Hup => process::Signal::HUP,
            Signal::Int => process::Signal::INT,
            Signal::Quit => process::Signal::QUIT,
            Signal::Kill => process::Signal::KILL,
            Signal::Usr1 => process::Signal::USR1,
            Signal::Usr2 => process::Signal::USR2,
            Signal::Term => process::Signal::TERM,
            Signal::Cont => process::Signal::CONT,
            Signal::Stop => process::Signal::STOP,
            Signal::Tstp => process::Signal::TSTP,
            Signal::Winch => process::Signal::WINCH,
        });
        Ok(())
    }

    async fn resize(&self, size: WindowSize) -> Result<()> {
        match &self.input {
            SpawnInput::Pipe(_) => {
                Err(Error::new(ErrorKind::Unsupported, "resizing is not supported without a terminal"))
            }
            SpawnInput::Terminal(terminal) => {
                set_size(terminal.fd(), size).map_err(|why| broken("resize a terminal", why))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel moves terminal output to our side in the background: `FIONREAD` may still say 0.
    #[tokio::test]
    async fn what_was_just_written_to_a_terminal_is_drained_whole() {
        for _ in 0..500 {
            let (ours, theirs) = terminal(WindowSize { rows: 24, columns: 80 }).unwrap();
            rustix::io::write(&theirs, b"a line that is longer than one small read\n").unwrap();
            let mut drained = Vec::new();
            ours.drain(|bytes| drained.extend_from_slice(bytes));
            assert_eq!(String::from_utf8_lossy(&drained), "a line that is longer than one small read\r\n");
        }
    }
}
