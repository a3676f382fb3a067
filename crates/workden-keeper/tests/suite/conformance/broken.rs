//! `Broken`: a keeper with one defect, to see the exec part of the suite fail.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use workden_core::{
    ErrorKind, Resolved, Result, Sandbox, VirtualPath, Visibility,
    sandbox::{
        Command, Ended, ExecuteRequest, Executed, FileEvents, Isolation, Job, JobId, JobOutput, JobRead, JobRequest,
        JobState, Killed, Output, PortStream, Process, ProcessEvent, SpawnRequest, Stream, Streams, Usage, WatchDepth,
        WatchRequest, WindowSize,
    },
};
use workden_keeper::Keeper;

/// The defect of a [`Broken`] sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spoil {
    /// None.
    Nothing,
    ExitCodesAreZero,
    SignalsAreExitCodes,
    OutputIsCutSilently,
    LeftOutIsOneOff,
    LogsAreLost,
    InputIsOpen,
    TimeoutsLoseWhatWasPrinted,
    DurationsAreNothing,
    VectorsGoThroughAShell,
    EnvironmentIsLost,
    DirectoryIsIgnored,
    DroppedCallsGoOn,
    StreamsAreOne,
    BytesAreTakenForText,
    TerminalsHaveOneSize,
    JobsAreForgotten,
    JobsAreNotCounted,
    CommandsHaveNoLine,
    ReadsSplitCharacters,
    ReadsStartAtTheBeginning,
    KillsLeaveChildren,
    UnknownJobsAreOver,
    WatchesAreShallow,
    HiddenNamesAreTold,
    MissedEventsAreSilent,
    StoppingDoesNothing,
}

/// A keeper with a defect.
#[derive(Debug)]
pub(crate) struct Broken {
    inner: Arc<Keeper>,
    spoil: Spoil,
}

impl Broken {
    pub(crate) fn new(inner: Keeper, spoil: Spoil) -> Self {
        Self { inner: Arc::new(inner), spoil }
    }

    /// Stops the inner keeper.
    pub(crate) async fn end(&self) {
        self.inner.stop().await.unwrap();
    }

    fn command(&self, command: &Command) -> Command {
        match (self.spoil, command) {
            (Spoil::VectorsGoThroughAShell, Command::Program(words)) => Command::Shell(words.join(" ")),
            (Spoil::InputIsOpen, Command::Shell(line)) => {
                Command::Shell(format!("mkfifo open$$ && exec 0<>open$$; {line}"))
            }
            _ => command.clone(),
        }
    }

    fn request(&self, request: &ExecuteRequest) -> ExecuteRequest {
        let mut request = request.clone();
        request.command = self.command(&request.command);
        match self.spoil {
            Spoil::EnvironmentIsLost => request.environment.clear(),
            Spoil::DirectoryIsIgnored => request.directory = None,
            // A command that waits for input waits for ever, which is too long for a test.
            Spoil::InputIsOpen => request.timeout = Some(std::time::Duration::from_secs(1)),
            _ => {}
        }
        request
    }

    fn executed(&self, mut done: Executed) -> Executed {
        match (self.spoil, done.ended) {
            (Spoil::ExitCodesAreZero, Ended::Exited(_)) => done.ended = Ended::Exited(0),
            (Spoil::SignalsAreExitCodes, Ended::Signalled(signal)) => done.ended = Ended::Exited(128 + signal),
            (Spoil::TimeoutsLoseWhatWasPrinted, Ended::TimedOut) => done.output = Output::default(),
            (Spoil::DurationsAreNothing, _) => done.duration = std::time::Duration::ZERO,
            _ => {}
        }
        if let Some(left_out) = &mut done.output.left_out {
            match self.spoil {
                Spoil::OutputIsCutSilently => done.output.left_out = None,
                Spoil::LeftOutIsOneOff => left_out.bytes += 1,
                Spoil::LogsAreLost => left_out.log = None,
                _ => {}
            }
        }
        done
    }

    fn event(&self, event: ProcessEvent) -> ProcessEvent {
        match (self.spoil, event) {
            (Spoil::StreamsAreOne, ProcessEvent::Printed(_, bytes)) => ProcessEvent::Printed(Stream::Output, bytes),
            (Spoil::BytesAreTakenForText, ProcessEvent::Printed(stream, bytes)) => {
                ProcessEvent::Printed(stream, String::from_utf8_lossy(&bytes).into_owned().into())
            }
            (_, event) => event,
        }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Sandbox for Broken {
    async fn execute(&self, request: &ExecuteRequest) -> Result<Executed> {
        let request = self.request(request);
        let done = match self.spoil {
            Spoil::DroppedCallsGoOn => {
                let inner = Arc::clone(&self.inner);
                tokio::spawn(async move { inner.execute(&request).await }).await.unwrap()
            }
            _ => self.inner.execute(&request).await,
        };
        done.map(|done| self.executed(done))
    }
    async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
        let mut request = request.clone();
        match (self.spoil, request.streams) {
            (Spoil::EnvironmentIsLost, _) => request.environment.clear(),
            (Spoil::DirectoryIsIgnored, _) => request.directory = None,
            (Spoil::TerminalsHaveOneSize, Streams::Terminal(_)) => {
                request.streams = Streams::Terminal(WindowSize { rows: 25, columns: 132 });
            }
            _ => {}
        }
        let Process { pid, events, control, .. } = self.inner.spawn(&request).await?;
        let spoiler = Self { inner: Arc::clone(&self.inner), spoil: self.spoil };
        let events = events.map(move |event| event.map(|event| spoiler.event(event)));
        Ok(Process::new(pid, Box::pin(events), control))
    }
    async fn start_job(&self, request: &JobRequest) -> Result<Job> {
        let mut request = request.clone();
        request.command = self.command(&request.command);
        self.inner.start_job(&request).await
    }
    async fn jobs(&self) -> Result<Vec<Job>> {
        let mut jobs = self.inner.jobs().await?;
        if self.spoil == Spoil::JobsAreForgotten {
            jobs.retain(|job| job.state == JobState::Running);
        }
        Ok(jobs)
    }
    async fn read_job(&self, id: &JobId, read: &JobRead) -> Result<JobOutput> {
        let mut spoiled = *read;
        if self.spoil == Spoil::ReadsStartAtTheBeginning {
            spoiled.offset = 0;
        }
        let mut output = self.inner.read_job(id, &spoiled).await?;
        let cut = output.next < read.offset + read.most && output.next < output.job.printed;
        if self.spoil == Spoil::ReadsSplitCharacters && cut {
            output.text.push('\u{fffd}');
            output.next += 1;
        }
        Ok(output)
    }
    async fn kill_job(&self, id: &JobId) -> Result<Killed> {
        match self.spoil {
            Spoil::KillsLeaveChildren => {
                let job = self.inner.read_job(id, &JobRead::from(0)).await?.job;
                self.inner.execute(&ExecuteRequest::shell(format!("kill -KILL {}", job.pid))).await?;
                Ok(Killed::Stopped)
            }
            Spoil::UnknownJobsAreOver => match self.inner.kill_job(id).await {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(Killed::AlreadyOver),
                killed => killed,
            },
            _ => self.inner.kill_job(id).await,
        }
    }
    async fn connect_port(&self, port: u16) -> Result<PortStream> {
        self.inner.connect_port(port).await
    }
    async fn watch(&self, at: &Resolved, request: &WatchRequest) -> Result<FileEvents> {
        let request = match self.spoil {
            Spoil::WatchesAreShallow => request.clone().depth(WatchDepth::Entries),
            Spoil::HiddenNamesAreTold => request.clone().visibility(Visibility::everything()),
            _ => request.clone(),
        };
        let events = self.inner.watch(at, &request).await?;
        match self.spoil {
            // As if the kernel's queue were short.
            Spoil::MissedEventsAreSilent => Ok(Box::pin(
                events.enumerate().filter_map(async |(nth, event)| (!(1_000..=2_000).contains(&nth)).then_some(event)),
            )),
            _ => Ok(events),
        }
    }
    async fn usage(&self) -> Result<Usage> {
        let mut usage = self.inner.usage().await?;
        if self.spoil == Spoil::JobsAreNotCounted {
            usage.jobs = 0;
        }
        if self.spoil == Spoil::CommandsHaveNoLine {
            usage.commands.iter_mut().for_each(|command| command.line.clear());
        }
        Ok(usage)
    }
    async fn isolation(&self) -> Result<Isolation> {
        self.inner.isolation().await
    }
    async fn directory(&self) -> Result<VirtualPath> {
        self.inner.directory().await
    }
    async fn stop(&self) -> Result<()> {
        match self.spoil {
            Spoil::StoppingDoesNothing => Ok(()),
            _ => self.inner.stop().await,
        }
    }
}

workden_core::forward_backend! {
    impl[] for Broken;
    looks: [|this| &this.inner, |answer| answer], changes: [|this| &this.inner, |answer| answer],
    host_files: |this| this.inner.host_files()
}
