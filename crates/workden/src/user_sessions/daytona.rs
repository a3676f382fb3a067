//! `DaytonaSpec`: the options that only sandboxes at Daytona have, under their command-line names.

#[cfg(feature = "daytona")]
use workden_core::{Error, ErrorKind, Result, sandbox::Network};
#[cfg(feature = "daytona")]
use workden_sandboxes::{HostEnvironment, daytona::DaytonaSandboxBuilder};
use workden_sessions::SessionRecord;

const SNAPSHOT: &str = "--snapshot";
const TARGET: &str = "--target";

/// The options that only sandboxes at Daytona have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DaytonaSpec {
    /// The snapshot that a sandbox is created from; by default Daytona's own.
    pub snapshot: Option<String>,
    /// The region; by default that of `DAYTONA_TARGET`, or of the organisation.
    pub target: Option<String>,
}

impl DaytonaSpec {
    /// Returns the spec in the record of a session.
    #[must_use]
    pub fn of(record: &SessionRecord) -> Self {
        let said = |name: &str| record.options.get(name).cloned();
        Self { snapshot: said(SNAPSHOT), target: said(TARGET) }
    }

    /// Returns the values that are set, by the names of their options.
    #[must_use]
    pub fn named(&self) -> Vec<(&'static str, String)> {
        let all = [(SNAPSHOT, self.snapshot.clone()), (TARGET, self.target.clone())];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

#[cfg(feature = "daytona")]
impl DaytonaSpec {
    /// Sets the options of a sandbox, and what the environment says: `DAYTONA_API_KEY`, `DAYTONA_API_URL` and
    /// `DAYTONA_TARGET`.
    pub fn set(&self, sandbox: DaytonaSandboxBuilder, host: &HostEnvironment) -> DaytonaSandboxBuilder {
        let mut sandbox = sandbox.environment_of(host.clone());
        if let Some(key) = host.variable("DAYTONA_API_KEY") {
            sandbox = sandbox.api_key(key);
        }
        if let Some(url) = host.variable("DAYTONA_API_URL") {
            sandbox = sandbox.api_url(url);
        }
        if let Some(target) = self.target.as_deref().or(host.variable("DAYTONA_TARGET")) {
            sandbox = sandbox.target(target);
        }
        match &self.snapshot {
            Some(snapshot) => sandbox.snapshot(snapshot),
            None => sandbox,
        }
    }

    /// Returns a network at Daytona by its name; without one, commands have none.
    ///
    /// # Errors
    ///
    /// `Unsupported` for a network that only other sandboxes have.
    pub fn network(name: Option<&str>) -> Result<Network> {
        match name {
            None | Some("none") => Ok(Network::None),
            Some("internet") => Ok(Network::Host),
            Some(other) => {
                let sentence = format!("`--net {other}` is not supported with `--sandbox daytona`");
                Err(Error::new(ErrorKind::Unsupported, sentence)
                    .hint("use `--net none`, or `--net internet` for the network that Daytona gives your organisation"))
            }
        }
    }
}
