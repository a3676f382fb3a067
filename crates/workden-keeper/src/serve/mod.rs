//! The keeper as a program: its arguments, its start and its end.
//!
//! - Without arguments it was started by a launcher: its standard input is the stream.
//! - `serve` serves a socket in a container.
//! - `serve --port` serves a port of the loopback interface, to which a proxy leads.
//! - `pod` waits for a launcher on a socket in a pod, and then serves that socket and a port.
//! - `file-ids` prints the device and inode number of paths, and whether they are empty.
//! - `checksum` prints the checksum of the program, and `install` copies it.
//! - `connect` is a relay between its standard streams and such a socket.

mod arguments;
mod client_stream;
mod container;
mod file_ids;
mod launch_config;
mod launched;
mod lease;
mod lifetime;
mod own_file;
mod pending;
mod pod;
mod ports;
mod relay;
mod runtime;
mod signals;
mod tls;
mod web_clients;

use std::{ffi::OsString, io::Write, process::ExitCode};

use workden_core::{Error, ErrorKind, Result};

use self::arguments::KeeperTask;

/// Runs the keeper as a program; `arguments` are those after its name. Must be called first in a process, before any
/// thread is started.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let done = arguments::parse(arguments).and_then(|task| match task {
        KeeperTask::Version => version(),
        KeeperTask::Launched => launched::run(),
        KeeperTask::Serve(place) => container::run(place),
        KeeperTask::Ports(ports) => ports::run(&ports),
        KeeperTask::Pod(pod) => pod::run(&pod),
        KeeperTask::Connect { socket } => relay::run(&socket),
        KeeperTask::Checksum => own_file::checksum(),
        KeeperTask::Install(at) => own_file::install(&at),
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
        .map_err(|error| Error::new(ErrorKind::Io, format!("cannot print the version: {}", error.kind())))
}
