//! A keeper in a container: it serves a socket to clients with the token, and on its standard streams a client that
//! was attached at the start.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use rustix::{
    fs::{Mode, OFlags},
    stdio::{stdin, stdout},
};
use tokio::{
    io::Join,
    net::unix::pipe::{Receiver, Sender},
};
use workden_core::{Error, ErrorKind, Result, sandbox::GitIdentity};
use workden_wire::TokenHash;

use super::{
    arguments::{ServeArguments, StandardStreams},
    launch_config,
    lease::{self, Entrances},
    lifetime::{self, EndConditions, LauncherStream},
    runtime,
};
use crate::{keeper::Keeper, sys};

/// Serves a socket until the lease ends, or the keeper is stopped.
pub(super) fn run(place: ServeArguments) -> Result<()> {
    sys::give_memory_back();
    let listener = lease::listen(&place.socket)?;
    let mut environment = std::env::vars().collect();
    if let Some(file) = &place.git_config {
        show_git_config(file, &place.git_identity, &mut environment);
    }
    let config = launch_config::container(place.directory, environment);
    let ends = EndConditions { lease: place.ttl, ..EndConditions::default() };
    let runtime = runtime::build()?;
    let done = runtime.block_on(async {
        let keeper = Arc::new(Keeper::new(config)?);
        let attached = match place.standard_streams {
            StandardStreams::Unused => None,
            StandardStreams::Attached => Some(attached(place.token.clone())?),
        };
        let entrances = Entrances { token: place.token, socket: Some(listener), port: None, tls: None };
        lifetime::serve_until_end(keeper, attached, Some(entrances), ends).await
    });
    runtime.shutdown_background();
    let _ = std::fs::remove_file(&place.socket);
    done
}

/// Writes a configuration of git and shows it to commands as that of the system. The configuration of the image is
/// included, and stronger.
fn show_git_config(file: &Path, identity: &GitIdentity, environment: &mut BTreeMap<String, String>) {
    let text = format!("{}[include]\n\tpath = /etc/gitconfig\n", identity.config_text());
    let place = file.to_str().filter(|_| !environment.contains_key("GIT_CONFIG_SYSTEM"));
    // Without the file git asks for an identity; with the variable alone it would fail.
    if let Some(place) = place
        && std::fs::write(file, text).is_ok()
    {
        environment.insert("GIT_CONFIG_SYSTEM".to_owned(), place.to_owned());
    }
}

/// Joins the standard streams into one stream, and replaces them by /dev/null.
fn attached(token: TokenHash) -> Result<LauncherStream<Join<Receiver, Sender>>> {
    let failed = |_: std::io::Error| Error::new(ErrorKind::Io, "`--attached` requires pipes as standard streams");
    let input = rustix::io::fcntl_dupfd_cloexec(stdin(), 3).map_err(|errno| failed(errno.into()))?;
    let output = rustix::io::fcntl_dupfd_cloexec(stdout(), 3).map_err(|errno| failed(errno.into()))?;
    let input = Receiver::from_owned_fd(input).map_err(failed)?;
    let output = Sender::from_owned_fd(output).map_err(failed)?;
    let null = rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
    let null = null.map_err(|errno| failed(errno.into()))?;
    rustix::stdio::dup2_stdin(&null).map_err(|errno| failed(errno.into()))?;
    rustix::stdio::dup2_stdout(&null).map_err(|errno| failed(errno.into()))?;
    Ok(LauncherStream { stream: tokio::io::join(input, output), options: lease::options(token) })
}
