//! Ends of sandboxes: repeated while the service changes their state, and told to callers.

use std::time::Duration;

use workden_core::{ErrorKind, Sandbox, sandbox::ExecuteRequest};
use workden_daytona_stub::{Fault, FaultKind};

use crate::{
    places::{kept, printed, served, stub},
    processes::soon,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deletion_is_repeated_while_the_state_changes() {
    let stub = stub().await;
    let sandbox = kept(&stub);
    sandbox.start().await.unwrap();
    stub.add_fault(Fault::times("DELETE /sandbox/*", 3, FaultKind::status(409)));
    sandbox.stop().await.unwrap();
    soon("the sandbox is left", async || stub.counters().known == 0).await;
    stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sandbox_that_was_deleted_elsewhere_is_gone() {
    let stub = stub().await;
    for sandbox in [kept(&stub), served(&stub)] {
        sandbox.start().await.unwrap();
        let request = ExecuteRequest::shell("sleep 300").timeout(Duration::from_secs(60));
        let running = sandbox.execute(&request);
        let deleting = async {
            let other = crate::places::builder(&stub).attach(sandbox.id().unwrap()).build().unwrap();
            other.start().await.unwrap();
            other.stop().await.unwrap();
        };
        let (ended, ()) = tokio::join!(running, deleting);
        // The keeper tells that the command was killed, if it can.
        assert!(!ended.as_ref().is_ok_and(|done| done.exit_code() == 0), "{ended:?}");
        soon("the sandbox is not gone", async || {
            sandbox.execute(&ExecuteRequest::shell("true")).await.is_err_and(|error| error.kind() == ErrorKind::Gone)
        })
        .await;
        assert_eq!(sandbox.stop().await, Ok(()));
    }
    stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_sandbox_is_deleted() {
    let stub = stub().await;
    let sandbox = kept(&stub);
    assert_eq!(printed(&sandbox, "echo hi").await, "hi\n");
    drop(sandbox);
    soon("the sandbox is left", async || stub.counters().known == 0).await;
    stub.stop().await;
}
