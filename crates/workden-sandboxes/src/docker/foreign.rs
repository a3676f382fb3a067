//! Runs a keeper in a container that another program created: copies it in as a file, starts it beside the other
//! processes, and removes it again. It is not the first process there, so commands can kill it.

use bollard::{
    exec::{CreateExecOptions, StartExecOptions},
    query_parameters::UploadToContainerOptions,
};
use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use workden_core::{Error, ErrorKind, Result};
use workden_wire::TokenHash;

use super::{Daemon, program, stream::ProgramStream};
use crate::{container_keepers::KeeperFile, token};

/// Directories to try for the keeper, in this order.
const PLACES: [&str; 5] = ["/tmp", "/var/tmp", "/run", "/dev/shm", "/"];
/// How long the keeper lives without a connection, in seconds.
const LEASE: &str = "120";

/// A keeper in a container that workden did not create.
#[derive(Clone, Debug)]
pub(super) struct Guest {
    pub(super) program: String,
    pub(super) socket: String,
    pub(super) token: String,
    directory: String,
}

/// Copies a keeper into a running container and starts it.
pub(super) async fn move_in(daemon: &Daemon, id: &str, keeper: &KeeperFile, work: &str) -> Result<Guest> {
    let name = format!(".workden-{}", token::random_digits(6)?);
    let mut last = None;
    for place in PLACES {
        match try_place(daemon, id, keeper, work, place, &name).await {
            Ok(guest) => return Ok(guest),
            Err(error) if error.kind() == ErrorKind::Unreachable => return Err(error),
            Err(error) => last = Some(error),
        }
    }
    let why = last.map_or_else(String::new, |error| format!(": {}", error.sentence()));
    Err(Error::new(ErrorKind::Unsupported, format!("cannot install a keeper in the container{why}"))
        .hint("it needs a writable directory that allows execution: start the container with `--tmpfs /tmp:exec`"))
}

async fn try_place(
    daemon: &Daemon,
    id: &str,
    keeper: &KeeperFile,
    work: &str,
    place: &str,
    name: &str,
) -> Result<Guest> {
    let directory = format!("{}/{name}", place.trim_end_matches('/'));
    let token = token::random()?;
    let guest =
        Guest { program: format!("{directory}/keeper"), socket: format!("{directory}/socket"), token, directory };
    let brought = match upload(daemon, id, place, &archive(name, &keeper.content)?).await {
        // Archives cannot be uploaded into a read-only root or a tmpfs: copy it through a shell inside instead.
        Err(error) if error.kind() != ErrorKind::Unreachable => pour(daemon, id, &guest, &keeper.content).await,
        uploaded => uploaded,
    };
    if let Err(error) = brought {
        guest.tidy(daemon, id).await;
        return Err(error);
    }
    let hash = TokenHash::of(&guest.token).to_string();
    let words = [&guest.program, "serve", "--socket", &guest.socket, "--token-sha256", &hash, "--directory", work];
    match start(daemon, id, &[&words[..], &["--ttl", LEASE]].concat()).await {
        Ok(()) => Ok(guest),
        Err(error) => {
            guest.tidy(daemon, id).await;
            Err(error)
        }
    }
}

impl Guest {
    /// Removes the file. The keeper itself ends when it is stopped.
    pub(super) async fn move_out(&self, daemon: &Daemon, id: &str) -> Result<()> {
        self.tidy(daemon, id).await;
        Ok(())
    }

    /// Removes the directory, if the container has `rm`.
    async fn tidy(&self, daemon: &Daemon, id: &str) {
        if let Ok(stream) = program::run(daemon, id, &["rm", "-rf", &self.directory], None).await {
            let _ = heard(stream).await;
        }
    }
}

async fn upload(daemon: &Daemon, id: &str, place: &str, archive: &Bytes) -> Result<()> {
    let options = UploadToContainerOptions { path: place.to_owned(), ..UploadToContainerOptions::default() };
    let uploaded = daemon.client().await?.upload_to_container(id, Some(options), bollard::body_full(archive.clone()));
    uploaded.await.map_err(|error| daemon.failed("copy a keeper into the container", &error))
}

/// Copies the keeper in through a shell in the container.
async fn pour(daemon: &Daemon, id: &str, guest: &Guest, content: &[u8]) -> Result<()> {
    // The name needs no quoting: it has only letters that we chose.
    let script = format!("mkdir -m 700 {0} && cat > {0}/keeper && chmod 700 {0}/keeper && echo done", guest.directory);
    let mut stream = program::run(daemon, id, &["sh", "-c", &script], None).await?;
    let failed = |_| Error::new(ErrorKind::Io, "cannot copy a keeper into the container");
    stream.write_all(content).await.map_err(failed)?;
    stream.shutdown().await.map_err(failed)?;
    let (said, complaint) = heard(stream).await;
    match said.trim() {
        "done" => Ok(()),
        _ => Err(Error::new(ErrorKind::Io, format!("cannot copy a keeper into the container: {complaint}"))),
    }
}

/// Starts a program that keeps running.
async fn start(daemon: &Daemon, id: &str, words: &[&str]) -> Result<()> {
    let client = daemon.client().await?;
    let failed = |error| daemon.failed("start a keeper in the container", &error);
    let options = CreateExecOptions { cmd: Some(words.to_vec()), ..CreateExecOptions::default() };
    let program = client.create_exec(id, options).await.map_err(failed)?;
    let detached = StartExecOptions { detach: true, ..StartExecOptions::default() };
    client.start_exec(&program.id, Some(detached)).await.map_err(failed)?;
    let found = client.inspect_exec(&program.id).await.map_err(failed)?;
    match found.running {
        Some(true) => Ok(()),
        _ => Err(Error::new(ErrorKind::Io, "the keeper does not run in the container")),
    }
}

async fn heard(mut stream: ProgramStream) -> (String, String) {
    let complaint = stream.complaint();
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said).await;
    (said, complaint.text())
}

/// Packs the keeper in a private directory, in which its user can create a socket.
fn archive(name: &str, content: &[u8]) -> Result<Bytes> {
    let failed = |_| Error::new(ErrorKind::Io, "cannot pack the keeper");
    let mut archive = tar::Builder::new(Vec::with_capacity(content.len() + 4096));
    let mut directory = tar::Header::new_gnu();
    directory.set_entry_type(tar::EntryType::Directory);
    directory.set_mode(0o1777);
    directory.set_size(0);
    archive.append_data(&mut directory, format!("{name}/"), &[][..]).map_err(failed)?;
    let mut file = tar::Header::new_gnu();
    file.set_mode(0o755);
    file.set_size(content.len() as u64);
    archive.append_data(&mut file, format!("{name}/keeper"), content).map_err(failed)?;
    archive.into_inner().map(Bytes::from).map_err(failed)
}
