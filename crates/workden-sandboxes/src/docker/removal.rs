//! Stops and removes containers.

use std::time::Duration;

use bollard::query_parameters::{RemoveContainerOptions, StopContainerOptions};
use tokio::time::Instant;
use workden_core::{ErrorKind, Result};

use super::{Daemon, errors};

/// How long a removal by another process may take.
const REMOVAL_TIME: Duration = Duration::from_secs(15);

/// Stops a container at once. One that has ended is fine.
pub(super) async fn stop(daemon: &Daemon, id: &str) -> Result<()> {
    let now = StopContainerOptions { t: Some(0), ..StopContainerOptions::default() };
    match daemon.client().await?.stop_container(id, Some(now)).await {
        Err(error) if !errors::is_not_found(&error) => Err(daemon.failed("stop a container", &error)),
        _ => Ok(()),
    }
}

/// Removes a container, and waits until it no longer exists.
///
/// Another process may be removing it, such as the daemon itself when the last process of the container has exited.
/// Daemons report a conflict or a wrong state then, shortly before the container disappears.
pub(super) async fn remove(daemon: &Daemon, id: &str) -> Result<()> {
    let client = daemon.client().await?;
    // A busy daemon can take long for its first answer, so the time starts with its first refusal.
    let mut first_refusal = None;
    loop {
        let options = RemoveContainerOptions { force: true, v: true, ..RemoveContainerOptions::default() };
        let removed = {
            let _turn = daemon.turn().await;
            client.remove_container(id, Some(options)).await
        };
        match removed {
            Ok(()) => return Ok(()),
            Err(error) if errors::is_not_found(&error) => return Ok(()),
            Err(error) => {
                let error = daemon.failed("remove a container", &error);
                let began = *first_refusal.get_or_insert_with(Instant::now);
                if error.kind() == ErrorKind::Unreachable || began.elapsed() > REMOVAL_TIME {
                    return Err(error);
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
