//! The options of commands that every subcommand with a sandbox takes: limits, toolchains, variables and a time limit.
//! They are declared once, so that an option has one name, one help text and one meaning.

use std::time::Duration;

use clap::{Args, builder::PossibleValuesParser};
use workden::{HostEnvironment, SandboxOptions, SessionSpec, sandboxes::toolchains::TOOLCHAINS};
use workden_core::type_size;

use crate::typed::{self, VariableArgument};

/// The value of `--toolchain` that leaves out the toolchains that the project needs.
const NO_TOOLCHAIN: &str = "none";

/// The options of a sandbox, for `run`, `tool`, `mcp` and `sessions open`.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CommandOptions {
    /// Memory of all processes together, like 512M or 1.5G [default: half of the machine's; all of it with
    /// `--sandbox docker`; 768M in a pod].
    #[arg(long, value_name = "SIZE", value_parser = typed::memory)]
    pub(crate) memory: Option<u64>,
    /// Processors, like 1.5.
    #[arg(long, value_name = "NUMBER", value_parser = typed::cpus)]
    pub(crate) cpus: Option<f64>,
    /// Processes and threads [default: 512].
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) pids: Option<u64>,
    /// A toolchain of this machine that is not in /usr, read-only: python, node, rust, go. `run`, `tool` and `mcp` find
    /// those that the project needs; `none` leaves them out.
    #[arg(long, value_name = "NAME", value_parser = toolchain_names(), hide_possible_values = true)]
    pub(crate) toolchain: Vec<String>,
    #[command(flatten)]
    pub(crate) environment: EnvironmentOption,
}

/// `--env`, which `sessions exec` takes as well.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct EnvironmentOption {
    /// An environment variable: `KEY=VALUE`, or `KEY` to pass on your value.
    #[arg(long, value_name = "K=V", value_parser = typed::variable)]
    pub(crate) env: Vec<VariableArgument>,
}

/// `--timeout`, which `sessions exec` takes as well.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct TimeoutOption {
    /// The time limit of a command, in seconds or like 5m. At the limit it is stopped, with all processes that it
    /// started.
    #[arg(long, value_name = "TIME", value_parser = typed::time)]
    pub(crate) timeout: Option<Duration>,
}

/// An option, and whether the user named it.
pub(crate) type Named = (&'static str, bool);

impl CommandOptions {
    /// Sets the limits and variables of a sandbox.
    pub(crate) fn set(&self, options: &mut SandboxOptions) {
        (options.memory, options.cpus, options.pids) = (self.memory, self.cpus, self.pids);
        for variable in &self.environment.env {
            match variable {
                VariableArgument::Set(name, value) => options.set_env(name, value),
                VariableArgument::Passed(name) => options.pass_env(name),
            }
        }
    }

    /// Sets the limits and toolchains of a session.
    pub(crate) fn set_session(&self, spec: &mut SessionSpec) {
        (spec.memory, spec.cpus, spec.pids) = (self.memory, self.cpus, self.pids);
        spec.toolchains = self.toolchains_by_name().cloned().collect();
    }

    /// Sets the variables of a session too.
    pub(crate) fn set_session_environment(&self, spec: &mut SessionSpec) {
        spec.environment = typed::with_values(&self.environment.env, &HostEnvironment::from_process());
    }

    /// Returns which limits are named.
    pub(crate) fn limits(&self) -> [Named; 3] {
        [("--memory", self.memory.is_some()), ("--cpus", self.cpus.is_some()), ("--pids", self.pids.is_some())]
    }

    /// Returns the named toolchains.
    pub(crate) fn toolchains_by_name(&self) -> impl Iterator<Item = &String> {
        self.toolchain.iter().filter(|name| *name != NO_TOOLCHAIN)
    }

    /// Returns whether only the named toolchains are used.
    pub(crate) fn leaves_out_toolchains(&self) -> bool {
        self.toolchain.iter().any(|name| name == NO_TOOLCHAIN)
    }

    /// Returns whether toolchains are named.
    pub(crate) fn toolchains(&self) -> Named {
        ("--toolchain", !self.toolchain.is_empty())
    }

    /// Returns whether variables are named.
    pub(crate) fn variables(&self) -> Named {
        ("--env", !self.environment.env.is_empty())
    }

    /// Returns the options as words of a command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let variable = |variable: &VariableArgument| match variable {
            VariableArgument::Set(name, value) => format!("{name}={value}"),
            VariableArgument::Passed(name) => name.clone(),
        };
        let limits = [
            ("--memory", self.memory.map(type_size)),
            ("--cpus", self.cpus.map(|cpus| cpus.to_string())),
            ("--pids", self.pids.map(|most| most.to_string())),
        ];
        let limits = limits.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let toolchains = self.toolchain.iter().map(|name| ("--toolchain", name.clone()));
        let variables = self.environment.env.iter().map(|given| ("--env", variable(given)));
        limits.chain(toolchains).chain(variables).flat_map(|(name, value)| [name.to_owned(), value]).collect()
    }
}

fn toolchain_names() -> PossibleValuesParser {
    PossibleValuesParser::new(TOOLCHAINS.into_iter().chain([NO_TOOLCHAIN]))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches, Parser};

    use super::*;

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(flatten)]
        options: CommandOptions,
    }

    #[test]
    fn words_are_those_that_were_typed() {
        let words =
            ["--memory", "1.5G", "--cpus", "0.5", "--pids", "9", "--toolchain", "node", "--env", "A=b", "--env", "C"];
        let matches = Typed::command().get_matches_from(["x"].iter().chain(&words));
        assert_eq!(Typed::from_arg_matches(&matches).unwrap().options.words(), words);
    }

    #[test]
    fn an_unknown_toolchain_names_the_one_that_was_meant() {
        let error = Typed::try_parse_from(["x", "--toolchain", "pyton"]).unwrap_err().to_string();
        assert!(error.contains("'python'"), "{error}");
    }
}
