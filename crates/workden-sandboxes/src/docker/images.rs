//! `Images`: finds, pulls and builds the images of runtimes.
//!
//! Invariant: every image that is built here has the label `workden`, and images of runtimes have labels with the
//! runtime's name and hash. Images of other programs are used, but never changed or removed.

use std::{
    collections::HashMap,
    time::{Duration, SystemTime},
};

use bollard::{models::ImageSummary, query_parameters::ListImagesOptionsBuilder};
use workden_core::Result;

use super::{
    Daemon,
    build::{self, Build},
    labels,
    progress::OnProgress,
    single_flight::single_flight,
};
use crate::runtimes::{IMAGE_REPOSITORY, RuntimeConfig};

/// Default time limit of a build.
const BUILD_TIME: Duration = Duration::from_secs(60 * 60);

/// The images of a daemon.
///
/// ```no_run
/// # async fn example() -> workden_core::Result<()> {
/// use workden_sandboxes::{HostEnvironment, docker::{Daemon, Images}, runtimes::builtin};
///
/// let images = Images::new(Daemon::of_environment(&HostEnvironment::from_process())?);
/// let image = images.ensure(&builtin("python-web")?, &|news| eprintln!("{news:?}")).await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Images {
    pub(super) daemon: Daemon,
    build_network: Option<String>,
    build_time: Duration,
}

/// An image that was built for a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltImage {
    /// The id on the daemon.
    pub id: String,
    /// The name, `workden-runtime:...`; `None` if a newer image took that name, or the build did not finish.
    pub tag: Option<String>,
    /// The name of the runtime; `None` for what an unfinished build left.
    pub runtime: Option<String>,
    /// The hash of the content, as in the tag.
    pub hash: Option<String>,
    /// The size in bytes, including the base image.
    pub size: u64,
    /// When it was built.
    pub created: SystemTime,
}

impl Images {
    /// Returns the images of this daemon.
    #[must_use]
    pub fn new(daemon: Daemon) -> Self {
        Self { daemon, build_network: None, build_time: BUILD_TIME }
    }

    /// Sets the network of builds, as Docker names them: `host`, `none`, a network. By default the daemon chooses.
    #[must_use]
    pub fn build_network(mut self, mode: impl Into<String>) -> Self {
        self.build_network = Some(mode.into());
        self
    }

    /// Sets the time limit of a build. By default: one hour.
    #[must_use]
    pub fn build_time(mut self, time: Duration) -> Self {
        self.build_time = time;
        self
    }

    /// Returns the image of a runtime: the one that it names, or one built from its definition.
    ///
    /// # Behavior
    ///
    /// - An image that the daemon does not have is pulled.
    /// - An image that was built before is used again, unless the runtime disables that (`cache_image`).
    /// - Concurrent callers of the same image wait for one build, and all receive its progress. The build continues
    ///   as long as one caller waits.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for an invalid runtime; `NotFound` for an image that cannot be pulled; `Io` for a build that
    /// failed, with its step and its last output; `TimedOut`; `Unreachable` without a daemon.
    pub async fn ensure(&self, runtime: &RuntimeConfig, progress: OnProgress<'_>) -> Result<String> {
        let Some(dockerfile) = runtime.dockerfile()? else {
            let image = runtime.image.as_deref().unwrap_or_default();
            self.there_or_pulled(image, progress).await?;
            return Ok(image.to_owned());
        };
        let build = Build::of(runtime, dockerfile, self.build_network.as_deref(), self.build_time);
        let tag = build.tag.to_string();
        if runtime.cache_image && self.daemon.has_image(&tag).await? {
            return Ok(tag);
        }
        if let Some(base) = runtime.base_image.as_deref().filter(|base| *base != "scratch") {
            self.there_or_pulled(base, progress).await?;
        }
        tracing::info!(%tag, runtime = runtime.name, "building an image");
        let work = |news| build::run(self.daemon.clone(), build.clone(), news);
        single_flight(&format!("{} build {tag}", self.daemon), progress, work).await?;
        Ok(tag)
    }

    /// Returns the image of a runtime, if the daemon has it. Does not pull or build.
    ///
    /// # Errors
    ///
    /// As [`Images::ensure`].
    pub async fn find(&self, runtime: &RuntimeConfig) -> Result<Option<String>> {
        let tag = runtime.tag()?.map(|tag| tag.to_string());
        let Some(image) = tag.or_else(|| runtime.image.clone()) else { return Ok(None) };
        Ok(self.daemon.has_image(&image).await?.then_some(image))
    }

    /// Lists the images that were built for runtimes, newest first.
    ///
    /// # Errors
    ///
    /// `Unreachable` without a daemon.
    pub async fn list(&self) -> Result<Vec<BuiltImage>> {
        let ours = HashMap::from([("label", vec![format!("{}=1", labels::OURS)])]);
        let options = ListImagesOptionsBuilder::new().filters(&ours).build();
        let listed = self.daemon.client().await?.list_images(Some(options)).await;
        let listed = listed.map_err(|error| self.daemon.failed("list images", &error))?;
        let mut images: Vec<BuiltImage> = listed.into_iter().filter_map(BuiltImage::of).collect();
        images.sort_by(|one, other| other.created.cmp(&one.created).then_with(|| one.tag.cmp(&other.tag)));
        Ok(images)
    }

    /// Pulls an image unless the daemon has it.
    ///
    /// # Errors
    ///
    /// As [`Images::ensure`].
    pub async fn pulled(&self, image: &str, progress: OnProgress<'_>) -> Result<()> {
        self.there_or_pulled(image, progress).await
    }

    pub(super) async fn there_or_pulled(&self, image: &str, progress: OnProgress<'_>) -> Result<()> {
        if self.daemon.has_image(image).await? {
            return Ok(());
        }
        tracing::info!(image, "pulling an image");
        let work = |news| build::pull(self.daemon.clone(), image.to_owned(), news);
        single_flight(&format!("{} pull {image}", self.daemon), progress, work).await
    }
}

impl BuiltImage {
    /// Converts a built image; `None` for an image that has the label from its base, and a name of another program.
    fn of(image: ImageSummary) -> Option<Self> {
        let is_ours = |tag: &&String| tag.strip_prefix(IMAGE_REPOSITORY).is_some_and(|rest| rest.starts_with(':'));
        // For an image without a name Docker reports either an empty list or this.
        let mut names = image.repo_tags.iter().filter(|tag| *tag != "<none>:<none>").peekable();
        let is_named = names.peek().is_some();
        let tag = names.find(is_ours).cloned();
        if is_named && tag.is_none() {
            return None;
        }
        let seconds = Duration::from_secs(image.created.try_into().unwrap_or(0));
        Some(Self {
            tag,
            runtime: image.labels.get(labels::RUNTIME).cloned(),
            hash: image.labels.get(labels::HASH).cloned(),
            size: image.size.try_into().unwrap_or(0),
            created: SystemTime::UNIX_EPOCH + seconds,
            id: image.id,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(tags: &[&str]) -> ImageSummary {
        let labels = [(labels::OURS, "1"), (labels::RUNTIME, "mine"), (labels::HASH, "0123")];
        ImageSummary {
            repo_tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
            labels: labels.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect(),
            size: 7,
            created: 60,
            ..ImageSummary::default()
        }
    }

    #[test]
    fn images_with_a_name_of_another_owner_are_not_ours() {
        for (tags, tag) in [
            (&["workden-runtime:mine-0123"][..], Some(Some("workden-runtime:mine-0123"))),
            (&["else:1", "workden-runtime:mine-0123"], Some(Some("workden-runtime:mine-0123"))),
            (&[], Some(None)),
            (&["<none>:<none>"], Some(None)),
            (&["else:1"], None),
            (&["workden-runtime-else:1"], None),
        ] {
            let image = BuiltImage::of(summary(tags));
            assert_eq!(image.as_ref().map(|image| image.tag.as_deref()), tag, "{tags:?}");
            assert!(image.is_none_or(|image| image.runtime.as_deref() == Some("mine") && image.size == 7));
        }
    }

    #[tokio::test]
    async fn what_makes_no_sense_is_refused_before_a_question_is_asked() {
        let images = Images::new(Daemon::at("/nowhere/docker.sock").unwrap());
        let wrong = RuntimeConfig { name: "x".into(), ..RuntimeConfig::default() };
        let error = images.ensure(&wrong, &|_| ()).await.unwrap_err();
        assert_eq!(error.kind(), workden_core::ErrorKind::InvalidArgument);
        let fine = RuntimeConfig { image: Some("x".into()), ..wrong };
        let error = images.ensure(&fine, &|_| ()).await.unwrap_err();
        assert_eq!(error.kind(), workden_core::ErrorKind::Unreachable);
    }
}
