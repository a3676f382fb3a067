//! Sandboxes that start, that are found again, and that cannot start: nothing is left at the service.

use std::time::Duration;

use workden_core::{BackendExt, ErrorKind, Expect, Sandbox, VirtualPath};
use workden_daytona_stub::{Fault, FaultKind, Stub};
use workden_sandboxes::daytona::{DaytonaMode, WhenStopped};

use crate::{
    places::{builder, kept, printed, stub},
    processes::soon,
};

async fn nothing_is_left(stub: &Stub) {
    soon("a sandbox is left at the service", async || stub.counters().known == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_runs_through_the_keeper_and_the_report_names_the_way() {
    let stub = stub().await;
    let sandbox = builder(&stub).env("COLOUR", "blue").build().unwrap();
    assert_eq!(printed(&sandbox, "echo $COLOUR; pwd; echo error >&2").await, "blue\n/home/daytona\nerror\n");
    let isolation = sandbox.isolation().await.unwrap();
    assert_eq!(isolation.reached_by.as_deref(), Some("a keeper, through Daytona's proxy"), "{isolation:?}");
    assert!(isolation.lacking.iter().any(|lacking| lacking.contains("commands can kill it")), "{isolation:?}");
    sandbox.stop().await.unwrap();
    assert_eq!(sandbox.stop().await, Ok(()), "a second stop changes nothing");
    assert_eq!(sandbox.directory().await.unwrap_err().kind(), ErrorKind::Gone);
    nothing_is_left(&stub).await;
    stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_named_sandbox_is_kept_found_again_and_started() {
    let stub = stub().await;
    let named = || builder(&stub).name("mine").when_stopped(WhenStopped::Keep).mode(DaytonaMode::Keeper);
    let first = named().build().unwrap();
    let path = VirtualPath::parse("/home/daytona/a").unwrap();
    first.write_path(&path, "kept".into(), Expect::Anything).await.unwrap();
    // Another process finds the same keeper.
    let second = named().build().unwrap();
    stub.forget_requests();
    assert_eq!(printed(&second, "cat a").await, "kept");
    assert!(!stub.requests().iter().any(|request| request.path.contains("/process/")), "the keeper runs already");
    assert_eq!(second.id(), first.id());
    first.stop().await.unwrap();
    assert_eq!((stub.counters().known, stub.counters().running), (1, 0));
    // Attached by its id, it starts again.
    let id = first.id().unwrap();
    let third = builder(&stub).attach(&id).mode(DaytonaMode::Keeper).build().unwrap();
    assert_eq!(printed(&third, "cat a").await, "kept");
    third.stop().await.unwrap();
    nothing_is_left(&stub).await;
    let missing = builder(&stub).attach("mine").build().unwrap().start().await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");
    assert_eq!(stub.counters().created, 1);
    stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sandbox_that_stops_by_itself_is_started_again() {
    let stub = stub().await;
    let sandbox = kept(&stub);
    sandbox.start().await.unwrap();
    let other = builder(&stub).attach(sandbox.id().unwrap()).when_stopped(WhenStopped::Keep).build().unwrap();
    other.start().await.unwrap();
    other.stop().await.unwrap();
    assert_eq!(stub.counters().running, 0);
    let path = VirtualPath::parse("/home/daytona").unwrap();
    assert!(sandbox.entry(&path).await.unwrap().is_dir());
    assert_eq!(stub.counters().running, 1);
    sandbox.stop().await.unwrap();
    stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sandbox_that_fails_or_is_late_leaves_nothing_behind() {
    let stub = stub().await;
    let reason = FaultKind::EndsInError { reason: "no runner has room".to_owned() };
    stub.add_fault(Fault::once("POST /sandbox", reason));
    let failed = kept(&stub).start().await.unwrap_err();
    assert!(failed.sentence().contains("no runner has room"), "{failed}");
    nothing_is_left(&stub).await;
    stub.add_fault(Fault::once("POST /sandbox", FaultKind::slow_start(Duration::from_secs(3))));
    let slow = builder(&stub).start_timeout(Duration::from_millis(300)).build().unwrap();
    assert_eq!(slow.start().await.unwrap_err().kind(), ErrorKind::TimedOut);
    nothing_is_left(&stub).await;
    assert_eq!(stub.counters().created, 2);
    stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_creation_whose_answer_is_lost_is_found_by_its_label() {
    let stub = stub().await;
    stub.add_fault(Fault::once("POST /sandbox", FaultKind::LostAnswer));
    let sandbox = kept(&stub);
    assert_eq!(printed(&sandbox, "echo hi").await, "hi\n");
    assert_eq!((stub.counters().created, stub.counters().known), (1, 1));
    sandbox.stop().await.unwrap();
    nothing_is_left(&stub).await;
    // A creation that was never done is done.
    stub.add_fault(Fault::once("POST /sandbox", FaultKind::CloseBeforeAnswer));
    let sandbox = kept(&stub);
    sandbox.start().await.unwrap();
    assert_eq!((stub.counters().created, stub.counters().known), (2, 1));
    drop(sandbox);
    nothing_is_left(&stub).await;
    stub.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sandbox_that_is_stopped_while_it_starts_leaves_nothing_behind() {
    let stub = stub().await;
    stub.add_fault(Fault::once("POST /sandbox", FaultKind::slow_start(Duration::from_secs(2))));
    let sandbox = std::sync::Arc::new(kept(&stub));
    let starting = tokio::spawn({
        let sandbox = std::sync::Arc::clone(&sandbox);
        async move { sandbox.start().await }
    });
    soon("the sandbox is not created", async || stub.counters().created == 1).await;
    sandbox.stop().await.unwrap();
    assert_eq!(starting.await.unwrap().unwrap_err().kind(), ErrorKind::Gone);
    nothing_is_left(&stub).await;
    stub.stop().await;
}
