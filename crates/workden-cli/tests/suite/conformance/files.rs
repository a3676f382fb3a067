//! The file part of the suite, directly and through a guard that allows everything.

use std::sync::Arc;

use workden_core::{Guarded, OpenGate, sandbox::Network};

use crate::{
    checks::files_conform,
    conformance::places::{Places, linux},
};

#[tokio::test]
async fn files_of_a_linux_sandbox_conform() {
    let places = Places::new();
    files_conform(places.linux().await).await;
}

#[tokio::test]
async fn files_of_a_guarded_linux_sandbox_conform() {
    let places = Places::new();
    files_conform(Guarded::new(places.linux().await).gate(Arc::new(OpenGate))).await;
}

#[tokio::test]
async fn files_of_an_ephemeral_workspace_conform() {
    files_conform(linux().start().await.unwrap()).await;
}

#[tokio::test]
async fn files_of_a_sandbox_without_namespaces_conform() {
    let places = Places::new();
    files_conform(places.landlock(Network::None).await).await;
}

#[tokio::test]
async fn files_of_a_host_sandbox_conform() {
    let places = Places::new();
    files_conform(places.host().await).await;
}
