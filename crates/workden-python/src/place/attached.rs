//! Existing sandboxes: leased Linux sandboxes by directory, containers by name.

use std::{path::PathBuf, sync::Arc};

use pyo3::prelude::*;
use serde::{Deserialize, de::DeserializeOwned};
use workden::sandboxes::{LazySandbox, LinuxSandbox, docker::DockerSandbox};
use workden::{Workspace, WorkspaceBuilder};
use workden_core::{Result, Sandbox, VirtualPath, sandbox::Mount};
use workden_policy::PathScope;

use super::{
    Den, Place,
    daemons::{self, Daemons},
    life::Life,
    shown::{RunOutside, Shown},
};
use crate::{asking, failure, rules};

/// Parts of the policy that the sandbox itself does not enforce, for attaching clients.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Held {
    rules: Option<String>,
    git_files: RunOutside,
    /// Host paths that commands see.
    shown: Vec<Shown>,
}

impl Held {
    fn over(&self, builder: WorkspaceBuilder) -> Result<WorkspaceBuilder> {
        let mount = |shown: &Shown| {
            let Shown { source, at, access } = shown.clone();
            VirtualPath::parse(&at).map(|at| Mount { source, at, access })
        };
        let shown = self.shown.iter().map(mount).collect::<Result<Vec<_>>>()?;
        rules::hold(self.git_files.held(builder, &shown), self.rules.as_ref(), PathScope::Machine)
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

fn read<T: DeserializeOwned>(wanted: &str) -> PyResult<Arc<T>> {
    let wanted = serde_json::from_str(wanted);
    wanted.map(Arc::new).map_err(|error| failure::raised(failure::invalid("an existing sandbox", error)))
}

#[pymethods]
impl Place {
    /// Attaches to a leased Linux sandbox. `wanted` is JSON.
    #[staticmethod]
    #[pyo3(signature = (wanted, asks=None))]
    fn linux_attach(wanted: &str, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let (wanted, approvals) = (read::<Leased>(wanted)?, asking::approvals(asks));
        Self::made_by(move || {
            let directory = wanted.directory.clone();
            let late = LazySandbox::new(VirtualPath::parse(&wanted.work_dir)?, move |_| {
                let directory = directory.clone();
                async move { Ok(Arc::new(LinuxSandbox::attach(directory).await?) as Arc<dyn Sandbox>) }
            });
            let builder = Workspace::builder().remote(Arc::new(late.clone())).approvals(approvals.clone());
            let life = Life::told_by(move || late.has_started());
            Ok(Den { life: Some(life), ..Den::new(wanted.held.over(builder)?.build()?) })
        })
    }

    /// Attaches to an existing container. `wanted` is JSON.
    #[staticmethod]
    #[pyo3(signature = (wanted, asks=None))]
    fn docker_attach(wanted: &str, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let (wanted, approvals) = (read::<Container>(wanted)?, asking::approvals(asks));
        Self::made_by(move || {
            let (daemon, keepers) = daemons::of_this_process(&wanted.daemon)?;
            let sandbox = Arc::new(DockerSandbox::attach(daemon, &wanted.container, keepers));
            let life = Life::told_by({
                let sandbox = Arc::clone(&sandbox);
                move || sandbox.container_id().is_some()
            });
            let builder = Workspace::builder().remote(sandbox).approvals(approvals.clone());
            Ok(Den { life: Some(life), ..Den::new(wanted.held.over(builder)?.build()?) })
        })
    }
}
