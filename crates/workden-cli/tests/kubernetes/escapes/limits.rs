//! Commands that use more than they may: disks, processes.

use std::time::Duration;

use tokio::time::{sleep, timeout};
use workden_core::{Error, ErrorKind, Sandbox, sandbox::ExecuteRequest};
use workden_sandboxes::kubernetes::{KubernetesSandboxBuilder, WorkspaceVolume};

use super::said;
use crate::places::{BUSYBOX, pod};

/// Runs a command, and then others until the pod has ended.
async fn evicted(builder: KubernetesSandboxBuilder, command: &str) -> Error {
    let sandbox = builder.build().unwrap();
    sandbox.execute(&ExecuteRequest::shell(command)).await.unwrap();
    let ends = async {
        loop {
            match sandbox.execute(&ExecuteRequest::shell("true")).await {
                Ok(_) => sleep(Duration::from_millis(500)).await,
                // A call that was running does not know yet why its connection broke.
                Err(error) if error.kind() == ErrorKind::Unreachable => {}
                Err(error) => return error,
            }
        }
    };
    let error = timeout(Duration::from_secs(120), ends).await.unwrap();
    sandbox.stop().await.unwrap();
    error
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_volume_ends_the_pod_and_the_error_says_so() {
    let small = pod(BUSYBOX).workspace(WorkspaceVolume::EmptyDir(8 << 20));
    let workspace = evicted(small, "dd if=/dev/zero of=big bs=1M count=32 2>/dev/null");
    let tmp = evicted(pod(BUSYBOX), "dd if=/dev/zero of=/tmp/big bs=1M count=300 2>/dev/null");
    let keeper = evicted(pod(BUSYBOX), "dd if=/dev/zero of=/.workden/run/big bs=1M count=300 2>/dev/null");
    let (workspace, tmp, keeper) = tokio::join!(workspace, tmp, keeper);
    for (error, volume) in [(workspace, "workspace"), (tmp, "tmp"), (keeper, "workden-run")] {
        assert_eq!(error.kind(), ErrorKind::Gone, "{error}");
        assert!(error.sentence().contains("Evicted") && error.sentence().contains(volume), "{error}");
    }
}

/// Starts many processes. It stops by itself where the cluster sets no limit on processes.
const BOMB: &str = "for i in $(seq 1500); do sleep 600 & done; wait";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_keeper_answers_beside_a_fork_bomb_and_ends_it() {
    let sandbox = pod(BUSYBOX).build().unwrap();
    sandbox.start().await.unwrap();
    let request = ExecuteRequest::shell(BOMB).timeout(Duration::from_secs(15));
    let (bombed, usage) = tokio::join!(sandbox.execute(&request), async {
        sleep(Duration::from_secs(8)).await;
        sandbox.usage().await
    });
    assert!(bombed.is_ok() && usage.is_ok(), "{bombed:?}, {usage:?}");
    assert_eq!(said(&sandbox, "pgrep -c sleep || pgrep sleep | wc -l").await.lines().last(), Some("0"));
    sandbox.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_bomb_that_uses_up_the_memory_is_ended_or_ends_the_pod_with_a_clear_error() {
    let sandbox = pod(BUSYBOX).memory("96M").build().unwrap();
    sandbox.start().await.unwrap();
    let request = ExecuteRequest::shell(BOMB).timeout(Duration::from_secs(10));
    let _ = timeout(Duration::from_secs(40), sandbox.execute(&request)).await.unwrap();
    // Small processes are killed after the keeper, which is the largest one.
    match timeout(Duration::from_secs(20), sandbox.execute(&ExecuteRequest::shell("pgrep sleep"))).await.unwrap() {
        Ok(done) => assert_eq!(done.output.text(), ""),
        Err(error) => assert!(error.sentence().contains("OOMKilled"), "{error}"),
    }
    sandbox.stop().await.unwrap();
}
