//! A keeper that a launcher started: it reads the launch request from its standard input, and then serves that
//! stream.

use std::{
    io::{Read, Write},
    os::fd::{AsFd, OwnedFd},
    os::unix::net::{UnixListener, UnixStream},
    sync::Arc,
};

use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
    net::{RecvFlags, recv},
    process::{PidfdFlags, getppid, pidfd_open},
    stdio::stdin,
};
use tokio::runtime::Runtime;
use workden_core::{Error, ErrorKind, Result};
use workden_wire::{LaunchTarget, Lifetime, Reply, ServeOptions, TokenHash, read_launch, write_reply};

use super::{
    launch_config,
    lease::{self, Entrances},
    lifetime::{self, EndConditions, LauncherStream},
    runtime,
};
use crate::{keeper::Keeper, sys};

/// Reads the launch request, and serves until the end.
pub(super) fn run() -> Result<()> {
    sys::give_memory_back();
    match prepare() {
        Ok(prepared) => serve(prepared),
        Err(error) => {
            let _ = write_reply(&mut StandardInput::default(), &Reply::Refused(error.clone()));
            Err(error)
        }
    }
}

struct PreparedKeeper {
    keeper: Arc<Keeper>,
    runtime: Runtime,
    /// The socket of a leased sandbox.
    lease: Option<Entrances>,
    ends: EndConditions,
}

fn prepare() -> Result<PreparedKeeper> {
    let launch = read_launch(&mut StandardInput::default())?;
    let owner = getppid();
    let mut ends = EndConditions::default();
    let (mut token, mut directory) = (None, None);
    match &launch.lifetime {
        Lifetime::Owned => ends.with_stream = true,
        Lifetime::Pod(_) => {
            return Err(Error::new(ErrorKind::InvalidArgument, "a launch for a pod requires the keeper of a pod"));
        }
        Lifetime::Port(_) => {
            return Err(Error::new(ErrorKind::InvalidArgument, "a launch for a port requires `serve --port`"));
        }
        Lifetime::Leased { ttl, socket, token_sha256, directory: own } => {
            directory.clone_from(own);
            ends.lease = Some(*ttl);
            token = Some(TokenHash::parse(token_sha256)?);
            // The socket is created on the host, from where it is reached. Entering a confinement closes everything
            // but the standard streams.
            let listener = lease::listen(socket)?;
            rustix::stdio::dup2_stdout(&listener).map_err(|_| broken("keep its socket"))?;
        }
    }
    let owner = owner.filter(|_| ends.with_stream);
    // With namespaces the supervisor watches the owner.
    if let (LaunchTarget::Host { .. } | LaunchTarget::Container { .. }, Some(owner)) = (&launch.target, owner) {
        ends.owner = pidfd_open(owner, PidfdFlags::NONBLOCK).ok();
    }
    let config = launch_config::prepare(launch.target, owner, directory)?;
    (ends.wall_clock, ends.idle) = (config.wall_clock, config.idle);
    let lease = match token {
        Some(token) => {
            let socket = Some(UnixListener::from(taken(rustix::stdio::stdout())?));
            Some(Entrances { token, socket, port: None, tls: None })
        }
        None => None,
    };
    let runtime = runtime::build()?;
    let keeper = {
        let _entered = runtime.enter();
        Arc::new(Keeper::new(config)?)
    };
    Ok(PreparedKeeper { keeper, runtime, lease, ends })
}

fn serve(prepared: PreparedKeeper) -> Result<()> {
    let PreparedKeeper { keeper, runtime, lease, ends } = prepared;
    write_reply(&mut StandardInput::default(), &Reply::Ready)?;
    let stream = UnixStream::from(taken(stdin())?);
    let null = rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(|_| broken("open the null device"))?;
    rustix::stdio::dup2_stdin(&null).map_err(|_| broken("close its input"))?;
    if lease.is_some() {
        rustix::stdio::dup2_stdout(&null).map_err(|_| broken("close its socket"))?;
    }
    drop(null);
    let done = runtime.block_on(async {
        let ready = stream.set_nonblocking(true).and_then(|()| tokio::net::UnixStream::from_std(stream));
        let stream = ready.map_err(|_| broken("serve its stream"))?;
        // The owner of this stream needs no token.
        let own = LauncherStream { stream, options: ServeOptions::default() };
        lifetime::serve_until_end(keeper, Some(own), lease, ends).await
    });
    runtime.shutdown_background();
    done
}

/// Duplicates a standard stream.
fn taken(stream: impl AsFd) -> Result<OwnedFd> {
    stream.as_fd().try_clone_to_owned().map_err(|_| broken("open its stream"))
}

fn broken(what: &str) -> Error {
    Error::new(ErrorKind::Io, format!("the keeper cannot {what}"))
}

/// Standard input in both directions: it is a socket. Reads stop at the end of a line.
#[derive(Default)]
struct StandardInput {
    /// The current line.
    line: Vec<u8>,
    /// How much of it was read.
    read: usize,
}

impl StandardInput {
    /// Receives up to the end of a line.
    fn take(&mut self) -> Result<(), Errno> {
        let mut seen = vec![0; 16 * 1024];
        let (_, length) = recv(stdin(), &mut seen[..], RecvFlags::PEEK)?;
        let come = seen.get(..length).unwrap_or(&seen);
        let end = come.iter().position(|byte| *byte == b'\n').map_or(come.len(), |at| at + 1);
        self.line.resize(end, 0);
        let taken = rustix::io::read(stdin(), &mut self.line[..])?;
        self.line.truncate(taken);
        self.read = 0;
        Ok(())
    }
}

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.read >= self.line.len() {
            match self.take() {
                // The keeper was started by hand, without a socket.
                Err(Errno::NOTSOCK) => return Ok(rustix::io::read(stdin(), buffer)?),
                taken => taken?,
            }
        }
        let mut rest = self.line.get(self.read..).unwrap_or_default();
        let length = rest.read(buffer)?;
        self.read += length;
        Ok(length)
    }
}

impl Write for StandardInput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(rustix::io::write(stdin(), bytes)?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
