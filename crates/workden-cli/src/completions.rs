//! `workden completions`: prints completions for a shell.

use std::io::Write;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::failure::Failure;

pub(crate) const AFTER_HELP: &str = "\
Examples:
  workden completions bash > ~/.local/share/bash-completion/completions/workden
  workden completions zsh > ~/.zfunc/_workden
  workden completions fish > ~/.config/fish/completions/workden.fish

For zsh, add `fpath+=~/.zfunc` before compinit.";

/// Arguments of `workden completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell.
    shell: Shell,
}

/// Prints the completions.
pub(crate) fn run<C: CommandFactory>(arguments: &CompletionsArguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut C::command(), "workden", &mut script);
    std::io::stdout().lock().write_all(&script).map_err(Failure::Output)
}
