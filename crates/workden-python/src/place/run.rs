//! Commands with their streams apart, to the end, within a number of bytes.

use std::{collections::BTreeMap, time::Duration};

use bytes::BytesMut;
use futures_util::StreamExt;
use workden_core::{
    Error, ErrorKind, Result, Sandbox,
    sandbox::{Command, Ended, Process, ProcessEvent, Signal, SpawnRequest, Stream, Streams},
};

use super::Place;
use crate::{calls::calls, convert::Blob};

/// `(exit code, output, errors, whether its time was over, whether it printed too much)`.
type Ran = (i32, Blob, Blob, bool, bool);

/// What a process has printed so far.
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

/// Reads a process to its end, or until it has printed more than this.
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
    Err(Error::new(ErrorKind::Gone, "the sandbox ended before the command did"))
}

fn command(argv: Option<Vec<String>>, line: Option<String>) -> Result<Command> {
    match (argv, line) {
        (Some(argv), None) => Ok(Command::Program(argv)),
        (None, Some(line)) => Ok(Command::Shell(line)),
        _ => Err(Error::new(ErrorKind::InvalidArgument, "a command is either words or a line of shell")),
    }
}

calls! {
    impl Place = den;

    /// Runs words or a line of shell with its streams apart, to the end, or until its time is over or it
    /// has printed more than `most` bytes: then it is ended, with all that it started.
    fn run | run_async (
        den,
        argv: Option<Vec<String>>,
        line: Option<String>,
        env: BTreeMap<String, String>,
        timeout: Option<f64>,
        most: usize
    ) -> Ran {
        let request = SpawnRequest {
            command: command(argv, line)?,
            directory: Some(den.workspace.working_directory().await?),
            environment: env,
            streams: Streams::Pipes,
        };
        let time = timeout.map_or(Duration::MAX, |seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        let mut process = den.workspace.commands()?.spawn(&request).await?;
        // One that has ended already wants no input, either.
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
            // Dropping it would end it as well; this way nobody waits for the other end to notice.
            let _ = process.control.signal(Signal::Kill).await;
        }
        Ok((code, Blob::Bytes(printed.output.freeze()), Blob::Bytes(printed.errors.freeze()), is_over, is_too_much))
    }
}
