//! Runs a program in a container, beside its other processes.

use bollard::exec::{CreateExecOptions, StartExecOptions, StartExecResults};
use workden_core::{Error, ErrorKind, Result};

use super::{Daemon, stream::ProgramStream};

/// Bytes that are read from a stream at a time.
const PIECE: usize = 64 * 1024;

/// Runs a program in a container.
pub(super) async fn run(daemon: &Daemon, id: &str, words: &[&str], user: Option<&str>) -> Result<ProgramStream> {
    let client = daemon.client().await?;
    let failed = |error| daemon.failed("run a program in the container", &error);
    let options = CreateExecOptions {
        cmd: Some(words.to_vec()),
        user,
        attach_stdin: Some(true),
        attach_stdout: Some(true),
        attach_stderr: Some(true),
        ..CreateExecOptions::default()
    };
    let program = client.create_exec(id, options).await.map_err(failed)?;
    let start = StartExecOptions { output_capacity: Some(PIECE), ..StartExecOptions::default() };
    match client.start_exec(&program.id, Some(start)).await.map_err(failed)? {
        StartExecResults::Attached { output, input } => Ok(ProgramStream::new(output, input)),
        StartExecResults::Detached => {
            Err(Error::new(ErrorKind::Io, "the daemon did not return the streams of a program"))
        }
    }
}
