//! A keeper conforms, and so does a `RemoteSandbox` with a pipe between.

use workden_conformance::{python_checks, sandbox_checks};

use super::host::{Host, hold};

#[tokio::test]
async fn commands_of_a_keeper_conform() {
    let host = Host::new();
    hold(sandbox_checks(), async || host.keeper()).await;
}

#[tokio::test]
async fn commands_at_the_other_end_of_a_pipe_conform() {
    let host = Host::new();
    hold(sandbox_checks(), async || host.remote().await).await;
}

#[tokio::test]
async fn files_at_the_other_end_of_a_pipe_conform() {
    let host = Host::new();
    workden_conformance::all(async || host.remote().await).await;
}

#[tokio::test]
async fn a_server_in_a_keeper_answers() {
    let host = Host::new();
    hold(python_checks(), async || host.keeper()).await;
}

#[tokio::test]
async fn a_server_at_the_other_end_of_a_pipe_answers() {
    let host = Host::new();
    hold(python_checks(), async || host.remote().await).await;
}
