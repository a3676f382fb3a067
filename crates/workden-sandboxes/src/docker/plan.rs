//! `Plan`: a container as data, and as a request for the daemon. This module does no I/O with the daemon.

use std::{
    collections::{BTreeMap, HashMap},
    os::unix::fs::MetadataExt,
    path::Path,
    time::Duration,
};

use bollard::models::{ContainerCreateBody, HealthConfig, HostConfig, HostConfigLogConfig, Mount};
use sha2::{Digest, Sha256};
use workden_core::{
    Error, ErrorKind, Result, VirtualPath,
    sandbox::{GitIdentity, MountAccess},
};
use workden_wire::TokenHash;

use super::{
    keeper_volume::{Access, KeeperVolume, PROGRAM},
    labels,
    protected_paths::{Expected, ProtectedPaths},
    volumes::{Volume, VolumeSource},
};
use crate::runtimes::RuntimeConfig;

/// The directory of the keeper's socket, which only its user can enter.
const RUN_PLACE: &str = "/.workden/run";
/// The socket of the keeper.
pub(super) const SOCKET: &str = "/.workden/run/keeper.sock";
/// The directory of files that the keeper writes for commands of any user.
const SHOWN_PLACE: &str = "/.workden/etc";
/// The configuration of git.
const GIT_CONFIG: &str = "/.workden/etc/gitconfig";
/// The network mode without a network.
pub(super) const NO_NETWORK: &str = "none";
/// The capabilities that the container's root keeps: package managers change owners and users, and the keeper ends
/// processes of other users.
const ROOTS_CAPABILITIES: [&str; 6] = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID", "KILL"];

/// The plan of a container.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) image: ImageChoice,
    pub(crate) work_dir: Option<String>,
    pub(crate) volumes: Vec<Volume>,
    pub(crate) protected: ProtectedPaths,
    pub(crate) network: String,
    pub(crate) name: Option<String>,
    pub(crate) when_it_ends: WhenItEnds,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) variables: BTreeMap<String, String>,
    pub(crate) memory: Option<u64>,
    pub(crate) swap: Option<u64>,
    pub(crate) cpus: Option<f64>,
    pub(crate) processes: u64,
    pub(crate) tmpfs: BTreeMap<String, u64>,
    pub(crate) privileges: Privileges,
    pub(crate) user: ContainerUser,
    pub(crate) root: RootAccess,
    pub(crate) init: Init,
    pub(crate) oci_runtime: Option<String>,
    pub(crate) lease: Duration,
    /// Who commits, unless the image, a repository or a command says otherwise.
    pub(crate) git_identity: Option<GitIdentity>,
}

/// What a running container must have mounted.
pub(super) type Check = Vec<(VirtualPath, Expected)>;

/// Where the files of a container come from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ImageChoice {
    Image(String),
    Runtime(Box<RuntimeConfig>),
}

/// What happens to a container when its last process ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenItEnds {
    /// The container is removed, unless it has a name.
    #[default]
    RemoveUnlessNamed,
    /// The container is removed.
    Remove,
    /// The container stays, and can be started again.
    Keep,
}

/// The user of commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ContainerUser {
    /// The owner of the writable host directory at the work directory, so that new files belong to that user. The
    /// image's own user if the owner is root, or if there is no such directory.
    #[default]
    OwnerOfWorkspace,
    /// The user that the image sets.
    OfImage,
    /// These ids.
    Ids {
        /// The user id.
        user: u32,
        /// The group id.
        group: u32,
    },
    /// The user of this name in the image.
    Named(String),
}

/// Which privileges commands can gain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Privileges {
    /// None, but root keeps the few capabilities that package managers need.
    #[default]
    Few,
    /// None, and no capabilities.
    None,
    /// The daemon's defaults.
    OfDaemon,
}

/// Whether commands may change the files of the image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RootAccess {
    /// They may; the files are a copy.
    #[default]
    Writable,
    /// They may only read. `/tmp`, and the work directory unless something is mounted there, are in memory then.
    ReadOnly,
}

/// The first process of a container.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Init {
    /// The keeper, which commands can then neither kill nor trace.
    #[default]
    Keeper,
    /// The daemon's init; commands can kill the keeper then.
    OfDaemon,
}

impl Plan {
    /// Returns the directory where commands start.
    pub(crate) fn work_dir(&self) -> &str {
        match (&self.work_dir, &self.image) {
            (Some(named), _) => named,
            (None, ImageChoice::Runtime(runtime)) => &runtime.work_dir,
            (None, ImageChoice::Image(_)) => "/workspace",
        }
    }

    /// Whether the container is removed when it ends.
    pub(crate) fn removes(&self) -> bool {
        match self.when_it_ends {
            WhenItEnds::RemoveUnlessNamed => self.name.is_none(),
            WhenItEnds::Remove => true,
            WhenItEnds::Keep => false,
        }
    }

    /// Returns a hash of everything that makes a difference to commands, except protected paths, which depend on the
    /// files that exist.
    pub(crate) fn fingerprint(&self) -> String {
        let Self { image, volumes, network, variables, memory, swap, cpus, processes, tmpfs, .. } = self;
        let Self { privileges, user, root, init, oci_runtime, .. } = self;
        let all = format!(
            "{image:?} {} {volumes:?} {network} {variables:?} {memory:?} {swap:?} {cpus:?} {processes} {tmpfs:?} \
             {privileges:?} {user:?} {root:?} {init:?} {oci_runtime:?}",
            self.work_dir()
        );
        Sha256::digest(all).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Returns the request for the daemon, and what to verify in the container.
    pub(super) fn body(&self, image: &str, keeper: &KeeperVolume, token: &str) -> Result<(ContainerCreateBody, Check)> {
        self.check()?;
        let user = self.user_ids();
        let work = self.work_dir();
        let mut mounts = vec![keeper.mount(Access::Using)];
        let covered = self.protected.mounts(&self.volumes)?;
        mounts.extend(covered.mounts);
        let seconds = self.lease.as_secs().max(1).to_string();
        let hash = TokenHash::of(token).to_string();
        let serve = [PROGRAM, "serve", "--attached", "--socket", SOCKET];
        let whom = ["--token-sha256", &hash, "--directory", work, "--ttl", &seconds];
        let git = self.git_identity.iter().flat_map(|identity| {
            let named = [("--git-name", &identity.name), ("--git-email", &identity.email)];
            let named = named.into_iter().filter_map(|(option, value)| Some([option, value.as_deref()?]));
            [["--git-config", GIT_CONFIG]].into_iter().chain(named).flatten()
        });
        let mut variables = self.variables();
        if let (UserWords::Ids { .. }, None) = (&user, variables.get("HOME")) {
            // A user that is not in the image has no home, and cannot write to `/`.
            variables.insert("HOME".to_owned(), "/tmp".to_owned());
        }
        let mut all_labels = labels::of([(labels::TOKEN, token.to_owned())]);
        all_labels.extend(self.labels.clone());
        all_labels.extend(self.protected.lacking(&self.volumes).map(|why| (labels::LACKING.to_owned(), why)));
        let body = ContainerCreateBody {
            image: Some(image.to_owned()),
            hostname: Some("workden".to_owned()),
            user: user.words(),
            entrypoint: Some(serve.into_iter().chain(whom).chain(git).map(str::to_owned).collect()),
            cmd: Some(Vec::new()),
            working_dir: Some(work.to_owned()),
            env: Some(variables.iter().map(|(name, value)| format!("{name}={value}")).collect()),
            labels: Some(all_labels),
            // Then the daemon leaves the network to the OCI runtime, which creates one with only a loopback. The
            // network mode `none` takes longer, and many such starts at once can hang Docker 20.10.
            network_disabled: Some(self.network == NO_NETWORK),
            // For the client that attaches before the start; the keeper notices when it disconnects.
            open_stdin: Some(true),
            stdin_once: Some(true),
            attach_stdin: Some(true),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            // The image's health check would run a command every few seconds.
            healthcheck: Some(HealthConfig { test: Some(vec!["NONE".to_owned()]), ..HealthConfig::default() }),
            stop_signal: Some("SIGTERM".to_owned()),
            host_config: Some(self.host_config(mounts, &user)?),
            ..ContainerCreateBody::default()
        };
        Ok((body, covered.expected))
    }

    fn host_config(&self, mounts: Vec<Mount>, user: &UserWords) -> Result<HostConfig> {
        let memory = self.memory.map(|bytes| signed("memory", bytes)).transpose()?;
        let swap = self.swap.map(|bytes| signed("swap", bytes)).transpose()?;
        let (drop, add): (Option<Vec<String>>, Option<Vec<String>>) = match self.privileges {
            Privileges::Few => (Some(all()), Some(ROOTS_CAPABILITIES.map(str::to_owned).to_vec())),
            // Root without capabilities can still end root's processes.
            Privileges::None => (Some(all()), None),
            Privileges::OfDaemon => (None, None),
        };
        let security = (self.privileges != Privileges::OfDaemon).then(|| vec!["no-new-privileges".to_owned()]);
        Ok(HostConfig {
            mounts: Some(mounts),
            tmpfs: Some(self.memory_files(user)),
            network_mode: Some(self.network.clone()),
            auto_remove: Some(self.removes()),
            memory,
            // The sum of both; without it Docker allows as much swap as memory.
            memory_swap: memory.map(|memory| memory.saturating_add(swap.unwrap_or(0))),
            nano_cpus: self.cpus.map(nanoseconds).transpose()?,
            pids_limit: Some(signed("processes", self.processes)?),
            security_opt: security,
            cap_drop: drop,
            cap_add: add,
            readonly_rootfs: Some(self.root == RootAccess::ReadOnly),
            // Standard output carries the protocol and must not be logged.
            log_config: Some(HostConfigLogConfig { typ: Some("none".to_owned()), config: None }),
            init: Some(self.init == Init::OfDaemon),
            runtime: self.oci_runtime.clone(),
            ..HostConfig::default()
        })
    }

    /// Returns the tmpfs mounts.
    fn memory_files(&self, user: &UserWords) -> HashMap<String, String> {
        let owner = match user {
            UserWords::Ids { user, group } => format!(",uid={user},gid={group}"),
            _ => String::new(),
        };
        let mut places: HashMap<String, String> = HashMap::new();
        // The id of a user by name is unknown here; the socket itself is restricted to the user that created it.
        let mode = if matches!(user, UserWords::Name(_)) { "1777" } else { "0700" };
        places.insert(RUN_PLACE.to_owned(), format!("rw,noexec,nosuid,nodev,size=16m,mode={mode}{owner}"));
        if self.git_identity.is_some() {
            let mode = if matches!(user, UserWords::Name(_)) { "1777" } else { "0755" };
            places.insert(SHOWN_PLACE.to_owned(), format!("rw,noexec,nosuid,nodev,size=64k,mode={mode}{owner}"));
        }
        let is_mounted = |at: &str| self.volumes.iter().any(|volume| volume.at == at);
        let needs_work = self.root == RootAccess::ReadOnly || matches!(user, UserWords::Ids { .. });
        if needs_work && !is_mounted(self.work_dir()) {
            places.insert(self.work_dir().to_owned(), format!("rw,exec,nosuid,nodev,mode=0755{owner}"));
        }
        if self.root == RootAccess::ReadOnly && !is_mounted("/tmp") {
            places.insert("/tmp".to_owned(), "rw,exec,nosuid,nodev,mode=1777".to_owned());
        }
        for (at, bytes) in &self.tmpfs {
            places.insert(at.clone(), format!("rw,exec,nosuid,nodev,size={bytes},mode=1777"));
        }
        places
    }

    /// Returns the variables of commands. Options override those of the runtime.
    fn variables(&self) -> BTreeMap<String, String> {
        let mut all = match &self.image {
            ImageChoice::Runtime(runtime) => runtime.env_vars.clone(),
            ImageChoice::Image(_) => BTreeMap::new(),
        };
        all.extend(self.variables.clone());
        all
    }

    fn user_ids(&self) -> UserWords {
        match &self.user {
            ContainerUser::Ids { user, group } => UserWords::Ids { user: *user, group: *group },
            ContainerUser::Named(name) => UserWords::Name(name.clone()),
            ContainerUser::OfImage => self.runtimes_user(),
            ContainerUser::OwnerOfWorkspace => self.owner_of_workspace().unwrap_or_else(|| self.runtimes_user()),
        }
    }

    fn runtimes_user(&self) -> UserWords {
        match &self.image {
            ImageChoice::Runtime(runtime) => runtime.user.clone().map_or(UserWords::OfImage, UserWords::Name),
            ImageChoice::Image(_) => UserWords::OfImage,
        }
    }

    /// Returns the owner of the mounted work directory; `None` for root, or when the directory is not visible from
    /// here.
    fn owner_of_workspace(&self) -> Option<UserWords> {
        let volume = self.volumes.iter().find(|volume| volume.at == self.work_dir())?;
        let (VolumeSource::Host(path), MountAccess::ReadWrite) = (&volume.source, volume.access) else { return None };
        let owner = path.metadata().ok()?;
        (owner.uid() != 0).then(|| UserWords::Ids { user: owner.uid(), group: owner.gid() })
    }

    /// Rejects values that the daemon would misinterpret or accept without a check.
    pub(super) fn check(&self) -> Result<()> {
        let places = self.volumes.iter().map(|volume| volume.at.as_str()).chain(self.tmpfs.keys().map(String::as_str));
        for place in places.chain([self.work_dir()]) {
            let is_plain = place.starts_with('/') && place != "/" && !place.split('/').any(|part| part == "..");
            if !is_plain || place.contains(['\0', '\n', ',', ':']) || Path::new(place).starts_with("/.workden") {
                return Err(refused(&format!("invalid path `{}` in a container", place.escape_debug()))
                    .hint("use an absolute path other than `/`, without `..`, `:` or `,`"));
            }
        }
        for (name, value) in &self.variables {
            if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
                return Err(refused(&format!("invalid variable `{}`", name.escape_debug()))
                    .hint("the name must not contain `=`, and neither name nor value a NUL"));
            }
        }
        Ok(())
    }
}

/// The user of commands, as far as it is known.
enum UserWords {
    OfImage,
    Ids { user: u32, group: u32 },
    Name(String),
}

impl UserWords {
    fn words(&self) -> Option<String> {
        match self {
            Self::OfImage => None,
            Self::Ids { user, group } => Some(format!("{user}:{group}")),
            Self::Name(name) => Some(name.clone()),
        }
    }
}

fn all() -> Vec<String> {
    vec!["ALL".to_owned()]
}

fn signed(what: &str, number: u64) -> Result<i64> {
    i64::try_from(number).map_err(|_| refused(&format!("invalid limit {number} for {what}: too large")))
}

fn nanoseconds(cpus: f64) -> Result<i64> {
    if !(0.001..=100_000.0).contains(&cpus) {
        return Err(refused(&format!("invalid number of processors `{cpus}`")));
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is in range")]
    Ok((cpus * 1e9) as i64)
}

fn refused(sentence: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, sentence)
}
