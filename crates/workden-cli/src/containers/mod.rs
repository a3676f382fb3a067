//! Containers from the command line: what they have installed, the daemon that makes them, and news of an image
//! that has to be got first.
//!
//! Invariant: what was asked for and cannot be had of a container is refused, and never left out.

mod net;

use std::path::Path;

use clap::Args;
pub(crate) use net::Net;
use workden::{
    Error, ErrorKind, HostEnvironment, Result, runtime_named,
    sandboxes::{
        docker::{ContainerKeepers, DockerSandboxBuilder},
        runtimes::RuntimeConfig,
    },
};

use crate::runtimes::News;

/// What a container has installed, as it is typed.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ContainerArguments {
    /// The image of `--sandbox docker`.
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// What `--sandbox docker` has installed, instead of an image: a name of `workden runtimes list`, or a
    /// file that ends in .toml.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) runtime: Option<String>,
}

/// What a container has installed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Installed {
    Image(String),
    Runtime(Box<RuntimeConfig>),
}

impl ContainerArguments {
    /// What was chosen for a container: an image, or a runtime.
    pub(crate) fn chosen(&self) -> Result<Installed> {
        match (&self.image, &self.runtime) {
            (Some(image), None) => Ok(Installed::Image(image.clone())),
            (None, Some(typed)) => Ok(Installed::Runtime(Box::new(runtime_named(typed)?))),
            (Some(_), Some(_)) => {
                Err(refused("`--image` and `--runtime` both say what is installed").hint("leave out one of them"))
            }
            (None, None) => Err(refused("`--sandbox docker` needs an `--image` or a `--runtime`").hint(
                "like `--image debian:12` or `--runtime python-minimal`; `workden runtimes list` shows the runtimes",
            )),
        }
    }

    /// Refuses both, where there is no container.
    pub(crate) fn refuse(&self) -> Result<()> {
        let named = [("--image", self.image.is_some()), ("--runtime", self.runtime.is_some())];
        match named.iter().find(|(_, is_named)| *is_named) {
            None => Ok(()),
            Some((name, _)) => Err(refused(&format!("`{name}` says what a container has installed"))
                .hint("say `--sandbox docker` as well, or leave it out")),
        }
    }
}

impl Installed {
    /// A container with it. The progress of an image that has to be pulled or built goes to standard error.
    pub(crate) fn in_container(&self, docker: DockerSandboxBuilder) -> DockerSandboxBuilder {
        let news = News::when_needed();
        let docker = docker.on_progress(move |progress| news.tell(&progress));
        match self {
            Self::Image(image) => docker.image(image),
            Self::Runtime(runtime) => docker.runtime(RuntimeConfig::clone(runtime)),
        }
    }
}

/// The keepers of containers that there are.
pub(crate) fn keepers(host: &HostEnvironment) -> ContainerKeepers {
    let program = std::env::current_exe().unwrap_or_default();
    ContainerKeepers::found(host, Path::new(&program))
}

fn refused(sentence: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(image: Option<&str>, runtime: Option<&str>) -> ContainerArguments {
        ContainerArguments { image: image.map(str::to_owned), runtime: runtime.map(str::to_owned) }
    }

    #[test]
    fn a_container_has_an_image_or_a_runtime() {
        assert_eq!(typed(Some("x"), None).chosen().unwrap(), Installed::Image("x".to_owned()));
        assert!(matches!(typed(None, Some("python-web")).chosen().unwrap(), Installed::Runtime(_)));
        for (wrong, says) in [
            (typed(None, None), "`workden runtimes list`"),
            (typed(Some("x"), Some("python-web")), "leave out one"),
            (typed(None, Some("ruby")), "Unknown runtime 'ruby'"),
        ] {
            let error = wrong.chosen().unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn neither_goes_without_a_container() {
        assert!(typed(None, None).refuse().is_ok());
        assert!(typed(Some("x"), None).refuse().unwrap_err().sentence().starts_with("`--image` "));
        assert!(typed(None, Some("x")).refuse().unwrap_err().sentence().starts_with("`--runtime` "));
    }
}
