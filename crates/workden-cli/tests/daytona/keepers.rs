//! Keepers that are missing, dead or hung are replaced; where none can run, the toolbox serves.

use workden_core::{ErrorKind, Sandbox, sandbox::ExecuteRequest};
use workden_daytona_stub::{Fault, FaultKind};
use workden_sandboxes::{ContainerKeepers, daytona::DaytonaMode};

use crate::places::{builder, kept, printed, stub};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_keeper_is_replaced() {
    let stub = stub().await;
    let sandbox = kept(&stub);
    assert_eq!(printed(&sandbox, "echo one").await, "one\n");
    let killed = sandbox.execute(&ExecuteRequest::shell("pkill -KILL -f 'keeper-.* serve'")).await.unwrap_err();
    assert_eq!(killed.kind(), ErrorKind::Unreachable, "{killed}");
    assert_eq!(printed(&sandbox, "echo two").await, "two\n");
    sandbox.stop().await.unwrap();
    stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_keeper_is_uploaded_once() {
    let stub = stub().await;
    let sandbox = kept(&stub);
    sandbox.start().await.unwrap();
    let uploads = || stub.requests().iter().filter(|request| request.path.ends_with("/bulk-upload")).count();
    assert_eq!(uploads(), 1);
    let _ = sandbox.execute(&ExecuteRequest::shell("pkill -KILL -f 'keeper-.* serve'")).await;
    assert_eq!(printed(&sandbox, "echo two").await, "two\n");
    assert_eq!(uploads(), 1, "the keeper is there already");
    sandbox.stop().await.unwrap();
    stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_toolbox_serves_where_no_keeper_can_run() {
    let stub = stub().await;
    let none = || builder(&stub).keepers(ContainerKeepers::at("/nowhere"));
    let sandbox = none().build().unwrap();
    assert_eq!(printed(&sandbox, "echo hi").await, "hi\n");
    let isolation = sandbox.isolation().await.unwrap();
    assert_eq!(isolation.reached_by.as_deref(), Some("Daytona's toolbox"));
    assert!(isolation.lacking[0].contains("not found: none is installed"), "{isolation:?}");
    sandbox.stop().await.unwrap();
    // A refusal of sessions is as good a reason.
    stub.add_fault(Fault::always("POST /toolbox/*/process/session", FaultKind::status(403)));
    let sandbox = builder(&stub).build().unwrap();
    assert_eq!(printed(&sandbox, "echo hi").await, "hi\n");
    assert!(sandbox.isolation().await.unwrap().lacking[0].contains("HTTP 403"));
    sandbox.stop().await.unwrap();
    // A mode that was named is kept, and nothing is left.
    let refused = builder(&stub).mode(DaytonaMode::Keeper).build().unwrap().start().await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
    crate::processes::soon("a sandbox is left", async || stub.counters().known == 0).await;
    stub.stop().await;
}
