//! No orphans: when a call stops waiting for a command, all processes of that command end, however they detach.
//!
//! The processes of a check sleep for a unique number of seconds, so that another command can find them in `/proc`.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant, SystemTime},
};

use futures_util::{
    StreamExt,
    future::{Either, join_all, select},
};
use workden_core::{
    limits,
    sandbox::{Ended, ExecuteRequest, Killed, Sandbox},
};

use super::{
    calls::{AT_ONCE, in_terminal, job, pause, piped, printed, prints, until},
    check::list_sandbox_checks,
};
use crate::{
    Failure, Outcome,
    verdict::{ensure, equal},
};

list_sandbox_checks! { orphans:
    a_timeout_leaves_no_process,
    a_dropped_call_leaves_no_process,
    a_dropped_process_leaves_no_process,
    a_dropped_terminal_leaves_no_process,
    a_killed_job_leaves_no_process,
    there_is_time_to_say_goodbye,
    what_a_command_leaves_in_the_background_lives_on,
    others_are_left_alone,
}

/// Ways in which a command may keep a process running; `N` is the number of seconds it sleeps.
const WAYS: &[(&str, &str)] = &[
    ("itself", "exec sleep N"),
    ("a child", "sleep N; :"),
    ("a child in the background", "sleep N & wait"),
    ("a session of its own", "setsid sleep N & wait"),
    ("a daemon", "setsid sh -c 'sleep N >/dev/null 2>&1 </dev/null & exit' & wait; sleep N"),
    ("a double fork", "( ( sleep N & ) & ) ; sleep N"),
    ("one that ignores TERM", "trap '' TERM HUP QUIT; sleep N; sleep N"),
    ("a daemon that ignores TERM", "trap '' TERM; (setsid sleep N &) ; sleep N"),
    ("a stopped child", "sleep N & kill -STOP $!; sleep N"),
    ("itself, stopped", "sleep N & kill -STOP $$"),
    ("a grandchild that holds the pipe", "(sh -c 'sleep N; :' &) ; sleep N"),
    ("one after the other", "while :; do sleep N & sleep 0.05; done"),
];

/// The time in which processes of a dropped call must end.
const GRACE: Duration = limits::TERM_TIME.saturating_add(Duration::from_secs(20));

/// Returns a number of seconds that no other process sleeps for.
fn seconds() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let own = now.subsec_micros().wrapping_add(std::process::id().wrapping_mul(7_919)) % 1_000_000;
    // Six digits for this process, and two for a counter.
    200_000_000 + own * 100 + NEXT.fetch_add(1, Ordering::Relaxed) % 100
}

/// Returns a line that prints how many processes sleep for this many seconds.
fn count(seconds: u32) -> String {
    // The brackets keep the search from finding itself.
    let (start, last) = (seconds / 10, seconds % 10);
    format!("grep -l '{start}[{last}]' /proc/[0-9]*/cmdline 2>/dev/null | wc -l | tr -d ' '")
}

async fn survivors(sandbox: &dyn Sandbox, seconds: u32) -> Result<u32, Failure> {
    let counted = printed(sandbox, &count(seconds)).await?;
    counted.trim().parse().map_err(|_| Failure::new(format!("survivors cannot be counted: {counted:?}")))
}

async fn is_up(sandbox: &dyn Sandbox, way: &str, seconds: u32) -> Outcome {
    let started = Instant::now();
    while survivors(sandbox, seconds).await? == 0 {
        ensure(started.elapsed() < AT_ONCE, format!("{way} did not start"))?;
        pause(50).await;
    }
    // Leave time for further forks.
    pause(150).await;
    Ok(())
}

/// Holds when the processes of a call were seen before the call ended by itself.
fn is_seen_first<Ended, Calling, Looking>(first: Either<(Ended, Looking), (Outcome, Calling)>, way: &str) -> Outcome {
    match first {
        Either::Left(_) => Err(Failure::new(format!("{way} ended by itself"))),
        Either::Right((seen, _)) => seen,
    }
}

/// Holds when all of the processes end within `GRACE`.
async fn no_process_is_left(sandbox: &dyn Sandbox, way: &str, seconds: u32) -> Outcome {
    let started = Instant::now();
    loop {
        let left = survivors(sandbox, seconds).await?;
        if left == 0 {
            return Ok(());
        }
        ensure(started.elapsed() < GRACE, format!("{way}: {left} still there after {:?}", started.elapsed()))?;
        pause(100).await;
    }
}

/// Returns a line with a unique number of seconds for each way.
fn ways() -> impl Iterator<Item = (&'static str, String, u32)> {
    WAYS.iter().map(|(way, line)| {
        let seconds = seconds();
        (*way, line.replace('N', &seconds.to_string()), seconds)
    })
}

fn all_hold(outcomes: Vec<Outcome>) -> Outcome {
    outcomes.into_iter().collect()
}

/// No process is left when the call returns.
pub async fn a_timeout_leaves_no_process(sandbox: &dyn Sandbox) -> Outcome {
    let each = ways().map(|(way, line, seconds)| async move {
        // On a busy machine the timeout can pass before the processes are seen. A longer one follows then.
        for timeout in [2, 8, 32].map(Duration::from_secs) {
            let request = ExecuteRequest::shell(line.clone()).timeout(timeout);
            let looking = Box::pin(is_up(sandbox, way, seconds));
            let (done, seen) = match select(sandbox.execute(&request), looking).await {
                Either::Left((done, _)) => (done, false),
                Either::Right((up, calling)) => (calling.await, up.is_ok()),
            };
            equal(format!("how {way} ended"), done?.ended, Ended::TimedOut)?;
            equal(format!("how many are left of {way}"), survivors(sandbox, seconds).await?, 0)?;
            if seen {
                return Ok(());
            }
        }
        Err(Failure::new(format!("{way} did not start")))
    });
    all_hold(join_all(each).await)
}

/// A dropped call stops its command.
pub async fn a_dropped_call_leaves_no_process(sandbox: &dyn Sandbox) -> Outcome {
    let each = ways().map(|(way, line, seconds)| async move {
        let request = ExecuteRequest::shell(line).timeout(None);
        // The call is dropped as soon as its command is running.
        is_seen_first(select(sandbox.execute(&request), Box::pin(is_up(sandbox, way, seconds))).await, way)?;
        no_process_is_left(sandbox, way, seconds).await
    });
    all_hold(join_all(each).await)
}

/// The command is stopped as soon as its events are dropped.
pub async fn a_dropped_process_leaves_no_process(sandbox: &dyn Sandbox) -> Outcome {
    let each = ways().map(|(way, line, seconds)| async move {
        let process = piped(sandbox, &line).await?;
        is_up(sandbox, way, seconds).await?;
        drop(process.events);
        no_process_is_left(sandbox, way, seconds).await
    });
    all_hold(join_all(each).await)
}

/// Every process in the terminal is stopped, including those that left it.
pub async fn a_dropped_terminal_leaves_no_process(sandbox: &dyn Sandbox) -> Outcome {
    let each = ways().map(|(way, line, seconds)| async move {
        let mut process = in_terminal(sandbox, &line).await?;
        // Reading must not slow the processes down.
        let reading = async { while process.events.next().await.is_some() {} };
        is_seen_first(select(Box::pin(reading), Box::pin(is_up(sandbox, way, seconds))).await, way)?;
        drop(process.events);
        no_process_is_left(sandbox, way, seconds).await
    });
    all_hold(join_all(each).await)
}

/// No process is left when the kill returns.
pub async fn a_killed_job_leaves_no_process(sandbox: &dyn Sandbox) -> Outcome {
    let each = ways().map(|(way, line, seconds)| async move {
        let begun = job(sandbox, &line).await?;
        is_up(sandbox, way, seconds).await?;
        equal(format!("the kill of {way}"), sandbox.kill_job(&begun.id).await?, Killed::Stopped)?;
        equal(format!("how many are left of {way}"), survivors(sandbox, seconds).await?, 0)
    });
    all_hold(join_all(each).await)
}

/// `TERM` comes first, and later output is still read, so that no process dies of a closed pipe.
pub async fn there_is_time_to_say_goodbye(sandbox: &dyn Sandbox) -> Outcome {
    let line = "trap 'echo leaving; sleep 0.3; echo bye > NAME; exit' TERM; echo ready; : > NAME.up; \
                while :; do sleep 0.05; done";
    let named = |name: &str| line.replace("NAME", name);
    let request = ExecuteRequest::shell(named("by_timeout")).timeout(Duration::from_secs(3));
    equal("how it ended", sandbox.execute(&request).await?.ended, Ended::TimedOut)?;
    prints(sandbox, "cat by_timeout", "bye\n").await?;
    let begun = job(sandbox, &named("by_kill")).await?;
    until(sandbox, "[ -e by_kill.up ]", AT_ONCE).await?;
    sandbox.kill_job(&begun.id).await?;
    prints(sandbox, "cat by_kill", "bye\n").await?;
    let request = ExecuteRequest::shell(named("by_drop")).timeout(None);
    select(sandbox.execute(&request), Box::pin(until(sandbox, "[ -e by_drop.up ]", AT_ONCE))).await;
    until(sandbox, "[ -s by_drop ]", GRACE).await?;
    let process = piped(sandbox, &named("by_end_of_interest")).await?;
    until(sandbox, "[ -e by_end_of_interest.up ]", AT_ONCE).await?;
    drop(process);
    until(sandbox, "[ -s by_end_of_interest ]", GRACE).await
}

/// Background processes run until the sandbox ends or their job is killed.
pub async fn what_a_command_leaves_in_the_background_lives_on(sandbox: &dyn Sandbox) -> Outcome {
    let (first, second) = (seconds(), seconds());
    prints(sandbox, &format!("sleep {first} & (setsid sleep {second} >/dev/null 2>&1 &) ; echo hi"), "hi\n").await?;
    pause(300).await;
    equal("the first", survivors(sandbox, first).await?, 1)?;
    equal("the second", survivors(sandbox, second).await?, 1)
}

/// Stopping a command stops only its own processes.
pub async fn others_are_left_alone(sandbox: &dyn Sandbox) -> Outcome {
    let (of_job, of_command) = (seconds(), seconds());
    job(sandbox, &format!("sleep {of_job}; :")).await?;
    prints(sandbox, &format!("sleep {of_command} & :"), "").await?;
    let request = ExecuteRequest::shell("sleep 120 & sleep 120").timeout(Duration::from_millis(300));
    equal("another command", sandbox.execute(&request).await?.ended, Ended::TimedOut)?;
    let other = job(sandbox, "sleep 120").await?;
    sandbox.kill_job(&other.id).await?;
    drop(piped(sandbox, "sleep 120").await?);
    pause(300).await;
    ensure(survivors(sandbox, of_job).await? >= 1, "a job was stopped together with another one")?;
    equal("what a command left", survivors(sandbox, of_command).await?, 1)
}
