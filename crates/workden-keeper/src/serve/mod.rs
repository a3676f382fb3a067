//! The program: what its arguments ask for, and how it begins and ends.
//!
//! - Without arguments it was started by a launcher: its standard input is the stream.
//! - `serve` serves a socket in a container.
//! - `file-ids` prints the device and inode number of paths.
//! - `connect` is a relay between its standard streams and such a socket.

mod arguments;
mod container;
mod file_ids;
mod launch_config;
mod launched;
mod lease;
mod lifetime;
mod pending;
mod relay;
mod signals;

use std::{ffi::OsString, io::Write, process::ExitCode, time::Duration};

use tokio::runtime::{Builder, Runtime};
use workden_core::{Error, ErrorKind, Result};

use self::arguments::KeeperTask;

/// How long a thread for file calls stays when there is nothing to do.
const THREAD_TIME: Duration = Duration::from_millis(500);
/// Stack of such a thread. Only what is touched is taken.
const THREAD_STACK: usize = 1024 * 1024;
/// The most of those threads.
const THREADS: usize = 16;

/// Runs the keeper as a program; `arguments` are those after its name. To be called first in a
/// process, before any thread is started.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let done = arguments::parse(arguments).and_then(|task| match task {
        KeeperTask::Version => version(),
        KeeperTask::Launched => launched::run(),
        KeeperTask::Serve(place) => container::run(place),
        KeeperTask::Connect { socket } => relay::run(&socket),
        KeeperTask::FileIds(places) => file_ids::run(&places),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "workden-keeper: {error}");
            ExitCode::from(if error.kind() == ErrorKind::InvalidArgument { 2 } else { 1 })
        }
    }
}

fn version() -> Result<()> {
    writeln!(std::io::stdout(), "workden-keeper {}", env!("CARGO_PKG_VERSION"))
        .map_err(|error| Error::new(ErrorKind::Io, format!("the version cannot be said: {}", error.kind())))
}

/// One thread for everything but file calls, which have a few of their own for as long as they are
/// busy.
fn runtime() -> Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .thread_keep_alive(THREAD_TIME)
        .thread_stack_size(THREAD_STACK)
        .max_blocking_threads(THREADS)
        .build()
        .map_err(|error| Error::new(ErrorKind::Io, format!("the keeper has no runtime: {}", error.kind())))
}
