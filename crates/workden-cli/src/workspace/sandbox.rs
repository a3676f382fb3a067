//! Adds the sandbox of the options to the workspace builder, and rejects options that a kind does not support.

use workden::{Config, SessionKind, SessionSpec, WorkspaceBuilder};

use super::arguments::{SandboxChoice, WorkspaceArguments};
use crate::{
    failure::{Failure, request},
    log::Level,
    user_sessions::user_sessions,
};

/// The path of the directory to work in, if commands are isolated.
pub(super) const WORKSPACE: &str = "/workspace";

impl WorkspaceArguments {
    /// Adds the sandbox that the options name, if any.
    pub(super) fn sandboxed(
        &self,
        builder: WorkspaceBuilder,
        config: Option<&Config>,
        log: Level,
    ) -> Result<WorkspaceBuilder, Failure> {
        if let Some(id) = &self.session {
            self.check_session(config)?;
            let sessions = user_sessions().map_err(request)?;
            let record = sessions.planned(id, &self.spec()).map_err(request)?;
            return Ok(builder.session(sessions, id.clone(), record));
        }
        if self.sandbox() != SandboxChoice::Docker {
            self.container.refuse().map_err(request)?;
        }
        if self.state.is_some() && self.sandbox() != SandboxChoice::None {
            return unsupported("--state", &format!("`--sandbox {}`", self.sandbox().name()));
        }
        match self.sandbox() {
            SandboxChoice::None => {
                self.refuse_isolation()?;
                Ok(builder)
            }
            SandboxChoice::Host => {
                self.refuse_isolation()?;
                if !self.mount.is_empty() {
                    return unsupported("--mount", "`--sandbox host`");
                }
                Ok(builder.host(|host| match log.keeper_log() {
                    Some(file) => host.keeper_log(file),
                    None => host,
                }))
            }
            SandboxChoice::Linux => {
                let network = self.net.as_ref().map(|net| net.without_daemon()).transpose().map_err(request)?;
                Ok(builder.linux(|linux| {
                    let linux = self.toolchain.iter().fold(linux, |linux, name| linux.toolchain(name));
                    linux.with(|options| {
                        options.network = network;
                        options.keeper_log = log.keeper_log().map(Into::into);
                    })
                }))
            }
            SandboxChoice::Docker => {
                if !self.toolchain.is_empty() {
                    return unsupported("--toolchain", "`--sandbox docker`, which has what its image has installed");
                }
                let installed = self.container.chosen().map_err(request)?;
                Ok(builder.docker(|docker| {
                    let docker = installed.in_container(docker);
                    match &self.net {
                        Some(net) => docker.network_name(net.to_string()),
                        None => docker,
                    }
                }))
            }
        }
    }

    /// Returns the specification of a new session.
    fn spec(&self) -> SessionSpec {
        let mut spec = SessionSpec::default();
        if self.sandbox() == SandboxChoice::Docker {
            spec.kind = SessionKind::Docker;
        }
        spec.image.clone_from(&self.container.image);
        spec.runtime.clone_from(&self.container.runtime);
        spec.root.clone_from(&self.root);
        spec.network = self.net.as_ref().map(ToString::to_string);
        spec
    }

    fn check_session(&self, config: Option<&Config>) -> Result<(), Failure> {
        if matches!(self.sandbox(), SandboxChoice::Host | SandboxChoice::None) {
            return unsupported("--session", &format!("`--sandbox {}`", self.sandbox().name()));
        }
        if self.sandbox() == SandboxChoice::Linux {
            self.container.refuse().map_err(request)?;
        }
        let named = [
            ("--state", self.state.is_some()),
            ("--mount", !self.mount.is_empty()),
            ("--toolchain", !self.toolchain.is_empty()),
            ("a configuration with mounts", config.is_some_and(|config| !config.mounts.is_empty())),
        ];
        match named.iter().find(|(_, is_named)| *is_named) {
            Some((name, _)) => unsupported("--session", name),
            None => Ok(()),
        }
    }

    /// Rejects options that need isolated commands.
    fn refuse_isolation(&self) -> Result<(), Failure> {
        let named = [("--net", self.net.is_some()), ("--toolchain", !self.toolchain.is_empty())];
        match named.iter().find(|(_, is_named)| *is_named) {
            None => Ok(()),
            Some((name, _)) => unsupported(name, &format!("`--sandbox {}`", self.sandbox().name())),
        }
    }
}

fn unsupported<T>(option: &str, with: &str) -> Result<T, Failure> {
    let with = if with.starts_with("--") { format!("`{with}`") } else { with.to_owned() };
    Err(Failure::Request(format!("`{option}` is not supported with {with}\nhint: leave out one of them")))
}
