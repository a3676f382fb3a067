//! `RuntimeConfig`: the software of a sandbox.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The software of a sandbox: a ready image, or a base image with additions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RuntimeConfig {
    /// The name, part of the name of the image that is built.
    pub name: String,
    /// The purpose, in a sentence.
    pub description: String,
    /// An image that is used as it is.
    pub image: Option<String>,
    /// An image to build upon.
    pub base_image: Option<String>,
    /// Packages, in the package manager's syntax: `requests[socks]>=2,<3`.
    pub packages: Vec<String>,
    /// The package manager.
    pub package_manager: PackageManager,
    /// Shell lines that run in the image while it is built, before the packages are installed.
    pub setup_commands: Vec<String>,
    /// Variables of every command.
    pub env_vars: BTreeMap<String, String>,
    /// Where commands start, and where the files of a session are.
    pub work_dir: String,
    /// Whether an image that was built before is used again.
    pub cache_image: bool,
    /// The user of commands in the image: `name`, `uid` or `uid:gid`.
    pub user: Option<String>,
}

/// A package manager.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PackageManager {
    /// Python's pip.
    #[default]
    Pip,
    /// npm, which installs into the working directory.
    Npm,
    /// Debian's apt.
    Apt,
    /// Rust's cargo.
    Cargo,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self {
            name: String::new(),
            description: String::new(),
            image: None,
            base_image: None,
            packages: Vec::new(),
            package_manager: PackageManager::default(),
            setup_commands: Vec::new(),
            env_vars: BTreeMap::new(),
            work_dir: "/workspace".to_owned(),
            cache_image: true,
            user: None,
        }
    }
}
