//! The options of the workspace, which `tool` and `mcp` share.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, builder::PossibleValuesParser};
use workden::{
    MountAccess, Preset, SessionId,
    tools::{EditFormat, ExtraTool, Profile, ToolsetOptions},
};

use crate::{
    cluster::ClusterArguments,
    command_options::{CommandOptions, TimeoutOption},
    containers::{ContainerArguments, Net},
    hosted::DaytonaArguments,
    packages::PathOption,
    remote::RemoteArguments,
    typed::{self, MountArgument},
};

/// The options that choose the workspace of the tools and its rules.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workspace")]
pub(crate) struct WorkspaceArguments {
    /// The directory to work in: `/workspace` for tools and commands, `/` without isolated commands
    /// [default: the current directory].
    #[arg(long, value_name = "DIR", conflicts_with = "state")]
    pub(super) root: Option<PathBuf>,
    /// Work on a JSON document instead, which is updated after every change. Commands are not available.
    #[arg(long, value_name = "FILE.json")]
    pub(super) state: Option<PathBuf>,
    /// Mount another directory: `SRC:DST`, or `SRC:DST:ro` for reading only.
    #[arg(long, value_name = "SRC:DST[:ro]", value_parser = mount)]
    pub(super) mount: Vec<MountArgument>,
    /// Where commands run [default: linux].
    #[arg(long, value_enum, value_name = "SANDBOX")]
    pub(super) sandbox: Option<SandboxChoice>,
    #[command(flatten)]
    pub(super) container: ContainerArguments,
    /// Run commands in this session, which is created if it does not exist, and keeps running. The directory to
    /// work in is the session's unless --root names another; see `workden sessions`.
    #[arg(long, value_name = "ID")]
    pub(super) session: Option<SessionId>,
    /// The network of commands: `none`, `host` for the network of this machine, with `--sandbox docker` the name of a
    /// network of the daemon, with `--sandbox kubernetes` `cluster`, or with `--sandbox daytona` `internet` [default: none].
    #[arg(long, value_name = "NETWORK", value_parser = Net::parse)]
    pub(super) net: Option<Net>,
    #[command(flatten)]
    pub(super) path: PathOption,
    #[command(flatten)]
    pub(super) options: CommandOptions,
    #[command(flatten)]
    pub(super) time: TimeoutOption,
    /// The rules: default, permissive, readonly or strict [default: default, if no file is given].
    #[arg(long, value_name = "PRESET", value_parser = typed::presets(), hide_possible_values = true,
          help_heading = "Rules")]
    pub(super) policy: Option<Preset>,
    /// A `workden.toml`. With a preset as well, both apply, and the stricter verdict wins.
    #[arg(long, value_name = "FILE", help_heading = "Rules")]
    pub(super) config: Option<PathBuf>,
    /// Approve everything that the rules ask about. What they deny stays denied.
    #[arg(long, help_heading = "Rules")]
    pub(super) yes: bool,
    /// The set of tools.
    #[arg(long, value_enum, default_value_t = ProfileChoice::Console, help_heading = "Tools")]
    profile: ProfileChoice,
    /// How files are edited.
    #[arg(long, value_enum, default_value_t = EditChoice::StrReplace, help_heading = "Tools")]
    edit_format: EditChoice,
    /// Optional tools to add: delete_file, move_file, copy_file, list_files, multi_edit.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = extra_tools(), hide_possible_values = true,
          help_heading = "Tools")]
    extra_tools: Vec<String>,
    /// Characters of output that a command answers with; longer output is truncated in the middle [default: 30000].
    #[arg(long, value_name = "CHARS", value_parser = clap::value_parser!(u32).range(1_000..=400_000),
          help_heading = "Tools")]
    max_output: Option<u32>,
    #[command(flatten)]
    pub(super) cluster: ClusterArguments,
    #[command(flatten)]
    pub(super) daytona: DaytonaArguments,
    #[command(flatten)]
    pub(super) remote: RemoteArguments,
}

impl WorkspaceArguments {
    /// Returns arguments for a directory, a sandbox and a preset, with defaults for the rest.
    pub(crate) fn in_directory(root: PathBuf, sandbox: SandboxChoice, policy: Preset) -> Self {
        Self {
            root: Some(root),
            state: None,
            mount: Vec::new(),
            sandbox: Some(sandbox),
            container: ContainerArguments::default(),
            session: None,
            net: None,
            path: PathOption::default(),
            options: CommandOptions::default(),
            time: TimeoutOption::default(),
            policy: Some(policy),
            config: None,
            yes: false,
            profile: ProfileChoice::Console,
            edit_format: EditChoice::StrReplace,
            extra_tools: Vec::new(),
            max_output: None,
            cluster: ClusterArguments::default(),
            daytona: DaytonaArguments::default(),
            remote: RemoteArguments::default(),
        }
    }

    /// Whether the default policy decides, which asks before changes and commands.
    pub(crate) fn asks(&self) -> bool {
        self.policy.is_none() && self.config.is_none() && !self.yes
    }

    /// Returns the options as words of a command line, with absolute paths, so that it works from any directory.
    pub(crate) fn words(&self, here: &Path) -> Vec<String> {
        let whole = |path: &Path| here.join(path).components().collect::<PathBuf>().display().to_string();
        let named = |value: Option<clap::builder::PossibleValue>| {
            value.map_or_else(String::new, |value| value.get_name().to_owned())
        };
        let mut words = Vec::new();
        let mut say = |name: &str, value: String| words.extend([name.to_owned(), value]);
        match (&self.root, &self.state) {
            (_, Some(state)) => say("--state", whole(state)),
            (Some(root), None) => say("--root", whole(root)),
            // A client starts the server in another directory; a configuration or a session may name one.
            (None, None) if self.config.is_none() && self.session.is_none() && !self.is_elsewhere() => {
                say("--root", whole(Path::new("")));
            }
            (None, None) => {}
        }
        for mount in &self.mount {
            let access = if mount.access == MountAccess::ReadOnly { ":ro" } else { "" };
            say("--mount", format!("{}:{}{access}", whole(&mount.source), mount.at));
        }
        if let Some(sandbox) = self.sandbox {
            say("--sandbox", named(sandbox.to_possible_value()));
        }
        if let Some(image) = &self.container.image {
            say("--image", image.clone());
        }
        if let Some(runtime) = &self.container.runtime {
            let is_file = Path::new(runtime).extension().is_some_and(|ending| ending == "toml");
            say("--runtime", if is_file { whole(Path::new(runtime)) } else { runtime.clone() });
        }
        if let Some(session) = &self.session {
            say("--session", session.to_string());
        }
        if let Some(net) = &self.net {
            say("--net", net.to_string());
        }
        if let Some(path) = self.path.typed() {
            say("--path", path.to_owned());
        }
        words.extend(self.options.words());
        words.extend(self.cluster.words(whole));
        words.extend(self.daytona.words());
        words.extend(self.remote.words());
        let mut say = |name: &str, value: String| words.extend([name.to_owned(), value]);
        if let Some(timeout) = self.time.timeout {
            say("--timeout", timeout.as_secs_f64().to_string());
        }
        if let Some(policy) = self.policy {
            say("--policy", policy.to_string());
        }
        if let Some(config) = &self.config {
            say("--config", whole(config));
        }
        if self.profile != ProfileChoice::Console {
            say("--profile", named(self.profile.to_possible_value()));
        }
        if self.edit_format != EditChoice::StrReplace {
            say("--edit-format", named(self.edit_format.to_possible_value()));
        }
        if !self.extra_tools.is_empty() {
            say("--extra-tools", self.extra_tools.join(","));
        }
        if let Some(most) = self.max_output {
            say("--max-output", most.to_string());
        }
        if self.yes {
            words.push("--yes".to_owned());
        }
        words
    }

    /// Returns the options of the toolset.
    pub(crate) fn toolset(&self) -> ToolsetOptions {
        let mut options = ToolsetOptions::default();
        options.profile = match self.profile {
            ProfileChoice::Console => Profile::Console,
            ProfileChoice::Filesystem => Profile::Filesystem,
        };
        options.edit_format = match self.edit_format {
            EditChoice::StrReplace => EditFormat::StrReplace,
            EditChoice::Hashline => EditFormat::Hashline,
        };
        let is_named = |tool: &ExtraTool| self.extra_tools.iter().any(|name| name == tool.name());
        options.max_timeout = self.time.timeout;
        options.max_output_chars = self.max_output.and_then(|most| usize::try_from(most).ok());
        options.extra_tools = ExtraTool::ALL.into_iter().filter(is_named).collect();
        options
    }

    /// Whether commands and files are in a pod.
    pub(super) fn is_pod(&self) -> bool {
        self.sandbox() == SandboxChoice::Kubernetes
    }

    /// Whether commands and files are not on this machine.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.remote.is_named() || matches!(self.sandbox(), SandboxChoice::Kubernetes | SandboxChoice::Daytona)
    }

    /// Returns where commands run: nowhere, if the files are in a document.
    pub(super) fn sandbox(&self) -> SandboxChoice {
        match (self.sandbox, &self.state) {
            (Some(choice), _) => choice,
            (None, Some(_)) => SandboxChoice::None,
            (None, None) => SandboxChoice::Linux,
        }
    }
}

/// Where commands run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxChoice {
    /// Isolated: commands see only the workspace and the machine's programs.
    Linux,
    /// In a container of Docker or Podman: commands see the workspace and what is installed there.
    Docker,
    /// In a pod of a Kubernetes cluster: commands and tools see an empty /workspace and what is installed in its image.
    Kubernetes,
    /// In a sandbox of Daytona, a hosting service: commands and tools see its own files and what is installed there.
    Daytona,
    /// On this machine as you, without any isolation.
    Host,
    /// No commands, only files.
    None,
}

impl SandboxChoice {
    /// Returns the value of `--sandbox`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Docker => "docker",
            Self::Kubernetes => "kubernetes",
            Self::Daytona => "daytona",
            Self::Host => "host",
            Self::None => "none",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProfileChoice {
    /// Files, search and commands, for coding agents.
    Console,
    /// Seven tools for documents in mounted directories.
    Filesystem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum EditChoice {
    /// Replace one text by another.
    StrReplace,
    /// Name lines by number and hash.
    Hashline,
}

/// Parses a mount. Tools see the workspace itself at `/` if it has no sandbox.
fn mount(typed: &str) -> Result<MountArgument, String> {
    match typed::mount(typed)? {
        mount if mount.at.is_root() => Err("`/` is the workspace itself; use another path, or --root".to_owned()),
        mount => Ok(mount),
    }
}

fn extra_tools() -> PossibleValuesParser {
    PossibleValuesParser::new(ExtraTool::ALL.map(ExtraTool::name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_itself_is_not_a_mount() {
        assert!(mount(".:/data").is_ok() && mount("/data=.").is_ok());
        for typed in [".:/", "/=.", "/x/..=.", ".:/x/.."] {
            assert!(mount(typed).is_err(), "{typed}");
        }
    }
}
