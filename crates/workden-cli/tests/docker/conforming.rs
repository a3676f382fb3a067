//! The whole suite, on an image with nothing but busybox and on a Debian.

use workden_conformance::{all, below, python_checks, sandbox_checks};
use workden_core::VirtualPath;

use crate::places::{BUSYBOX, PYTHON, container, hold};

fn work() -> VirtualPath {
    VirtualPath::parse("/workspace").unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_a_busybox_container_conform() {
    hold(sandbox_checks(), async || container(BUSYBOX).build()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_a_debian_container_conform() {
    hold(sandbox_checks().chain(python_checks()), async || container(PYTHON).build()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_a_busybox_container_conform() {
    all(async || below(container(BUSYBOX).build(), work())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_a_debian_container_conform() {
    all(async || below(container(PYTHON).build(), work())).await;
}
