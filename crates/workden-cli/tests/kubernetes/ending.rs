//! Pods that end while they are used: the error names the cluster's reason.

use workden_core::{ErrorKind, Sandbox, sandbox::ExecuteRequest};

use crate::places::{BUSYBOX, kubectl, pod};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_that_another_program_deletes_is_gone_and_says_so() {
    let sandbox = pod(BUSYBOX).build().unwrap();
    sandbox.start().await.unwrap();
    let name = sandbox.pod_name().unwrap();
    kubectl(&["delete", "pod", &name, "--wait=true"]);
    let error = sandbox.execute(&ExecuteRequest::shell("true")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Gone, "{error}");
    assert!(error.sentence().contains(&name), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_takes_too_much_memory_is_killed_and_the_keeper_is_not() {
    let sandbox = pod(BUSYBOX).memory("64M").build().unwrap();
    let greedy = "tail /dev/zero; echo after $?";
    let done = sandbox.execute(&ExecuteRequest::shell(greedy)).await.unwrap();
    assert!(done.output.text().contains("after 137"), "{}", done.output.text());
    sandbox.stop().await.unwrap();
}
