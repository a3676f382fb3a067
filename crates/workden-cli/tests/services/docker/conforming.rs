//! The conformance suite, on an image with only busybox and on Debian.

use workden_conformance::{python_checks, sandbox_checks};

use crate::{
    checks::files_conform,
    docker::places::{BUSYBOX, PYTHON, container},
    reused_sandboxes::hold_reusing,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_a_busybox_container_conform() {
    hold_reusing(sandbox_checks(), async || container(BUSYBOX).build().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_a_debian_container_conform() {
    hold_reusing(sandbox_checks().chain(python_checks()), async || container(PYTHON).build().unwrap()).await;
}

/// One image is enough: the keeper serves files, and uses no program of the image.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_a_container_conform() {
    files_conform(container(BUSYBOX).build().unwrap()).await;
}
