//! How long a sandbox lives: not longer than its wall clock allows, nor than it may be idle.

use std::time::{Duration, Instant};

use workden_core::{
    ErrorKind, Sandbox,
    sandbox::{Enforcement, ExecuteRequest, JobRequest, LimitName},
};

use crate::places::linux;

/// When calls began to be told that the sandbox is gone; it is not asked otherwise.
async fn is_gone(sandbox: &impl Sandbox) -> ErrorKind {
    sandbox.execute(&ExecuteRequest::shell("true")).await.map_or_else(|error| error.kind(), |done| panic!("{done:?}"))
}

#[tokio::test]
async fn a_sandbox_ends_when_its_time_is_over_whatever_runs() {
    let began = Instant::now();
    let sandbox = linux().wall_clock(Duration::from_secs(2)).start().await.unwrap();
    let reported = sandbox.isolation().await.unwrap().limits;
    let of_time: Vec<_> = reported.iter().filter(|limit| limit.limit == LimitName::WallClock).collect();
    assert!(matches!(of_time[..], [limit] if limit.enforcement == Enforcement::Keeper), "{reported:?}");
    let job = sandbox.start_job(&JobRequest::shell("sleep 300")).await.unwrap();
    assert_eq!(sandbox.jobs().await.unwrap()[0].id, job.id);
    let waiting = sandbox.execute(&ExecuteRequest::shell("sleep 300")).await;
    assert!(waiting.is_err() || waiting.is_ok_and(|done| done.exit_code() != 0));
    let lived = began.elapsed();
    assert!((Duration::from_secs(2)..Duration::from_secs(8)).contains(&lived), "it lived for {lived:?}");
    assert_eq!(is_gone(&sandbox).await, ErrorKind::Gone);
}

#[tokio::test]
async fn a_sandbox_that_nobody_asks_anything_of_ends_and_one_that_is_used_does_not() {
    let sandbox = linux().idle(Duration::from_secs(1)).start().await.unwrap();
    // Asked now and then.
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        sandbox.jobs().await.unwrap();
    }
    // At work.
    let done = sandbox.execute(&ExecuteRequest::shell("sleep 2; echo done")).await.unwrap();
    assert_eq!(done.output.text(), "done\n");
    sandbox.start_job(&JobRequest::shell("sleep 2")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1800)).await;
    sandbox.jobs().await.unwrap();
    // Idle.
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(is_gone(&sandbox).await, ErrorKind::Gone);
}
