//! Commands with separate streams and limited output.

use std::{collections::BTreeMap, time::Duration};

use bytes::BytesMut;
use futures_util::StreamExt;
use workden_core::{
    Error, ErrorKind, Result, Sandbox,
    sandbox::{Command, Ended, Process, ProcessEvent, Signal, SpawnRequest, Stream},
};

use super::NativeWorkspace;
use crate::{calls::calls, convert::Blob};

/// `(exit code, stdout, stderr, whether it timed out, whether it printed too much)`.
type Ran = (i32, Blob, Blob, bool, bool);

/// The output of a process so far.
#[derive(Default)]
struct Printed {
    output: BytesMut,
    errors: BytesMut,
}

impl Printed {
    fn len(&self) -> usize {
        self.output.len() + self.errors.len()
    }

    fn take(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Output => self.output.extend_from_slice(bytes),
            Stream::Error => self.errors.extend_from_slice(bytes),
        }
    }
}

/// Reads a process until it exits, or has printed more than this.
async fn read(process: &mut Process, printed: &mut Printed, most: usize) -> Result<Option<Ended>> {
    while let Some(event) = process.events.next().await {
        match event? {
            ProcessEvent::Printed(stream, bytes) => printed.take(stream, &bytes),
            ProcessEvent::Ended(ended) => return Ok(Some(ended)),
            ProcessEvent::LimitHit(_) => {}
        }
        if printed.len() > most {
            return Ok(None);
        }
    }
    Err(Error::new(ErrorKind::Gone, "the sandbox ended before the command"))
}

fn command(argv: Option<Vec<String>>, line: Option<String>) -> Result<Command> {
    match (argv, line) {
        (Some(argv), None) => Ok(Command::Program(argv)),
        (None, Some(line)) => Ok(Command::Shell(line)),
        _ => Err(Error::new(ErrorKind::InvalidArgument, "a command is either a list of words or a shell line")),
    }
}

calls! {
    impl NativeWorkspace = parts;

    /// Runs an argument list or a shell line with separate streams until it exits. On a timeout, or after more than
    /// `most` bytes of output, its process tree is killed.
    fn run | run_async (
        parts,
        argv: Option<Vec<String>>,
        line: Option<String>,
        env: BTreeMap<String, String>,
        timeout: Option<f64>,
        most: usize
    ) -> Ran {
        let request = SpawnRequest::piped(command(argv, line)?)
            .directory(parts.workspace.working_directory().await?)
            .environment(env);
        let time = timeout.map_or(Duration::MAX, |seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        let mut process = parts.workspace.commands()?.spawn(&request).await?;
        // A process that has exited needs no input.
        let _ = process.control.close_input().await;
        let mut printed = Printed::default();
        let ended = tokio::time::timeout(time, read(&mut process, &mut printed, most)).await;
        let (code, is_over, is_too_much) = match ended {
            Ok(Ok(Some(ended))) => (ended.exit_code(), false, false),
            Ok(Ok(None)) => (128, false, true),
            Ok(Err(error)) => return Err(error),
            Err(_) => (124, true, false),
        };
        if is_over || is_too_much {
            // Dropping it would kill it as well; this way it does not depend on the other side noticing.
            let _ = process.control.signal(Signal::Kill).await;
        }
        Ok((code, Blob::Bytes(printed.output.freeze()), Blob::Bytes(printed.errors.freeze()), is_over, is_too_much))
    }
}
