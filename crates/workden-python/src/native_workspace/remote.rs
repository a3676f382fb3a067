//! A session of a service of workden, opened by the first call.

use std::{collections::BTreeMap, sync::Arc};

use pyo3::prelude::*;
use serde::Deserialize;
use workden::{Workspace, sandboxes::LazySandbox, sandboxes::service::ServiceSandbox};
use workden_core::{Error, ErrorKind, Result, Sandbox, VirtualPath};
use workden_policy::PathScope;

use super::{NativeWorkspace, WorkspaceParts, host_paths::Size, lifecycle::SandboxLifecycle};
use crate::{asking, failure, rules};

/// Configuration of a session. It has a key, so that it has no `Debug`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RemoteConfig {
    url: String,
    key: Option<String>,
    session: Option<String>,
    runtime: Option<String>,
    work_dir: String,
    network: Option<String>,
    memory: Option<Size>,
    cpus: Option<f64>,
    pids: Option<u64>,
    variables: BTreeMap<String, String>,
    rules: Option<String>,
}

#[pymethods]
impl NativeWorkspace {
    /// Creates or finds a session of a service. `config` is JSON; `asks` answers approval questions.
    #[staticmethod]
    #[pyo3(signature = (config, asks=None))]
    fn remote(config: &str, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let config: RemoteConfig = serde_json::from_str(config)
            .map_err(|error| failure::raised(failure::invalid("a session of a service", error)))?;
        let (config, approvals) = (Arc::new(config), asking::approvals(asks));
        Self::made_by(move || {
            // A wrong URL or key is reported now, and not by the first call.
            drop(sandbox(&config)?);
            let (session, work_dir) = (Arc::clone(&config), VirtualPath::parse(&config.work_dir)?);
            let late = LazySandbox::new(work_dir, move |_| started(Arc::clone(&session)));
            let builder = Workspace::builder().remote(Arc::new(late.clone())).approvals(approvals.clone());
            let builder = rules::hold(builder, config.rules.as_ref(), PathScope::Machine)?;
            let lifecycle = Some(SandboxLifecycle::of_lazy(late));
            Ok(WorkspaceParts { lifecycle, ..WorkspaceParts::new(builder.build()?) })
        })
    }
}

fn sandbox(config: &RemoteConfig) -> Result<ServiceSandbox> {
    let mut plan = ServiceSandbox::at(&config.url).work_dir(&config.work_dir);
    if let Some(key) = &config.key {
        plan = plan.key(key);
    }
    if let Some(name) = &config.session {
        plan = plan.session(name.parse()?);
    }
    if let Some(name) = &config.runtime {
        plan = plan.runtime(name);
    }
    if let Some(name) = &config.network {
        plan = plan.network(name);
    }
    if let Some(Size(bytes)) = config.memory {
        plan = plan.memory(bytes);
    }
    if let Some(most) = config.cpus {
        plan = plan.cpus(most);
    }
    if let Some(most) = config.pids {
        plan = plan.pids(most);
    }
    config.variables.iter().fold(plan, |plan, (name, value)| plan.env(name, value)).build()
}

/// Opens the session. One that exists already may have its files in another directory.
async fn started(config: Arc<RemoteConfig>) -> Result<Arc<dyn Sandbox>> {
    let sandbox = sandbox(&config)?;
    sandbox.start().await?;
    let directory = sandbox.directory().await?;
    if directory != VirtualPath::parse(&config.work_dir)? {
        let sentence = format!("the files of the session are in `{directory}`, not in `{}`", config.work_dir);
        return Err(Error::new(ErrorKind::InvalidArgument, sentence).hint(format!("pass work_dir=\"{directory}\"")));
    }
    Ok(Arc::new(sandbox))
}
