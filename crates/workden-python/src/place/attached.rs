//! Sandboxes that are there already: leased ones of Linux by their directory, containers by their name.

use std::{path::PathBuf, sync::Arc};

use pyo3::prelude::*;
use serde::{Deserialize, de::DeserializeOwned};
use workden::Workspace;
use workden_core::{Sandbox, VirtualPath};
use workden_sandboxes::{LateSandbox, LinuxSandbox, docker::DockerSandbox};

use super::{
    Den, Place,
    daemons::{self, Daemons},
    life::Life,
};
use crate::{asking, failure};

/// A leased sandbox.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Leased {
    directory: PathBuf,
    work_dir: String,
}

/// A container.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Container {
    daemon: Daemons,
    container: String,
}

fn read<T: DeserializeOwned>(wanted: &str) -> PyResult<Arc<T>> {
    let wanted = serde_json::from_str(wanted);
    wanted.map(Arc::new).map_err(|error| failure::raised(failure::invalid("a sandbox that is there", error)))
}

#[pymethods]
impl Place {
    /// A leased Linux sandbox that somebody started. `wanted` is JSON.
    #[staticmethod]
    #[pyo3(signature = (wanted, asks=None))]
    fn linux_attach(wanted: &str, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let (wanted, approvals) = (read::<Leased>(wanted)?, asking::approvals(asks));
        Self::made_by(move || {
            let directory = wanted.directory.clone();
            let late = LateSandbox::new(VirtualPath::parse(&wanted.work_dir)?, move || {
                let directory = directory.clone();
                async move { Ok(Arc::new(LinuxSandbox::attach(directory).await?) as Arc<dyn Sandbox>) }
            });
            let builder = Workspace::builder().sandbox(Arc::new(late.clone())).approvals(approvals.clone());
            let life = Life::told_by(move || late.has_started());
            Ok(Den { life: Some(life), ..Den::new(builder.build()?) })
        })
    }

    /// A container that is there. `wanted` is JSON.
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
            let builder = Workspace::builder().sandbox(sandbox).approvals(approvals.clone());
            Ok(Den { life: Some(life), ..Den::new(builder.build()?) })
        })
    }
}
