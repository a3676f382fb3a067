//! Creates a container from an image with a keeper in it, or finds it by its name.

use std::sync::{
    Arc, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use bollard::{
    models::{ContainerCreateBody, ContainerInspectResponse, ContainerStateStatusEnum},
    query_parameters::{AttachContainerOptions, CreateContainerOptions},
};
use workden_core::{Error, ErrorKind, Result};

use super::{
    BuildProgress, Images, check,
    container::{Container, ContainerChoice, Kind, Made, busy, status},
    errors, foreign,
    keeper_volume::{KeeperVolume, PROGRAM},
    labels,
    plan::{Check, ImageChoice, Plan},
    removal,
    stream::ProgramStream,
};
use crate::token;

impl Container {
    /// Finds or creates the container.
    pub(super) async fn provide(&self) -> Result<Made> {
        match &self.plan {
            ContainerChoice::Existing(name) => match self.inspect(name).await? {
                Some(found) => self.take_over(name, found).await,
                None => Err(Error::new(ErrorKind::NotFound, format!("container `{name}` not found"))
                    .hint("`docker ps --all` lists the containers")),
            },
            ContainerChoice::New(plan) => {
                if let Some(name) = &plan.name
                    && let Some(found) = self.inspect(name).await?
                {
                    return self.take_again(plan, name, found).await;
                }
                self.make(plan).await
            }
        }
    }

    /// Uses an existing container of the planned name, if its labels match the plan.
    async fn take_again(&self, plan: &Arc<Plan>, name: &str, found: ContainerInspectResponse) -> Result<Made> {
        let its = found.config.as_ref().and_then(|config| config.labels.clone()).unwrap_or_default();
        // A spare container had no session when it was created.
        let wanted = plan.labels.iter().filter(|(label, _)| *label != labels::SESSION);
        if let Some((label, _)) = wanted.into_iter().find(|(label, value)| its.get(*label) != Some(value)) {
            let sentence = format!("another container `{name}` exists already: the label `{label}` differs");
            return Err(Error::new(ErrorKind::Conflict, sentence).hint(format!(
                "it was created with other options or by another program: see `docker inspect {name}`"
            )));
        }
        let before = status(&found);
        let made = self.take_over(name, found).await?;
        if let Err(error) = self.verify(plan, &made).await {
            self.leave_as_found(&made, before).await;
            return Err(error);
        }
        Ok(made)
    }

    /// Gives back a container that is not used. A failure here must not hide why the container was refused.
    async fn leave_as_found(&self, made: &Made, before: ContainerStateStatusEnum) {
        let left = match before {
            ContainerStateStatusEnum::RUNNING => Ok(()),
            ContainerStateStatusEnum::PAUSED => self.pause(made).await,
            _ => removal::stop(&self.daemon, &made.id).await,
        };
        if let Err(error) = left {
            tracing::warn!(container = made.name, %error, "a refused container is still running");
        }
    }

    async fn pause(&self, made: &Made) -> Result<()> {
        let failed = |error| self.daemon.failed(&format!("pause the container `{}`", made.name), &error);
        self.daemon.client().await?.pause_container(&made.id).await.map_err(failed)
    }

    /// Verifies that a container that was not created just now covers what the plan protects. When it starts, the
    /// daemon looks up its mounts again, by name; and its masks are those of the plan that created it.
    async fn verify(&self, plan: &Arc<Plan>, made: &Made) -> Result<()> {
        if !self.daemon.is_on_this_machine() {
            return Ok(());
        }
        let expected = expected(plan).await?;
        if expected.is_empty() {
            return Ok(());
        }
        let remote = self.connect_to(made, None).await?;
        match check::hold(&remote, &expected).await {
            Err(error) if error.kind() == ErrorKind::Moved => {
                let name = &made.name;
                let sentence =
                    format!("the container `{name}` exists already and shows other files: {}", error.sentence());
                Err(Error::new(ErrorKind::Conflict, sentence)
                    .hint(format!("remove it with `docker rm --force {name}`, or use another name")))
            }
            Err(error) => Err(error),
            Ok(()) => {
                *self.first.lock().unwrap_or_else(PoisonError::into_inner) = Some(remote);
                Ok(())
            }
        }
    }

    /// Uses an existing container, and starts it if necessary.
    async fn take_over(&self, name: &str, found: ContainerInspectResponse) -> Result<Made> {
        let id = found.id.clone().unwrap_or_else(|| name.to_owned());
        let client = self.daemon.client().await?;
        let failed = |what: &str, error| self.daemon.failed(&format!("{what} the container `{name}`"), &error);
        match status(&found) {
            ContainerStateStatusEnum::RUNNING => {}
            ContainerStateStatusEnum::PAUSED => {
                client.unpause_container(&id).await.map_err(|error| failed("resume", error))?;
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

    /// Creates a container and starts it.
    async fn make(&self, plan: &Arc<Plan>) -> Result<Made> {
        let image = self.image(&plan.image).await?;
        let architecture = self.architecture(&image).await?;
        let volume = KeeperVolume::of(self.keepers.read(&architecture).await?);
        volume.provide(&self.daemon, &image).await?;
        let name = match &plan.name {
            Some(name) => name.clone(),
            None => format!("workden-{}", token::random_digits(8)?),
        };
        match self.start_new(plan, &image, &volume, &name).await {
            // Another process started to fill the volume and did not finish.
            Err(error) if is_without_keeper(&error) => {
                volume.fill(&self.daemon, &image).await?;
                self.start_new(plan, &image, &volume, &name).await
            }
            made => made,
        }
    }

    /// Returns the image, pulled or built when the daemon does not have it.
    async fn image(&self, choice: &ImageChoice) -> Result<String> {
        let was_told = AtomicBool::new(false);
        let progress = |news| {
            if let Some(told) = &self.images.progress {
                was_told.store(true, Ordering::Relaxed);
                told(news);
            }
        };
        let mut images = Images::new(self.daemon.clone());
        if let Some(network) = &self.images.build_network {
            images = images.build_network(network);
        }
        let image = match choice {
            ImageChoice::Runtime(runtime) => images.ensure(runtime, &progress).await,
            ImageChoice::Image(image) => images.there_or_pulled(image, &progress).await.map(|()| image.clone()),
        };
        if was_told.load(Ordering::Relaxed) {
            progress(BuildProgress::Ready);
        }
        image
    }

    async fn start_new(&self, plan: &Arc<Plan>, image: &str, volume: &KeeperVolume, name: &str) -> Result<Made> {
        let client = self.daemon.client().await?;
        let token = token::random()?;
        let (body, check) = body(plan, image, volume, &token).await?;
        let options = CreateContainerOptions { name: Some(name.to_owned()), ..CreateContainerOptions::default() };
        let id = match client.create_container(Some(options), body).await {
            Ok(made) => made.id,
            Err(error) => {
                // Another process created a container of this name first.
                if errors::is_conflict(&error)
                    && plan.name.is_some()
                    && let Some(found) = self.inspect(name).await?
                {
                    return self.take_again(plan, name, found).await;
                }
                return Err(self.daemon.failed("create a container", &error));
            }
        };
        // Attaching before the start is free, while a relay program costs as much as the start itself. The relay is
        // the fallback when attaching fails.
        let streams = client.attach_container(&id, Some(all_streams())).await.ok();
        let started = {
            let _turn = self.daemon.turn().await;
            client.start_container(&id, None).await
        };
        if let Err(error) = started {
            removal::remove(&self.daemon, &id).await?;
            return Err(with_advice(self.daemon.failed("start a container", &error), plan));
        }
        let streams = streams.map(|streams| ProgramStream::new(streams.output, streams.input));
        let made = Made { id, name: name.to_owned(), kind: Kind::Ours { token, removes: plan.removes() } };
        let greeted = async {
            let remote = self.connect_to(&made, streams).await?;
            if self.daemon.is_on_this_machine() {
                check::hold(&remote, &check).await?;
            }
            Ok(remote)
        };
        match greeted.await {
            Ok(remote) => {
                tracing::info!(container = made.name, image, "container started");
                *self.first.lock().unwrap_or_else(PoisonError::into_inner) = Some(remote);
                Ok(made)
            }
            Err(error) => {
                removal::remove(&self.daemon, &made.id).await?;
                Err(error)
            }
        }
    }

    /// Returns the architecture of an image.
    async fn architecture(&self, image: &str) -> Result<String> {
        match self.daemon.client().await?.inspect_image(image).await {
            Ok(found) => Ok(found.architecture.filter(|name| !name.is_empty()).unwrap_or_else(|| "amd64".to_owned())),
            Err(error) if errors::is_not_found(&error) => {
                Err(Error::new(ErrorKind::NotFound, format!("image `{image}` not found on the daemon"))
                    .hint(format!("run `docker pull {image}`, or use one that `docker images` lists")))
            }
            Err(error) => Err(self.daemon.failed(&format!("inspect the image `{image}`"), &error)),
        }
    }
}

/// Returns the request for the daemon.
async fn body(
    plan: &Arc<Plan>,
    image: &str,
    volume: &KeeperVolume,
    token: &str,
) -> Result<(ContainerCreateBody, Check)> {
    let (volume, image, token) = (volume.clone(), image.to_owned(), token.to_owned());
    blocking(plan, move |plan| plan.body(&image, &volume, &token)).await
}

/// Returns what a container of this plan must show.
async fn expected(plan: &Arc<Plan>) -> Result<Check> {
    blocking(plan, |plan| Ok(plan.protected.mounts(&plan.volumes)?.expected)).await
}

/// Runs `inspect` on a blocking thread, because it opens the mounted files.
async fn blocking<T: Send + 'static>(
    plan: &Arc<Plan>,
    inspect: impl FnOnce(&Plan) -> Result<T> + Send + 'static,
) -> Result<T> {
    let plan = Arc::clone(plan);
    let inspected = tokio::task::spawn_blocking(move || inspect(&plan)).await;
    inspected.unwrap_or_else(|_| Err(Error::new(ErrorKind::Io, "checking the mounts was interrupted")))
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

/// Whether a container did not start because the keeper is missing from the volume, incomplete, or still being
/// written.
fn is_without_keeper(error: &Error) -> bool {
    let said = error.sentence();
    said.contains(PROGRAM)
        && ["no such file", "exec format error", "text file busy", "permission denied"]
            .iter()
            .any(|why| said.contains(why))
}

/// Adds advice for a container that does not start.
fn with_advice(error: Error, plan: &Plan) -> Error {
    let said = error.sentence();
    if let (Some(runtime), true) = (&plan.oci_runtime, said.contains("nknown runtime")) {
        let hint = format!("the daemon does not have the OCI runtime `{runtime}`: `docker info` lists its runtimes");
        return Error::new(ErrorKind::Unsupported, said).hint(hint);
    }
    error
}
