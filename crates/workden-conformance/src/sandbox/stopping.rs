//! The end of a sandbox: everything in it ends, and later calls are `Gone`.

use std::time::Instant;

use futures_util::future::join;
use workden_core::{
    BackendExt, ErrorKind,
    sandbox::{Command, ExecuteRequest, JobId, JobRead, JobRequest, Sandbox, SpawnRequest},
};

use super::{
    calls::{AT_ONCE, Printed, job, pause, piped, printed, work_file},
    check::list_sandbox_checks,
};
use crate::{
    Failure, Outcome,
    verdict::{ensure, refused},
};

list_sandbox_checks! { stopping:
    a_sandbox_says_what_it_is,
    later_calls_are_gone,
    who_is_waiting_is_told,
    many_can_stop_it,
}

/// The sandbox reports its isolation, and its age increases.
pub async fn a_sandbox_says_what_it_is(sandbox: &dyn Sandbox) -> Outcome {
    sandbox.isolation().await?;
    let first = sandbox.usage().await?;
    pause(50).await;
    ensure(sandbox.usage().await?.age > first.age, "a sandbox does not grow older")
}

/// Every later call is `Gone`; stopping again succeeds.
pub async fn later_calls_are_gone(sandbox: &dyn Sandbox) -> Outcome {
    let file = work_file(sandbox, "f").await?;
    printed(sandbox, "echo x > f").await?;
    let begun = job(sandbox, "sleep 600").await?;
    let started = Instant::now();
    sandbox.stop().await?;
    ensure(started.elapsed() < AT_ONCE, format!("stopping took {:?}", started.elapsed()))?;
    let gone = ErrorKind::Gone;
    refused("execute", sandbox.execute(&ExecuteRequest::shell("true")).await, gone)?;
    refused("spawn", sandbox.spawn(&SpawnRequest::piped(Command::Shell("true".into()))).await, gone)?;
    refused("start_job", sandbox.start_job(&JobRequest::shell("true")).await, gone)?;
    refused("jobs", sandbox.jobs().await, gone)?;
    refused("read_job", sandbox.read_job(&begun.id, &JobRead::from(0)).await, gone)?;
    refused("kill_job", sandbox.kill_job(&JobId::from("bg_999")).await, gone)?;
    refused("usage", sandbox.usage().await, gone)?;
    refused("read", sandbox.read_bytes(&file).await, gone)?;
    refused("make_dir", sandbox.make_dir_path(&file).await, gone)?;
    sandbox.stop().await?;
    Ok(())
}

/// A call in flight returns: as `Gone`, or with a killed command.
pub async fn who_is_waiting_is_told(sandbox: &dyn Sandbox) -> Outcome {
    let request = ExecuteRequest::shell("sleep 600").timeout(None);
    let mut process = piped(sandbox, "echo ready; sleep 600").await?;
    Printed::default().until(&mut process.events, "ready").await?;
    let started = Instant::now();
    let (waiting, stopped) = join(sandbox.execute(&request), async {
        pause(300).await;
        sandbox.stop().await
    })
    .await;
    stopped?;
    match waiting {
        Ok(done) => ensure(done.exit_code() != 0, format!("a command that was stopped ended well: {done:?}"))?,
        gone => refused("a call that waits", gone, ErrorKind::Gone).map(drop)?,
    }
    ensure(started.elapsed() < AT_ONCE, format!("it took {:?}", started.elapsed()))?;
    match Printed::default().finish(&mut process.events).await {
        Ok(_) => Ok(()),
        Err(failure) => {
            let is_told = failure.sentence().contains("Gone") || failure.sentence().contains("without its end");
            if is_told { Ok(()) } else { Err(failure) }
        }
    }
}

/// Concurrent stops all succeed.
pub async fn many_can_stop_it(sandbox: &dyn Sandbox) -> Outcome {
    let all = futures_util::future::join_all((0..8).map(|_| sandbox.stop())).await;
    all.into_iter().try_for_each(|stopped| stopped.map_err(Failure::from))
}
