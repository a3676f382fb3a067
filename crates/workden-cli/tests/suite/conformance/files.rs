//! The file part of the suite, plain and through a guard that lets everything pass.

use std::sync::Arc;

use workden_conformance::{PrefixBackend, all};
use workden_core::{Guarded, OpenGate, VirtualPath, sandbox::Network};

use crate::conformance::places::{Places, linux};

fn work() -> VirtualPath {
    VirtualPath::parse("/workspace").unwrap()
}

#[tokio::test]
async fn files_of_a_linux_sandbox_conform() {
    let places = Places::new();
    all(async || PrefixBackend::new(places.linux().await, work())).await;
}

#[tokio::test]
async fn files_of_a_guarded_linux_sandbox_conform() {
    let places = Places::new();
    all(async || PrefixBackend::new(Guarded::new(places.linux().await).gate(Arc::new(OpenGate)), work())).await;
}

#[tokio::test]
async fn files_of_an_ephemeral_workspace_conform() {
    all(async || PrefixBackend::new(linux().start().await.unwrap(), work())).await;
}

#[tokio::test]
async fn files_of_a_sandbox_without_namespaces_conform() {
    let places = Places::new();
    all(async || places.landlock(Network::None).await).await;
}

#[tokio::test]
async fn files_of_a_host_sandbox_conform() {
    let places = Places::new();
    all(async || places.host().await).await;
}
