//! `Session`: one shell that runs commands one after the other, and keeps its state between them.
//!
//! Each command has a directory with FIFOs for its three streams, which a second process connects to the stub. The
//! shell reads the command from a file there, so that a syntax error stays inside, and reports its end on its own
//! standard output. Dropping a session ends the shell and everything that it started.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use futures_util::StreamExt;
use tokio::task::{AbortHandle, JoinHandle};
use workden_core::{
    Result,
    sandbox::{Command, ProcessControl, ProcessEvent, ProcessEvents, SpawnRequest, Stream},
};

use super::log::CommandLog;
use crate::{
    answer::Refused,
    place::Place,
    shared::{locked, random_digits},
};

const SHELL: &str = "command -v bash >/dev/null && exec bash; exec sh";
const DIRECTORY: &str = "/tmp/.daytona-stub";
const PREPARE: &str = r#"mkdir -p "$1" && cd "$1" && mkfifo in out err && cat >line"#;
/// Connects the FIFOs. The writer of the input ends with the readers of the output.
const CONNECT: &str = r#"cd "$1" || exit 1
exec 4<&0
cat <out 4<&- & o=$!
cat <err >&2 4<&- & e=$!
cat <&4 >in & i=$!
wait $o; wait $e
kill $i 2>/dev/null
rm -rf "$1""#;

/// A session.
pub(super) struct Session {
    control: Box<dyn ProcessControl>,
    commands: Arc<Mutex<Vec<Arc<SessionCommand>>>>,
    /// The shell has ended.
    ended: Arc<AtomicBool>,
    reader: JoinHandle<()>,
}

/// A command of a session.
pub(super) struct SessionCommand {
    pub(super) id: String,
    pub(super) line: String,
    pub(super) log: Arc<CommandLog>,
    pub(super) echo: Echo,
    input: Box<dyn ProcessControl>,
    streams: AbortHandle,
}

/// Whether input appears in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Echo {
    Shown,
    Suppressed,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session({} commands)", self.commands().len())
    }
}

impl Session {
    pub(super) async fn start(place: &Place) -> Result<Self> {
        let words = ["sh", "-c", SHELL].map(str::to_owned).to_vec();
        let shell = place.spawn(&SpawnRequest::piped(Command::Program(words))).await?;
        let commands: Arc<Mutex<Vec<Arc<SessionCommand>>>> = Arc::default();
        let ended = Arc::new(AtomicBool::new(false));
        let reader = tokio::spawn(read_ends(shell.events, Arc::clone(&commands), Arc::clone(&ended)));
        Ok(Self { control: shell.control, commands, ended, reader })
    }

    /// Ends the shell and everything that it started; calls that wait for a command see its end.
    pub(super) fn kill(&self) {
        self.reader.abort();
        self.ended.store(true, Ordering::SeqCst);
        for command in self.commands() {
            command.streams.abort();
            command.log.killed();
        }
    }

    pub(super) fn commands(&self) -> Vec<Arc<SessionCommand>> {
        locked(&self.commands).clone()
    }

    pub(super) fn command(&self, id: &str) -> Result<Arc<SessionCommand>, Refused> {
        let found = self.commands().into_iter().find(|command| command.id == id);
        found.ok_or_else(|| Refused::not_found(format!("command {id} not found")).code("PROCESS_NOT_FOUND"))
    }

    /// Gives the shell a command, which starts when the commands before it have ended.
    pub(super) async fn run(&self, place: &Place, line: &str, echo: Echo) -> Result<Arc<SessionCommand>, Refused> {
        if self.ended.load(Ordering::SeqCst) {
            return Err(Refused::new(hyper::StatusCode::GONE, "the session has ended").code("SESSION_ENDED"));
        }
        let id = random_digits(8)?;
        let directory = format!("{DIRECTORY}/{id}");
        place.ask(PREPARE, &[&directory], format!("{line}\n").into()).await?;
        let words = ["sh", "-c", CONNECT, "streams", &directory].map(str::to_owned).to_vec();
        let streams = place.spawn(&SpawnRequest::piped(Command::Program(words))).await?;
        let log = Arc::new(CommandLog::new());
        let reader = tokio::spawn(read_streams(streams.events, Arc::clone(&log)));
        let command = Arc::new(SessionCommand {
            id,
            line: line.to_owned(),
            log,
            echo,
            input: streams.control,
            streams: reader.abort_handle(),
        });
        locked(&self.commands).push(Arc::clone(&command));
        let id = &command.id;
        let text = format!(
            ". {directory}/line <{directory}/in >{directory}/out 2>{directory}/err; printf '%s %s\\n' {id} \"$?\"\n"
        );
        self.control.write(text.into()).await?;
        Ok(command)
    }
}

impl SessionCommand {
    pub(super) async fn write(&self, data: Bytes) -> Result<(), Refused> {
        let completed =
            || Refused::new(hyper::StatusCode::GONE, "the command has completed").code("COMMAND_ALREADY_COMPLETED");
        if self.log.state().exit_code.is_some() {
            return Err(completed());
        }
        if self.echo == Echo::Shown {
            self.log.add(Stream::Output, data.clone());
        }
        self.input.write(data).await.map_err(|_| completed())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Reads `ID CODE` lines from the shell. When it ends, its last command ends with it.
async fn read_ends(mut events: ProcessEvents, commands: Arc<Mutex<Vec<Arc<SessionCommand>>>>, ended: Arc<AtomicBool>) {
    let mut text = String::new();
    let mut code = -1;
    while let Some(Ok(event)) = events.next().await {
        match event {
            ProcessEvent::Printed(Stream::Output, bytes) => text.push_str(&String::from_utf8_lossy(&bytes)),
            ProcessEvent::Printed(Stream::Error, _) | ProcessEvent::LimitHit(_) => {}
            ProcessEvent::Ended(how) => {
                code = how.exit_code();
                break;
            }
        }
        while let Some((line, rest)) = text.split_once('\n') {
            if let Some((id, code)) = line.split_once(' ') {
                let found = locked(&commands).iter().find(|command| command.id == id).cloned();
                end(found, code.parse().unwrap_or(-1));
            }
            text = rest.to_owned();
        }
    }
    ended.store(true, Ordering::SeqCst);
    for command in locked(&commands).iter() {
        end(Some(Arc::clone(command)), code);
    }
}

/// Ends a command in a task of its own, because its output may still come.
fn end(command: Option<Arc<SessionCommand>>, code: i32) {
    if let Some(command) = command {
        tokio::spawn(async move { command.log.end(code).await });
    }
}

async fn read_streams(mut events: ProcessEvents, log: Arc<CommandLog>) {
    while let Some(Ok(event)) = events.next().await {
        match event {
            ProcessEvent::Printed(stream, bytes) => log.add(stream, bytes),
            ProcessEvent::LimitHit(_) => {}
            ProcessEvent::Ended(_) => break,
        }
    }
    log.drained();
}
