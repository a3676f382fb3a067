//! Adds the sandbox of the options to the workspace builder, and rejects options that a kind does not support.

use std::sync::Arc;

use workden::{Config, SessionKind, SessionSpec, WorkspaceBuilder};

use super::arguments::{SandboxChoice, WorkspaceArguments};
use crate::{
    cluster::refuse_in_pod,
    command_options::Named,
    failure::{Failure, request, usage},
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
        let (session, net) = (self.session.as_ref(), self.net.as_ref());
        if let Some(remote) = self.remote.session(session, &self.container, net, &self.options) {
            self.check_remote(config)?;
            return Ok(builder.remote(Arc::new(remote.build().map_err(request)?)));
        }
        if let Some(id) = &self.session {
            self.check_session(config)?;
            let sessions = user_sessions().map_err(request)?;
            let record = sessions.planned(id, &self.spec()).map_err(request)?;
            return Ok(builder.session(sessions, id.clone(), record));
        }
        if self.is_pod() {
            self.check_pod(config)?;
            self.cluster.check_image(&self.container).map_err(usage)?;
            return self.in_pod(builder);
        }
        self.cluster.refuse().map_err(usage)?;
        if self.sandbox() == SandboxChoice::Daytona {
            self.check_daytona(config)?;
            return self.at_daytona(builder);
        }
        self.daytona.refuse().map_err(usage)?;
        if self.sandbox() != SandboxChoice::Docker {
            self.container.refuse().map_err(usage)?;
        }
        if self.state.is_some() && self.sandbox() != SandboxChoice::None {
            return unsupported("--state", &format!("`--sandbox {}`", self.sandbox().name()));
        }
        match self.sandbox() {
            SandboxChoice::None => {
                self.refuse(&[self.options.variables(), ("--timeout", self.time.timeout.is_some())])?;
                Ok(builder)
            }
            SandboxChoice::Host => {
                self.refuse(&[("--mount", !self.mount.is_empty())])?;
                Ok(builder.host(|host| {
                    host.with(|options| {
                        self.options.set(options);
                        options.keeper_log = log.keeper_log().map(Into::into);
                    })
                }))
            }
            SandboxChoice::Linux => {
                let network = self.net.as_ref().map(|net| net.without_daemon()).transpose().map_err(usage)?;
                Ok(builder.linux(|linux| {
                    let names = self.options.toolchains_by_name();
                    let linux = names.fold(linux, |linux, name| linux.toolchain(name));
                    linux.with(|options| {
                        self.options.set(options);
                        options.network = network;
                        options.keeper_log = log.keeper_log().map(Into::into);
                    })
                }))
            }
            // They have returned above.
            SandboxChoice::Kubernetes | SandboxChoice::Daytona => Ok(builder),
            SandboxChoice::Docker => {
                if self.path.named().1 {
                    return unsupported("--path", "`--sandbox docker`, whose work directory the runtime sets");
                }
                if self.options.toolchains().1 {
                    return unsupported("--toolchain", "`--sandbox docker`, which has what its image has installed");
                }
                let installed = self.container.chosen().map_err(usage)?;
                Ok(builder.docker(|docker| {
                    let docker = installed.in_container(docker).with(|options| self.options.set(options));
                    match &self.net {
                        Some(net) => docker.network_name(net.to_string()),
                        None => docker,
                    }
                }))
            }
        }
    }

    #[cfg(feature = "kubernetes")]
    fn in_pod(&self, builder: WorkspaceBuilder) -> Result<WorkspaceBuilder, Failure> {
        let pod = workden::sandboxes::kubernetes::KubernetesSandbox::builder();
        let pod = self.cluster.pod(pod, &self.container, self.net.as_ref(), &self.options).map_err(request)?;
        Ok(builder.kubernetes(|_| pod))
    }

    #[cfg(not(feature = "kubernetes"))]
    fn in_pod(&self, _: WorkspaceBuilder) -> Result<WorkspaceBuilder, Failure> {
        Err(request(crate::cluster::without_feature()))
    }

    #[cfg(feature = "daytona")]
    fn at_daytona(&self, builder: WorkspaceBuilder) -> Result<WorkspaceBuilder, Failure> {
        let sandbox = self.daytona.sandbox(&self.container, self.net.as_ref(), &self.options).map_err(request)?;
        Ok(builder.daytona(|_| sandbox))
    }

    #[cfg(not(feature = "daytona"))]
    fn at_daytona(&self, _: WorkspaceBuilder) -> Result<WorkspaceBuilder, Failure> {
        Err(request(crate::hosted::without_feature()))
    }

    /// Rejects options that a pod does not have.
    fn check_pod(&self, config: Option<&Config>) -> Result<(), Failure> {
        self.daytona.refuse().map_err(usage)?;
        refuse_in_pod(self.net.as_ref(), &self.of_this_machine(config)).map_err(usage)
    }

    /// Rejects options that a sandbox at Daytona does not have.
    fn check_daytona(&self, config: Option<&Config>) -> Result<(), Failure> {
        self.cluster.refuse().map_err(usage)?;
        self.daytona.check(&self.container, &self.of_this_machine(config)).map_err(usage)
    }

    /// Rejects options that a session of a service does not have.
    fn check_remote(&self, config: Option<&Config>) -> Result<(), Failure> {
        self.cluster.refuse().map_err(usage)?;
        self.daytona.refuse().map_err(usage)?;
        let named = self.of_this_machine(config);
        let not_remote: Vec<Named> = named.into_iter().filter(|(name, _)| *name != "--pids").collect();
        self.remote.check(&self.container, &not_remote).map_err(usage)
    }

    /// Returns the options about the files, programs and limits of this machine.
    fn of_this_machine(&self, config: Option<&Config>) -> [Named; 7] {
        [
            ("--root", self.root.is_some()),
            ("--state", self.state.is_some()),
            ("--mount", !self.mount.is_empty()),
            self.path.named(),
            self.options.toolchains(),
            ("--pids", self.options.pids.is_some()),
            ("[[mounts]]", config.is_some_and(|config| !config.mounts.is_empty())),
        ]
    }

    /// Returns the specification of a new session.
    fn spec(&self) -> SessionSpec {
        let mut spec = SessionSpec::default();
        spec.kind = match self.sandbox() {
            SandboxChoice::Docker => SessionKind::Docker,
            SandboxChoice::Kubernetes => SessionKind::Kubernetes,
            SandboxChoice::Daytona => SessionKind::Daytona,
            SandboxChoice::Linux | SandboxChoice::Host | SandboxChoice::None => SessionKind::Linux,
        };
        spec.cluster = self.cluster.spec();
        spec.daytona = self.daytona.spec();
        spec.image.clone_from(&self.container.image);
        spec.runtime.clone_from(&self.container.runtime);
        spec.root.clone_from(&self.root);
        spec.network = self.net.as_ref().map(ToString::to_string);
        self.options.set_session(&mut spec);
        self.options.set_session_environment(&mut spec);
        spec
    }

    fn check_session(&self, config: Option<&Config>) -> Result<(), Failure> {
        if matches!(self.sandbox(), SandboxChoice::Host | SandboxChoice::None) {
            return unsupported("--session", &format!("`--sandbox {}`", self.sandbox().name()));
        }
        if self.is_pod() {
            return self.check_pod(config);
        }
        if self.sandbox() == SandboxChoice::Daytona {
            return self.check_daytona(config);
        }
        self.daytona.refuse().map_err(usage)?;
        self.cluster.refuse().map_err(usage)?;
        if self.sandbox() == SandboxChoice::Linux {
            self.container.refuse().map_err(usage)?;
        }
        let named = [
            ("--state", self.state.is_some()),
            ("--mount", !self.mount.is_empty()),
            self.path.named(),
            ("a configuration with mounts", config.is_some_and(|config| !config.mounts.is_empty())),
        ];
        match named.iter().find(|(_, is_named)| *is_named) {
            Some((name, _)) => unsupported("--session", name),
            None => Ok(()),
        }
    }

    /// Rejects options that need isolated commands, and these.
    fn refuse(&self, others: &[Named]) -> Result<(), Failure> {
        let named = [("--net", self.net.is_some()), self.path.named(), self.options.toolchains()];
        let limits = self.options.limits();
        match named.iter().chain(&limits).chain(others).find(|(_, is_named)| *is_named) {
            None => Ok(()),
            Some((name, _)) => unsupported(name, &format!("`--sandbox {}`", self.sandbox().name())),
        }
    }
}

fn unsupported<T>(option: &str, with: &str) -> Result<T, Failure> {
    let with = if with.starts_with("--") { format!("`{with}`") } else { with.to_owned() };
    Err(Failure::Usage(format!("`{option}` is not supported with {with}\nhint: leave out one of them")))
}
