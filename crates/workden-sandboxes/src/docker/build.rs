//! Builds and pulls images. Each is one long request whose progress is reported as it arrives.

use std::{collections::HashMap, time::Duration};

use bollard::{
    body_full,
    query_parameters::{BuildImageOptionsBuilder, CreateImageOptionsBuilder},
};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::timeout;
use workden_core::{Error, ErrorKind, Result};

use super::{
    Daemon, errors, labels,
    progress::{self, BuildOutput},
    single_flight::News,
};
use crate::runtimes::{RuntimeConfig, RuntimeTag};

/// Attempts at a build when an image that it uses is removed meanwhile.
const ATTEMPTS: usize = 3;

/// An image to build.
#[derive(Clone, Debug)]
pub(super) struct Build {
    pub(super) tag: RuntimeTag,
    dockerfile: String,
    /// Whether an existing image and cached layers of earlier builds may be used.
    cached: bool,
    network: Option<String>,
    time: Duration,
}

impl Build {
    pub(super) fn of(runtime: &RuntimeConfig, dockerfile: String, network: Option<&str>, time: Duration) -> Self {
        let tag = RuntimeTag::of(&runtime.name, &dockerfile);
        Self { tag, dockerfile, cached: runtime.cache_image, network: network.map(str::to_owned), time }
    }

    /// Returns the build context: only the Dockerfile.
    fn context(&self) -> std::io::Result<Bytes> {
        let mut header = tar::Header::new_gnu();
        header.set_size(self.dockerfile.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        let mut archive = tar::Builder::new(Vec::new());
        archive.append_data(&mut header, "Dockerfile", self.dockerfile.as_bytes())?;
        archive.into_inner().map(Bytes::from)
    }

    fn failed(&self, why: &str, output: &mut BuildOutput) -> Error {
        let name = &self.tag.runtime;
        let step = output.step.take().map(|(nth, of, what)| format!("step {nth} of {of} failed, {what}: "));
        let lines = output.last_lines();
        let sentence = format!("cannot build the runtime `{name}`: {}{why}{lines}", step.unwrap_or_default());
        let no_space = [why, &lines].iter().any(|text| text.to_lowercase().contains("no space left on device"));
        let kind = if no_space { ErrorKind::NoSpace } else { ErrorKind::Io };
        Error::new(kind, sentence).hint(match kind {
            ErrorKind::NoSpace => "`docker system df` shows disk usage; `workden runtimes prune` frees space",
            _ => {
                "check that every package exists in its index, that every setup command works in the base image, and \
                 that builds reach the network"
            }
        })
    }
}

/// Builds the image, unless another process has built it meanwhile.
pub(super) async fn run(daemon: Daemon, build: Build, news: News) -> Result<()> {
    if build.cached && daemon.has_image(&build.tag.to_string()).await? {
        return Ok(());
    }
    let attempts = async {
        let mut left = ATTEMPTS;
        loop {
            left -= 1;
            match built(&daemon, &build, &news).await {
                Err(error) if left > 0 && lost_a_layer(&error) => {}
                ended => return ended,
            }
        }
    };
    match timeout(build.time, attempts).await {
        Ok(outcome) => outcome,
        Err(_) => {
            let minutes = build.time.as_secs().div_ceil(60);
            let sentence = format!("building the runtime `{}` timed out after {minutes} min", build.tag.runtime);
            Err(Error::new(ErrorKind::TimedOut, sentence).hint("move slow steps into a base image"))
        }
    }
}

/// Whether a layer that the builder had just found was removed together with an image that shares it.
fn lost_a_layer(error: &Error) -> bool {
    error.sentence().contains(": No such image: sha256:")
}

async fn built(daemon: &Daemon, build: &Build, news: &News) -> Result<()> {
    let tag = build.tag.to_string();
    // The Dockerfile itself sets the label `workden`.
    let labels = [(labels::RUNTIME, &build.tag.runtime), (labels::HASH, &build.tag.hash)];
    let mut options = BuildImageOptionsBuilder::new()
        .dockerfile("Dockerfile")
        .t(&tag)
        .labels(&HashMap::from(labels))
        .nocache(!build.cached)
        // Also removes the containers of failed steps.
        .rm(true)
        .forcerm(true);
    if let Some(network) = &build.network {
        options = options.networkmode(network);
    }
    let mut output = BuildOutput::default();
    let context = build.context().map_err(|error| build.failed(&error.to_string(), &mut output))?;
    let mut messages = daemon.client().await?.build_image(options.build(), None, Some(body_full(context)));
    while let Some(message) = messages.next().await {
        match message {
            Ok(message) => output.take(message).into_iter().for_each(|told| news.tell(told)),
            Err(bollard::errors::Error::DockerStreamError { error }) => {
                return Err(build.failed(&errors::shown(&error), &mut output));
            }
            Err(error) => return Err(daemon.failed(&format!("build the runtime `{}`", build.tag.runtime), &error)),
        }
    }
    // The end of the response does not prove success: a daemon that is shut down ends it as well.
    match daemon.has_image(&tag).await? {
        true => Ok(()),
        false => Err(build.failed("the daemon stopped during the build", &mut output)),
    }
}

/// Pulls an image.
pub(super) async fn pull(daemon: Daemon, image: String, news: News) -> Result<()> {
    // Without a tag Docker would pull all tags.
    let last = image.rsplit('/').next().unwrap_or_default();
    let mut options = CreateImageOptionsBuilder::new().from_image(&image);
    if !last.contains([':', '@']) {
        options = options.tag("latest");
    }
    let client = daemon.client().await?;
    let mut messages = client.create_image(Some(options.build()), None, None);
    while let Some(message) = messages.next().await {
        match message {
            Ok(message) => progress::pulled(&image, message).into_iter().for_each(|told| news.tell(told)),
            Err(error) => return Err(not_pulled(&daemon, &image, &error)),
        }
    }
    match daemon.has_image(&image).await? {
        true => Ok(()),
        false => Err(missing(&image, ErrorKind::NotFound, "the registry sent no image of this name")),
    }
}

fn not_pulled(daemon: &Daemon, image: &str, error: &bollard::errors::Error) -> Error {
    use bollard::errors::Error as DaemonError;
    match error {
        DaemonError::DockerResponseServerError { message: why, .. } | DaemonError::DockerStreamError { error: why } => {
            let no_space = why.contains("no space left on device");
            missing(image, if no_space { ErrorKind::NoSpace } else { ErrorKind::NotFound }, &errors::shown(why))
        }
        _ => daemon.failed(&format!("pull the image `{image}`"), error),
    }
}

fn missing(image: &str, kind: ErrorKind, why: &str) -> Error {
    let sentence = format!("the image `{image}` is not on the daemon and could not be pulled: {why}");
    let hint = format!(
        "check the spelling; for private images or without a registry run `docker pull {image}` or `docker load`"
    );
    Error::new(kind, sentence).hint(hint)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::runtimes::builtin;

    #[test]
    fn the_builder_gets_the_dockerfile_and_nothing_else() {
        let runtime = builtin("python-web").unwrap();
        let dockerfile = runtime.dockerfile().unwrap().unwrap();
        let build = Build::of(&runtime, dockerfile.clone(), None, Duration::from_secs(1));
        let context = build.context().unwrap();
        let mut archive = tar::Archive::new(&context[..]);
        let mut files = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            files.push((entry.path().unwrap().display().to_string(), text));
        }
        assert_eq!(files, [("Dockerfile".to_owned(), dockerfile)]);
    }

    #[test]
    fn a_failed_build_is_told_with_its_step_and_its_last_lines() {
        let runtime = builtin("python-web").unwrap();
        let build = Build::of(&runtime, "FROM x\n".to_owned(), None, Duration::from_secs(1));
        let mut output = BuildOutput::default();
        let stream = Some("Step 3/5 : RUN [\"pip\"]\nno such package\n".to_owned());
        output.take(bollard::models::BuildInfo { stream, ..Default::default() });
        let error = build.failed("it returned 1", &mut output);
        assert_eq!(error.kind(), ErrorKind::Io);
        assert_eq!(
            error.sentence(),
            "cannot build the runtime `python-web`: step 3 of 5 failed, RUN [\"pip\"]: it returned 1\n  | no such package"
        );
        assert!(!lost_a_layer(&error));
        assert!(lost_a_layer(&build.failed("No such image: sha256:0af", &mut output)));
        assert_eq!(build.failed("write: No space left on device", &mut output).kind(), ErrorKind::NoSpace);
    }
}
