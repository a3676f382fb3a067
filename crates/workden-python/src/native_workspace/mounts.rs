//! Mounted host directories, each with limits: the configuration of a filesystem sandbox.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use workden::{Error, ErrorKind, GitFiles, MountAccess, Result, Workspace, files::Durability};
use workden_policy::{
    Policy,
    configs::{ConfiguredMounts, MountsConfig, SandboxConfig},
};

use super::{NativeWorkspace, WorkspaceParts};
use crate::{asking, failure};

/// Configuration of the mounts.
#[derive(Debug)]
struct HostMountsConfig {
    /// Base directory of relative host paths.
    base: PathBuf,
    config: Configuration,
}

/// The two notations.
#[derive(Debug)]
enum Configuration {
    Mounts(MountsConfig),
    Sandbox(SandboxConfig),
}

impl Configuration {
    fn to_mounts(&self) -> Result<ConfiguredMounts> {
        match self {
            Self::Mounts(config) => config.to_mounts(),
            Self::Sandbox(config) => config.to_mounts(),
        }
    }
}

#[pymethods]
impl NativeWorkspace {
    /// Mounts host directories. `config` is JSON; `asks` answers approval questions.
    #[staticmethod]
    #[pyo3(signature = (config, asks=None))]
    fn mounts(config: &str, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let invalid = |error| failure::raised(failure::invalid("mounts", error));
        let mut value: serde_json::Value = serde_json::from_str(config).map_err(invalid)?;
        let base = value.as_object_mut().and_then(|all| all.remove("base"));
        let base: PathBuf = serde_json::from_value(base.unwrap_or_default()).map_err(invalid)?;
        let config: Configuration = match value.get("mounts").is_some_and(|mounts| !mounts.is_null()) {
            true => Configuration::Mounts(serde_json::from_value(value).map_err(invalid)?),
            false => Configuration::Sandbox(serde_json::from_value(value).map_err(invalid)?),
        };
        let (host_mounts, approvals) = (HostMountsConfig { base, config }, asking::approvals(asks));
        Self::made_by(move || {
            let configured = host_mounts.config.to_mounts()?;
            // What may be written is what the limits of each mount say, as in the library that these are of.
            let mut builder = Workspace::builder().durability(Durability::None).git_files(GitFiles::Writable);
            for host in &configured.hosts {
                let directory = made(&host_mounts.base.join(&host.host_path))?;
                builder = builder.mount(&host.at, directory, MountAccess::ReadWrite);
            }
            let policy = Policy::new().with_mounts(configured.table);
            Ok(WorkspaceParts::new(builder.work_dir("/").policy(policy).approvals(approvals.clone()).build()?))
        })
    }
}

/// Returns the directory, created if it is missing.
fn made(directory: &Path) -> Result<PathBuf> {
    let cannot = |error: std::io::Error| {
        let shown = directory.display();
        Error::new(ErrorKind::Io, format!("cannot use the directory `{shown}`: {}", error.kind()))
    };
    std::fs::create_dir_all(directory).map_err(cannot)?;
    directory.canonicalize().map_err(cannot)
}
