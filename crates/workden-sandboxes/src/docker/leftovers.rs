//! Finds what dead processes left on a daemon: containers that were created and never started, and keeper volumes
//! that no container uses.
//!
//! Invariant: a container that runs, or that has run and was kept, is not a leftover.

use std::{
    collections::HashMap,
    fmt,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bollard::{
    models::ContainerSummaryStateEnum,
    query_parameters::{ListContainersOptions, ListVolumesOptions, RemoveVolumeOptions},
};
use workden_core::{Result, Timestamp};

use super::{ContainerKeepers, Daemon, errors, keeper_volume::KeeperVolume, labels, protected_paths::NOTHING, removal};

/// Minimum age of a container that never started: a younger one may be about to start.
const ABANDONED: Duration = Duration::from_secs(600);
/// Minimum age of a volume: another build or another user of the daemon may have created a younger one, and be about
/// to use it.
const FORGOTTEN: Duration = Duration::from_secs(24 * 60 * 60);
const ARCHITECTURES: [&str; 2] = ["amd64", "arm64"];

/// An unused container or volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// A container that never started, by its name.
    Container(String),
    /// A volume with an outdated keeper, or the empty volume that covers directories, by its name.
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
    /// Returns the leftovers of this daemon. The volumes of these keepers will be used again, and are kept.
    #[must_use]
    pub fn new(daemon: Daemon, keepers: ContainerKeepers) -> Self {
        Self { daemon, keepers }
    }

    /// Finds all leftovers.
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
            // Containers that users create from a runtime image inherit the label `workden`, so it alone proves
            // nothing.
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
        let forgotten = volumes.into_iter().filter(|volume| is_forgotten(volume.created_at.as_deref(), now()));
        let names = forgotten.map(|volume| volume.name).filter(|name| is_ours(name));
        all.extend(names.filter(|name| !current.contains(name)).map(Leftover::Volume));
        Ok(all)
    }

    /// Removes one, and returns whether it was removed: a volume that a container has started to use stays.
    ///
    /// # Errors
    ///
    /// The error of the daemon.
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

/// Whether a volume that was created at this time is old enough; `false` when the daemon does not report the time.
fn is_forgotten(created: Option<&str>, now: Option<Timestamp>) -> bool {
    let created = created.and_then(|text| Timestamp::parse(text).ok());
    created.zip(now).is_some_and(|(created, now)| now.since(created) > FORGOTTEN)
}

fn now() -> Option<Timestamp> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some(Timestamp::from_nanos(i128::try_from(since.as_nanos()).ok()?))
}

/// Returns the age of a time in seconds since 1970.
pub(super) fn age(created: i64) -> Option<Duration> {
    let created = Duration::from_secs(u64::try_from(created).ok()?);
    SystemTime::now().duration_since(UNIX_EPOCH).ok()?.checked_sub(created)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_stays_unless_it_is_known_to_be_older_than_a_day() {
        let now = Timestamp::parse("2026-03-10T12:00:00Z").ok();
        for (created, forgotten) in [
            (Some("2026-03-09T11:59:59Z"), true),
            (Some("2026-03-09T13:59:59+02:00"), true),
            (Some("2025-01-01T00:00:00.123456789Z"), true),
            (Some("2026-03-09T12:00:01Z"), false),
            (Some("2026-03-10T11:59:59Z"), false),
            // The clock of the daemon may be ahead.
            (Some("2027-01-01T00:00:00Z"), false),
            (Some("yesterday"), false),
            (Some(""), false),
            (None, false),
        ] {
            assert_eq!(is_forgotten(created, now), forgotten, "{created:?}");
        }
    }
}
