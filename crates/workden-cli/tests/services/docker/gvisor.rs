//! Containers in gVisor: the runtime `runsc` of the daemon. `cargo xtask docker` gives it to the daemon that it starts.

use workden_core::{ErrorKind, Sandbox, sandbox::ExecuteRequest};
use workden_sandboxes::docker::DockerSandboxBuilder;

use crate::{
    checks::files_conform,
    docker::places::{BUSYBOX, container},
    gvisor_checks::conform_but_for_the_list,
};

fn in_gvisor() -> DockerSandboxBuilder {
    container(BUSYBOX).oci_runtime("runsc")
}

/// One after the other: system calls in gVisor are slow, and two sandboxes keep two processors busy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_and_files_of_a_container_in_gvisor_conform_but_for_a_list() {
    let sandbox = in_gvisor().build().unwrap();
    let kernel = sandbox.execute(&ExecuteRequest::shell("dmesg | grep -c gVisor")).await.unwrap();
    assert_ne!(kernel.output.text(), "0\n", "the container does not run in gVisor");
    files_conform(sandbox).await;
    conform_but_for_the_list(async || in_gvisor().build().unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_that_the_daemon_does_not_have_is_named() {
    let error = container(BUSYBOX).oci_runtime("missing").build().unwrap().start().await.unwrap_err();
    assert!(error.sentence().contains("missing"), "{error}");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
}
