//! The exec part of the suite.

use workden_conformance::sandbox_checks;
use workden_core::sandbox::Network;

use crate::places::{Places, hold};

#[tokio::test]
async fn a_linux_sandbox_conforms() {
    let places = Places::new();
    hold(sandbox_checks(), async || places.linux().await).await;
}

#[tokio::test]
async fn a_linux_sandbox_without_namespaces_conforms() {
    let places = Places::new();
    hold(sandbox_checks(), async || places.landlock(Network::None).await).await;
}

#[tokio::test]
async fn a_host_sandbox_conforms() {
    let places = Places::new();
    hold(sandbox_checks(), async || places.host().await).await;
}
