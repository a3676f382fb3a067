//! What dead processes left on a daemon: containers that were made and never started, and volumes of keepers that
//! no container uses.
//!
//! Invariant: what runs, and what has run and was kept by somebody, is no leftover.

use std::{
    collections::HashMap,
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bollard::{
    models::ContainerSummaryStateEnum,
    query_parameters::{ListContainersOptions, ListVolumesOptions, RemoveVolumeOptions},
};
use workden_core::Result;

use super::{ContainerKeepers, Daemon, covers::NOTHING, errors, keeper_volume::KeeperVolume, labels, removal};

/// How old a container that never started has to be: a younger one may be about to.
const ABANDONED: Duration = Duration::from_secs(600);
const ARCHITECTURES: [&str; 2] = ["amd64", "arm64"];

/// Something that nobody will come back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// A container that never started, by its name.
    Container(String),
    /// A volume with a keeper that is not the one of now, or the one that covers directories, by its name.
    Volume(String),
}

impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Container(name) => write!(f, "the container `{name}`, which never started"),
            Self::Volume(name) => write!(f, "the volume `{name}`, which no container uses"),
        }
    }
}

/// Finds and removes what dead processes left on a daemon.
#[derive(Clone, Debug)]
pub struct Leftovers {
    daemon: Daemon,
    keepers: ContainerKeepers,
}

impl Leftovers {
    /// Those on this daemon. The volumes of these keepers will be used again, and stay.
    #[must_use]
    pub fn new(daemon: Daemon, keepers: ContainerKeepers) -> Self {
        Self { daemon, keepers }
    }

    /// All there are.
    ///
    /// # Errors
    ///
    /// `Unreachable` without a daemon.
    pub async fn find(&self) -> Result<Vec<Leftover>> {
        let client = self.daemon.client().await?;
        let ours = HashMap::from([("label".to_owned(), vec![format!("{}=1", labels::OURS)])]);
        let options = ListContainersOptions { all: true, filters: Some(ours), ..ListContainersOptions::default() };
        let containers = client.list_containers(Some(options)).await;
        let containers = containers.map_err(|error| self.daemon.failed("list containers", &error))?;
        let abandoned = containers.into_iter().filter(|summary| {
            // The first label alone is on whatever somebody makes from an image of ours, too.
            let marks = [labels::TOKEN, labels::KEEPER];
            let is_ours = summary.labels.as_ref().is_some_and(|all| marks.iter().any(|mark| all.contains_key(*mark)));
            let never_started = summary.state == Some(ContainerSummaryStateEnum::CREATED);
            is_ours && never_started && summary.created.and_then(age).is_some_and(|age| age > ABANDONED)
        });
        let name = |names: Option<Vec<String>>| Some(names?.first()?.trim_start_matches('/').to_owned());
        let mut all: Vec<Leftover> =
            abandoned.filter_map(|summary| name(summary.names)).map(Leftover::Container).collect();

        let ours = format!("{}=1", labels::OURS);
        let filters = [("label", ours), ("dangling", "true".to_owned())];
        let filters = filters.map(|(name, value)| (name.to_owned(), vec![value])).into();
        let volumes = client.list_volumes(Some(ListVolumesOptions { filters: Some(filters) })).await;
        let volumes = volumes.map_err(|error| self.daemon.failed("list volumes", &error))?.volumes.unwrap_or_default();
        let mut current = Vec::new();
        for architecture in ARCHITECTURES {
            if let Ok(file) = self.keepers.read(architecture).await {
                current.push(KeeperVolume::of(file).name);
            }
        }
        let names = volumes.into_iter().map(|volume| volume.name).filter(|name| is_ours(name));
        all.extend(names.filter(|name| !current.contains(name)).map(Leftover::Volume));
        Ok(all)
    }

    /// Removes one. Whether it is gone: a volume that somebody has begun to use stays.
    ///
    /// # Errors
    ///
    /// What the daemon says.
    pub async fn remove(&self, leftover: &Leftover) -> Result<bool> {
        match leftover {
            Leftover::Container(name) => removal::remove(&self.daemon, name).await.map(|()| true),
            Leftover::Volume(name) => {
                match self.daemon.client().await?.remove_volume(name, None::<RemoveVolumeOptions>).await {
                    Ok(()) => Ok(true),
                    Err(error) if errors::is_not_found(&error) => Ok(true),
                    Err(error) if errors::is_conflict(&error) => Ok(false),
                    Err(error) => Err(self.daemon.failed("remove a volume", &error)),
                }
            }
        }
    }
}

fn is_ours(volume: &str) -> bool {
    volume.starts_with("workden-keeper-") || volume == NOTHING
}

/// How long ago a time was, in seconds since 1970.
pub(super) fn age(created: i64) -> Option<Duration> {
    let created = Duration::from_secs(u64::try_from(created).ok()?);
    SystemTime::now().duration_since(UNIX_EPOCH).ok()?.checked_sub(created)
}
