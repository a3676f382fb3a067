//! `--remote`: commands and files in a session of a service, instead of a sandbox of this machine.
//!
//! Invariant: an option that a session of a service does not support is an error, and is never ignored.

use clap::Args;
use workden::{
    Error, ErrorKind, HostEnvironment, Result, SessionId,
    sandboxes::service::{ServiceSandbox, ServiceSandboxBuilder},
};

use crate::{
    command_options::{CommandOptions, Named},
    containers::{ContainerArguments, Net},
    typed,
};

/// The variable with the key.
pub(crate) const KEY: &str = "WORKDEN_API_KEY";

/// The service to use.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RemoteArguments {
    /// Run in a session of the service at this URL, which `workden serve` prints. The key is that of WORKDEN_API_KEY.
    /// Without --session the session is a new one, and ends with this command.
    #[arg(long, value_name = "URL", conflicts_with = "sandbox", help_heading = "Service")]
    remote: Option<String>,
}

impl RemoteArguments {
    /// Whether a service is named.
    pub(crate) fn is_named(&self) -> bool {
        self.remote.is_some()
    }

    /// Returns the option as words of a command line.
    pub(crate) fn words(&self) -> Vec<String> {
        self.remote.iter().flat_map(|url| ["--remote".to_owned(), url.clone()]).collect()
    }

    /// Rejects these options, which are about this machine or another kind of sandbox.
    pub(crate) fn check(&self, container: &ContainerArguments, named: &[Named]) -> Result<()> {
        let image = [("--image", container.image.is_some())];
        match named.iter().chain(&image).find(|(_, is_named)| *is_named) {
            None => Ok(()),
            Some((name, _)) => {
                let sentence =
                    format!("`{name}` is not supported with `--remote`: a session has its own files and programs");
                Err(Error::new(ErrorKind::Unsupported, sentence)
                    .hint("leave it out; `--runtime` names a runtime of the service"))
            }
        }
    }

    /// Returns the builder of the session, if a service is named.
    pub(crate) fn session(
        &self,
        name: Option<&SessionId>,
        container: &ContainerArguments,
        net: Option<&Net>,
        options: &CommandOptions,
    ) -> Option<ServiceSandboxBuilder> {
        let host = HostEnvironment::from_process();
        let mut session = ServiceSandbox::at(self.remote.as_deref()?);
        if let Some(key) = host.variable(KEY) {
            session = session.key(key);
        }
        if let Some(name) = name {
            session = session.session(name.clone());
        }
        if let Some(runtime) = &container.runtime {
            session = session.runtime(runtime);
        }
        if let Some(net) = net {
            session = session.network(net.to_string());
        }
        session = options.memory.into_iter().fold(session, ServiceSandboxBuilder::memory);
        session = options.cpus.into_iter().fold(session, ServiceSandboxBuilder::cpus);
        session = options.pids.into_iter().fold(session, ServiceSandboxBuilder::pids);
        let variables = typed::with_values(&options.environment.env, &host);
        Some(variables.into_iter().fold(session, |session, (name, value)| session.env(name, value)))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Typed {
        #[arg(long)]
        sandbox: Option<String>,
        #[command(flatten)]
        remote: RemoteArguments,
    }

    #[test]
    fn a_session_of_a_service_has_no_image_and_nothing_of_this_machine() {
        let words = ["--remote", "http://a"];
        let remote = Typed::parse_from(["x"].iter().chain(&words)).remote;
        assert!(remote.is_named() && remote.words() == words);
        let (none, image) = (ContainerArguments::default(), Some("a".to_owned()));
        let image = ContainerArguments { image, runtime: None };
        assert!(remote.check(&none, &[("--root", false)]).is_ok());
        for (refused, option) in
            [(remote.check(&none, &[("--root", true)]), "--root"), (remote.check(&image, &[]), "--image")]
        {
            let expected = format!("`{option}` is not supported with `--remote`");
            assert!(refused.unwrap_err().sentence().starts_with(&expected));
        }
        let both = Typed::try_parse_from(["x", "--sandbox", "linux", "--remote", "http://a"]);
        assert!(both.is_err_and(|error| error.to_string().contains("--sandbox")));
        assert!(RemoteArguments::default().session(None, &none, None, &CommandOptions::default()).is_none());
    }
}
