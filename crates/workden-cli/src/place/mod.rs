//! The workspace that tools work in, as the shared options say: files at once, commands when the first one
//! comes.

mod arguments;
mod commands;
pub(crate) mod config_file;
mod directories;
mod log;
mod session;
mod state_file;

use std::{path::Path, sync::Arc};

pub(crate) use arguments::{PlaceArguments, SandboxChoice, preset};
use commands::{Commands, KnownLater};
use directories::{Directories, Source, WORKSPACE};
use log::{CallLog, Level};
use state_file::StateFile;
use workden::{ApprovalMode, Approvals, Config, FixedNames, Preset, Workspace, tools::Toolset};
use workden_sandboxes::HostEnvironment;

use crate::{containers::Installed, failure::Failure};

/// A workspace and its tools.
pub(crate) struct Place {
    pub(crate) workspace: Workspace,
    pub(crate) tools: Toolset,
    commands: Option<Commands>,
}

impl PlaceArguments {
    /// Opens it. Nothing runs yet. `asked` answers what the rules ask about, if nobody has said otherwise.
    pub(crate) async fn open(&self, asked: Option<Approvals>) -> Result<Place, Failure> {
        let host = HostEnvironment::from_process();
        let here = host.directory.clone();
        let log = Level::from_environment()?;
        let config = self.config.as_deref().map(|file| read_config(file, &here)).transpose()?;
        let config = config.as_ref().map(|(config, base)| (config, base.as_path()));
        let policy = KnownLater::default();
        let (directories, commands) = match &self.session {
            Some(id) => session::of(self, id, config.map(|(config, _)| config), Arc::clone(&policy))?,
            None => {
                let installed = self.installed()?;
                let inside = installed.as_ref().map_or(WORKSPACE, Installed::directory);
                let directories = Directories::of(self, config, &here, inside)?;
                let commands = commands::of(self, &directories, installed, host, Arc::clone(&policy), log)?;
                (directories, commands)
            }
        };

        let mut builder = Workspace::builder().working_directory(directories.working.as_str());
        if let Some(file) = &self.state {
            builder = builder.mount("/", StateFile::open(&here.join(file)).await.map_err(request)?);
        }
        if directories.source == Source::Options {
            // A sandbox on the host has its directory itself.
            let own = |at: &str| at == "/" && commands.is_some();
            for mount in directories.all.iter().filter(|mount| !own(mount.at.as_str())) {
                builder = builder.directory_at(mount.at.as_str(), &mount.directory);
            }
        }
        for place in directories.read_only() {
            builder = builder.read_only(place.as_str());
        }
        for mount in directories.writable() {
            builder = builder.fixed_names(mount.at.as_str(), FixedNames::host_executed());
        }
        if let Some((config, base)) = config {
            builder = builder.config(config.clone(), base);
        }
        if let Some(preset) = self.policy.or(config.is_none().then_some(Preset::Default)) {
            builder = builder.preset(preset);
        }
        if let Some(approvals) = self.approvals(config.map(|(config, _)| config), asked) {
            builder = builder.approvals(approvals);
        }
        if log > Level::Off {
            builder = builder.audit(Arc::new(CallLog));
        }
        if let Some(commands) = &commands {
            builder = builder.sandbox(Arc::new(commands.sandbox.clone()));
        }
        let workspace = builder.build().map_err(request)?;
        let _ = policy.set(workspace.policy().clone());
        let tools = workspace.toolset(self.toolset()).map_err(request)?;
        Ok(Place { workspace, tools, commands })
    }

    /// What a container has installed, where commands run in one.
    fn installed(&self) -> Result<Option<Installed>, Failure> {
        if self.sandbox() == SandboxChoice::Docker {
            return self.container.chosen().map(Some).map_err(request);
        }
        self.container.refuse().map(|()| None).map_err(request)
    }

    /// Who answers: `--yes`, what a configuration says, or whoever can be asked.
    fn approvals(&self, config: Option<&Config>, asked: Option<Approvals>) -> Option<Approvals> {
        match config.map(|config| config.approvals.mode) {
            _ if self.yes => Some(Approvals::approve_all()),
            // The workspace takes care of these.
            Some(ApprovalMode::ApproveAll | ApprovalMode::Strict) => None,
            Some(ApprovalMode::Interactive) | None => asked,
        }
    }
}

impl Place {
    /// Starts its sandbox now, before anybody needs it.
    pub(crate) async fn start(&self) -> workden::Result<()> {
        match &self.commands {
            Some(commands) => commands.sandbox.started().await.map(|_| ()),
            None => Ok(()),
        }
    }

    /// Ends its sandbox, and waits until nothing of it is left.
    pub(crate) async fn close(&self) {
        if let Some(commands) = &self.commands {
            commands.end().await;
        }
    }
}

fn read_config(file: &Path, here: &Path) -> Result<(Config, std::path::PathBuf), Failure> {
    let config = config_file::read(file)?;
    let base = here.join(file.parent().unwrap_or(Path::new("")));
    Ok((config, base))
}

/// An error of the library, as it is.
pub(crate) fn request(error: workden::Error) -> Failure {
    Failure::Request(error.to_string())
}
