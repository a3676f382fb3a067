//! The configurations of pydantic-ai-filesystem-sandbox, as other formats of a mount table.
//!
//! Field names and defaults are those of that library. Host paths are passed through as text and never appear in
//! errors: a policy knows virtual paths only, and the code that opens host paths gets them separately from the table.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use workden_core::{Error, ErrorKind, Result, VirtualPath};

use crate::{MountApproval, MountMode, MountRules, MountTable};

/// One named directory of a `SandboxConfig`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PathConfig {
    /// The host directory.
    pub root: String,
    /// Whether the directory may be written.
    #[serde(default)]
    pub mode: MountMode,
    /// The only suffixes that files may have; absent for all.
    #[serde(default)]
    pub suffixes: Option<Vec<String>>,
    /// The largest file size, in bytes.
    #[serde(default)]
    pub max_file_bytes: Option<u64>,
    /// Whether writing requires approval.
    #[serde(default = "needed")]
    pub write_approval: MountApproval,
    /// Whether reading requires approval.
    #[serde(default)]
    pub read_approval: MountApproval,
}

/// One directory that is the whole workspace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RootSandboxConfig {
    /// The host directory.
    pub root: String,
    /// Whether the directory is read-only.
    #[serde(default)]
    pub readonly: bool,
    /// The only suffixes that files may have; absent for all.
    #[serde(default)]
    pub suffixes: Option<Vec<String>>,
    /// The largest file size, in bytes.
    #[serde(default)]
    pub max_file_bytes: Option<u64>,
}

/// Either one directory for the whole workspace, or several named directories.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SandboxConfig {
    /// The directory of the whole workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<RootSandboxConfig>,
    /// The named directories. An empty list is legal, and gives access to nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<std::collections::BTreeMap<String, PathConfig>>"))]
    pub paths: Option<NamedPaths>,
}

/// Directories by name, in the order of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedPaths(pub Vec<(String, PathConfig)>);

/// A mount in the format of version 0.9.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Mount {
    /// The host directory.
    pub host_path: String,
    /// The path in the workspace; starts with `/`.
    pub mount_point: String,
    /// Whether the directory may be written.
    #[serde(default)]
    pub mode: MountMode,
    /// The only suffixes that files may have; absent for all.
    #[serde(default)]
    pub suffixes: Option<Vec<String>>,
    /// The largest file size, in bytes.
    #[serde(default)]
    pub max_file_bytes: Option<u64>,
    /// Whether writing requires approval.
    #[serde(default = "needed")]
    pub write_approval: MountApproval,
    /// Whether reading requires approval.
    #[serde(default)]
    pub read_approval: MountApproval,
}

/// Mounts, at least one, in the format of version 0.9.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MountsConfig {
    /// The mounts.
    pub mounts: Vec<Mount>,
}

/// The result of a configuration: a table of limits, and the host directory of each mount.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConfiguredMounts {
    /// The limits.
    pub table: MountTable,
    /// The host directories, in the order of the configuration.
    pub hosts: Vec<HostDirectory>,
}

/// A path in the workspace, and the host directory that is mounted there.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostDirectory {
    /// The path in the workspace.
    pub at: VirtualPath,
    /// The host directory, as it was configured.
    pub host_path: String,
}

fn needed() -> MountApproval {
    MountApproval::Needed
}

fn invalid(sentence: impl Into<String>, hint: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, sentence).hint(hint)
}

impl SandboxConfig {
    /// Returns the mount table of this configuration: the name `input` is mounted at `/input`.
    ///
    /// # Errors
    ///
    /// Returns `InvalidArgument` unless exactly one of `root` and `paths` is given, or if a name is invalid, and
    /// `AlreadyExists` if two names are the same path.
    pub fn to_mounts(&self) -> Result<ConfiguredMounts> {
        const ONE: &str = "give `root` for one directory, or `paths` for several with names";
        match (&self.root, &self.paths) {
            (None, None) => Err(invalid("SandboxConfig requires exactly one of 'root' or 'paths'.", ONE)),
            (Some(_), Some(_)) => Err(invalid("SandboxConfig cannot set both 'root' and 'paths'.", ONE)),
            (Some(root), None) => {
                let mount = MountRules {
                    access: if root.readonly { MountMode::ReadOnly } else { MountMode::ReadWrite },
                    suffixes: root.suffixes.clone(),
                    max_file_bytes: root.max_file_bytes,
                    write_approval: MountApproval::Needed,
                    ..MountRules::read_only(VirtualPath::root())
                };
                ConfiguredMounts::new(vec![(mount, root.root.clone())])
            }
            (None, Some(paths)) => {
                let mount =
                    |(name, path): &(String, PathConfig)| Ok((path.mounted_at(named_place(name)?), path.root.clone()));
                ConfiguredMounts::new(paths.0.iter().map(mount).collect::<Result<_>>()?)
            }
        }
    }
}

fn named_place(name: &str) -> Result<VirtualPath> {
    let place = VirtualPath::parse(name)?;
    match place.is_root() {
        true => Err(invalid(
            format!("invalid path name `{}`", name.escape_debug()),
            "use a name like `input`; the directory is mounted there",
        )),
        false => Ok(place),
    }
}

impl PathConfig {
    fn mounted_at(&self, at: VirtualPath) -> MountRules {
        MountRules {
            at,
            access: self.mode,
            suffixes: self.suffixes.clone(),
            max_file_bytes: self.max_file_bytes,
            read_approval: self.read_approval,
            write_approval: self.write_approval,
        }
    }
}

impl MountsConfig {
    /// Returns the mount table of this configuration.
    ///
    /// # Errors
    ///
    /// Returns `InvalidArgument` if there is no mount or a mount point does not start with `/`, `AlreadyExists` if two
    /// mounts have the same path, and the errors of [`VirtualPath::parse`].
    pub fn to_mounts(&self) -> Result<ConfiguredMounts> {
        if self.mounts.is_empty() {
            return Err(invalid("SandboxConfig requires at least one mount", "add a mount, for instance at `/`"));
        }
        let mount = |mount: &Mount| {
            let rules = MountRules {
                at: mount.place()?,
                access: mount.mode,
                suffixes: mount.suffixes.clone(),
                max_file_bytes: mount.max_file_bytes,
                read_approval: mount.read_approval,
                write_approval: mount.write_approval,
            };
            Ok((rules, mount.host_path.clone()))
        };
        ConfiguredMounts::new(self.mounts.iter().map(mount).collect::<Result<_>>()?)
    }
}

impl Mount {
    /// Returns the normalised mount point.
    ///
    /// # Errors
    ///
    /// Returns `InvalidArgument` if the mount point does not start with `/`, and the errors of [`VirtualPath::parse`].
    pub fn place(&self) -> Result<VirtualPath> {
        let written = self.mount_point.replace('\\', "/");
        let written = written.trim();
        if !written.is_empty() && !written.starts_with('/') {
            let shown = written.escape_debug();
            return Err(invalid(format!("mount_point must start with '/': '{shown}'"), "write it like `/docs`"));
        }
        VirtualPath::parse(written)
    }
}

impl ConfiguredMounts {
    fn new(mounts: Vec<(MountRules, String)>) -> Result<Self> {
        let (rules, host_paths): (Vec<MountRules>, Vec<String>) = mounts.into_iter().unzip();
        let places = rules.iter().map(|rules| rules.at.clone());
        let hosts = places.zip(host_paths).map(|(at, host_path)| HostDirectory { at, host_path }).collect();
        Ok(Self { table: MountTable::new(rules)?, hosts })
    }
}

impl Serialize for NamedPaths {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, path)| (name, path)))
    }
}

impl<'de> Deserialize<'de> for NamedPaths {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> de::Visitor<'de> for InOrder {
            type Value = NamedPaths;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a table of paths by name")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<NamedPaths, A::Error> {
                let mut all = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    all.push(entry);
                }
                Ok(NamedPaths(all))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}
