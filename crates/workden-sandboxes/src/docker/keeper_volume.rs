//! The read-only volume with the keeper. It is named after its content and filled once per daemon, local or remote.
//! Containers with a read-only root have a keeper this way, too.

use std::time::Duration;

use bollard::{
    models::{ContainerCreateBody, HostConfig, Mount, MountType, VolumeCreateRequest},
    query_parameters::{
        CreateContainerOptions, InspectContainerOptions, RemoveContainerOptions, UploadToContainerOptions,
    },
};
use bytes::Bytes;
use tokio::time::{Instant, sleep};
use workden_core::{Error, ErrorKind, Result};

use super::{Daemon, errors, labels, removal};
use crate::container_keepers::KeeperFile;

/// How long another process may take to fill a volume.
const FILLING_TIME: Duration = Duration::from_secs(30);

/// How often a waiting process checks again.
const LOOKS_AGAIN: Duration = Duration::from_millis(20);

/// The mount point of the volume in a container.
pub(super) const PLACE: &str = "/.workden/bin";
/// The path of the keeper in a container.
pub(super) const PROGRAM: &str = "/.workden/bin/keeper";

/// The volume with a keeper.
#[derive(Clone, Debug)]
pub(super) struct KeeperVolume {
    pub(super) name: String,
    file: KeeperFile,
}

impl KeeperVolume {
    /// Returns the volume of this keeper. It may not exist yet.
    pub(super) fn of(file: KeeperFile) -> Self {
        let short: String = file.hash.chars().take(16).collect();
        Self { name: format!("workden-keeper-{}-{short}", file.architecture), file }
    }

    /// Creates and fills the volume, unless it exists. `image` is any image that the daemon has: a volume can only be
    /// filled through a container.
    pub(super) async fn provide(&self, daemon: &Daemon, image: &str) -> Result<()> {
        if daemon.knows_volume(&self.name) {
            return Ok(());
        }
        match daemon.client().await?.inspect_volume(&self.name).await {
            // Filled earlier, or another process fills it now.
            Ok(_) => self.wait_until_filled(daemon).await.map(drop)?,
            Err(error) if errors::is_not_found(&error) => self.fill(daemon, image).await?,
            Err(error) => return Err(daemon.failed("inspect the keeper volume", &error)),
        }
        daemon.remember_volume(&self.name);
        Ok(())
    }

    /// Returns the name of the container through which the volume is filled. It serves as a lock: the process that
    /// created it fills the volume, and others wait until it is removed or older than `FILLING_TIME`.
    fn carrier(&self) -> String {
        format!("{}-carrier", self.name)
    }

    /// Waits for another process that fills the volume, and returns whether there was one: one that has not created
    /// its container yet is not visible.
    async fn wait_until_filled(&self, daemon: &Daemon) -> Result<Filled> {
        let (client, carrier) = (daemon.client().await?, self.carrier());
        let is_there = async || client.inspect_container(&carrier, None::<InspectContainerOptions>).await.is_ok();
        let (began, mut filled) = (Instant::now(), Filled::ByAnUnknownProcess);
        while is_there().await {
            filled = Filled::Now;
            if began.elapsed() > FILLING_TIME {
                removal::remove(daemon, &carrier).await?;
                return Ok(Filled::ByAnUnknownProcess);
            }
            sleep(LOOKS_AGAIN).await;
        }
        Ok(filled)
    }

    /// Fills the volume, whatever it holds: another process may have stopped halfway.
    pub(super) async fn fill(&self, daemon: &Daemon, image: &str) -> Result<()> {
        let client = daemon.client().await?;
        let failed = |error| daemon.failed("create the keeper volume", &error);
        let labels = labels::of([(labels::KEEPER, self.file.hash.clone())]);
        let wanted = VolumeCreateRequest {
            name: Some(self.name.clone()),
            labels: Some(labels.clone()),
            ..VolumeCreateRequest::default()
        };
        client.create_volume(wanted).await.map_err(failed)?;
        // Never started: only its mount is used.
        let carrier = ContainerCreateBody {
            image: Some(image.to_owned()),
            entrypoint: Some(vec![PROGRAM.to_owned()]),
            labels: Some(labels),
            network_disabled: Some(true),
            host_config: Some(HostConfig { mounts: Some(vec![self.mount(Access::Filling)]), ..HostConfig::default() }),
            ..ContainerCreateBody::default()
        };
        let name = self.carrier();
        let options = CreateContainerOptions { name: Some(name.clone()), ..CreateContainerOptions::default() };
        let began = Instant::now();
        loop {
            match client.create_container(Some(options.clone()), carrier.clone()).await {
                Ok(_) => break,
                Err(error) if errors::is_conflict(&error) && began.elapsed() < FILLING_TIME => {
                    if self.wait_until_filled(daemon).await? == Filled::Now {
                        return Ok(());
                    }
                    sleep(LOOKS_AGAIN).await;
                }
                Err(error) => return Err(failed(error)),
            }
        }
        let filled = self.upload(daemon, &name).await;
        let removal = RemoveContainerOptions { force: true, ..RemoveContainerOptions::default() };
        let removed = client.remove_container(&name, Some(removal)).await;
        filled?;
        removed.map_err(failed)
    }

    async fn upload(&self, daemon: &Daemon, carrier: &str) -> Result<()> {
        let options = UploadToContainerOptions { path: PLACE.to_owned(), ..UploadToContainerOptions::default() };
        let content = bollard::body_full(archive("keeper", &self.file.content)?);
        let uploaded = daemon.client().await?.upload_to_container(carrier, Some(options), content).await;
        uploaded.map_err(|error| daemon.failed("copy the keeper into its volume", &error))
    }

    /// Returns the mount for a container.
    pub(super) fn mount(&self, access: Access) -> Mount {
        Mount {
            typ: Some(MountType::VOLUME),
            source: Some(self.name.clone()),
            target: Some(PLACE.to_owned()),
            read_only: Some(access == Access::Using),
            ..Mount::default()
        }
    }
}

/// The result of waiting for another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filled {
    /// Another process was filling the volume, and has finished.
    Now,
    ByAnUnknownProcess,
}

/// How a container uses the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Using,
    Filling,
}

/// Packs one program into an archive.
pub(super) fn archive(name: &str, content: &[u8]) -> Result<Bytes> {
    let failed = |_| Error::new(ErrorKind::Io, "cannot pack the keeper");
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o755);
    let mut archive = tar::Builder::new(Vec::with_capacity(content.len() + 4096));
    archive.append_data(&mut header, name, content).map_err(failed)?;
    archive.into_inner().map(Bytes::from).map_err(failed)
}
