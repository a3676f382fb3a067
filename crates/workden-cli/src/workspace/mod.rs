//! Translates the shared options into the workspace builder of `workden`.

mod arguments;
pub(crate) mod config_file;
mod sandbox;
mod state_file;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

pub(crate) use arguments::{SandboxChoice, WorkspaceArguments};
use state_file::StateFile;
use workden::{
    ApprovalMode, Approvals, Config, HostEnvironment, MountConfig, Preset, VirtualPath, Workspace, WorkspaceBuilder,
    tools::Toolset,
};

use crate::{
    failure::{Failure, request},
    log::{CallLog, Level},
    packages::{mention_setup, mention_unused, tell},
    user_sessions::user_sessions,
};

/// A workspace and its tools.
pub(crate) struct ToolWorkspace {
    pub(crate) workspace: Workspace,
    pub(crate) tools: Toolset,
}

impl WorkspaceArguments {
    /// Opens the workspace; no sandbox starts yet. `asked` answers approval requests, unless an option does.
    pub(crate) async fn open(&self, asked: Option<Approvals>) -> Result<ToolWorkspace, Failure> {
        let host = HostEnvironment::from_process();
        let here = host.directory.clone();
        let log = Level::from_environment()?;
        let config = self.config.as_deref().map(|file| read_config(file, &here)).transpose()?;
        let config = config.as_ref().map(|(config, base)| (config, base.as_path()));
        let mut builder = self.sandboxed(Workspace::builder(), config.map(|(config, _)| config), log)?;
        builder = match config {
            _ if self.session.is_some() || self.is_elsewhere() => builder,
            Some((config, base)) if !config.mounts.is_empty() => self.configured(builder, config, base)?,
            _ => self.directories(builder, &here).await?,
        };
        if self.has_project(config.map(|(config, _)| config)) {
            let packages = self.path.packages(&self.options, &host);
            let root = here.join(self.root.as_deref().unwrap_or(Path::new("")));
            mention_setup(&packages, &root, config.and_then(|(config, _)| config.setup.as_ref()));
            builder = builder.packages(packages);
        }
        if let Some((config, base)) = config {
            self.mention_unmatched(config);
            builder = builder.config(config.clone(), base);
        }
        match &self.config {
            Some(file) => builder = builder.hold(here.join(file)),
            None if self.is_elsewhere() => {}
            None if self.session.is_some() && self.root.is_none() => self.mention_own_directory(),
            None => mention_unused(&here.join(self.root.as_deref().unwrap_or(Path::new("")))),
        }
        if let Some(preset) = self.policy.or(config.is_none().then_some(Preset::Default)) {
            builder = builder.preset(preset);
        }
        if let Some(approvals) = self.approvals(config.map(|(config, _)| config), asked) {
            builder = builder.approvals(approvals);
        }
        if log >= Level::Info {
            builder = builder.audit(Arc::new(CallLog));
        }
        let workspace = builder.build().map_err(request)?;
        let tools = workspace.toolset(self.toolset()).map_err(request)?;
        Ok(ToolWorkspace { workspace, tools })
    }

    /// Names the configuration that a mistake is in.
    fn in_config(&self, failure: Failure) -> Failure {
        match (&self.config, failure) {
            (Some(file), Failure::Request(sentence)) => Failure::Request(format!("{}: {sentence}", file.display())),
            (_, failure) => failure,
        }
    }

    /// Says which rules of the configuration match nothing in a sandbox of this machine.
    fn mention_unmatched(&self, config: &Config) {
        let here = VirtualPath::parse(sandbox::WORKSPACE).into_iter();
        let paths: Vec<VirtualPath> = here.chain(self.mount.iter().map(|mount| mount.at.clone())).collect();
        if self.sandbox() == SandboxChoice::Linux && !self.is_elsewhere() && config.mounts.is_empty() {
            config.rules_without_paths(&paths).iter().for_each(|sentence| tell(sentence));
        }
    }

    /// Says that a new session does not work in the current directory.
    fn mention_own_directory(&self) {
        let Some(id) = &self.session else { return };
        if let Ok(sessions) = user_sessions()
            && let Ok(None) = sessions.store().record(id)
        {
            tell(&format!("the session `{id}` has a directory of its own; to work in this one, add `--root .`"));
        }
    }

    /// Whether the workspace is one directory with commands in a sandbox of this machine.
    fn has_project(&self, config: Option<&Config>) -> bool {
        let is_here = self.sandbox() == SandboxChoice::Linux && self.session.is_none() && !self.is_elsewhere();
        is_here && self.state.is_none() && config.is_none_or(|config| config.mounts.is_empty())
    }

    /// Mounts the directories that options name.
    async fn directories(&self, mut builder: WorkspaceBuilder, here: &Path) -> Result<WorkspaceBuilder, Failure> {
        builder = match &self.state {
            Some(file) => builder.mount_backend("/", StateFile::open(&here.join(file)).await.map_err(request)?),
            None => {
                let typed = self.root.as_deref().unwrap_or(Path::new("."));
                builder.root(existing(&here.join(typed), typed)?)
            }
        };
        for mount in &self.mount {
            builder = builder.mount(&mount.at, existing(&here.join(&mount.source), &mount.source)?, mount.access);
        }
        Ok(builder)
    }

    /// Checks the directories that a configuration names; the builder mounts them.
    fn configured(&self, builder: WorkspaceBuilder, config: &Config, base: &Path) -> Result<WorkspaceBuilder, Failure> {
        let named = [
            ("--root", self.root.is_some()),
            ("--state", self.state.is_some()),
            ("--mount", !self.mount.is_empty()),
            self.path.named(),
        ];
        if let Some((name, _)) = named.iter().find(|(_, is_named)| *is_named) {
            let sentence = format!("`{name}` is not supported with a configuration that has mounts");
            return Err(Failure::Usage(format!("{sentence}\nhint: leave out one of them")));
        }
        for MountConfig { directory, .. } in &config.mounts {
            existing(&base.join(directory), Path::new(directory)).map_err(|failure| self.in_config(failure))?;
        }
        let only = match config.mounts.as_slice() {
            [only] => Some(&only.at),
            _ => None,
        };
        let usual = config.mounts.iter().map(|mount| &mount.at).find(|at| at.as_str() == sandbox::WORKSPACE);
        Ok(match (self.sandbox(), usual.or(only)) {
            (SandboxChoice::None, Some(at)) => builder.work_dir(at),
            (_, None) => builder.work_dir(VirtualPath::root()),
            _ => builder,
        })
    }

    /// Chooses who answers approval requests: `--yes`, the configuration, or `asked`.
    fn approvals(&self, config: Option<&Config>, asked: Option<Approvals>) -> Option<Approvals> {
        match config.map(|config| config.approvals.mode) {
            _ if self.yes => Some(Approvals::approve_all()),
            // The workspace handles these modes.
            Some(ApprovalMode::ApproveAll | ApprovalMode::Strict) => None,
            Some(ApprovalMode::Interactive) | None => asked,
        }
    }
}

impl ToolWorkspace {
    /// Ends the sandbox and waits until nothing of it is left. A sandbox that cannot be stopped now ends with this
    /// process, or when its lease expires.
    pub(crate) async fn close(&self) {
        let _ = self.workspace.stop().await;
    }
}

fn read_config(file: &Path, here: &Path) -> Result<(Config, PathBuf), Failure> {
    let config = config_file::read(file)?;
    let base = here.join(file.parent().unwrap_or(Path::new("")));
    Ok((config, base))
}

/// Returns a directory that exists. The error shows the path, because the user typed it.
fn existing(path: &Path, typed: &Path) -> Result<PathBuf, Failure> {
    match path.is_dir() {
        true => Ok(path.to_owned()),
        false => Err(Failure::Request(format!("directory `{}` not found", typed.display()))),
    }
}
