//! Removes superseded images.
//!
//! Invariant: only superseded images are removed. An image of an unknown runtime may belong to another user, and an
//! image that a container uses stays until that container is removed.

use std::{
    collections::HashSet,
    time::{Duration, SystemTime},
};

use bollard::query_parameters::{ListContainersOptionsBuilder, RemoveImageOptionsBuilder};
use workden_core::Result;

use super::{
    errors,
    images::{BuiltImage, Images},
};
use crate::runtimes::{BUILTIN_RUNTIMES, BuiltinRuntime, RuntimeConfig, RuntimeTag};

/// Minimum age of an image without a name: a younger one may belong to a running build.
const ABANDONED: Duration = Duration::from_secs(2 * 60 * 60);

/// The result of removing superseded images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The removed images; in a dry run, those that would be removed.
    pub removed: Vec<BuiltImage>,
    /// Images that a container uses.
    pub in_use: Vec<BuiltImage>,
    /// Bytes of the removed images without their bases. Layers that another image shares are counted, too, although
    /// they stay.
    pub bytes: u64,
}

impl Images {
    /// Removes superseded images: outdated ones of the built-in runtimes and of `keep`, those whose name a newer
    /// image took, and what unfinished builds left.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for an invalid runtime; `Unreachable` without a daemon; the daemon's error when it cannot
    /// remove one.
    pub async fn prune(&self, keep: &[RuntimeConfig]) -> Result<Pruned> {
        let mut pruned = Pruned::default();
        for image in self.superseded(keep).await? {
            let bytes = self.own_bytes(&image).await;
            let name = image.tag.as_deref().unwrap_or(&image.id);
            let options = RemoveImageOptionsBuilder::new().build();
            match self.daemon.client().await?.remove_image(name, Some(options), None).await {
                Ok(_) => {
                    pruned.bytes += bytes;
                    pruned.removed.push(image);
                }
                // Another process has removed it.
                Err(error) if errors::is_not_found(&error) => {}
                Err(error) if errors::is_conflict(&error) => pruned.in_use.push(image),
                Err(error) => return Err(self.daemon.failed(&format!("remove the image `{name}`"), &error)),
            }
        }
        Ok(pruned)
    }

    /// Returns what [`Images::prune`] would do.
    ///
    /// # Errors
    ///
    /// As [`Images::prune`].
    pub async fn prune_dry_run(&self, keep: &[RuntimeConfig]) -> Result<Pruned> {
        let options = ListContainersOptionsBuilder::new().all(true).build();
        let containers = self.daemon.client().await?.list_containers(Some(options)).await;
        let containers = containers.map_err(|error| self.daemon.failed("list containers", &error))?;
        let used: HashSet<String> = containers.into_iter().filter_map(|container| container.image_id).collect();
        let mut pruned = Pruned::default();
        for image in self.superseded(keep).await? {
            if used.contains(&image.id) {
                pruned.in_use.push(image);
            } else {
                pruned.bytes += self.own_bytes(&image).await;
                pruned.removed.push(image);
            }
        }
        Ok(pruned)
    }

    async fn superseded(&self, keep: &[RuntimeConfig]) -> Result<Vec<BuiltImage>> {
        let builtin = BUILTIN_RUNTIMES.iter().map(BuiltinRuntime::config);
        let known: Vec<RuntimeConfig> = builtin.chain(keep.iter().cloned()).collect();
        let tags = known.iter().map(RuntimeConfig::tag).collect::<Result<Vec<_>>>()?;
        let current: HashSet<RuntimeTag> = tags.into_iter().flatten().collect();
        let names: HashSet<&str> = known.iter().map(|runtime| runtime.name.as_str()).collect();
        let now = SystemTime::now();
        let mut all = self.list().await?;
        all.retain(|image| is_superseded(image, &names, &current, now));
        Ok(all)
    }

    /// Returns the size without the base; 0 when it is unknown, which must not prevent the removal.
    async fn own_bytes(&self, image: &BuiltImage) -> u64 {
        let Ok(client) = self.daemon.client().await else { return 0 };
        let layers = client.image_history(&image.id).await.unwrap_or_default();
        // The newest layers come first; the label `workden` is the first layer above a base.
        let own = layers.iter().position(|layer| layer.created_by.contains("LABEL workden=")).unwrap_or(0);
        layers.iter().take(own).filter_map(|layer| u64::try_from(layer.size).ok()).sum()
    }
}

fn is_superseded(image: &BuiltImage, names: &HashSet<&str>, current: &HashSet<RuntimeTag>, now: SystemTime) -> bool {
    if image.tag.is_none() {
        return now.duration_since(image.created).unwrap_or_default() > ABANDONED;
    }
    let (Some(runtime), Some(hash)) = (&image.runtime, &image.hash) else { return false };
    let is_current = current.contains(&RuntimeTag { runtime: runtime.clone(), hash: hash.clone() });
    names.contains(runtime.as_str()) && !is_current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_superseded_goes() {
        let current = RuntimeTag { runtime: "mine".into(), hash: "new".into() };
        let (names, current) = (HashSet::from(["mine"]), HashSet::from([current]));
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        for (tag, runtime, hash, hours, superseded) in [
            (true, Some("mine"), Some("new"), 5, false),
            (true, Some("mine"), Some("old"), 0, true),
            (true, Some("theirs"), Some("old"), 5, false),
            // A newer image took its name.
            (false, Some("mine"), Some("new"), 3, true),
            (false, Some("theirs"), Some("old"), 3, true),
            // A running build is young, an abandoned one old.
            (false, Some("mine"), Some("new"), 0, false),
            (false, None, None, 1, false),
            (false, None, None, 3, true),
        ] {
            let image = BuiltImage {
                id: "sha256:0".into(),
                tag: tag.then(|| "workden-runtime:x".to_owned()),
                runtime: runtime.map(str::to_owned),
                hash: hash.map(str::to_owned),
                size: 0,
                created: now - Duration::from_secs(hours * 3600),
            };
            assert_eq!(is_superseded(&image, &names, &current, now), superseded, "{image:?}");
        }
    }
}
