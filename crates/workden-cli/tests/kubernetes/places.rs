//! Pods of the prepared cluster.

use std::{path::PathBuf, process::Command};

use workden_sandboxes::{
    ContainerKeepers,
    kubernetes::{Cluster, KubernetesSandbox, KubernetesSandboxBuilder},
};

/// An image with only busybox.
pub(crate) const BUSYBOX: &str = "workden-test/busybox:1";
/// Debian with Python.
pub(crate) const PYTHON: &str = "workden-test/python:1";

/// Returns the file that names the prepared cluster.
pub(crate) fn kubeconfig() -> PathBuf {
    let prepared = std::env::var_os("WORKDEN_TEST_KUBECONFIG");
    let run = "run `cargo xtask kubernetes -- cargo test -p workden-cli --test kubernetes`";
    PathBuf::from(prepared.unwrap_or_else(|| panic!("no cluster is prepared: {run}")))
}

/// Returns the prepared cluster.
pub(crate) fn cluster() -> Cluster {
    Cluster::kubeconfig(kubeconfig())
}

/// Returns the builder of a pod with this image.
pub(crate) fn pod(image: &str) -> KubernetesSandboxBuilder {
    let keeper = PathBuf::from(std::env::var_os("WORKDEN_KEEPER").unwrap());
    KubernetesSandbox::builder().cluster(cluster()).image(image).keepers(ContainerKeepers::at(keeper))
}

pub(crate) fn kubectl_program() -> String {
    std::env::var("WORKDEN_TEST_KUBECTL").unwrap_or_else(|_| "kubectl".to_owned())
}

/// Returns what `kubectl` prints, with the same cluster.
pub(crate) fn kubectl(words: &[&str]) -> String {
    let output = Command::new(kubectl_program()).arg("--kubeconfig").arg(kubeconfig()).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(output.status.success(), "kubectl {words:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
    said
}
