//! The commands that this process is starting, and the wait for them.
//!
//! A forked child holds every descriptor of this process until it closes them, and the kernel does not execute a file
//! that any process has open for writing ("Text file busy"). So a call that writes a file returns only when no child
//! can still hold the descriptor that it wrote with.

use std::time::Duration;

use tokio::{
    sync::{RwLock, RwLockReadGuard},
    time::timeout,
};

/// Held for reading by every start. There is one for all keepers of a process, since a fork copies the descriptors of
/// all of them.
static STARTS: RwLock<()> = RwLock::const_new(());

/// The longest wait for commands that are being started. A command that stops its reaper delays file calls, and does
/// not block them.
const MOST_WAIT: Duration = Duration::from_secs(1);

/// A command that is being started; it has started when this is dropped.
pub(super) type Starting = RwLockReadGuard<'static, ()>;

/// Registers a command, before its process is forked.
pub(super) async fn begin() -> Starting {
    STARTS.read().await
}

/// Waits for the commands that are being started now.
pub(crate) async fn finish() {
    let _ = timeout(MOST_WAIT, STARTS.write()).await;
}
