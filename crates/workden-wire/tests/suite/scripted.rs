//! A sandbox whose files are real and whose processes are played: what a command does is said by its
//! line, so that a test decides what comes when.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::{io::AsyncWriteExt, sync::mpsc};
use tokio_util::compat::TokioAsyncReadCompatExt;
use workden_core::{
    Backend, ByteRange, Changed, Content, Entry, Error, ErrorKind, Expect, HostFiles, IfExists, Removal, Resolved,
    Result, Sandbox, Slice, Symlink, VirtualPath, Written,
    sandbox::{
        Command, Ended, ExecuteRequest, Executed, FileChange, FileEvent, FileEvents, Isolation, Job, JobId, JobOutput,
        JobRead, JobRequest, JobState, Killed, Output, PortStream, Process, ProcessControl, ProcessEvent,
        ProcessEvents, Signal, SpawnRequest, Stream, Usage, WatchRequest, WindowSize,
    },
    search::{GlobRequest, Globbed, GrepRequest, Grepped, ListRequest, Listing},
    text::{Change, Excerpt, TextWindow},
};

/// What has been seen of the calls.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Commands and processes that are there.
    pub(crate) running: AtomicUsize,
    /// Bytes that processes have handed out.
    pub(crate) printed: AtomicU64,
    /// Bytes of input that processes have taken.
    pub(crate) taken: AtomicU64,
    /// Bytes of files that were read.
    pub(crate) read: AtomicU64,
    /// Whether nothing is taken: no input, and no content in pieces.
    pub(crate) deaf: AtomicBool,
    /// Whether the sandbox was stopped.
    pub(crate) stopped: AtomicBool,
}

/// Counts something as running until it is dropped.
struct Running(Arc<Seen>);

impl Running {
    fn new(seen: &Arc<Seen>) -> Self {
        seen.running.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(seen))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A sandbox whose processes are played.
#[derive(Clone, Debug)]
pub(crate) struct Scripted {
    files: Arc<dyn Backend>,
    pub(crate) seen: Arc<Seen>,
    /// What `execute("fail")` and every call of `usage` answer.
    pub(crate) failure: Option<Error>,
}

impl Scripted {
    pub(crate) fn over(files: impl Backend + 'static) -> Self {
        Self { files: Arc::new(files), seen: Arc::default(), failure: None }
    }

    pub(crate) fn failing(mut self, failure: Error) -> Self {
        self.failure = Some(failure);
        self
    }
}

fn job(line: &str) -> Job {
    Job::new("bg_1", 7, line, JobState::Ended(Ended::Signalled(9))).duration(Duration::from_millis(1_500)).printed(5)
}

#[async_trait]
impl Sandbox for Scripted {
    async fn execute(&self, request: &ExecuteRequest) -> Result<Executed> {
        let _running = Running::new(&self.seen);
        match request.command.as_line().as_str() {
            "hang" => std::future::pending().await,
            "fail" => Err(self.failure.clone().unwrap()),
            "panic" => panic!("as the test wants"),
            line => {
                let output = Output::new(line);
                let (ended, duration) = (Ended::Exited(3), Duration::from_millis(20));
                Ok(Executed::new(output, ended, duration))
            }
        }
    }

    async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
        let running = Running::new(&self.seen);
        let (control, mut input) = PlayedControl::new(Arc::clone(&self.seen));
        let line = request.command.as_line();
        let seen = Arc::clone(&self.seen);
        let events: ProcessEvents = match line.split(' ').collect::<Vec<_>>()[..] {
            ["endless", size] => {
                let piece = Bytes::from(vec![b'y'; size.parse().unwrap()]);
                Box::pin(stream::repeat_with(move || {
                    let _ = &running;
                    seen.printed.fetch_add(piece.len() as u64, Ordering::SeqCst);
                    Ok(ProcessEvent::Printed(Stream::Output, piece.clone()))
                }))
            }
            ["cat"] => Box::pin(stream::poll_fn(move |context| {
                let _ = &running;
                input.poll_recv(context).map(|event| event.map(Ok))
            })),
            ["both"] => Box::pin(stream::iter([
                Ok(ProcessEvent::Printed(Stream::Output, Bytes::from_static(b"out\n"))),
                Ok(ProcessEvent::Printed(Stream::Error, Bytes::from(vec![0xff; 100_000]))),
                Ok(ProcessEvent::Ended(Ended::Signalled(15))),
            ])),
            ["silent"] => Box::pin(stream::pending().map(move |event| {
                let _ = &running;
                event
            })),
            ["fail"] => return Err(self.failure.clone().unwrap()),
            ["fail-later"] => Box::pin(stream::iter([
                Ok(ProcessEvent::Printed(Stream::Output, Bytes::from_static(b"so far"))),
                Err(self.failure.clone().unwrap()),
            ])),
            _ => panic!("the test knows no such line: {line}"),
        };
        Ok(Process::new(42, events, Box::new(control)))
    }

    async fn start_job(&self, request: &JobRequest) -> Result<Job> {
        Ok(job(&request.command.as_line()))
    }

    async fn jobs(&self) -> Result<Vec<Job>> {
        Ok(vec![job("one"), job("two")])
    }

    async fn read_job(&self, id: &JobId, read: &JobRead) -> Result<JobOutput> {
        if id.0 != "bg_1" {
            return Err(Error::new(ErrorKind::NotFound, format!("there is no job `{id}`")));
        }
        let text = format!("{} {} {:?}", read.offset, read.most, read.wait);
        Ok(JobOutput::new(text, read.offset + 5, job("one")).skipped(1))
    }

    async fn kill_job(&self, _: &JobId) -> Result<Killed> {
        Ok(Killed::AlreadyOver)
    }

    /// Port 7 sends back what it gets, port 9 takes nothing, and port 13 says something and ends.
    async fn connect_port(&self, port: u16) -> Result<PortStream> {
        let running = Running::new(&self.seen);
        let (near, far) = tokio::io::duplex(64 * 1024);
        tokio::spawn(async move {
            let _running = running;
            let (mut received, mut sent) = tokio::io::split(far);
            match port {
                7 => drop(tokio::io::copy(&mut received, &mut sent).await),
                9 => std::future::pending().await,
                _ => drop(sent.write_all(b"so much\n").await),
            }
            let _ = sent.shutdown().await;
        });
        match port {
            7 | 9 | 13 => Ok(Box::pin(near.compat())),
            _ => Err(self.failure.clone().unwrap()),
        }
    }

    /// Tells of two entries, and then what the sandbox fails with, if anything.
    async fn watch(&self, at: &Resolved, request: &WatchRequest) -> Result<FileEvents> {
        let running = Running::new(&self.seen);
        let path = at.real.child("new\nline")?;
        let is_directory = request.depth == workden_core::sandbox::WatchDepth::Tree;
        let events =
            [Ok(FileEvent::Changed { path, change: FileChange::Renamed, is_directory }), Ok(FileEvent::Missed)];
        let end = stream::iter(self.failure.clone().map(Err)).chain(stream::pending());
        Ok(Box::pin(stream::iter(events).chain(end).map(move |event| {
            let _ = &running;
            event
        })))
    }

    async fn usage(&self) -> Result<Usage> {
        match &self.failure {
            Some(failure) => Err(failure.clone()),
            None => Ok(Usage::default().memory(u64::MAX).jobs(2).age(Duration::from_nanos(1))),
        }
    }

    async fn isolation(&self) -> Result<Isolation> {
        Ok(Isolation::none())
    }

    async fn directory(&self) -> Result<VirtualPath> {
        VirtualPath::parse("/workspace")
    }

    async fn stop(&self) -> Result<()> {
        self.seen.stopped.store(true, Ordering::SeqCst);
        Ok(())
    }
}

/// Input comes out again; the end of the input ends the process, and so does a signal.
struct PlayedControl {
    events: mpsc::UnboundedSender<ProcessEvent>,
    seen: Arc<Seen>,
}

impl PlayedControl {
    fn new(seen: Arc<Seen>) -> (Self, mpsc::UnboundedReceiver<ProcessEvent>) {
        let (events, receiver) = mpsc::unbounded_channel();
        (Self { events, seen }, receiver)
    }

    fn happens(&self, event: ProcessEvent) -> Result<()> {
        self.events.send(event).map_err(|_| Error::new(ErrorKind::Gone, "it reads no more"))
    }
}

#[async_trait]
impl ProcessControl for PlayedControl {
    async fn write(&self, bytes: Bytes) -> Result<()> {
        if self.seen.deaf.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        self.seen.taken.fetch_add(bytes.len() as u64, Ordering::SeqCst);
        self.happens(ProcessEvent::Printed(Stream::Output, bytes))
    }

    async fn close_input(&self) -> Result<()> {
        self.happens(ProcessEvent::Ended(Ended::Exited(0)))
    }

    async fn signal(&self, signal: Signal) -> Result<()> {
        let text = format!("{signal:?}");
        self.happens(ProcessEvent::Printed(Stream::Error, text.into()))
    }

    async fn resize(&self, size: WindowSize) -> Result<()> {
        let text = format!("{}x{}", size.rows, size.columns);
        self.happens(ProcessEvent::Printed(Stream::Error, text.into()))
    }
}

/// A line that [`Scripted`] knows.
pub(crate) fn spawning(line: &str) -> SpawnRequest {
    SpawnRequest::piped(Command::Shell(line.to_owned()))
}

#[async_trait]
impl Backend for Scripted {
    async fn resolve(&self, path: &VirtualPath, symlink: Symlink) -> Result<Resolved> {
        self.files.resolve(path, symlink).await
    }
    async fn stat(&self, at: &Resolved) -> Result<Entry> {
        self.files.stat(at).await
    }
    async fn list(&self, at: &Resolved, request: &ListRequest) -> Result<Listing> {
        self.files.list(at, request).await
    }
    async fn read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        let slice = self.files.read(at, range).await?;
        self.seen.read.fetch_add(slice.bytes.len() as u64, Ordering::SeqCst);
        Ok(slice)
    }
    async fn read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        self.files.read_text(at, window).await
    }
    async fn write(&self, at: &Resolved, content: Content, expect: Expect) -> Result<Written> {
        if self.seen.deaf.load(Ordering::SeqCst) && matches!(content, Content::Stream(_)) {
            std::future::pending::<()>().await;
        }
        self.files.write(at, content, expect).await
    }
    async fn change(&self, at: &Resolved, change: &Change, expect: Expect, most: u64) -> Result<Changed> {
        self.files.change(at, change, expect, most).await
    }
    async fn make_dir(&self, at: &Resolved) -> Result<()> {
        self.files.make_dir(at).await
    }
    async fn remove(&self, at: &Resolved, what: Removal) -> Result<()> {
        self.files.remove(at, what).await
    }
    async fn rename(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<()> {
        self.files.rename(from, to, if_exists).await
    }
    async fn copy(&self, from: &Resolved, to: &Resolved, if_exists: IfExists) -> Result<Written> {
        self.files.copy(from, to, if_exists).await
    }
    async fn glob(&self, at: &Resolved, request: &GlobRequest) -> Result<Globbed> {
        self.files.glob(at, request).await
    }
    async fn grep(&self, at: &Resolved, request: &GrepRequest) -> Result<Grepped> {
        self.files.grep(at, request).await
    }
    fn host_files(&self) -> Option<&dyn HostFiles> {
        self.files.host_files()
    }
}
