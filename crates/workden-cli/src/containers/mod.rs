//! Options of containers: their image or runtime, their network, and the progress of a pull or a build.
//!
//! Invariant: an option that a container does not support is an error, and is never ignored.

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

/// The options that choose the software of a container.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ContainerArguments {
    /// The image of `--sandbox docker` or `--sandbox kubernetes`.
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// The runtime of `--sandbox docker`, instead of an image: a name from `workden runtimes list`, or a .toml
    /// file. Pods use one only if it is a ready image.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) runtime: Option<String>,
}

/// The software of a container.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Installed {
    Image(String),
    Runtime(Box<RuntimeConfig>),
}

impl ContainerArguments {
    /// Returns the image or the runtime. Exactly one of them must be named.
    pub(crate) fn chosen(&self) -> Result<Installed> {
        match (&self.image, &self.runtime) {
            (Some(image), None) => Ok(Installed::Image(image.clone())),
            (None, Some(typed)) => Ok(Installed::Runtime(Box::new(runtime_named(typed)?))),
            (Some(_), Some(_)) => {
                Err(refused("`--image` is not supported with `--runtime`").hint("leave out one of them"))
            }
            (None, None) => Err(refused("`--sandbox docker` needs an `--image` or a `--runtime`").hint(
                "like `--image debian:12` or `--runtime python-minimal`; `workden runtimes list` shows the runtimes",
            )),
        }
    }

    /// Rejects both options, for a command that uses them only in a pod.
    pub(crate) fn refuse_here(&self) -> Result<()> {
        let named = [("--image", self.image.is_some()), ("--runtime", self.runtime.is_some())];
        match named.iter().find(|(_, is_named)| *is_named) {
            None => Ok(()),
            Some((name, _)) => Err(refused(&format!("`{name}` requires `--sandbox kubernetes`"))
                .hint("add `--sandbox kubernetes`, or leave it out")),
        }
    }

    /// Rejects both options, for sandboxes that are not containers.
    pub(crate) fn refuse(&self) -> Result<()> {
        let named = [("--image", self.image.is_some()), ("--runtime", self.runtime.is_some())];
        match named.iter().find(|(_, is_named)| *is_named) {
            None => Ok(()),
            Some((name, _)) => Err(refused(&format!("`{name}` requires `--sandbox docker` or `--sandbox kubernetes`"))
                .hint("add `--sandbox docker`, or leave it out")),
        }
    }
}

impl Installed {
    /// Adds the image or runtime to a builder. Progress of a pull or a build goes to standard error.
    pub(crate) fn in_container(&self, docker: DockerSandboxBuilder) -> DockerSandboxBuilder {
        let news = News::when_needed();
        let docker = docker.on_progress(move |progress| news.tell(&progress));
        match self {
            Self::Image(image) => docker.image(image),
            Self::Runtime(runtime) => docker.runtime(RuntimeConfig::clone(runtime)),
        }
    }
}

/// Finds the keepers that containers can use.
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
