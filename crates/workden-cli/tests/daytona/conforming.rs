//! The conformance suite with a keeper, without exceptions.

use workden_conformance::sandbox_checks;

use crate::{
    checks::files_conform,
    places::{kept, stub},
    reused_sandboxes::hold_reusing,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_conform_with_a_keeper() {
    let stub = stub().await;
    hold_reusing(sandbox_checks(), async || kept(&stub)).await;
    stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_conform_with_a_keeper() {
    let stub = stub().await;
    files_conform(kept(&stub)).await;
    stub.stop().await;
}
