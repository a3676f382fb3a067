//! Watching directories, by inotify.
//!
//! Invariant: a watch is set on a descriptor that was opened from the root without following a link, so no path leads
//! out of the files of the sandbox. A directory that may not be listed is not watched, and a name that may not be listed
//! is not told.

mod below;
mod events;
mod watched_tree;

use std::path::Path;

use futures_util::stream;
use rustix::{
    fs::inotify::{self, CreateFlags},
    io::Errno,
};
use tokio::{io::unix::AsyncFd, sync::watch};
use workden_core::{
    Error, ErrorKind, Resolved, Result,
    sandbox::{FileEvent, FileEvents, WatchRequest},
};

use self::{events::Batch, watched_tree::WatchedTree};
use crate::{processes::gone, sys};

/// Starts watching a directory below `root`. `stopped` tells when the sandbox ends.
pub(crate) async fn watch(
    root: &Path,
    at: &Resolved,
    request: &WatchRequest,
    stopped: watch::Receiver<bool>,
) -> Result<FileEvents> {
    let notifier = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(|errno| match errno {
        Errno::MFILE | Errno::NFILE => Error::new(ErrorKind::Busy, "cannot watch a directory: too many are watched")
            .hint("end another watch first"),
        _ => Error::new(ErrorKind::Io, format!("cannot watch a directory: {errno}")),
    })?;
    let readable = notifier.try_clone().and_then(sys::watched);
    let readable = readable.map_err(|error| Error::new(ErrorKind::Io, format!("cannot watch: {}", error.kind())))?;
    let visibility = request.visibility.compile()?;
    let (root, at, depth) = (root.to_owned(), at.real.clone(), request.depth);
    let tree = blocking(move || WatchedTree::new(notifier, &root, at, depth, visibility)).await??;
    let state = Watching { tree: Some(tree), readable, stopped, batch: Batch::default() };
    Ok(Box::pin(stream::unfold(state, next)))
}

struct Watching {
    /// Absent once the watch has ended.
    tree: Option<WatchedTree>,
    readable: AsyncFd<std::os::fd::OwnedFd>,
    stopped: watch::Receiver<bool>,
    batch: Batch,
}

async fn next(mut state: Watching) -> Option<(Result<FileEvent>, Watching)> {
    loop {
        if let Some(event) = state.batch.events.pop_front() {
            return Some((Ok(event), state));
        }
        if let Some(error) = state.batch.end.take() {
            state.tree = None;
            return Some((Err(error), state));
        }
        let mut tree = state.tree.take()?;
        // New directories are looked through, which may take long.
        let read = blocking(move || {
            let batch = tree.read();
            (tree, batch)
        });
        match read.await {
            Ok((tree, batch)) => (state.tree, state.batch) = (Some(tree), batch),
            Err(error) => return Some((Err(error), state)),
        }
        if state.batch.is_empty() {
            let ready = tokio::select! {
                biased;
                _ = state.stopped.wait_for(|&stopped| stopped) => None,
                ready = state.readable.readable() => ready.ok(),
            };
            let Some(mut ready) = ready else {
                state.tree = None;
                return Some((Err(gone()), state));
            };
            ready.clear_ready();
        }
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::new(ErrorKind::Io, "watching a directory failed"))
}
