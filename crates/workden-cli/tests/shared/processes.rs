//! Finds the processes of a test by a unique argument, and waits for events without a race, with a deadline that a busy
//! machine does not reach.

use std::{
    process::{Child, ExitStatus},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

/// How long a test waits for an event: far longer than a busy machine needs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// The time between two checks.
const PAUSE: Duration = Duration::from_millis(20);

/// Returns a number of seconds for `sleep`, about a hundred years, that no other test on this machine uses.
pub(crate) fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}{:04}", 3_000_000 + std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed) % 10_000)
}

/// Returns whether a process has this word among its arguments.
pub(crate) fn is_running(word: &str) -> bool {
    std::fs::read_dir("/proc").unwrap().flatten().any(|entry| {
        let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).split('\0').any(|argument| argument == word)
    })
}

/// Waits until the condition holds.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(PAUSE);
    }
}

/// Waits until the condition holds, without blocking the runtime.
pub(crate) async fn soon(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits until a process exits; one that does not is killed, and the test fails.
pub(crate) fn ended(child: &mut Child) -> ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if started.elapsed() >= PATIENCE {
            let _ = child.kill();
            panic!("process {} does not end", child.id());
        }
        std::thread::sleep(PAUSE);
    }
}
