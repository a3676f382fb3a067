//! `HostSandbox`: the host's own shell with the same process semantics as everywhere. It isolates nothing, is for
//! development only, and is never a default.

use std::path::PathBuf;

use workden_core::Result;
use workden_wire::LaunchTarget;

use crate::{
    HostEnvironment, KeeperProgram,
    delegate::delegate_to_keeper,
    keeper::KeeperConnection,
    variables::{self, NamedVariables},
};

/// Commands on the host, as the user who started them. It ends when it is dropped, or with this process.
#[derive(Debug)]
pub struct HostSandbox {
    keeper: KeeperConnection,
}

delegate_to_keeper!(HostSandbox);

impl HostSandbox {
    /// Ends it at once, with all that runs in it, and waits until nothing is left. Dropping it does the
    /// same without the wait; [`Sandbox::stop`](workden_core::Sandbox::stop) asks first.
    pub async fn close(self) {
        self.keeper.close().await;
    }

    /// Files in this directory, which is `/` to file calls; commands start there, and can go anywhere.
    pub fn builder(directory: impl Into<PathBuf>) -> HostSandboxBuilder {
        HostSandboxBuilder {
            program: None,
            log: None,
            host: HostEnvironment::default(),
            root: directory.into(),
            directory: None,
            variables: NamedVariables::default(),
        }
    }
}

/// What a [`HostSandbox`] is to be given.
#[derive(Clone, Debug)]
#[must_use = "nothing happens before `start`"]
pub struct HostSandboxBuilder {
    program: Option<KeeperProgram>,
    log: Option<PathBuf>,
    host: HostEnvironment,
    root: PathBuf,
    directory: Option<PathBuf>,
    variables: NamedVariables,
}

impl HostSandboxBuilder {
    /// Where commands start unless they name another place: somewhere below the directory of the files.
    pub fn commands_start_in(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Which program is the keeper.
    pub fn keeper(mut self, program: KeeperProgram) -> Self {
        self.program = Some(program);
        self
    }

    /// Where the keeper writes what goes wrong with it; nowhere unless named.
    pub fn keeper_log(mut self, file: impl Into<PathBuf>) -> Self {
        self.log = Some(file.into());
        self
    }

    /// Whose variables commands see: of these PATH, HOME, LANG, `LC_*`, TMPDIR, `VIRTUAL_ENV` and what is
    /// named. Without it there are none.
    pub fn environment_of(mut self, host: HostEnvironment) -> Self {
        self.host = host;
        self
    }

    /// A variable of commands.
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.variables.set(name.into(), value.into());
        self
    }

    /// A variable of commands, with the value that the host has, if it has one.
    pub fn pass_variable(mut self, name: impl Into<String>) -> Self {
        self.variables.pass(name.into());
        self
    }

    /// Starts it.
    ///
    /// # Errors
    ///
    /// When the directory is not there, or a variable cannot be one.
    pub async fn start(self) -> Result<HostSandbox> {
        let root = self.host.directory.join(&self.root);
        let directory = self.directory.map_or_else(|| root.clone(), |directory| root.join(directory));
        let mut environment = variables::of_host(&self.host);
        self.variables.add_to(&mut environment, &self.host)?;
        let program = self.program.ok_or_else(KeeperProgram::missing)?;
        let target = LaunchTarget::Host { root, directory, environment };
        Ok(HostSandbox { keeper: KeeperConnection::start(&program, target, self.log.as_deref()).await? })
    }
}
