//! `DaytonaSandboxBuilder`: the options of a sandbox at Daytona.

use std::{collections::BTreeMap, fmt, time::Duration};

use workden_core::{
    Error, ErrorKind, Result, VirtualPath,
    sandbox::{CommandFacts, Network},
};

use super::{
    DaytonaMode, DaytonaSandbox, DaytonaStatus, WhenStopped,
    api::{self, Api, ApiKey, BuildInfo, CreateSandbox, VolumeMount},
    hosted::{HostedPlan, HostedSandbox, SandboxChoice},
    keeper_setup::KeeperPlan,
};
use crate::{SandboxOptions, container_keepers::ContainerKeepers, options::common_options, runtimes};

/// Where commands start when no option sets a directory: the home of Daytona's user.
const WORK_DIR: &str = "/home/daytona";
/// How long a sandbox may take to start.
const START_TIME: Duration = Duration::from_secs(180);
/// Bytes in the unit of memory and disk.
const GIB: u64 = 1 << 30;

/// The options of a [`DaytonaSandbox`]: those that all sandboxes have, and its own.
#[derive(Clone, Default)]
#[must_use = "nothing happens before `build`"]
pub struct DaytonaSandboxBuilder {
    pub(crate) options: SandboxOptions,
    api_key: Option<String>,
    api_url: Option<String>,
    keepers: Option<ContainerKeepers>,
    attach: Option<String>,
    mode: DaytonaMode,
    when_stopped: WhenStopped,
    start_timeout: Option<Duration>,
    image: Option<String>,
    disk: Option<u64>,
    allowed_networks: Vec<String>,
    request: CreateSandbox,
    status: DaytonaStatus,
}

common_options!(DaytonaSandboxBuilder);

impl DaytonaSandboxBuilder {
    /// Sets the key of the account.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// Sets the address of the API; `https://app.daytona.io/api` by default.
    pub fn api_url(mut self, url: impl Into<String>) -> Self {
        self.api_url = Some(url.into());
        self
    }

    /// Sets the region in which the sandbox is created.
    pub fn target(mut self, target: impl Into<String>) -> Self {
        self.request.target = Some(target.into());
        self
    }

    /// Creates the sandbox from a snapshot. By default it is Daytona's own.
    pub fn snapshot(mut self, name: impl Into<String>) -> Self {
        self.request.snapshot = Some(name.into());
        self
    }

    /// Creates the sandbox from an image of a registry, which Daytona pulls.
    pub fn image(mut self, image: impl Into<String>) -> Self {
        self.image = Some(image.into());
        self
    }

    /// Sets the user of commands.
    pub fn user(mut self, user: impl Into<String>) -> Self {
        self.request.user = Some(user.into());
        self
    }

    /// Sets a name by which the sandbox is found again. An existing sandbox of this name is used.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.request.name = Some(name.into());
        self
    }

    /// Uses an existing sandbox, by its id or name, and starts it if it is stopped or archived.
    pub fn attach(mut self, id_or_name: impl Into<String>) -> Self {
        self.attach = Some(id_or_name.into());
        self
    }

    /// Adds a label to the sandbox.
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.request.labels.insert(name.into(), value.into());
        self
    }

    /// Limits the disk: bytes, or `"10G"`. Daytona counts in GiB.
    pub fn disk(mut self, bytes: impl crate::ByteSize) -> Self {
        self.disk = self.options.take(bytes.bytes());
        self
    }

    /// Sets how many GPUs the sandbox has.
    pub fn gpus(mut self, gpus: u32) -> Self {
        self.request.gpu = Some(gpus);
        self
    }

    /// Stops the sandbox after this long without use, in whole minutes; zero for never. Daytona's default is 15 minutes.
    pub fn auto_stop(mut self, after: Duration) -> Self {
        self.request.auto_stop_interval = Some(minutes(after));
        self
    }

    /// Archives a stopped sandbox after this long, in whole minutes; zero for Daytona's longest.
    pub fn auto_archive(mut self, after: Duration) -> Self {
        self.request.auto_archive_interval = Some(minutes(after));
        self
    }

    /// Deletes a stopped sandbox after this long, in whole minutes; zero deletes it when it stops. By default a sandbox
    /// without a name is deleted when it stops, and any other never.
    pub fn auto_delete(mut self, after: Duration) -> Self {
        self.request.auto_delete_interval = Some(i64::try_from(minutes(after)).unwrap_or(i64::MAX));
        self
    }

    /// Lets commands reach only this network, such as `10.0.0.0/8`. May be repeated.
    pub fn allow_network(mut self, network: impl Into<String>) -> Self {
        self.allowed_networks.push(network.into());
        self
    }

    /// Mounts a volume of Daytona.
    pub fn volume(mut self, id: impl Into<String>, at: impl Into<String>) -> Self {
        self.request.volumes.push(VolumeMount { volume_id: id.into(), mount_path: at.into() });
        self
    }

    /// Sets how long the sandbox may take to start; 180 s by default.
    pub fn start_timeout(mut self, most: Duration) -> Self {
        self.start_timeout = Some(most);
        self
    }

    /// Sets how files and commands are reached. By default it is a keeper, and the toolbox where none can run.
    pub fn mode(mut self, mode: DaytonaMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets what happens to the sandbox when it is stopped. By default it is deleted.
    pub fn when_stopped(mut self, what: WhenStopped) -> Self {
        self.when_stopped = what;
        self
    }

    /// Sets the static keepers that are brought into sandboxes. By default [`ContainerKeepers::found`] finds them.
    pub fn keepers(mut self, keepers: ContainerKeepers) -> Self {
        self.keepers = Some(keepers);
        self
    }

    /// Writes what becomes known of the sandbox into this status, for a program that does not hold the sandbox itself.
    pub fn status(mut self, status: &DaytonaStatus) -> Self {
        self.status = status.clone();
        self
    }

    /// Returns where commands start and files are.
    #[must_use]
    pub fn directory(&self) -> String {
        self.options.work_dir.as_ref().map_or_else(|| WORK_DIR.to_owned(), ToString::to_string)
    }

    /// Returns what a model should know about commands in this sandbox.
    #[must_use]
    pub fn facts(&self) -> CommandFacts {
        // Daytona decides what commands reach, unless it was told.
        CommandFacts::new().network(self.options.network.filter(|network| *network == Network::None))
    }

    /// Checks the options as far as possible before the start.
    ///
    /// # Errors
    ///
    /// The first invalid value; also when no API key is set.
    pub fn check(&self) -> Result<()> {
        self.api()?;
        self.plan().map(drop)
    }

    /// Returns the sandbox. It starts with the first call; [`DaytonaSandbox::start`] starts it now.
    ///
    /// # Errors
    ///
    /// When no API key is set, or a value is invalid or not supported at Daytona.
    pub fn build(self) -> Result<DaytonaSandbox> {
        let (api, plan) = (self.api()?, self.plan()?);
        Ok(DaytonaSandbox::of(HostedSandbox::new(api, self.found_keepers(), plan)))
    }

    pub(super) fn found_keepers(&self) -> ContainerKeepers {
        let found = || ContainerKeepers::found(&self.options.host, &std::env::current_exe().unwrap_or_default());
        self.keepers.clone().unwrap_or_else(found)
    }

    /// Whether an option says what the sandbox is created from.
    pub(super) fn names_a_source(&self) -> bool {
        self.image.is_some() || self.request.snapshot.is_some()
    }

    /// Deletes the sandbox when Daytona stops it, unless another interval was set.
    pub(super) fn deleted_when_stopped(mut self) -> Self {
        self.request.auto_delete_interval.get_or_insert(0);
        self
    }

    /// Uses an existing sandbox that was created with these options.
    pub(super) fn attached_to(mut self, name: &str) -> Self {
        self.request = CreateSandbox::default();
        (self.image, self.disk, self.allowed_networks) = (None, None, Vec::new());
        (self.options.memory, self.options.cpus, self.options.network) = (None, None, None);
        self.attach(name)
    }

    pub(super) fn api(&self) -> Result<Api> {
        let key = self.api_key.as_deref().ok_or_else(|| {
            Error::new(ErrorKind::InvalidArgument, "a Daytona sandbox requires an API key")
                .hint("create a key in the Daytona dashboard, and set DAYTONA_API_KEY")
        })?;
        Api::new(ApiKey::new(key)?, self.api_url.as_deref().unwrap_or(api::URL))
    }

    fn plan(&self) -> Result<HostedPlan> {
        let options = &self.options;
        options.check()?;
        SandboxOptions::refuse(
            "a Daytona sandbox",
            &[
                ("root", options.root.is_some()),
                ("mount", !options.mounts.is_empty()),
                ("masked", !options.masked.is_empty()),
                ("read_only", !options.read_only.is_empty()),
                ("pids", options.pids.is_some()),
            ],
        )?;
        let directory = VirtualPath::parse(&self.directory())?;
        let mut variables = BTreeMap::new();
        options.env.add_to(&mut variables, &options.host)?;
        let choice = match &self.attach {
            Some(name) => SandboxChoice::Existing(self.existing(name)?),
            None => SandboxChoice::New(Box::new(self.new_sandbox(&variables)?)),
        };
        Ok(HostedPlan {
            choice,
            mode: self.mode,
            start_time: self.start_timeout.unwrap_or(START_TIME),
            when_stopped: self.when_stopped,
            status: self.status.clone(),
            variables,
            keeper: KeeperPlan { directory, lease: options.lease },
        })
    }

    fn existing(&self, name: &str) -> Result<String> {
        let set = CreateSandbox { labels: BTreeMap::new(), ..self.request.clone() } != CreateSandbox::default();
        SandboxOptions::refuse(
            "`attach`, which uses a sandbox as it is",
            &[
                ("image", self.image.is_some()),
                ("memory", self.options.memory.is_some()),
                ("cpus", self.options.cpus.is_some()),
                ("disk", self.disk.is_some()),
                ("network", self.options.network.is_some() || !self.allowed_networks.is_empty()),
                ("an option of a new sandbox", set),
            ],
        )?;
        check_name(name)?;
        Ok(name.to_owned())
    }

    fn new_sandbox(&self, variables: &BTreeMap<String, String>) -> Result<CreateSandbox> {
        let mut request = self.request.clone();
        request.name.as_deref().map_or(Ok(()), check_name)?;
        request.env.clone_from(variables);
        let options = &self.options;
        if let Some(image) = &self.image {
            SandboxOptions::refuse("`image`", &[("snapshot", request.snapshot.is_some())])?;
            runtimes::check_image(image)?;
            request.build_info = Some(BuildInfo { dockerfile_content: format!("FROM {image}\n") });
        } else {
            SandboxOptions::refuse(
                "a snapshot, which decides about it: use `image`",
                &[
                    ("memory", options.memory.is_some()),
                    ("cpus", options.cpus.is_some()),
                    ("disk", self.disk.is_some()),
                ],
            )?;
        }
        request.cpu = options.cpus.map(whole_cpus).transpose()?;
        request.memory = options.memory.map(|bytes| gib("memory", bytes)).transpose()?;
        request.disk = self.disk.map(|bytes| gib("disk", bytes)).transpose()?;
        request.network_block_all = match options.network {
            None => None,
            Some(Network::None) => Some(true),
            Some(Network::Host) => Some(false),
        };
        if !self.allowed_networks.is_empty() {
            let is_closed = options.network == Some(Network::None);
            SandboxOptions::refuse("a closed network", &[("allow_network", is_closed)])?;
            request.network_allow_list = Some(self.allowed_networks.join(","));
        }
        if request.name.is_none() && self.when_stopped == WhenStopped::Delete {
            // What this process cannot delete goes when Daytona stops it.
            request.auto_delete_interval.get_or_insert(0);
        }
        Ok(request)
    }
}

impl fmt::Debug for DaytonaSandboxBuilder {
    /// Leaves out the key, and the values of variables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DaytonaSandboxBuilder")
            .field("api_url", &self.api_url)
            .field("image", &self.image)
            .field("attach", &self.attach)
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

/// Refuses a name that cannot be a part of an address of the API.
fn check_name(name: &str) -> Result<()> {
    let is_name =
        !matches!(name, "" | "." | "..") && !name.contains(|letter: char| letter == '/' || letter.is_control());
    if is_name {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidArgument, format!("invalid name of a Daytona sandbox `{}`", name.escape_debug()))
        .hint("use letters, digits and `-`"))
}

/// Returns whole minutes, rounded up: a time that is set must not become zero, which has another meaning.
fn minutes(time: Duration) -> u64 {
    time.as_secs().div_ceil(60)
}

fn whole_cpus(cpus: f64) -> Result<u32> {
    if cpus.fract() == 0.0 && (1.0..=1024.0).contains(&cpus) {
        return Ok(cpus as u32);
    }
    Err(Error::new(ErrorKind::InvalidArgument, format!("invalid number of processors `{cpus}` at Daytona"))
        .hint("use a whole number"))
}

fn gib(what: &str, bytes: u64) -> Result<u32> {
    match u32::try_from(bytes / GIB) {
        Ok(gib) if bytes.is_multiple_of(GIB) && gib > 0 => Ok(gib),
        _ => Err(Error::new(ErrorKind::InvalidArgument, format!("invalid {what} of {bytes} bytes at Daytona"))
            .hint("use whole GiB, like `2G`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder() -> DaytonaSandboxBuilder {
        DaytonaSandbox::builder().api_key("dtn_key")
    }

    fn request(builder: &DaytonaSandboxBuilder) -> Result<serde_json::Value> {
        match builder.plan()?.choice {
            SandboxChoice::New(request) => Ok(serde_json::to_value(request).unwrap()),
            SandboxChoice::Existing(name) => Ok(name.into()),
        }
    }

    #[test]
    fn options_become_a_request() {
        let built = builder()
            .image("python:3.12")
            .memory("2G")
            .cpus(2.0)
            .disk("10G")
            .env("A", "b")
            .label("team", "x")
            .network(Network::None)
            .auto_stop(Duration::from_secs(61))
            .volume("v1", "/data");
        let told = serde_json::json!({
            "buildInfo": {"dockerfileContent": "FROM python:3.12\n"}, "memory": 2, "cpu": 2, "disk": 10,
            "env": {"A": "b"}, "labels": {"team": "x"}, "networkBlockAll": true, "autoStopInterval": 2,
            "autoDeleteInterval": 0, "volumes": [{"volumeId": "v1", "mountPath": "/data"}],
        });
        assert_eq!(request(&built).unwrap(), told);
        let named = request(&builder().name("mine").snapshot("s")).unwrap();
        assert_eq!(named, serde_json::json!({"name": "mine", "snapshot": "s", "env": {}, "labels": {}}));
        assert_eq!(request(&builder().attach("mine")).unwrap(), "mine");
    }

    #[test]
    fn what_daytona_does_not_support_is_refused_by_name() {
        let huge = Duration::MAX;
        assert!(builder().start_timeout(huge).auto_stop(huge).auto_delete(huge).check().is_ok());
        for (built, says) in [
            (builder().memory("2G"), "`memory` is not supported with a snapshot"),
            (builder().image("a").memory("1500M"), "invalid memory"),
            (builder().image("a").cpus(1.5), "invalid number of processors"),
            (builder().image("a\nRUN b"), "image"),
            (builder().image("a").snapshot("b"), "`snapshot` is not supported with `image`"),
            (builder().attach("a").image("b"), "`image` is not supported with `attach`"),
            (builder().attach("a").snapshot("b"), "an option of a new sandbox"),
            (builder().attach(""), "invalid name of a Daytona sandbox ``"),
            (builder().attach(".."), "invalid name of a Daytona sandbox `..`"),
            (builder().name("a/b"), "invalid name of a Daytona sandbox `a/b`"),
            (builder().name("a\n"), "invalid name of a Daytona sandbox `a\\n`"),
            (builder().root("/x"), "`root` is not supported with a Daytona sandbox"),
            (builder().network(Network::None).allow_network("10.0.0.0/8"), "`allow_network`"),
            (DaytonaSandbox::builder(), "requires an API key"),
            (builder().api_key("a b"), "invalid Daytona API key"),
            (builder().api_url("nowhere"), "invalid Daytona API URL"),
        ] {
            let error = built.check().unwrap_err();
            assert!(error.sentence().contains(says), "{error}");
        }
    }

    #[test]
    fn neither_the_key_nor_a_value_of_a_variable_is_shown() {
        let secret = || builder().env("TOKEN", "s3cret");
        for built in [secret().build().unwrap(), secret().attach("mine").build().unwrap()] {
            let shown = format!("{:?} {built:?}", secret());
            assert!(!shown.contains("dtn_key") && !shown.contains("s3cret"), "{shown}");
        }
    }
}
