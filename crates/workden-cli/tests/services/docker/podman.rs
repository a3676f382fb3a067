//! The conformance suite over Podman's socket.

use workden_conformance::sandbox_checks;
use workden_core::{Sandbox, sandbox::ExecuteRequest};
use workden_sandboxes::docker::{Daemon, DockerSandbox, DockerSandboxBuilder};

use crate::{
    checks::files_conform,
    docker::places::{BUSYBOX, keepers, unique},
    reused_sandboxes::hold_reusing,
};

fn podman() -> Daemon {
    let address = std::env::var("WORKDEN_TEST_PODMAN");
    let hint = "run `cargo xtask docker -- cargo test -p workden-cli --test services`";
    Daemon::at(&address.unwrap_or_else(|_| panic!("WORKDEN_TEST_PODMAN names no Podman: {hint}"))).unwrap()
}

fn container() -> DockerSandboxBuilder {
    DockerSandbox::builder().daemon(podman()).image(BUSYBOX).keepers(keepers())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_and_files_of_a_container_of_podmans_conform() {
    hold_reusing(sandbox_checks(), async || container().build().unwrap()).await;
    files_conform(container().build().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_of_podmans_is_found_again_by_its_name() {
    let name = unique("podman");
    let first = container().container_name(&name).build().unwrap();
    first.execute(&ExecuteRequest::shell("echo kept > /kept")).await.unwrap();
    first.stop().await.unwrap();
    let again = container().container_name(&name).build().unwrap();
    let read = again.execute(&ExecuteRequest::shell("cat /kept")).await.unwrap();
    assert_eq!(read.output.text(), "kept\n");
    again.stop().await.unwrap();
}
