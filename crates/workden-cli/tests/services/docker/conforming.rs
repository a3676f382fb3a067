//! The whole suite, on an image with nothing but busybox and on a Debian.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use workden_conformance::{PrefixBackend, all, python_checks, sandbox_checks};
use workden_core::{Sandbox, VirtualPath, sandbox::ExecuteRequest};
use workden_sandboxes::docker::DockerSandbox;

use crate::{
    docker::places::{BUSYBOX, PYTHON, container},
    lanes::hold,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_a_busybox_container_conform() {
    hold(sandbox_checks(), async || container(BUSYBOX).build().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_a_debian_container_conform() {
    hold(sandbox_checks().chain(python_checks()), async || container(PYTHON).build().unwrap()).await;
}

/// One container for all checks, each in a directory of its own: it is the files that are looked at here.
pub(crate) async fn files_conform(sandbox: DockerSandbox) {
    let (sandbox, next) = (Arc::new(sandbox), AtomicU32::new(0));
    all(async || {
        let place = format!("/workspace/{}", next.fetch_add(1, Ordering::Relaxed));
        sandbox.execute(&ExecuteRequest::shell(format!("mkdir {place}"))).await.unwrap();
        PrefixBackend::new(Arc::clone(&sandbox), VirtualPath::parse(&place).unwrap())
    })
    .await;
    sandbox.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_a_busybox_container_conform() {
    files_conform(container(BUSYBOX).build().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_a_debian_container_conform() {
    files_conform(container(PYTHON).build().unwrap()).await;
}
