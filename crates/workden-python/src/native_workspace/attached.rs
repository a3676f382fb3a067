//! Existing sandboxes: leased Linux sandboxes by directory, containers by name.

use std::{path::PathBuf, sync::Arc};

use pyo3::prelude::*;
use serde::{Deserialize, de::DeserializeOwned};
use workden::sandboxes::{LazySandbox, LinuxSandbox, docker::DockerSandbox};
use workden::{Workspace, WorkspaceBuilder};
use workden_core::{Result, Sandbox, VirtualPath, sandbox::Mount};
use workden_policy::PathScope;

use super::{
    NativeWorkspace, WorkspaceParts,
    daemons::{self, Daemons},
    host_paths::{GitFilesOption, HostPath},
    lifecycle::SandboxLifecycle,
};
use crate::{asking, failure, rules};

/// Parts of the policy that the sandbox itself does not enforce, for attaching clients.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Held {
    rules: Option<String>,
    git_files: GitFilesOption,
    /// Host paths that commands see.
    shown: Vec<HostPath>,
}

impl Held {
    fn over(&self, builder: WorkspaceBuilder) -> Result<WorkspaceBuilder> {
        let mount = |path: &HostPath| {
            let HostPath { source, at, access } = path.clone();
            VirtualPath::parse(&at).map(|at| Mount { source, at, access })
        };
        let mounts = self.shown.iter().map(mount).collect::<Result<Vec<_>>>()?;
        rules::hold(self.git_files.held(builder, &mounts), self.rules.as_ref(), PathScope::Machine)
    }
}

/// A leased sandbox.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Leased {
    directory: PathBuf,
    work_dir: String,
    #[serde(default)]
    held: Held,
}

/// A container.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Container {
    daemon: Daemons,
    container: String,
    #[serde(default)]
    held: Held,
}

fn read<T: DeserializeOwned>(config: &str) -> PyResult<Arc<T>> {
    let config = serde_json::from_str(config);
    config.map(Arc::new).map_err(|error| failure::raised(failure::invalid("an existing sandbox", error)))
}

#[pymethods]
impl NativeWorkspace {
    /// Attaches to a leased Linux sandbox. `config` is JSON.
    #[staticmethod]
    #[pyo3(signature = (config, asks=None))]
    fn linux_attach(config: &str, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let (config, approvals) = (read::<Leased>(config)?, asking::approvals(asks));
        Self::made_by(move || {
            let directory = config.directory.clone();
            let late = LazySandbox::new(VirtualPath::parse(&config.work_dir)?, move |_| {
                let directory = directory.clone();
                async move { Ok(Arc::new(LinuxSandbox::attach(directory).await?) as Arc<dyn Sandbox>) }
            });
            let builder = Workspace::builder().remote(Arc::new(late.clone())).approvals(approvals.clone());
            let lifecycle = SandboxLifecycle::reported_by(move || late.has_started());
            Ok(WorkspaceParts {
                lifecycle: Some(lifecycle),
                ..WorkspaceParts::new(config.held.over(builder)?.build()?)
            })
        })
    }

    /// Attaches to an existing container. `config` is JSON.
    #[staticmethod]
    #[pyo3(signature = (config, asks=None))]
    fn docker_attach(config: &str, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let (config, approvals) = (read::<Container>(config)?, asking::approvals(asks));
        Self::made_by(move || {
            let (daemon, keepers) = daemons::of_this_process(&config.daemon)?;
            let sandbox = Arc::new(DockerSandbox::attach(daemon, &config.container, keepers));
            let lifecycle = SandboxLifecycle::reported_by({
                let sandbox = Arc::clone(&sandbox);
                move || sandbox.container_id().is_some()
            });
            let builder = Workspace::builder().remote(sandbox).approvals(approvals.clone());
            Ok(WorkspaceParts {
                lifecycle: Some(lifecycle),
                ..WorkspaceParts::new(config.held.over(builder)?.build()?)
            })
        })
    }
}
