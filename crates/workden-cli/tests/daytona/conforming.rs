//! The conformance suite with a keeper, without exceptions: at a stub, or at Daytona if `DAYTONA_API_KEY` is set.

use workden_conformance::sandbox_checks;

use crate::{checks::files_conform, places::DaytonaService, reused_sandboxes::hold_reusing};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_conform_with_a_keeper() {
    let service = DaytonaService::open().await;
    hold_reusing(sandbox_checks(), async || service.kept()).await;
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_conform_with_a_keeper() {
    let service = DaytonaService::open().await;
    files_conform(service.kept()).await;
    service.stop().await;
}
