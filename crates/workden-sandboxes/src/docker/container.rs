//! `Container`: the life of one container. It is made when it is first needed, found again by its name, and looked
//! after by a keeper that is reached through a program in it.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use bollard::{
    exec::{CreateExecOptions, StartExecOptions, StartExecResults},
    models::{ContainerInspectResponse, ContainerStateStatusEnum},
    query_parameters::{
        AttachContainerOptions, CreateContainerOptions, InspectContainerOptions, RemoveContainerOptions,
        StopContainerOptions,
    },
};
use tokio::{
    sync::OnceCell,
    time::{Instant, timeout},
};
use workden_core::{Error, ErrorKind, Result, Sandbox, limits, sandbox::Isolation};
use workden_wire::RemoteSandbox;

use super::{
    BuildProgress, ContainerKeepers, Daemon, Images, errors,
    foreign::{self, Guest},
    keeper_volume::{KeeperVolume, PROGRAM},
    labels,
    plan::{ImageChoice, Plan, SOCKET},
    report,
    stream::ProgramStream,
};
use crate::{line::Reach, token};

/// How long a keeper has to stop its commands when it is asked to.
const STOP_TIME: Duration = limits::TERM_TIME.saturating_add(Duration::from_secs(3));
/// How long a container that is being removed by somebody else may take.
const REMOVAL_TIME: Duration = Duration::from_secs(15);
/// Bytes of a stream that are taken at a time.
const PIECE: usize = 64 * 1024;

/// One container.
pub(super) struct Container {
    pub(super) daemon: Daemon,
    pub(super) keepers: ContainerKeepers,
    pub(super) images: ImageOptions,
    pub(super) plan: Wanted,
    made: OnceCell<Made>,
    /// The streams of the keeper itself, from its start until somebody talks to it.
    first: Mutex<Option<ProgramStream>>,
}

/// How an image that is not there is got.
#[derive(Clone, Default)]
pub(super) struct ImageOptions {
    pub(super) build_network: Option<String>,
    pub(super) progress: Option<Arc<dyn Fn(BuildProgress) + Send + Sync>>,
}

impl fmt::Debug for ImageOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImageOptions").field("build_network", &self.build_network).finish_non_exhaustive()
    }
}

/// Which container.
pub(super) enum Wanted {
    /// One that is made, unless there is one of this name.
    Made(Arc<Plan>),
    /// One that is there, by its name or id.
    Found(String),
}

/// A container that is there.
#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// Ours, with the token of its keeper, and whether it goes with the sandbox.
    Ours { token: String, removes: bool },
    /// Somebody else's, with a keeper of ours in it.
    Foreign(Guest),
}

impl Container {
    pub(super) fn new(daemon: Daemon, keepers: ContainerKeepers, images: ImageOptions, plan: Wanted) -> Self {
        Self { daemon, keepers, images, plan, made: OnceCell::new(), first: Mutex::default() }
    }

    /// The container, if it was made or found.
    pub(super) fn made(&self) -> Option<&Made> {
        self.made.get()
    }

    /// What the daemon says of it.
    pub(super) async fn inspect(&self, name: &str) -> Result<Option<ContainerInspectResponse>> {
        match self.daemon.client().await?.inspect_container(name, None::<InspectContainerOptions>).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if errors::is_not_found(&error) => Ok(None),
            Err(error) => Err(self.daemon.failed(&format!("look at the container `{name}`"), &error)),
        }
    }

    /// Makes it, or finds it.
    async fn provide(&self) -> Result<Made> {
        match &self.plan {
            Wanted::Found(name) => match self.inspect(name).await? {
                Some(found) => self.take_over(name, found).await,
                None => Err(Error::new(ErrorKind::NotFound, format!("there is no container `{name}`"))
                    .hint("`docker ps` shows which there are")),
            },
            Wanted::Made(plan) => {
                if let Some(name) = &plan.name
                    && let Some(found) = self.inspect(name).await?
                {
                    return self.take_over(name, found).await;
                }
                self.make(plan).await
            }
        }
    }

    /// Takes a container that is there, and sees to it that it runs.
    async fn take_over(&self, name: &str, found: ContainerInspectResponse) -> Result<Made> {
        let id = found.id.clone().unwrap_or_else(|| name.to_owned());
        let client = self.daemon.client().await?;
        let failed = |what: &str, error| self.daemon.failed(&format!("{what} the container `{name}`"), &error);
        match status(&found) {
            ContainerStateStatusEnum::RUNNING => {}
            ContainerStateStatusEnum::PAUSED => {
                client.unpause_container(&id).await.map_err(|error| failed("go on with", error))?;
            }
            ContainerStateStatusEnum::REMOVING => return Err(busy(name, "it is being removed")),
            _ => client.start_container(&id, None).await.map_err(|error| failed("start", error))?,
        }
        let its_labels = found.config.as_ref().and_then(|config| config.labels.as_ref());
        let token = its_labels.and_then(|labels| labels.get(labels::TOKEN)).cloned();
        let kind = match token {
            Some(token) => {
                let removes = found.host_config.and_then(|host| host.auto_remove).unwrap_or(false);
                Kind::Ours { token, removes }
            }
            None => {
                let architecture = self.architecture(&found.image.unwrap_or_default()).await?;
                let keeper = self.keepers.read(&architecture).await?;
                let work = found.config.and_then(|config| config.working_dir).filter(|work| !work.is_empty());
                Kind::Foreign(foreign::move_in(&self.daemon, &id, &keeper, work.as_deref().unwrap_or("/")).await?)
            }
        };
        Ok(Made { id, name: name.to_owned(), kind })
    }

    /// Makes one, and starts it.
    async fn make(&self, plan: &Plan) -> Result<Made> {
        let image = self.image(&plan.image).await?;
        let architecture = self.architecture(&image).await?;
        let volume = KeeperVolume::of(self.keepers.read(&architecture).await?);
        volume.provide(&self.daemon, &image).await?;
        let name = match &plan.name {
            Some(name) => name.clone(),
            None => format!("workden-{}", token::random_digits(8)?),
        };
        match self.start_new(plan, &image, &volume, &name).await {
            // Somebody began to fill the volume and did not come to the end.
            Err(error) if is_without_keeper(&error) => {
                volume.fill(&self.daemon, &image).await?;
                self.start_new(plan, &image, &volume, &name).await
            }
            made => made,
        }
    }

    /// The image, pulled or built when the daemon does not have it.
    async fn image(&self, choice: &ImageChoice) -> Result<String> {
        let progress = |news| {
            if let Some(told) = &self.images.progress {
                told(news);
            }
        };
        let mut images = Images::new(self.daemon.clone());
        if let Some(network) = &self.images.build_network {
            images = images.build_network(network);
        }
        match choice {
            ImageChoice::Runtime(runtime) => images.ensure(runtime, &progress).await,
            ImageChoice::Image(image) => {
                images.there_or_pulled(image, &progress).await?;
                Ok(image.clone())
            }
        }
    }

    async fn start_new(&self, plan: &Plan, image: &str, volume: &KeeperVolume, name: &str) -> Result<Made> {
        let client = self.daemon.client().await?;
        let token = token::random()?;
        let body = plan.body(image, volume, &token)?;
        let options = CreateContainerOptions { name: Some(name.to_owned()), ..CreateContainerOptions::default() };
        let id = match client.create_container(Some(options), body).await {
            Ok(made) => made.id,
            Err(error) => {
                // Somebody else was quicker, and theirs is the one of this name.
                if errors::is_conflict(&error)
                    && plan.name.is_some()
                    && let Some(found) = self.inspect(name).await?
                {
                    return self.take_over(name, found).await;
                }
                return Err(self.daemon.failed("make a container", &error));
            }
        };
        // Attached before it starts: that costs nothing, and a program beside it as much as the start itself. Where
        // it cannot be done there is that program.
        let streams = client.attach_container(&id, Some(all_streams())).await.ok();
        let started = {
            let _turn = self.daemon.turn().await;
            client.start_container(&id, None).await
        };
        if let Err(error) = started {
            self.remove(&id).await?;
            return Err(with_advice(self.daemon.failed("start a container", &error), plan));
        }
        let streams = streams.map(|streams| ProgramStream::new(streams.output, streams.input));
        *self.first.lock().unwrap_or_else(PoisonError::into_inner) = streams;
        Ok(Made { id, name: name.to_owned(), kind: Kind::Ours { token, removes: plan.removes() } })
    }

    /// The architecture of an image.
    async fn architecture(&self, image: &str) -> Result<String> {
        match self.daemon.client().await?.inspect_image(image).await {
            Ok(found) => Ok(found.architecture.filter(|name| !name.is_empty()).unwrap_or_else(|| "amd64".to_owned())),
            Err(error) if errors::is_not_found(&error) => {
                Err(Error::new(ErrorKind::NotFound, format!("the daemon has no image `{image}`"))
                    .hint(format!("get it with `docker pull {image}`, or name one of `docker images`")))
            }
            Err(error) => Err(self.daemon.failed(&format!("look at the image `{image}`"), &error)),
        }
    }

    /// Starts a relay in the container, and talks to the keeper through it.
    async fn connect(&self, made: &Made) -> Result<RemoteSandbox> {
        let (program, socket, token) = match &made.kind {
            Kind::Ours { token, .. } => (PROGRAM, SOCKET, token),
            Kind::Foreign(guest) => (guest.program.as_str(), guest.socket.as_str(), &guest.token),
        };
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let stream = match first {
            Some(stream) => Ok(stream),
            None => run(&self.daemon, &made.id, &[program, "connect", "--socket", socket], None).await,
        };
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) if error.kind() == ErrorKind::Unreachable => return Err(error),
            Err(error) => return Err(self.why(made).await.err().unwrap_or(error)),
        };
        let complaint = stream.complaint();
        match RemoteSandbox::connect(stream, Some(token)).await {
            Ok(remote) => Ok(remote),
            Err(error) if error.kind() == ErrorKind::Gone => {
                let said = complaint.text();
                let said = if said.is_empty() { String::new() } else { format!(": {}", errors::shown(&said)) };
                if let Err(why) = self.why(made).await {
                    let told = Error::new(why.kind(), format!("{}{said}", why.sentence()));
                    return Err(match why.hint_text() {
                        Some(hint) => told.hint(hint.to_owned()),
                        None => told,
                    });
                }
                let sentence = format!("the keeper in the container `{}` does not answer{said}", made.name);
                Err(Error::new(ErrorKind::Unreachable, sentence))
            }
            Err(error) => Err(error),
        }
    }

    /// What became of a container that was there.
    async fn why(&self, made: &Made) -> Result<()> {
        let name = &made.name;
        let Some(found) = self.inspect(&made.id).await? else {
            return Err(gone(&format!("its container `{name}` was removed")));
        };
        let state = found.state.clone().unwrap_or_default();
        match status(&found) {
            ContainerStateStatusEnum::RUNNING => Ok(()),
            ContainerStateStatusEnum::PAUSED => {
                Err(busy(name, "it is paused")
                    .hint(format!("whoever paused it can let it go on: `docker unpause {name}`")))
            }
            ContainerStateStatusEnum::RESTARTING => Err(busy(name, "it is being restarted")),
            _ if state.oom_killed == Some(true) => {
                Err(gone(&format!("its container `{name}` ran out of memory, and was killed")))
            }
            _ => {
                let code = state.exit_code.unwrap_or(0);
                Err(gone(&format!("its container `{name}` has ended (exit code {code})")))
            }
        }
    }

    /// Removes it, and waits until it is gone.
    pub(super) async fn remove(&self, id: &str) -> Result<()> {
        remove(&self.daemon, id).await
    }
}

#[async_trait]
impl Reach for Container {
    async fn reach(&self) -> Result<RemoteSandbox> {
        let made = self.made.get_or_try_init(|| self.provide()).await?;
        self.connect(made).await
    }

    async fn look(&self) -> Result<()> {
        match self.made.get() {
            Some(made) => self.why(made).await,
            None => Ok(()),
        }
    }

    async fn report(&self, seen: Isolation) -> Result<Isolation> {
        let Some(made) = self.made.get() else { return Ok(seen) };
        Ok(match self.inspect(&made.id).await? {
            Some(found) => report::complete(seen, &found),
            None => seen,
        })
    }

    async fn end(&self, remote: Option<RemoteSandbox>) -> Result<()> {
        let Some(made) = self.made.get() else { return Ok(()) };
        if let Some(remote) = remote {
            // Whatever it answers, it will be gone.
            let _ = timeout(STOP_TIME, remote.stop()).await;
        }
        match &made.kind {
            Kind::Ours { removes: true, .. } => self.remove(&made.id).await,
            Kind::Ours { removes: false, .. } => {
                let at_once = StopContainerOptions { t: Some(1), ..StopContainerOptions::default() };
                match self.daemon.client().await?.stop_container(&made.id, Some(at_once)).await {
                    Err(error) if !errors::is_not_found(&error) => Err(self.daemon.failed("stop a container", &error)),
                    _ => Ok(()),
                }
            }
            Kind::Foreign(guest) => guest.move_out(&self.daemon, &made.id).await,
        }
    }
}

impl Drop for Container {
    /// Nobody uses it any more, and without a name nobody will: it goes now, if there is still somebody to ask for
    /// it, and otherwise when its lease is over.
    fn drop(&mut self) {
        let is_nameless = matches!(&self.plan, Wanted::Made(plan) if plan.name.is_none() && plan.removes());
        let Some(Made { id, .. }) = self.made.take().filter(|_| is_nameless) else { return };
        let daemon = self.daemon.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { remove(&daemon, &id).await });
        }
    }
}

/// Removes a container, and waits until it is gone.
///
/// Somebody else may be at it, such as the daemon itself when the last process of the container has ended: daemons
/// call that a conflict, or say that the container is in no state to be removed. A moment later it is gone.
pub(super) async fn remove(daemon: &Daemon, id: &str) -> Result<()> {
    let client = daemon.client().await?;
    let began = Instant::now();
    loop {
        let options = RemoveContainerOptions { force: true, v: true, ..RemoveContainerOptions::default() };
        let removed = {
            let _turn = daemon.turn().await;
            client.remove_container(id, Some(options)).await
        };
        match removed {
            Ok(()) => return Ok(()),
            Err(error) if errors::is_not_found(&error) => return Ok(()),
            Err(error) => {
                let error = daemon.failed("remove a container", &error);
                if error.kind() == ErrorKind::Unreachable || began.elapsed() > REMOVAL_TIME {
                    return Err(error);
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Runs a program in a container.
pub(super) async fn run(daemon: &Daemon, id: &str, words: &[&str], user: Option<&str>) -> Result<ProgramStream> {
    let client = daemon.client().await?;
    let failed = |error| daemon.failed("run a program in the container", &error);
    let options = CreateExecOptions {
        cmd: Some(words.to_vec()),
        user,
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        ..CreateExecOptions::default()
    };
    let program = client.create_exec(id, options).await.map_err(failed)?;
    let start = StartExecOptions { output_capacity: Some(PIECE), ..StartExecOptions::default() };
    match client.start_exec(&program.id, Some(start)).await.map_err(failed)? {
        StartExecResults::Attached { output, input } => Ok(ProgramStream::new(output, input)),
        StartExecResults::Detached => {
            Err(Error::new(ErrorKind::Io, "the daemon did not give the streams of a program"))
        }
    }
}

fn all_streams() -> AttachContainerOptions {
    AttachContainerOptions {
        stdin: true,
        stdout: true,
        stderr: true,
        stream: true,
        ..AttachContainerOptions::default()
    }
}

fn status(found: &ContainerInspectResponse) -> ContainerStateStatusEnum {
    let state = found.state.as_ref();
    state.and_then(|state| state.status).unwrap_or(ContainerStateStatusEnum::EMPTY)
}

/// Whether a container did not start because there is no keeper in the volume, or not all of it.
fn is_without_keeper(error: &Error) -> bool {
    let said = error.sentence();
    said.contains(PROGRAM) && (said.contains("no such file") || said.contains("exec format error"))
}

/// What a person can do about a container that does not start.
fn with_advice(error: Error, plan: &Plan) -> Error {
    let said = error.sentence();
    if let (Some(runtime), true) = (&plan.oci_runtime, said.contains("nknown runtime")) {
        let hint = format!("the daemon does not know the runtime `{runtime}`: see `docker info`, under Runtimes");
        return Error::new(ErrorKind::Unsupported, said).hint(hint);
    }
    error
}

fn gone(why: &str) -> Error {
    Error::new(ErrorKind::Gone, format!("the sandbox is gone: {why}")).hint("make a new one; files in volumes are kept")
}

fn busy(name: &str, why: &str) -> Error {
    Error::new(ErrorKind::Busy, format!("the container `{name}` does not answer: {why}"))
}
