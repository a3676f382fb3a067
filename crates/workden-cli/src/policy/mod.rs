//! `workden policy`: asks a policy for verdicts, without doing anything.

mod check;
mod explain;
mod judged;
mod targets;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use targets::{Target, Targets};
use workden::{ApprovalMode, Config, Operation, PathScope, Policy, Preset, VirtualPath, policy::PolicyLayer};

use crate::{
    failure::{self, Failure},
    typed, workspace,
};

/// The subcommands of `workden policy`.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Judge operations: those of the command line, or a line of standard input each.
    ///
    /// `workden policy check 'git push'` judges a command, and options like `--read a.md` judge an operation on a file.
    /// Without either, each line of standard input is a command, or a request like
    /// {"op": "read", "target": "/src/main.rs"}.
    ///
    /// Each line of output is a verdict, in order: {"action": "allow|ask|deny", "rule": ..., "why": ...}. Nothing is
    /// run, opened or changed: links are not followed, and whether a file exists makes no difference.
    ///
    /// An invalid request is answered with deny, and the exit code is then 1.
    Check {
        /// A command line to judge, in quotes.
        command: Option<String>,
        #[command(flatten)]
        targets: Targets,
        #[command(flatten)]
        which: Which,
        /// Print JSON also on a terminal, where a readable line is printed otherwise.
        #[arg(long)]
        json: bool,
    },
    /// Explain one verdict: what was parsed, which layer and rule decided, what would pass.
    ///
    /// `workden policy explain 'git push'` explains a command, and `workden policy explain --read a.md` an operation on
    /// a file. Nothing is run, opened or changed: links are not followed, and whether a file exists makes no difference.
    /// The exit code is 0 whatever the verdict.
    #[command(override_usage = "workden policy explain [OPTIONS] <COMMAND>\n       \
                                workden policy explain [OPTIONS] --<OPERATION> <PATH>")]
    Explain {
        /// The command line, in quotes. An operation and its target are two words: `read a.md`.
        #[arg(value_name = "COMMAND", num_args = 1..=2)]
        words: Vec<String>,
        #[command(flatten)]
        targets: Targets,
        #[command(flatten)]
        which: Which,
    },
    /// Print the JSON Schema of `workden.toml`, for editors.
    Schema,
}

/// The options that choose a policy.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The preset [default: `default`, unless --config is given].
    #[arg(long = "policy", alias = "preset", value_parser = typed::presets(), hide_possible_values = true)]
    preset: Option<Preset>,
    /// A `workden.toml`. With a preset as well, both apply, and the stricter verdict wins.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What paths refer to: a whole machine, or a workspace of files.
    #[arg(long, value_enum, default_value_t = Paths::Machine)]
    paths: Paths,
    /// The directory of relative paths and commands [default: /workspace with `--paths machine`, / with
    /// `--paths files`].
    #[arg(long, value_name = "PATH")]
    directory: Option<String>,
}

/// What paths refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Paths {
    /// A whole machine, as in a sandbox: `/etc` is the system's.
    Machine,
    /// A workspace of files: `/etc` is a directory like any other.
    Files,
}

/// A policy, and the directory of its relative paths.
pub(crate) struct Asked {
    policy: Policy,
    /// The names of the policy's layers, in the same order.
    names: Vec<String>,
    directory: VirtualPath,
    /// How questions are answered.
    approvals: ApprovalMode,
}

impl Which {
    fn open(&self) -> Result<Asked, Failure> {
        let (surroundings, directory) = match self.paths {
            Paths::Machine => (PathScope::Machine, "/workspace"),
            Paths::Files => (PathScope::FilesOnly, "/"),
        };
        let directory = VirtualPath::parse(self.directory.as_deref().unwrap_or(directory)).map_err(failure::request)?;
        let mut names = Vec::new();
        let mut policy = Policy::new();
        let mut approvals = ApprovalMode::Interactive;
        if let Some(file) = &self.config {
            let shown = file.display();
            let config = workspace::config_file::read(file)?;
            let project = if config.mounts.is_empty() { directory.clone() } else { VirtualPath::root() };
            policy = config.policy(surroundings, &project).map_err(failure::request)?;
            names = layer_names(&config, policy.layers(), &shown.to_string());
            approvals = config.approvals.mode;
        }
        let preset = match (self.preset, &self.config) {
            (None, None) => Some(Preset::Default),
            (preset, _) => preset,
        };
        if let Some(preset) = preset {
            policy = policy.with_rules(&preset.ruleset_in(surroundings)).map_err(failure::request)?;
            names.push(format!("preset `{preset}`"));
        }
        Ok(Asked { policy, names, directory, approvals })
    }
}

/// Names the layers of a configuration. Its limits are a table of one mount, which follows the table of mounts.
fn layer_names(config: &Config, layers: &[PolicyLayer], file: &str) -> Vec<String> {
    let mut tables = if config.mounts.is_empty() { vec!["limits"] } else { vec!["limits", "mounts"] };
    let name = |layer: &PolicyLayer| match layer {
        PolicyLayer::Rules(_) => format!("rules of `{file}`"),
        PolicyLayer::Mounts(_) => format!("{} of `{file}`", tables.pop().unwrap_or("mounts")),
        PolicyLayer::AllowList(_) => format!("allow-list of `{file}`"),
    };
    layers.iter().map(name).collect()
}

/// Runs a subcommand.
pub(crate) fn run(command: &PolicyCommand) -> Result<(), Failure> {
    match command {
        PolicyCommand::Check { command, targets, which, json } => {
            let command = command.iter().map(|command| (Operation::Execute, command.clone()));
            let all: Vec<Target> = command.chain(targets.0.iter().cloned()).collect();
            check::run(&which.open()?, &all, *json)
        }
        PolicyCommand::Explain { words, targets, which } => {
            let (op, target) = one_target(words, targets)?;
            explain::run(&which.open()?, op, &target)
        }
        PolicyCommand::Schema => schema(),
    }
}

/// Returns the one target of `explain`: a word is a command, and two words are an operation and its target.
fn one_target(words: &[String], targets: &Targets) -> Result<Target, Failure> {
    let usage = |sentence: &str, hint: &str| Err(Failure::Usage(format!("{sentence}\nhint: {hint}")));
    match (words, targets.0.as_slice()) {
        ([command], []) => Ok((Operation::Execute, command.clone())),
        ([], [target]) => Ok(target.clone()),
        ([name, target], []) => match Operation::ALL.into_iter().find(|operation| operation.name() == name) {
            Some(operation) => Ok((operation, target.clone())),
            None => usage(
                &format!("`{name}` is not an operation"),
                &format!("put a command in quotes: `workden policy explain '{name} {target}'`"),
            ),
        },
        ([], []) => usage(
            "a command or an operation is missing",
            "use `workden policy explain 'git push'` or `workden policy explain --read a.md`",
        ),
        _ => usage("`explain` takes one command or operation", "`workden policy check` takes many"),
    }
}

fn schema() -> Result<(), Failure> {
    use std::io::Write;
    let text = workden::config_schema();
    writeln!(anstream::stdout().lock(), "{text}").map_err(Failure::Output)
}
