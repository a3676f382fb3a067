//! `Kernel`: a Python process in the sandbox that runs the code of one context, one piece after another.
//!
//! A task owns the process. It ends the process when the context ends, when the process says what no kernel says, and
//! when code goes on after an interrupt. What the process prints is hostile: it can fool its own client only.

use std::{pin::pin, sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tokio_util::sync::{CancellationToken, DropGuard};
use workden::{Result, Sandbox, VirtualPath, Workspace};
use workden_core::sandbox::{
    Command, Ended, Process, ProcessControl, ProcessEvent, ProcessEvents, Signal, SpawnRequest, Stream, Streams,
};

use super::{
    super::process::user_variables,
    budget::{Budget, Share},
    jobs::{Job, Jobs},
    messages::{LONG, Lines, MOST_BYTES, Said, failure_line, read},
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
/// How long interrupted code may go on.
const GRACE: Duration = Duration::from_secs(10);
/// How often it is interrupted: a program that is about to start misses an interrupt.
const AGAIN: Duration = Duration::from_millis(500);
/// How long code that nothing waits for may take to start.
const STARTING: Duration = Duration::from_secs(60);
/// How long a line may wait for room, and a long one for its end.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a kernel may say between two pieces of code, where it has nothing to say: lines, and bytes of them.
const STRAY_LINES: usize = 1000;
const STRAY_BYTES: usize = 1 << 20;
/// Bytes of what Python says when it cannot start.
const COMPLAINT: usize = 2000;

/// A running kernel; dropped, it ends.
#[derive(Debug)]
pub(super) struct Kernel {
    jobs: Arc<Jobs>,
    _stop: DropGuard,
}

impl Kernel {
    /// Starts a kernel, under the policy of the session.
    pub(super) async fn start(
        workspace: &Workspace,
        home: &VirtualPath,
        directory: &VirtualPath,
        budget: Budget,
    ) -> Result<Self> {
        let words = ["python3", "-c", LOADER, &PROGRAM.len().to_string()].map(str::to_owned);
        let request = SpawnRequest::new(Command::Program(words.into()), Streams::Pipes)
            .environment(user_variables(home))
            .directory(directory.clone());
        let Process { events, control, .. } = workspace.commands()?.spawn(&request).await?;
        let jobs = Arc::new(Jobs::new());
        let stop = CancellationToken::new();
        let process = KernelProcess {
            events,
            control: control.into(),
            jobs: Arc::clone(&jobs),
            budget,
            lines: Lines::default(),
            long: None,
            complaint: String::new(),
            has_answered: false,
            limits: Vec::new(),
            number: 0,
        };
        tokio::spawn(process.serve(stop.clone()));
        Ok(Self { jobs, _stop: stop.drop_guard() })
    }

    /// Takes a job; returns it if the kernel has ended.
    pub(super) fn take(&self, job: Job) -> Result<Option<Job>> {
        self.jobs.add(job)
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
    jobs: Arc<Jobs>,
    budget: Budget,
    lines: Lines,
    /// The share of a long line that has begun, and until when it has to end.
    long: Option<(Share, Instant)>,
    /// What it said before it could send lines.
    complaint: String,
    has_answered: bool,
    limits: Vec<String>,
    /// The number of the last code.
    number: u64,
}

impl KernelProcess {
    async fn serve(mut self, stop: CancellationToken) {
        if let Err(error) = self.control.write(Bytes::from_static(PROGRAM.as_bytes())).await {
            tracing::debug!(%error, "a kernel does not read its program");
        }
        let jobs = Arc::clone(&self.jobs);
        let (mut stray_lines, mut stray_bytes) = (0, 0);
        let (end, interrupted) = loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => break (End::stopped(), None),
                mut job = jobs.next() => {
                    if let Err(end) = self.run(&mut job, &stop).await {
                        break (end, Some(job));
                    }
                    (stray_lines, stray_bytes) = (0, 0);
                }
                line = self.next() => match line {
                    Err(end) => break (end, None),
                    Ok((line, _)) => {
                        stray_lines += 1;
                        stray_bytes += line.len();
                        if stray_lines > STRAY_LINES || stray_bytes > STRAY_BYTES {
                            let sentence = "the kernel sent answers between two pieces of code; it was stopped";
                            break (End(sentence.to_owned()), None);
                        }
                    }
                },
            }
        };
        let waiting = jobs.close();
        // The process ends here, with all that it started.
        drop(self);
        if let Some(job) = interrupted {
            job.client.fail(failure_line(&end.0));
        }
        for job in waiting {
            job.client.fail(failure_line(&format!("the code did not run: {}", end.0)));
        }
    }

    /// Runs code to its end, and passes its lines on.
    async fn run(&mut self, job: &mut Job, stop: &CancellationToken) -> Result<(), End> {
        if job.client.has_left() {
            return Ok(());
        }
        self.number += 1;
        let request = format!("{{\"number\":{},{}\n", self.number, std::mem::take(&mut job.request));
        let control = Arc::clone(&self.control);
        let mut sending = pin!(control.write(request.into()));
        let (mut is_sent, mut has_started, mut is_left) = (false, false, false);
        let (mut deadline, mut next_interrupt): (Option<Instant>, Option<Instant>) = (None, None);
        loop {
            let (line, share) = tokio::select! {
                biased;
                () = stop.cancelled() => return Err(End::stopped()),
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    return Err(End("the code went on after an interrupt".to_owned()));
                }
                () = job.client.left(), if !is_left => {
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
            let said = read(&line, self.number).ok_or_else(garbled)?;
            drop(line);
            let line = match said {
                Said::Stray => continue,
                Said::Done => return Ok(()),
                Said::Started(line) => {
                    if is_left && !has_started {
                        deadline = Some(Instant::now() + GRACE);
                        next_interrupt = Some(Instant::now());
                    }
                    has_started = true;
                    line
                }
                Said::Line(line) => line,
            };
            let hand_over = async {
                let share = match share {
                    Some(mut share) => {
                        share.shrink_to(line.len());
                        share
                    }
                    None => self.budget.take(line.len()).await,
                };
                job.client.send(line, share).await;
            };
            tokio::select! {
                () = stop.cancelled() => return Err(End::stopped()),
                // What follows is noticed above.
                () = job.client.left() => {}
                () = sleep(PATIENCE) => job.client.give_up(),
                () = hand_over => {}
            }
        }
    }

    /// Returns its next line, with the share of a long one. Dropped, it loses nothing.
    async fn next(&mut self) -> Result<(BytesMut, Option<Share>), End> {
        loop {
            let Ok(line) = self.lines.take() else { return Err(garbled()) };
            if let Some(line) = line {
                self.has_answered = true;
                return Ok((line, self.long.take().map(|(share, _)| share)));
            }
            if self.long.is_none() && self.lines.begun() > LONG {
                let share = self.budget.take(MOST_BYTES).await;
                self.long = Some((share, Instant::now() + PATIENCE));
            }
            let event = match &self.long {
                None => self.events.next().await,
                Some((_, end)) => timeout_at(*end, self.events.next()).await.map_err(|_| garbled())?,
            };
            match event {
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

impl Drop for KernelProcess {
    fn drop(&mut self) {
        // Code that comes later starts another kernel.
        self.jobs.close();
    }
}

fn garbled() -> End {
    End("the kernel sent what is not an answer; it was stopped, and its variables are lost".to_owned())
}
