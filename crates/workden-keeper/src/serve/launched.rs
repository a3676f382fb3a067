//! A keeper that was started by its launcher: its standard input is the stream on which it is told
//! what to be, and which it then serves.

use std::{
    io::{Read, Write},
    os::fd::{AsFd, OwnedFd},
    os::unix::net::{UnixListener, UnixStream},
    sync::Arc,
};

use rustix::{
    fs::{Mode, OFlags},
    process::{PidfdFlags, getppid, pidfd_open},
};
use tokio::runtime::Runtime;
use workden_core::{Error, ErrorKind, Result};
use workden_wire::{Ground, Lifetime, Reply, TokenHash, read_launch, write_reply};

use super::{
    ground, lease,
    life::{self, Ends},
};
use crate::{Keeper, sys};

/// Does what the launcher says, and serves until the end.
pub(super) fn run() -> Result<()> {
    sys::give_memory_back();
    match prepare() {
        Ok(prepared) => serve(prepared),
        Err(error) => {
            let _ = write_reply(&mut StandardInput, &Reply::Refused(error.clone()));
            Err(error)
        }
    }
}

struct Prepared {
    keeper: Arc<Keeper>,
    runtime: Runtime,
    /// The socket and its token, of a sandbox that is leased.
    lease: Option<(UnixListener, TokenHash)>,
    ends: Ends,
}

fn prepare() -> Result<Prepared> {
    let launch = read_launch(&mut StandardInput)?;
    let owner = getppid();
    let mut ends = Ends::default();
    let mut token = None;
    match &launch.lifetime {
        Lifetime::Owned => ends.with_stream = true,
        Lifetime::Leased { ttl, socket, token_sha256 } => {
            ends.lease = Some(*ttl);
            token = Some(TokenHash::parse(token_sha256)?);
            // To be reached from the host it is made there; the ground keeps nothing open but the
            // standard streams.
            let listener = lease::listen(socket)?;
            rustix::stdio::dup2_stdout(&listener).map_err(|_| broken("keep its socket"))?;
        }
    }
    let owner = owner.filter(|_| ends.with_stream);
    // Where namespaces are made, somebody outside of them watches the owner.
    if let (Ground::Host { .. } | Ground::Container { .. }, Some(owner)) = (&launch.ground, owner) {
        ends.owner = pidfd_open(owner, PidfdFlags::NONBLOCK).ok();
    }
    let setting = ground::prepare(launch.ground, owner)?;
    (ends.wall_clock, ends.idle) = (setting.wall_clock, setting.idle);
    let lease = match token {
        Some(token) => Some((UnixListener::from(taken(rustix::stdio::stdout())?), token)),
        None => None,
    };
    let runtime = super::runtime()?;
    let keeper = {
        let _entered = runtime.enter();
        Arc::new(Keeper::new(setting)?)
    };
    Ok(Prepared { keeper, runtime, lease, ends })
}

fn serve(prepared: Prepared) -> Result<()> {
    let Prepared { keeper, runtime, lease, ends } = prepared;
    write_reply(&mut StandardInput, &Reply::Ready)?;
    let stream = UnixStream::from(taken(rustix::stdio::stdin())?);
    let null = rustix::fs::open(c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(|_| broken("open the null device"))?;
    rustix::stdio::dup2_stdin(&null).map_err(|_| broken("let go of its input"))?;
    if lease.is_some() {
        rustix::stdio::dup2_stdout(&null).map_err(|_| broken("let go of its socket"))?;
    }
    drop(null);
    let done = runtime.block_on(life::live(keeper, Some(stream), lease, ends));
    runtime.shutdown_background();
    done
}

/// A standard stream as a descriptor of its own.
fn taken(stream: impl AsFd) -> Result<OwnedFd> {
    stream.as_fd().try_clone_to_owned().map_err(|_| broken("take its stream"))
}

fn broken(what: &str) -> Error {
    Error::new(ErrorKind::Io, format!("the keeper cannot {what}"))
}

/// Standard input without a buffer, in both directions: it is a socket.
struct StandardInput;

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        Ok(rustix::io::read(rustix::stdio::stdin(), buffer)?)
    }
}

impl Write for StandardInput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(rustix::io::write(rustix::stdio::stdin(), bytes)?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
