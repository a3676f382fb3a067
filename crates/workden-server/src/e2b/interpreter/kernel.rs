//! `Kernel`: a Python process in the sandbox that runs the code of one context, one piece after another.
//!
//! A task owns the process. It ends the process when the context ends, when the process says what no kernel says, and
//! when code goes on after an interrupt. What the process prints is hostile: it can fool its own client only.

use std::{collections::BTreeMap, pin::pin, sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::json;
use tokio::{
    sync::mpsc::{self, error::TrySendError},
    time::{Instant, sleep_until},
};
use tokio_util::sync::{CancellationToken, DropGuard};
use workden::{Error, ErrorKind, Result, Sandbox, VirtualPath, Workspace};
use workden_core::sandbox::{
    Command, Ended, Process, ProcessControl, ProcessEvent, ProcessEvents, Signal, SpawnRequest, Stream, Streams,
};

use super::{
    super::process::user_variables,
    messages::{KernelLine, KernelMessage, Lines, failure_line},
};

/// The program of a kernel.
const PROGRAM: &str = include_str!("kernel.py");
/// Reads the program, which is too long for a command line, from standard input. Files of the sandbox must not pass for
/// the modules that it needs, like a `json.py` in the directory.
const LOADER: &str = "import os, sys
sys.path[:1] = [place for place in sys.path[:1] if place]
size, program = int(sys.argv.pop()), b\"\"
while len(program) < size:
    program += os.read(0, size - len(program)) or sys.exit(1)
exec(compile(program, \"<kernel>\", \"exec\"), {\"__name__\": \"kernel\"})";
/// Pieces of code that wait in one context.
const WAITING_JOBS: usize = 32;
/// How long interrupted code may go on.
const GRACE: Duration = Duration::from_secs(10);
/// How often it is interrupted: a program that is about to start misses an interrupt.
const AGAIN: Duration = Duration::from_millis(500);
/// How long code that nothing waits for may take to start.
const STARTING: Duration = Duration::from_secs(60);
/// Bytes of what Python says when it cannot start.
const COMPLAINT: usize = 2000;

/// A running kernel; dropped, it ends.
#[derive(Debug)]
pub(super) struct Kernel {
    jobs: mpsc::Sender<Job>,
    _stop: DropGuard,
}

/// Code to run, and where its lines go.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) code: String,
    pub(super) envs: BTreeMap<String, String>,
    pub(super) lines: mpsc::Sender<Bytes>,
}

impl Kernel {
    /// Starts a kernel, under the policy of the session.
    pub(super) async fn start(workspace: &Workspace, home: &VirtualPath, directory: &VirtualPath) -> Result<Self> {
        let words = ["python3", "-c", LOADER, &PROGRAM.len().to_string()].map(str::to_owned);
        let request = SpawnRequest::new(Command::Program(words.into()), Streams::Pipes)
            .environment(user_variables(home))
            .directory(directory.clone());
        let Process { events, control, .. } = workspace.commands()?.spawn(&request).await?;
        let (jobs, waiting) = mpsc::channel(WAITING_JOBS);
        let stop = CancellationToken::new();
        let process = KernelProcess {
            events,
            control: control.into(),
            lines: Lines::default(),
            complaint: String::new(),
            has_answered: false,
            limits: Vec::new(),
            number: 0,
        };
        tokio::spawn(process.serve(waiting, stop.clone()));
        Ok(Self { jobs, _stop: stop.drop_guard() })
    }

    /// Takes a job; returns it if the kernel has ended.
    pub(super) fn take(&self, job: Job) -> Result<Option<Job>> {
        match self.jobs.try_send(job) {
            Ok(()) => Ok(None),
            Err(TrySendError::Closed(job)) => Ok(Some(job)),
            Err(TrySendError::Full(_)) => {
                Err(Error::new(ErrorKind::Busy, format!("{WAITING_JOBS} pieces of code wait in this context"))
                    .hint("create more contexts, or wait for results"))
            }
        }
    }
}

/// Why a kernel ends, as a sentence for the client whose code ran.
struct End(String);

impl End {
    fn stopped() -> Self {
        Self("the context was restarted or removed".to_owned())
    }
}

/// The process of a kernel.
struct KernelProcess {
    events: ProcessEvents,
    control: Arc<dyn ProcessControl>,
    lines: Lines,
    /// What it said before it could send lines.
    complaint: String,
    has_answered: bool,
    limits: Vec<String>,
    /// The number of the last code.
    number: u64,
}

impl KernelProcess {
    async fn serve(mut self, mut jobs: mpsc::Receiver<Job>, stop: CancellationToken) {
        if let Err(error) = self.control.write(Bytes::from_static(PROGRAM.as_bytes())).await {
            tracing::debug!(%error, "a kernel does not read its program");
        }
        let (end, interrupted) = loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break (End::stopped(), None),
                // Between two pieces of code, it has nothing to say.
                line = self.next() => if let Err(end) = line {
                    break (end, None);
                },
                job = jobs.recv() => match job {
                    None => return,
                    Some(job) => if let Err(end) = self.run(&job, &stop).await {
                        break (end, Some(job));
                    },
                },
            }
        };
        // The process ends here, with all that it started.
        drop(self);
        jobs.close();
        if let Some(job) = interrupted {
            let _ = job.lines.send(failure_line(&end.0)).await;
        }
        while let Some(job) = jobs.recv().await {
            let _ = job.lines.send(failure_line(&format!("the code did not run: {}", end.0))).await;
        }
    }

    /// Runs code to its end, and passes its lines on.
    async fn run(&mut self, job: &Job, stop: &CancellationToken) -> Result<(), End> {
        if job.lines.is_closed() {
            return Ok(());
        }
        self.number += 1;
        let request = json!({ "number": self.number, "code": job.code, "envs": job.envs });
        let control = Arc::clone(&self.control);
        let mut sending = pin!(control.write(format!("{request}\n").into()));
        let (mut is_sent, mut has_started, mut is_left) = (false, false, false);
        let (mut deadline, mut next_interrupt): (Option<Instant>, Option<Instant>) = (None, None);
        loop {
            let line = tokio::select! {
                biased;
                () = stop.cancelled() => return Err(End::stopped()),
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    return Err(End("the code went on after an interrupt".to_owned()));
                }
                () = job.lines.closed(), if !is_left => {
                    is_left = true;
                    // Before the start, an interrupt would be none.
                    deadline = Some(Instant::now() + if has_started { GRACE } else { STARTING });
                    next_interrupt = has_started.then(Instant::now);
                    continue;
                }
                () = sleep_until(next_interrupt.unwrap_or_else(Instant::now)), if next_interrupt.is_some() => {
                    let _ = control.signal(Signal::Int).await;
                    next_interrupt = Some(Instant::now() + AGAIN);
                    continue;
                }
                // One that does not read has ended, or prints what nothing waits for: its lines tell.
                _ = &mut sending, if !is_sent => {
                    is_sent = true;
                    continue;
                }
                line = self.next() => line?,
            };
            if line.of != self.number {
                continue;
            }
            if matches!(line.message, KernelMessage::Started) && !has_started {
                has_started = true;
                if is_left {
                    deadline = Some(Instant::now() + GRACE);
                    next_interrupt = Some(Instant::now());
                }
            }
            let Some(line) = line.for_client() else { return Ok(()) };
            tokio::select! {
                () = stop.cancelled() => return Err(End::stopped()),
                // A client that went away is noticed above.
                _ = job.lines.send(line) => {}
            }
        }
    }

    /// Returns its next line.
    async fn next(&mut self) -> Result<KernelLine, End> {
        loop {
            let Ok(line) = self.lines.take() else { return Err(garbled()) };
            if let Some(line) = line {
                self.has_answered = true;
                return KernelLine::parse(&line).ok_or_else(garbled);
            }
            match self.events.next().await {
                Some(Ok(ProcessEvent::Printed(Stream::Output, bytes))) => self.lines.push(&bytes),
                Some(Ok(ProcessEvent::Printed(Stream::Error, bytes))) => {
                    let room = COMPLAINT.saturating_sub(self.complaint.len());
                    self.complaint.extend(String::from_utf8_lossy(&bytes).chars().take(room));
                }
                Some(Ok(ProcessEvent::LimitHit(hit))) => self.limits.push(hit.sentence),
                Some(Ok(ProcessEvent::Ended(ended))) => return Err(self.ended(&ended)),
                Some(Err(error)) => return Err(End(format!("the kernel was lost with its variables: {error}"))),
                None => return Err(End("the kernel was lost with its variables".to_owned())),
            }
        }
    }

    fn ended(&self, ended: &Ended) -> End {
        let how = match ended {
            Ended::Exited(code) => format!("ended with exit code {code}"),
            Ended::Signalled(signal) => format!("was killed by signal {signal}"),
            Ended::TimedOut => "was stopped at a time limit".to_owned(),
        };
        let limits = self.limits.iter().map(String::as_str);
        let said: Vec<&str> = limits.chain([self.complaint.trim()]).filter(|text| !text.is_empty()).collect();
        let why = if said.is_empty() { String::new() } else { format!(": {}", said.join("; ")) };
        if !self.has_answered {
            let hint = "hint: the runtime needs Python 3.8 or newer";
            return End(format!("cannot start `python3` in the sandbox: it {how}{why}\n{hint}"));
        }
        End(format!("the kernel {how}, and its variables are lost{why}"))
    }
}

fn garbled() -> End {
    End("the kernel sent what is not an answer; it was stopped, and its variables are lost".to_owned())
}
