//! What can be said of the workspace that tools work in: the options that `tool` and `mcp` share.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum, builder::PossibleValuesParser};
use workden::{
    MountAccess, Preset, SessionId, VirtualPath,
    tools::{EditFormat, ExtraTool, Profile, ToolsetOptions},
};

use crate::{
    containers::{ContainerArguments, Net},
    typed::preset,
};

/// The options that say where tools work, and under which rules.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workspace")]
pub(crate) struct WorkspaceArguments {
    /// The directory to work in: `/workspace` to tools and commands, `/` where there are no isolated
    /// commands [default: the current directory].
    #[arg(long, value_name = "DIR", conflicts_with = "state")]
    pub(super) root: Option<PathBuf>,
    /// Work on a JSON document instead, which is kept up to date. There are no commands then.
    #[arg(long, value_name = "FILE.json")]
    pub(super) state: Option<PathBuf>,
    /// Another directory at a place of its own: `PATH=DIR`, or `PATH=DIR:ro` for reading only.
    #[arg(long, value_name = "PATH=DIR[:ro]", value_parser = mount)]
    pub(super) mount: Vec<MountAt>,
    /// Where commands run [default: linux].
    #[arg(long, value_enum, value_name = "SANDBOX")]
    pub(super) sandbox: Option<SandboxChoice>,
    #[command(flatten)]
    pub(super) container: ContainerArguments,
    /// Commands run in this session, which is made if it is not there, and goes on afterwards. The directory to
    /// work in is the session's unless --root says otherwise; see `workden sessions`.
    #[arg(long, value_name = "ID")]
    pub(super) session: Option<SessionId>,
    /// What commands can reach: `none`, `host` for what this machine reaches, or with `--sandbox docker` the
    /// name of a network of the daemon [default: none].
    #[arg(long, value_name = "NETWORK", value_parser = Net::parse)]
    pub(super) net: Option<Net>,
    /// A toolchain of this machine that is not in /usr, read-only: python, node, rust, go.
    #[arg(long, value_name = "NAME")]
    pub(super) toolchain: Vec<String>,
    /// The rules: default, permissive, readonly or strict [default: default, if no file is given].
    #[arg(long, value_name = "PRESET", value_parser = preset, help_heading = "Rules")]
    pub(super) policy: Option<Preset>,
    /// A `workden.toml`. With a preset as well, both hold, and the stricter wins.
    #[arg(long, value_name = "FILE", help_heading = "Rules")]
    pub(super) config: Option<PathBuf>,
    /// Approve whatever the rules ask about. What they deny stays denied.
    #[arg(long, help_heading = "Rules")]
    pub(super) yes: bool,
    /// Which set of tools.
    #[arg(long, value_enum, default_value_t = ProfileChoice::Console, help_heading = "Tools")]
    profile: ProfileChoice,
    /// How files are edited.
    #[arg(long, value_enum, default_value_t = EditChoice::StrReplace, help_heading = "Tools")]
    edit_format: EditChoice,
    /// Tools that are there only when they are named: delete_file, move_file, copy_file, list_files,
    /// multi_edit.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = extra_tools(), hide_possible_values = true,
          help_heading = "Tools")]
    extra_tools: Vec<String>,
}

impl WorkspaceArguments {
    /// A directory and a preset, for a program of our own.
    pub(crate) fn in_directory(root: PathBuf, sandbox: SandboxChoice, policy: Preset) -> Self {
        Self {
            root: Some(root),
            state: None,
            mount: Vec::new(),
            sandbox: Some(sandbox),
            container: ContainerArguments::default(),
            session: None,
            net: None,
            toolchain: Vec::new(),
            policy: Some(policy),
            config: None,
            yes: false,
            profile: ProfileChoice::Console,
            edit_format: EditChoice::StrReplace,
            extra_tools: Vec::new(),
        }
    }

    /// The same options as words of a command line that means the same from anywhere.
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
            // A configuration may say it, and a client has no directory of ours.
            (None, None) if self.config.is_none() && self.session.is_none() => say("--root", whole(Path::new(""))),
            (None, None) => {}
        }
        for mount in &self.mount {
            let access = if mount.access == MountAccess::ReadOnly { ":ro" } else { "" };
            say("--mount", format!("{}={}{access}", mount.at, whole(&mount.directory)));
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
        for name in &self.toolchain {
            say("--toolchain", name.clone());
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
        if self.yes {
            words.push("--yes".to_owned());
        }
        words
    }

    /// What the tools are to be like.
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
        options.extra_tools = ExtraTool::ALL.into_iter().filter(is_named).collect();
        options
    }

    /// Where commands run; nowhere, where the files are a document.
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
    /// Isolated: they see the workspace and the machine's programs, and nothing else.
    Linux,
    /// In a container of a Docker or Podman daemon: they see the workspace and what is installed there.
    Docker,
    /// On this machine as you, without any isolation.
    Host,
    /// Nowhere: there are files only.
    None,
}

impl SandboxChoice {
    /// As it is typed.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Docker => "docker",
            Self::Host => "host",
            Self::None => "none",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProfileChoice {
    /// Files, search and commands, as coding agents know them.
    Console,
    /// Seven tools for documents in mounted directories.
    Filesystem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
enum EditChoice {
    /// A text is replaced by another.
    StrReplace,
    /// Lines are named by number and hash.
    Hashline,
}

/// A directory at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountAt {
    pub(super) at: VirtualPath,
    pub(super) directory: PathBuf,
    pub(super) access: MountAccess,
}

fn mount(typed: &str) -> Result<MountAt, String> {
    let wanted = || "a mount is PATH=DIR or PATH=DIR:ro, with an absolute PATH".to_owned();
    let (at, directory) = typed.split_once('=').ok_or_else(wanted)?;
    let (directory, access) = match directory.rsplit_once(':') {
        Some((directory, "ro")) => (directory, MountAccess::ReadOnly),
        Some((directory, "rw")) => (directory, MountAccess::ReadWrite),
        _ => (directory, MountAccess::ReadWrite),
    };
    if directory.is_empty() || !at.starts_with('/') {
        return Err(wanted());
    }
    let at = VirtualPath::parse(at).map_err(|error| error.to_string())?;
    if at.is_root() {
        return Err("what is at `/` is the workspace itself; mount it elsewhere, or use --root".to_owned());
    }
    Ok(MountAt { at, directory: directory.into(), access })
}

fn extra_tools() -> PossibleValuesParser {
    PossibleValuesParser::new(ExtraTool::ALL.map(ExtraTool::name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_have_a_place_a_directory_and_an_access() {
        let of = |typed| mount(typed).map(|mount| (mount.at.to_string(), mount.directory, mount.access));
        let (ro, rw) = (MountAccess::ReadOnly, MountAccess::ReadWrite);
        assert_eq!(of("/b=a"), Ok(("/b".to_owned(), "a".into(), rw)));
        assert_eq!(of("/c=/a/b:ro"), Ok(("/c".to_owned(), "/a/b".into(), ro)));
        assert_eq!(of("/c=/a:b=d:rw"), Ok(("/c".to_owned(), "/a:b=d".into(), rw)));
        for typed in ["", "/a", "/a=", "=/a", "a=b", "/=b", "/a=:ro", "/../..=b", "/x/..=b"] {
            assert!(mount(typed).is_err(), "{typed}");
        }
    }
}
