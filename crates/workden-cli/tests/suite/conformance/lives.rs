//! How long a sandbox lives: not longer than its maximum lifetime, and not longer than its idle time without use.
//!
//! Times are short at first. A busy machine may miss them; then the test tries longer ones.

use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use workden_core::{
    ErrorKind, Result, Sandbox,
    sandbox::{Enforcement, ExecuteRequest, JobRequest, LimitName},
};
use workden_sandboxes::LinuxSandbox;

use crate::{conformance::places::linux, processes::PATIENCE};

const TIMES: [Duration; 3] = [Duration::from_secs(1), Duration::from_secs(10), Duration::from_secs(60)];

async fn is_gone(sandbox: &LinuxSandbox) -> bool {
    sandbox.execute(&ExecuteRequest::shell("true")).await.is_err_and(|error| error.kind() == ErrorKind::Gone)
}

/// Queries the limits, and starts a command that runs for ever.
async fn put_to_work(sandbox: &LinuxSandbox) -> Result<()> {
    let reported = sandbox.isolation().await?.limits;
    let of_time: Vec<_> = reported.iter().filter(|limit| limit.limit == LimitName::WallClock).collect();
    assert!(matches!(of_time[..], [limit] if limit.enforcement == Enforcement::Keeper), "{reported:?}");
    let job = sandbox.start_job(&JobRequest::shell("sleep 3600")).await?;
    assert_eq!(sandbox.jobs().await?[0].id, job.id);
    Ok(())
}

#[tokio::test]
async fn a_sandbox_ends_when_its_time_is_over_whatever_runs() {
    for time in TIMES {
        let started = Instant::now();
        let Ok(sandbox) = linux().wall_clock(time).start().await else { continue };
        if put_to_work(&sandbox).await.is_err() {
            continue;
        }
        let forever = ExecuteRequest::shell("sleep 3600").timeout(None);
        let ended = timeout(time + PATIENCE, sandbox.execute(&forever)).await.unwrap();
        assert!(ended.is_err() || ended.is_ok_and(|done| done.exit_code() != 0));
        assert!(started.elapsed() >= time, "it lived for {:?} of {time:?}", started.elapsed());
        assert!(is_gone(&sandbox).await);
        return;
    }
    panic!("it ends before it has done anything");
}

/// Uses the sandbox for several times its idle time.
async fn used(sandbox: &LinuxSandbox, idle: Duration) -> Result<()> {
    // Occasional calls.
    for _ in 0..4 {
        sandbox.jobs().await?;
        sleep(idle / 2).await;
    }
    // A running command.
    let line = format!("sleep {}; echo done", idle.as_secs() * 2);
    let done = sandbox.execute(&ExecuteRequest::shell(line).timeout(None)).await?;
    assert_eq!(done.output.text(), "done\n");
    // A background job.
    let job = sandbox.start_job(&JobRequest::shell("sleep 3600")).await?;
    sleep(idle * 2).await;
    sandbox.kill_job(&job.id).await?;
    Ok(())
}

#[tokio::test]
async fn a_sandbox_without_a_call_ends_and_one_that_is_used_does_not() {
    for idle in TIMES {
        let sandbox = linux().idle(idle).start().await.unwrap();
        if used(&sandbox, idle).await.is_err() {
            continue;
        }
        // A call counts as use, so each pause is longer than the last.
        for pause in [2, 4, 8, 16] {
            sleep(idle * pause).await;
            if is_gone(&sandbox).await {
                return;
            }
        }
        panic!("it does not end");
    }
    panic!("it ends although it is used");
}
