//! Options of sandboxes at Daytona.
//!
//! Invariant: an option that Daytona does not support is an error, and is never ignored.

use clap::Args;
use workden::{DaytonaSpec, Error, ErrorKind, Result};
#[cfg(feature = "daytona")]
use workden::{
    HostEnvironment,
    sandboxes::daytona::{DaytonaSandbox, DaytonaSandboxBuilder},
};

#[cfg(feature = "daytona")]
use crate::command_options::CommandOptions;
#[cfg(feature = "daytona")]
use crate::containers::Net;
use crate::{command_options::Named, containers::ContainerArguments};

/// The options that only `--sandbox daytona` has. The key is that of DAYTONA_API_KEY.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DaytonaArguments {
    /// The snapshot that the sandbox is created from, instead of an --image [default: Daytona's own]. The key of the
    /// account is that of DAYTONA_API_KEY, and the address of the API that of DAYTONA_API_URL.
    #[arg(long, value_name = "NAME", help_heading = "Daytona")]
    snapshot: Option<String>,
    /// The region of the sandbox [default: that of DAYTONA_TARGET, or of the organisation].
    #[arg(long, value_name = "REGION", help_heading = "Daytona")]
    target: Option<String>,
}

impl DaytonaArguments {
    /// Returns the options for the library.
    pub(crate) fn spec(&self) -> DaytonaSpec {
        let mut spec = DaytonaSpec::default();
        spec.snapshot.clone_from(&self.snapshot);
        spec.target.clone_from(&self.target);
        spec
    }

    /// Rejects all of them, for sandboxes that are not at Daytona.
    pub(crate) fn refuse(&self) -> Result<()> {
        match self.spec().named().first() {
            None => Ok(()),
            Some((name, _)) => Err(unsupported(format!("`{name}` requires `--sandbox daytona`"))
                .hint("add `--sandbox daytona`, or leave it out")),
        }
    }

    /// Returns the options as words of a command line.
    pub(crate) fn words(&self) -> Vec<String> {
        self.spec().named().into_iter().flat_map(|(name, value)| [name.to_owned(), value]).collect()
    }

    /// Rejects these options, which Daytona does not have.
    pub(crate) fn check(&self, container: &ContainerArguments, named: &[Named]) -> Result<()> {
        let runtime = [("--runtime", container.runtime.is_some())];
        if let Some((name, _)) = named.iter().chain(&runtime).find(|(_, is_named)| *is_named) {
            let sentence =
                format!("`{name}` is not supported with `--sandbox daytona`: it has its own files and programs");
            return Err(unsupported(sentence).hint("leave it out; `--image` and `--snapshot` choose what is installed"));
        }
        match (&container.image, &self.snapshot) {
            (Some(_), Some(_)) => {
                Err(unsupported("`--image` is not supported with `--snapshot`".to_owned())
                    .hint("leave out one of them"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(feature = "daytona")]
impl DaytonaArguments {
    /// Returns the builder of a sandbox, whose options are checked.
    pub(crate) fn sandbox(
        &self,
        container: &ContainerArguments,
        net: Option<&Net>,
        options: &CommandOptions,
    ) -> Result<DaytonaSandboxBuilder> {
        let sandbox = self.unchecked_sandbox(container, net, options)?;
        sandbox.check()?;
        Ok(sandbox)
    }

    /// Returns the builder of a sandbox.
    pub(crate) fn unchecked_sandbox(
        &self,
        container: &ContainerArguments,
        net: Option<&Net>,
        options: &CommandOptions,
    ) -> Result<DaytonaSandboxBuilder> {
        let network = DaytonaSpec::network(net.map(ToString::to_string).as_deref())?;
        let mut sandbox = self.spec().set(DaytonaSandbox::builder(), &HostEnvironment::from_process());
        if let Some(image) = &container.image {
            sandbox = sandbox.image(image);
        }
        Ok(sandbox.network(network).with(|changed| options.set(changed)))
    }
}

/// Says that this program has no code for Daytona.
#[cfg(not(feature = "daytona"))]
pub(crate) fn without_feature() -> Error {
    unsupported("this program was built without the feature `daytona`".to_owned())
        .hint("install it with `cargo install workden-cli --features daytona`")
}

fn unsupported(sentence: String) -> Error {
    Error::new(ErrorKind::Unsupported, sentence)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(flatten)]
        daytona: DaytonaArguments,
    }

    fn typed(words: &[&str]) -> DaytonaArguments {
        Typed::parse_from(["x"].iter().chain(words)).daytona
    }

    #[test]
    fn options_are_for_daytona_only_and_those_of_this_machine_are_not() {
        let words = ["--snapshot", "s", "--target", "eu"];
        assert_eq!(typed(&words).words(), words);
        assert!(typed(&[]).refuse().is_ok());
        for option in words.chunks(2) {
            let error = typed(option).refuse().unwrap_err();
            assert_eq!(error.sentence(), format!("`{}` requires `--sandbox daytona`", option[0]));
        }
        let image = ContainerArguments { image: Some("a".to_owned()), runtime: None };
        let runtime = ContainerArguments { image: None, runtime: Some("a".to_owned()) };
        assert!(typed(&[]).check(&image, &[("--root", false)]).is_ok());
        for (refused, says) in [
            (typed(&[]).check(&image, &[("--root", true)]), "`--root` is not supported"),
            (typed(&[]).check(&runtime, &[]), "`--runtime` is not supported"),
            (typed(&["--snapshot", "s"]).check(&image, &[]), "`--image` is not supported with `--snapshot`"),
        ] {
            let error = refused.unwrap_err();
            assert!(error.sentence().starts_with(says), "{error}");
        }
    }
}
