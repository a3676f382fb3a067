//! The relay: what comes in on standard input goes to the socket of a keeper, and what that answers
//! to standard output. It understands nothing of it.

use std::{
    io,
    net::Shutdown,
    os::{fd::AsFd, unix::net::UnixStream},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use workden_core::{Error, ErrorKind, Result};

/// How long a keeper may take from its start until it listens.
const PATIENCE: Duration = Duration::from_secs(3);
/// Bytes that go at a time.
const PIECE: usize = 64 * 1024;

/// Relays until the keeper has said everything.
pub(super) fn run(socket: &Path) -> Result<()> {
    let failed = |error: io::Error| {
        Error::new(ErrorKind::Gone, format!("cannot connect to the keeper: {}", error.kind()))
            .hint("it may have ended: its lease is over, or it was stopped")
    };
    let from_keeper = connect(socket).map_err(failed)?;
    let to_keeper = from_keeper.try_clone().map_err(failed)?;
    thread::spawn(move || {
        let _ = pump(rustix::stdio::stdin(), &to_keeper);
        let _ = to_keeper.shutdown(Shutdown::Write);
    });
    let _ = pump(&from_keeper, rustix::stdio::stdout());
    Ok(())
}

/// Connects, also to a keeper that is about to listen: whoever starts a container is not told when that is.
fn connect(socket: &Path) -> io::Result<UnixStream> {
    let began = Instant::now();
    loop {
        match UnixStream::connect(socket) {
            Err(error) if is_early(&error) && began.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(2)),
            connected => return connected,
        }
    }
}

fn is_early(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

fn pump(from: impl AsFd, to: impl AsFd) -> rustix::io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        let read = rustix::io::retry_on_intr(|| rustix::io::read(&from, &mut piece))?;
        let mut left = &piece[..read];
        if left.is_empty() {
            return Ok(());
        }
        while !left.is_empty() {
            let written = rustix::io::retry_on_intr(|| rustix::io::write(&to, left))?;
            left = &left[written..];
        }
    }
}
