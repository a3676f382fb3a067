//! The end of a container.

use std::time::Duration;

use bollard::query_parameters::RemoveContainerOptions;
use tokio::time::Instant;
use workden_core::{ErrorKind, Result};

use super::{Daemon, errors};

/// How long a container that is being removed by somebody else may take.
const REMOVAL_TIME: Duration = Duration::from_secs(15);

/// Removes a container, and waits until it is gone.
///
/// Somebody else may be at it, such as the daemon itself when the last process of the container has ended: daemons
/// call that a conflict, or say that the container is in no state to be removed. A moment later it is gone.
pub(super) async fn remove(daemon: &Daemon, id: &str) -> Result<()> {
    let client = daemon.client().await?;
    let began = Instant::now();
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
                if error.kind() == ErrorKind::Unreachable || began.elapsed() > REMOVAL_TIME {
                    return Err(error);
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
