//! `SandboxOptions`: the options of every kind of sandbox as plain data, and the setters of every builder.
//!
//! Invariant: a setter never fails. An invalid value is remembered, and `start` or `build` returns its error; they
//! also reject options that a kind does not support.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use workden_core::{
    Error, ErrorKind, Result, VirtualPath, parse_size,
    sandbox::{InodeId, Mount, MountAccess, Network, Strength},
    show_size,
};

use crate::{GitFiles, HostEnvironment, KeeperProgram, variables::NamedVariables};

/// The least memory with which a program starts.
pub const LEAST_MEMORY: u64 = 1024 * 1024;

/// The options of every kind of sandbox. The builder of each kind has setters for these, and for its own options.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SandboxOptions {
    /// The variables and the directory of the caller.
    pub host: HostEnvironment,
    /// The keeper program; searched for by default.
    pub keeper: Option<KeeperProgram>,
    /// The log file of the keeper's own failures.
    pub keeper_log: Option<PathBuf>,
    /// The directory of the host to work in.
    pub root: Option<PathBuf>,
    /// Further files and directories of the host.
    pub mounts: Vec<Mount>,
    /// The identities of mounts that the caller has open, by their paths in the sandbox. The sandbox does not start
    /// if a source is another file by then.
    pub expected: BTreeMap<VirtualPath, InodeId>,
    /// Where commands start, and where `root` is mounted.
    pub work_dir: Option<VirtualPath>,
    /// What commands can reach; nothing by default.
    pub network: Option<Network>,
    /// Bytes of memory of all commands together.
    pub memory: Option<u64>,
    /// Processors: 1.5 is one and a half.
    pub cpus: Option<f64>,
    /// Processes and threads of all commands together.
    pub pids: Option<u64>,
    /// What happens when the machine cannot enforce an explicit limit.
    pub strength: Strength,
    /// The default time limit of a command.
    pub timeout: Option<Duration>,
    /// How long the sandbox lives without a connection; by default it ends with its owner.
    pub lease: Option<Duration>,
    /// Paths that commands may read but not change.
    pub read_only: Vec<VirtualPath>,
    /// Paths that commands may neither read nor change.
    pub masked: Vec<VirtualPath>,
    /// Whether commands may change files through which git and other programs run code on the host.
    pub git_files: GitFiles,
    pub(crate) env: NamedVariables,
    invalid: Option<Error>,
}

impl Default for SandboxOptions {
    fn default() -> Self {
        Self {
            host: HostEnvironment::default(),
            keeper: None,
            keeper_log: None,
            root: None,
            mounts: Vec::new(),
            expected: BTreeMap::new(),
            work_dir: None,
            env: NamedVariables::default(),
            network: None,
            memory: None,
            cpus: None,
            pids: None,
            strength: Strength::Required,
            timeout: None,
            lease: None,
            read_only: Vec::new(),
            masked: Vec::new(),
            git_files: GitFiles::default(),
            invalid: None,
        }
    }
}

impl SandboxOptions {
    /// Sets a variable of commands.
    pub fn set_env(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.env.set(name.into(), value.into());
    }

    /// Passes a variable of the host to commands, if the host has it.
    pub fn pass_env(&mut self, name: impl Into<String>) {
        self.env.pass(name.into());
    }

    /// Returns the directory of the host to work in, as an absolute path.
    #[must_use]
    pub fn root(&self) -> Option<PathBuf> {
        self.root.as_ref().map(|root| self.host.directory.join(root))
    }

    /// Returns the keeper of the options, or searches for one.
    ///
    /// # Errors
    ///
    /// `Unsupported` where the machine is not Linux, and as [`KeeperProgram::find`].
    pub(crate) fn keeper(&self) -> Result<KeeperProgram> {
        if cfg!(not(target_os = "linux")) {
            let sentence = "sandboxes of this machine require Linux, and this machine is not";
            return Err(Error::new(ErrorKind::Unsupported, sentence)
                .hint("run commands in a container: `.docker(|d| d.image(\"debian:12\"))`, or `--sandbox docker`"));
        }
        match &self.keeper {
            Some(named) => Ok(named.clone()),
            None => KeeperProgram::find(&self.host),
        }
    }

    /// Returns the mounts with absolute host paths.
    pub(crate) fn absolute_mounts(&self) -> impl Iterator<Item = Mount> {
        self.mounts.iter().map(|mount| Mount { source: self.host.directory.join(&mount.source), ..mount.clone() })
    }

    /// Returns the error of the first invalid value.
    pub(crate) fn check(&self) -> Result<()> {
        if let Some(error) = &self.invalid {
            return Err(error.clone());
        }
        if let Some(memory) = self.memory.filter(|memory| *memory < LEAST_MEMORY) {
            let sentence = format!("invalid memory limit of {}: no program starts with so little", show_size(memory));
            // `64` means megabytes to people, and bytes to us.
            let hint = if memory < 64 * 1024 {
                format!("did you mean `{memory}M`?")
            } else {
                "use a size like `64M`".to_owned()
            };
            return Err(Error::new(ErrorKind::InvalidArgument, sentence).hint(hint));
        }
        match self.cpus.filter(|cpus| !cpus.is_finite() || *cpus <= 0.0) {
            None => Ok(()),
            Some(cpus) => Err(Error::new(ErrorKind::InvalidArgument, format!("invalid number of processors `{cpus}`"))
                .hint("use a number like 1.5")),
        }
    }

    /// Rejects the options of these names that are set, which this kind of sandbox does not support.
    pub(crate) fn refuse(kind: &str, named: &[(&str, bool)]) -> Result<()> {
        match named.iter().find(|(_, is_named)| *is_named) {
            None => Ok(()),
            Some((name, _)) => {
                let sentence = format!("`{name}` is not supported with {kind}");
                Err(Error::new(ErrorKind::Unsupported, sentence).hint("leave one of them out"))
            }
        }
    }

    /// Returns a value, or remembers its error.
    pub(crate) fn take<T>(&mut self, value: Result<T>) -> Option<T> {
        match value {
            Ok(value) => Some(value),
            Err(error) => {
                self.invalid.get_or_insert(error);
                None
            }
        }
    }

    pub(crate) fn add_mount(&mut self, at: &str, source: PathBuf, access: MountAccess) {
        if let Some(at) = self.take(absolute(at)) {
            self.mounts.push(Mount { source, at, access });
        }
    }
}

/// Parses a path in a sandbox. Relative paths and `..` are errors here.
pub(crate) fn absolute(at: &str) -> Result<VirtualPath> {
    if !at.starts_with('/') || at.split('/').any(|name| matches!(name, "." | "..")) {
        let sentence = format!("invalid path `{}`", at.escape_debug());
        return Err(Error::new(ErrorKind::InvalidArgument, sentence).hint("use an absolute path without `..`"));
    }
    VirtualPath::parse(at)
}

/// A number of bytes: `512 << 20`, or `"512M"`.
pub trait ByteSize {
    /// Returns the number of bytes.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a text that is not a size.
    fn bytes(self) -> Result<u64>;
}

impl ByteSize for u64 {
    fn bytes(self) -> Result<u64> {
        Ok(self)
    }
}

impl ByteSize for &str {
    fn bytes(self) -> Result<u64> {
        parse_size(self)
    }
}

impl ByteSize for String {
    fn bytes(self) -> Result<u64> {
        parse_size(&self)
    }
}

/// Generates the shared setters of a builder that has a field `options: SandboxOptions`.
macro_rules! common_options {
    ($builder:ty) => {
        impl $builder {
            /// Returns the shared options set so far.
            #[must_use]
            pub fn options(&self) -> &$crate::SandboxOptions {
                &self.options
            }

            /// Changes the shared options in place, for programs that translate their own options.
            pub fn with(mut self, change: impl FnOnce(&mut $crate::SandboxOptions)) -> Self {
                change(&mut self.options);
                self
            }

            /// Sets the directory of the host to work in.
            pub fn root(mut self, directory: impl Into<std::path::PathBuf>) -> Self {
                self.options.root = Some(directory.into());
                self
            }

            /// Mounts another file or directory of the host at a path.
            pub fn mount(
                mut self,
                at: impl AsRef<str>,
                source: impl Into<std::path::PathBuf>,
                access: workden_core::sandbox::MountAccess,
            ) -> Self {
                self.options.add_mount(at.as_ref(), source.into(), access);
                self
            }

            /// Sets where commands start, and where the directory to work in is mounted.
            pub fn work_dir(mut self, at: impl AsRef<str>) -> Self {
                self.options.work_dir = self.options.take($crate::options::absolute(at.as_ref()));
                self
            }

            /// Sets a variable of commands.
            pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
                self.options.env.set(name.into(), value.into());
                self
            }

            /// Passes a variable of the host to commands, if the host has it.
            pub fn pass_env(mut self, name: impl Into<String>) -> Self {
                self.options.env.pass(name.into());
                self
            }

            /// Sets what commands can reach; nothing by default.
            pub fn network(mut self, network: workden_core::sandbox::Network) -> Self {
                self.options.network = Some(network);
                self
            }

            /// Limits the memory of all commands together: bytes, or `"512M"`.
            pub fn memory(mut self, bytes: impl $crate::ByteSize) -> Self {
                self.options.memory = self.options.take(bytes.bytes());
                self
            }

            /// Limits the processors: 1.5 is one and a half.
            pub fn cpus(mut self, cpus: f64) -> Self {
                self.options.cpus = Some(cpus);
                self
            }

            /// Limits the processes and threads of all commands together.
            pub fn pids(mut self, most: u64) -> Self {
                self.options.pids = Some(most);
                self
            }

            /// Applies the explicit limits where the machine can enforce them, and reports the others. By default the
            /// sandbox does not start when one cannot be enforced.
            pub fn best_effort(mut self) -> Self {
                self.options.strength = workden_core::sandbox::Strength::BestEffort;
                self
            }

            /// Sets the default time limit of a command. The workspace applies it.
            pub fn timeout(mut self, most: std::time::Duration) -> Self {
                self.options.timeout = Some(most);
                self
            }

            /// Lets the sandbox outlive its owner, until no client has been connected for this long.
            pub fn lease(mut self, ttl: std::time::Duration) -> Self {
                self.options.lease = Some(ttl);
                self
            }

            /// Adds a path that commands may read but not change, in the files of the host.
            pub fn read_only(mut self, at: impl AsRef<str>) -> Self {
                let at = self.options.take(workden_core::VirtualPath::parse(at.as_ref()));
                self.options.read_only.extend(at);
                self
            }

            /// Adds a path that commands may neither read nor change, in the files of the host.
            pub fn masked(mut self, at: impl AsRef<str>) -> Self {
                let at = self.options.take(workden_core::VirtualPath::parse(at.as_ref()));
                self.options.masked.extend(at);
                self
            }

            /// Adds paths that commands may neither read nor change, because a policy denies them.
            pub fn mask(mut self, paths: impl IntoIterator<Item = workden_core::VirtualPath>) -> Self {
                self.options.masked.extend(paths);
                self
            }

            /// Adds paths that commands may read but not change, because a policy denies it.
            pub fn hold(mut self, paths: impl IntoIterator<Item = workden_core::VirtualPath>) -> Self {
                self.options.read_only.extend(paths);
                self
            }

            /// Sets whether commands may change files through which git and other programs run code on the host; not
            /// by default.
            pub fn git_files(mut self, git_files: $crate::GitFiles) -> Self {
                self.options.git_files = git_files;
                self
            }

            /// Sets the variables and the directory of the caller, which resolve toolchains, passed variables and
            /// relative paths. Empty by default.
            pub fn environment_of(mut self, host: $crate::HostEnvironment) -> Self {
                self.options.host = host;
                self
            }

            /// Sets the keeper program. By default it is searched for: see [`KeeperProgram`](crate::KeeperProgram).
            pub fn keeper(mut self, program: $crate::KeeperProgram) -> Self {
                self.options.keeper = Some(program);
                self
            }

            /// Sets the log file of the keeper's own failures; none by default.
            pub fn keeper_log(mut self, file: impl Into<std::path::PathBuf>) -> Self {
                self.options.keeper_log = Some(file.into());
                self
            }
        }
    };
}

pub(crate) use common_options;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HostSandbox, LinuxSandbox};

    #[test]
    fn sizes_are_numbers_or_texts_and_a_wrong_one_is_told_at_the_start() {
        assert_eq!(LinuxSandbox::builder().memory(1 << 20).options().memory, Some(1 << 20));
        assert_eq!(LinuxSandbox::builder().memory("1M").options().memory, Some(1 << 20));
        let wrong = LinuxSandbox::builder().memory("much").memory("1M").confinement().unwrap_err();
        assert_eq!(wrong.kind(), ErrorKind::InvalidArgument);
        let little = LinuxSandbox::builder().memory("64").confinement().unwrap_err();
        assert!(little.to_string().ends_with("hint: did you mean `64M`?"), "{little}");
        let wrong = LinuxSandbox::builder().mount("/../x", "/srv", MountAccess::ReadOnly).confinement().unwrap_err();
        assert_eq!(wrong.kind(), ErrorKind::InvalidArgument);
    }

    #[tokio::test]
    async fn what_a_kind_cannot_honour_is_refused_by_name() {
        let host = || HostSandbox::builder().root("/");
        for (builder, name) in [
            (host().memory("1G"), "memory"),
            (host().cpus(1.0), "cpus"),
            (host().pids(10), "pids"),
            (host().network(Network::None), "network"),
            (host().lease(Duration::from_secs(1)), "lease"),
            (host().mount("/data", "/srv", MountAccess::ReadOnly), "mount"),
            (host().masked("/x"), "masked"),
            (host().read_only("/x"), "read_only"),
        ] {
            let error = builder.start().await.unwrap_err();
            assert_eq!(error.sentence(), format!("`{name}` is not supported with a host sandbox"));
        }
    }
}
