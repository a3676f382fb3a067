//! `workden setup`: runs the `[setup]` of a project once, in a sandbox.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use workden::{
    Cleared, HostEnvironment, Packages, SetupConfig, SetupRun, SetupStart, SetupState, sandboxes::LinuxSandbox,
};

use crate::{
    command_options::CommandOptions,
    failure::{Failure, request},
    packages::{CONFIG_FILE, PathOption},
    workspace::config_file,
};

pub(crate) const AFTER_HELP: &str = "\
In workden.toml:
  [setup]
  commands = [\"python3 -m venv .venv\", \".venv/bin/pip install -e .\"]
  cache_key = [\"pyproject.toml\"]

The commands run in a sandbox with the network of this machine, unless `network = false`. They may write to the project, \
to caches of packages, and to ~/.local, whose programs later commands find. Caches and tools are in \
$XDG_STATE_HOME/workden, or in ~/.local/state/workden.

Exit codes:
  0  the setup has run, or is up to date
  1  a command failed, or the setup could not run; the reason is on standard error
  2  invalid command line
  128+N if signal N ended workden";

/// Arguments of `workden setup`.
#[derive(Debug, Args)]
#[command(mut_arg("path", |path| path.help("Where commands see the directory [default: own]").long_help(None)))]
pub(crate) struct SetupArguments {
    /// The project [default: the current directory].
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The configuration [default: `workden.toml` in the project].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Remove caches and tools of the project first, and run the setup even if it is up to date.
    #[arg(long)]
    fresh: bool,
    /// Remove caches and tools of the project, and run nothing.
    #[arg(long, conflicts_with_all = ["fresh", "config"])]
    clear: bool,
    #[command(flatten)]
    path: PathOption,
    #[command(flatten)]
    options: CommandOptions,
}

pub(crate) fn run(arguments: &SetupArguments) -> Result<ExitCode, Failure> {
    let host = HostEnvironment::from_process();
    let typed = arguments.root.as_deref().unwrap_or(Path::new("."));
    let root = host.directory.join(typed);
    if !root.is_dir() {
        return Err(Failure::Request(format!("directory `{}` not found", typed.display())));
    }
    let packages = arguments.path.packages(&arguments.options, &host);
    if arguments.clear {
        tell(match packages.clear(&root).map_err(request)? {
            Cleared::Removed => "caches and tools of this project are removed",
            Cleared::Nothing => "this project has no caches and no tools",
        });
        return Ok(ExitCode::SUCCESS);
    }
    let config = setup_of(arguments, &root)?;
    let start = match arguments.fresh {
        true => SetupStart::Fresh,
        false if packages.setup_state(&root, &config).map_err(request)? == SetupState::Done => {
            tell("setup is up to date; `workden setup --fresh` runs it again");
            return Ok(ExitCode::SUCCESS);
        }
        false => SetupStart::Kept,
    };
    in_sandbox(planned(arguments, &packages, (&root, host), &config, start).map_err(request)?)
}

/// Returns the `[setup]` of the configuration.
fn setup_of(arguments: &SetupArguments, root: &Path) -> Result<SetupConfig, Failure> {
    let file = match (&arguments.config, &arguments.root) {
        (Some(file), _) => file.clone(),
        (None, Some(_)) => root.join(CONFIG_FILE),
        (None, None) => CONFIG_FILE.into(),
    };
    // Commands may have written the file of the project: a pipe would never end.
    if arguments.config.is_none() && file.symlink_metadata().is_ok_and(|there| !there.is_file()) {
        return Err(Failure::Request(format!("configuration `{}` is not a regular file", file.display())));
    }
    let hint = "add `[setup]` with `commands = [\"...\"]`; `workden setup --help` shows an example";
    if arguments.config.is_none() && !file.exists() {
        return Err(Failure::Request(format!("configuration `{}` not found\nhint: {hint}", file.display())));
    }
    let config = config_file::read(&file)?;
    if !config.mounts.is_empty() {
        let sentence = "`[setup]` is not supported with a configuration that has mounts";
        return Err(Failure::Request(format!(
            "{}: {sentence}\nhint: put it into a file without mounts",
            file.display()
        )));
    }
    config.setup.ok_or_else(|| Failure::Request(format!("{}: there is no `[setup]`\nhint: {hint}", file.display())))
}

fn planned(
    arguments: &SetupArguments,
    packages: &Packages,
    (root, host): (&Path, HostEnvironment),
    config: &SetupConfig,
    start: SetupStart,
) -> workden::Result<SetupRun> {
    let builder = LinuxSandbox::builder().environment_of(host).root(root);
    let builder = arguments.options.toolchains_by_name().fold(builder, |builder, name| builder.toolchain(name));
    packages.setup(builder.with(|options| arguments.options.set(options)), root, config, start)
}

#[cfg(target_os = "linux")]
fn in_sandbox(setup: SetupRun) -> Result<ExitCode, Failure> {
    use workden_core::sandbox::Ended;
    use workden_keeper::one_shot::{self, OneShotEnd, OneShotInput};

    let confinement = setup.sandbox().confinement().map_err(request)?;
    let ended = one_shot::run(&confinement, &setup.command(), OneShotInput::Empty, None).map_err(request)?;
    match ended {
        OneShotEnd::Command(Ended::Exited(0), _, _) => {
            setup.finish().map_err(request)?;
            tell("setup has run");
            Ok(ExitCode::SUCCESS)
        }
        OneShotEnd::Command(ended, hits, hints) => {
            hits.iter().for_each(|hit| tell(&format!("limit: {}", hit.sentence)));
            hints.iter().for_each(|hint| tell(&format!("hint: {}", hint.sentence())));
            let code = ended.exit_code();
            Err(Failure::Request(format!("the setup failed: the command that it ran last ended with exit code {code}")))
        }
        OneShotEnd::Told(signal) => Ok(ExitCode::from(u8::try_from(128 + signal).unwrap_or(u8::MAX))),
        OneShotEnd::NoOutput(number) => Err(Failure::Output(std::io::Error::from_raw_os_error(number))),
        // It has no time limit.
        OneShotEnd::TimedOut => Err(Failure::Request("the setup timed out".to_owned())),
    }
}

#[cfg(not(target_os = "linux"))]
fn in_sandbox(setup: SetupRun) -> Result<ExitCode, Failure> {
    drop(setup);
    Err(Failure::Request("a setup requires Linux, and this machine is not".to_owned()))
}

/// Prints a line of progress.
fn tell(line: &str) {
    let _ = writeln!(anstream::stderr(), "{line}");
}
