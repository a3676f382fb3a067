//! `workden policy`: asks a policy for verdicts, without doing anything.

mod check;
mod explain;
mod judged;

use std::path::PathBuf;

use clap::{
    Args, Subcommand, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};
use workden::{Config, Operation, PathScope, Policy, Preset, VirtualPath, policy::PolicyLayer};

use crate::{
    failure::{self, Failure},
    typed, workspace,
};

/// The subcommands of `workden policy`.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Judge many operations: JSON lines in, verdicts out, in order.
    ///
    /// Each line of standard input is a request like {"op": "execute", "target": "git status"} or
    /// {"op": "read", "target": "/src/main.rs"}. Each line of output is its verdict:
    /// {"action": "allow|ask|deny", "rule": ..., "why": ...}. Nothing is run, opened or changed: links
    /// are not followed, and whether a file exists makes no difference.
    ///
    /// An invalid line is answered with deny, and the exit code is then 1.
    Check {
        #[command(flatten)]
        which: Which,
        /// Print JSON also on a terminal, where a readable line is printed otherwise.
        #[arg(long)]
        json: bool,
    },
    /// Explain one verdict: what was parsed, which layer and rule decided, what would pass.
    ///
    /// Nothing is run, opened or changed: links are not followed, and whether a file exists makes no
    /// difference. The exit code is 0 whatever the verdict.
    Explain {
        #[command(flatten)]
        which: Which,
        /// The operation.
        #[arg(value_parser = operations())]
        op: Operation,
        /// The path, or the command line for a shell.
        target: String,
    },
    /// Print the JSON Schema of `workden.toml`, for editors.
    Schema,
}

/// The options that choose a policy.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// The preset [default: `default`, unless --config is given].
    #[arg(long, value_parser = typed::presets(), hide_possible_values = true)]
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

/// Parses an operation by its name in a ruleset.
fn operations() -> impl TypedValueParser<Value = Operation> {
    let named =
        |name: String| Operation::ALL.into_iter().find(|operation| operation.name() == name).unwrap_or(Operation::Read);
    // The parser passes only known names to `named`.
    PossibleValuesParser::new(Operation::ALL.map(Operation::name)).map(named)
}

/// A policy, and the directory of its relative paths.
pub(crate) struct Asked {
    policy: Policy,
    /// The names of the policy's layers, in the same order.
    names: Vec<String>,
    directory: VirtualPath,
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
        if let Some(file) = &self.config {
            let shown = file.display();
            let config = workspace::config_file::read(file)?;
            let project = if config.mounts.is_empty() { directory.clone() } else { VirtualPath::root() };
            policy = config.policy(surroundings, &project).map_err(failure::request)?;
            names = layer_names(&config, policy.layers(), &shown.to_string());
        }
        let preset = match (self.preset, &self.config) {
            (None, None) => Some(Preset::Default),
            (preset, _) => preset,
        };
        if let Some(preset) = preset {
            policy = policy.with_rules(&preset.ruleset_in(surroundings)).map_err(failure::request)?;
            names.push(format!("preset `{preset}`"));
        }
        Ok(Asked { policy, names, directory })
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
        PolicyCommand::Check { which, json } => check::run(&which.open()?, *json),
        PolicyCommand::Explain { which, op, target } => explain::run(&which.open()?, *op, target),
        PolicyCommand::Schema => schema(),
    }
}

fn schema() -> Result<(), Failure> {
    use std::io::Write;
    let text = workden::config_schema();
    writeln!(anstream::stdout().lock(), "{text}").map_err(Failure::Output)
}
