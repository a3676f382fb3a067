//! The conformance suite, on an image with only busybox and on Debian, over each way to the keeper.

use workden_conformance::{python_checks, sandbox_checks};
use workden_sandboxes::kubernetes::Reach;

use crate::{
    checks::files_conform,
    places::{BUSYBOX, PYTHON, pod},
    reused_sandboxes::hold_reusing,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_a_busybox_pod_conform_over_each_way() {
    for way in Reach::ALL {
        hold_reusing(sandbox_checks(), async || pod(BUSYBOX).reach(way).build().unwrap()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_of_a_debian_pod_conform_over_each_way() {
    for way in Reach::ALL {
        let checks = sandbox_checks().chain(python_checks());
        hold_reusing(checks, async || pod(PYTHON).reach(way).build().unwrap()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_a_pod_conform_over_each_way() {
    for way in Reach::ALL {
        files_conform(pod(BUSYBOX).reach(way).build().unwrap()).await;
    }
}
