//! What a policy is asked about, as options: `--execute 'git push'`, `--read a.md`, one for each operation. They keep the
//! order in which they were typed.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use workden::Operation;

/// An operation and its target: a path, or a command line.
pub(super) type Target = (Operation, String);

/// The targets of the options.
#[derive(Clone, Debug, Default)]
pub(crate) struct Targets(pub(super) Vec<Target>);

impl Args for Targets {
    fn augment_args(command: Command) -> Command {
        Operation::ALL.into_iter().fold(command, |command, operation| command.arg(option(operation)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Targets {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut all: Vec<(usize, Target)> = Vec::new();
        for operation in Operation::ALL {
            let places = matches.indices_of(operation.name()).into_iter().flatten();
            let values = matches.get_many::<String>(operation.name()).into_iter().flatten();
            all.extend(places.zip(values.map(|target| (operation, target.clone()))));
        }
        all.sort_by_key(|(place, _)| *place);
        Ok(Self(all.into_iter().map(|(_, target)| target).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn option(operation: Operation) -> Arg {
    let (value, help) = match operation {
        Operation::Execute => ("COMMAND", "Ask about running this command line"),
        Operation::Read => ("PATH", "Ask about reading this file"),
        Operation::Write => ("PATH", "Ask about writing this file"),
        Operation::Edit => ("PATH", "Ask about editing this file"),
        Operation::Delete => ("PATH", "Ask about removing this file"),
        Operation::Glob => ("PATH", "Ask about finding files below this directory"),
        Operation::Grep => ("PATH", "Ask about searching in this directory or file"),
        Operation::Ls => ("PATH", "Ask about listing this directory"),
    };
    Arg::new(operation.name())
        .long(operation.name())
        .value_name(value)
        .help(help)
        .help_heading("Targets")
        .action(ArgAction::Append)
}
