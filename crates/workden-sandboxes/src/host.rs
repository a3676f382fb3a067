//! `HostSandbox`: the host's own shell with the same process semantics as everywhere. No isolation, for
//! development only, and never anybody's default.
//!
//! Its keeper is in this process: between the two would be no wall, only the way there and back. Commands are
//! started by a small process of their own, the nursery, with which everything ends.

use std::{path::PathBuf, time::Duration};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tokio::time::timeout;
use workden_core::{Error, ErrorKind, Result};
use workden_keeper::{HostPlace, Keeper, MINDERS_WORD, Nursery};

use crate::{
    HostEnvironment, KeeperProgram,
    delegate::delegate,
    keeper::{KeeperChild, ready},
    variables::{self, NamedVariables},
};

/// How long the nursery has to end what is left.
const END_TIME: Duration = Duration::from_secs(5);

/// Commands on the host, as the user who started them. It ends when it is dropped, or with this process.
#[derive(Debug)]
pub struct HostSandbox {
    keeper: Keeper,
    nursery: KeeperChild,
}

delegate!(HostSandbox, |this| &this.keeper, |answer| answer, {
    async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
        self.keeper.spawn(request).await
    }
    async fn stop(&self) -> Result<()> {
        // A command may have stopped it.
        self.nursery.wake();
        self.keeper.stop().await?;
        self.end().await;
        Ok(())
    }
});

impl HostSandbox {
    /// Ends it at once, with all that runs in it, and waits until nothing is left. Dropping it does the
    /// same without the wait; [`Sandbox::stop`](workden_core::Sandbox::stop) asks first.
    pub async fn close(self) {
        self.end().await;
    }

    /// Has the nursery end, and everything with it.
    fn let_go(&self) {
        self.keeper.let_go();
        // A command may have stopped it.
        self.nursery.wake();
    }

    /// Ends the nursery, and everything with it.
    async fn end(&self) {
        self.let_go();
        if timeout(END_TIME, self.nursery.wait()).await.is_err() {
            self.nursery.kill();
            self.nursery.wait().await;
        }
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

impl Drop for HostSandbox {
    fn drop(&mut self) {
        self.let_go();
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
        let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
        let (ours, theirs) = pair.map_err(|errno| {
            let why = std::io::Error::from(errno).kind();
            Error::new(ErrorKind::Io, format!("there is no socket for the keeper: {why}"))
        })?;
        let child = KeeperChild::start(&program, &[MINDERS_WORD], theirs, self.log.as_deref())?;
        let nursery = ready(&child, Nursery::connect(ours), || ()).await?;
        let keeper = Keeper::nursed(HostPlace { root, directory, environment }, nursery)?;
        Ok(HostSandbox { keeper, nursery: child })
    }
}
