//! Mounted host directories, each with limits: the configuration of a filesystem sandbox.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use workden::{Error, ErrorKind, GitFiles, MountAccess, Result, Workspace, files::Durability};
use workden_policy::{
    Policy,
    configs::{ConfiguredMounts, MountsConfig, SandboxConfig},
};

use super::{Den, Place};
use crate::{asking, failure};

/// Configuration of the mounts.
#[derive(Debug)]
struct Wanted {
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
impl Place {
    /// Mounts host directories. `wanted` is JSON; `asks` answers approval questions.
    #[staticmethod]
    #[pyo3(signature = (wanted, asks=None))]
    fn mounts(wanted: &str, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let invalid = |error| failure::raised(failure::invalid("mounts", error));
        let mut value: serde_json::Value = serde_json::from_str(wanted).map_err(invalid)?;
        let base = value.as_object_mut().and_then(|all| all.remove("base"));
        let base: PathBuf = serde_json::from_value(base.unwrap_or_default()).map_err(invalid)?;
        let config: Configuration = match value.get("mounts").is_some_and(|mounts| !mounts.is_null()) {
            true => Configuration::Mounts(serde_json::from_value(value).map_err(invalid)?),
            false => Configuration::Sandbox(serde_json::from_value(value).map_err(invalid)?),
        };
        let (wanted, approvals) = (Wanted { base, config }, asking::approvals(asks));
        Self::made_by(move || {
            let configured = wanted.config.to_mounts()?;
            // What may be written is what the limits of each mount say, as in the library that these are of.
            let mut builder = Workspace::builder().durability(Durability::None).git_files(GitFiles::Writable);
            for host in &configured.hosts {
                let directory = made(&wanted.base.join(&host.host_path))?;
                builder = builder.mount(&host.at, directory, MountAccess::ReadWrite);
            }
            let policy = Policy::new().with_mounts(configured.table);
            Ok(Den::new(builder.work_dir("/").policy(policy).approvals(approvals.clone()).build()?))
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
