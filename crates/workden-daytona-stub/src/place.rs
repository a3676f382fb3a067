//! `Place`: where the commands and the files of one stub sandbox are, and the small programs by which the toolbox
//! reads and writes files there. Files are read and written by commands, so that links, modes and permissions have the
//! meaning that they have for Daytona's daemon, which is a program in the sandbox as well.

use std::{collections::BTreeMap, path::PathBuf};

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use workden_core::{
    Result, Sandbox, VirtualPath,
    sandbox::{Command, Ended, MountAccess, Process, ProcessEvent, SpawnRequest, Stream},
};
use workden_sandboxes::{GitFiles, HostEnvironment, KeeperProgram, LinuxSandbox};

use crate::{answer::Refused, toolbox::Toolbox};

/// The home and the work directory of every sandbox.
pub(crate) const HOME: &str = "/home/daytona";
/// The user name that the API reports.
pub(crate) const USER: &str = "daytona";

/// What a place is started with.
#[derive(Clone, Debug)]
pub(crate) struct PlacePlan {
    pub(crate) keeper: KeeperProgram,
    pub(crate) root: PathBuf,
    pub(crate) environment: BTreeMap<String, String>,
    /// Directories of the host by their paths inside.
    pub(crate) volumes: Vec<(String, PathBuf)>,
}

/// A running sandbox with its toolbox.
#[derive(Debug)]
pub(crate) struct Place {
    sandbox: LinuxSandbox,
    pub(crate) toolbox: Toolbox,
}

/// What a command of the toolbox left.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) output: Bytes,
    pub(crate) error: Bytes,
    pub(crate) ended: Ended,
}

impl PlacePlan {
    pub(crate) async fn start(&self) -> Result<Place> {
        let mut builder = LinuxSandbox::builder()
            .keeper(self.keeper.clone())
            .environment_of(HostEnvironment::from_process())
            .root(&self.root)
            .work_dir(HOME)
            // These files belong to the test; no program outside trusts them.
            .git_files(GitFiles::Writable)
            .env("HOME", HOME)
            .env("USER", USER);
        for (name, value) in &self.environment {
            builder = builder.env(name, value);
        }
        for (at, source) in &self.volumes {
            builder = builder.mount(at, source, MountAccess::ReadWrite);
        }
        Ok(Place { sandbox: builder.start().await?, toolbox: Toolbox::default() })
    }
}

impl Place {
    /// Ends it, with all its processes.
    pub(crate) async fn stop(&self) {
        // A failure means that it has ended before.
        let _ = self.sandbox.stop().await;
    }

    pub(crate) async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
        self.sandbox.spawn(request).await
    }

    /// Runs a script of ours with these arguments and this input.
    pub(crate) async fn run(&self, script: &str, arguments: &[&str], input: Bytes) -> Result<Finished> {
        let words = ["sh", "-c", script, "toolbox"].into_iter().chain(arguments.iter().copied());
        let command = Command::Program(words.map(str::to_owned).collect());
        let process = self.spawn(&SpawnRequest::piped(command)).await?;
        finish(process, input).await
    }

    /// Runs a script that is expected to succeed, and returns its output.
    pub(crate) async fn ask(&self, script: &str, arguments: &[&str], input: Bytes) -> Result<Bytes, Refused> {
        let finished = self.run(script, arguments, input).await?;
        match finished.ended {
            Ended::Exited(0) => Ok(finished.output),
            _ => Err(refusal(&finished.error)),
        }
    }
}

/// Gives a process its input, and reads it to its end.
pub(crate) async fn finish(mut process: Process, input: Bytes) -> Result<Finished> {
    let control = process.control;
    let feed = async {
        // A process that does not read all of its input is no failure of the call.
        if !input.is_empty() {
            let _ = control.write(input).await;
        }
        let _ = control.close_input().await;
    };
    let read = async {
        let (mut output, mut error) = (BytesMut::new(), BytesMut::new());
        while let Some(event) = process.events.next().await {
            match event? {
                ProcessEvent::Printed(Stream::Output, bytes) => output.extend_from_slice(&bytes),
                ProcessEvent::Printed(Stream::Error, bytes) => error.extend_from_slice(&bytes),
                ProcessEvent::LimitHit(_) => {}
                ProcessEvent::Ended(ended) => {
                    return Ok(Finished { output: output.freeze(), error: error.freeze(), ended });
                }
            }
        }
        Ok(Finished { output: output.freeze(), error: error.freeze(), ended: Ended::Exited(-1) })
    };
    let (_, finished) = tokio::join!(feed, read);
    finished
}

/// Returns the answer for what a program said, with the status that the daemon gives for that error.
fn refusal(said: &[u8]) -> Refused {
    let said = String::from_utf8_lossy(said);
    let message = said.trim().to_owned();
    if said.contains("No such file") {
        return Refused::not_found(message).code("FILE_NOT_FOUND");
    }
    if said.contains("Permission denied") || said.contains("Read-only file system") {
        return Refused::new(hyper::StatusCode::FORBIDDEN, message).code("FILE_ACCESS_DENIED");
    }
    Refused::invalid(message)
}

/// Returns the absolute path that a toolbox path names: relative ones start at the home.
pub(crate) fn absolute(path: &str) -> Result<String, Refused> {
    if path.contains('\0') {
        return Err(Refused::invalid("invalid path: it contains a NUL").code("INVALID_FILE_PATH"));
    }
    Ok(match path {
        path if path.starts_with('/') => path.to_owned(),
        "" => HOME.to_owned(),
        path => format!("{HOME}/{path}"),
    })
}

/// Returns the directory to start a command in.
pub(crate) fn directory(path: Option<&str>) -> Result<VirtualPath, Refused> {
    let path = absolute(path.unwrap_or_default())?;
    VirtualPath::parse(&path).map_err(|error| Refused::invalid(error.to_string()))
}
