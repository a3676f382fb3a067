//! Facts about the place where commands run, for a model that would otherwise find them out by failing.

use super::Network;
use crate::setters::setters;

/// The shell that runs the lines of a sandbox that says nothing else.
pub const SHELL: &str = "sh";

/// What a sandbox can tell about its commands before it starts. It describes; it decides nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommandFacts {
    /// The name of the shell that runs command lines.
    pub shell: String,
    /// What commands can reach; `None` if that is not known.
    pub network: Option<Network>,
    /// Whether `HOME` and `/tmp` are in memory, empty at the start, and gone with the sandbox.
    pub home_in_memory: bool,
    /// Whether no command can become another user.
    pub no_sudo: bool,
    /// The toolchains of the host that were added by name.
    pub toolchains: Vec<String>,
}

impl Default for CommandFacts {
    fn default() -> Self {
        Self { shell: SHELL.to_owned(), network: None, home_in_memory: false, no_sudo: false, toolchains: Vec::new() }
    }
}

impl CommandFacts {
    /// Creates the facts of a sandbox of which only the shell is known.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the name of the shell that runs command lines.
        shell: impl Into<String>,
        /// Sets what commands can reach.
        network: impl Into<Option<Network>>,
        /// Sets whether `HOME` and `/tmp` are in memory.
        home_in_memory: bool,
        /// Sets whether no command can become another user.
        no_sudo: bool,
        /// Sets the toolchains of the host that were added by name.
        toolchains: Vec<String>,
    }
}
