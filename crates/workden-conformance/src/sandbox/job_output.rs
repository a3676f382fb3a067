//! The output of jobs by offset: resumable, bounded, and in whole characters.

use std::time::{Duration, Instant};

use workden_core::sandbox::{Ended, JobRead, JobState, Sandbox};

use super::{
    calls::{AT_ONCE, job, outcome, until},
    check::list_sandbox_checks,
};
use crate::{
    Outcome,
    verdict::{ensure, equal},
};

list_sandbox_checks! { job_output:
    reading_goes_on_where_it_stopped,
    reading_again_gives_the_same,
    a_read_is_bounded,
    a_character_is_not_split_between_reads,
    half_a_character_at_the_end_is_marked,
    a_wait_ends_with_the_first_output,
    a_wait_ends_with_the_job,
    without_a_wait_a_read_returns_at_once,
    the_output_of_what_a_job_left_behind_is_in_its_log,
    what_the_log_has_no_room_for_is_skipped_and_said,
}

/// Reads that continue at `next` return all output exactly once.
pub async fn reading_goes_on_where_it_stopped(sandbox: &dyn Sandbox) -> Outcome {
    let begun = job(sandbox, "for i in 1 2 3 4 5 6; do echo line $i; sleep 0.1; done").await?;
    let expected: String = (1..=6).map(|number| format!("line {number}\n")).collect();
    equal("all of it", outcome(sandbox, &begun.id).await?, (expected, Ended::Exited(0)))
}

/// Reads from the same offset return the same output.
pub async fn reading_again_gives_the_same(sandbox: &dyn Sandbox) -> Outcome {
    let begun = job(sandbox, "echo 0123456789").await?;
    outcome(sandbox, &begun.id).await?;
    for _ in 0..2 {
        for (offset, expected) in [(0, "0123456789\n"), (4, "456789\n"), (10, "\n"), (11, "")] {
            let read = sandbox.read_job(&begun.id, &JobRead::from(offset)).await?;
            equal(format!("from {offset}"), (read.text.as_str(), read.next, read.skipped), (expected, 11, 0))?;
        }
    }
    Ok(())
}

/// A read returns at most the requested number of bytes.
pub async fn a_read_is_bounded(sandbox: &dyn Sandbox) -> Outcome {
    let begun = job(sandbox, "seq 1 1000").await?;
    let (all, _) = outcome(sandbox, &begun.id).await?;
    let (mut text, mut offset) = (String::new(), 0);
    while offset < all.len() as u64 {
        let read = sandbox.read_job(&begun.id, &JobRead::from(offset).most(100)).await?;
        ensure(read.text.len() <= 100, format!("{} bytes, of at most 100", read.text.len()))?;
        ensure(read.next > offset, "a read does not go on")?;
        (text, offset) = (text + &read.text, read.next);
    }
    equal("all of it", text, all)
}

/// An incomplete character is held back until its remaining bytes arrive.
pub async fn a_character_is_not_split_between_reads(sandbox: &dyn Sandbox) -> Outcome {
    let line = r"printf 'a\303'; : > half; while [ ! -e second-half ]; do sleep 0.05; done; printf '\251b'";
    let begun = job(sandbox, line).await?;
    until(sandbox, "[ -e half ]", AT_ONCE).await?;
    let read = JobRead::from(0).wait(AT_ONCE);
    let read = sandbox.read_job(&begun.id, &read).await?;
    equal("the first half", (read.text.as_str(), read.next), ("a", 1))?;
    until(sandbox, ": > second-half", AT_ONCE).await?;
    equal("all of it", outcome(sandbox, &begun.id).await?.0, "aéb")?;
    let begun = job(sandbox, "printf aéééé").await?;
    outcome(sandbox, &begun.id).await?;
    let read = sandbox.read_job(&begun.id, &JobRead::from(0).most(6)).await?;
    equal("six bytes", (read.text.as_str(), read.next), ("aéé", 5))?;
    let read = sandbox.read_job(&begun.id, &JobRead::from(5).most(6)).await?;
    equal("the rest", (read.text.as_str(), read.next), ("éé", 9))
}

/// A half character at the end of the output is shown as U+FFFD.
pub async fn half_a_character_at_the_end_is_marked(sandbox: &dyn Sandbox) -> Outcome {
    let begun = job(sandbox, r"printf 'a\377b\303'").await?;
    equal("all of it", outcome(sandbox, &begun.id).await?.0, "a\u{fffd}b\u{fffd}")
}

/// A read with a wait returns at the first output, before its time is over.
pub async fn a_wait_ends_with_the_first_output(sandbox: &dyn Sandbox) -> Outcome {
    let begun = job(sandbox, "sleep 0.5; echo first; sleep 600").await?;
    let started = Instant::now();
    let read = JobRead::from(0).wait(Duration::from_secs(600));
    equal("what came", sandbox.read_job(&begun.id, &read).await?.text, "first\n")?;
    ensure(started.elapsed() < AT_ONCE, format!("it took {:?}", started.elapsed()))
}

/// A read with a wait returns when the job ends, even without output.
pub async fn a_wait_ends_with_the_job(sandbox: &dyn Sandbox) -> Outcome {
    let begun = job(sandbox, "sleep 0.5").await?;
    let started = Instant::now();
    let read = JobRead::from(0).wait(Duration::from_secs(600));
    let read = sandbox.read_job(&begun.id, &read).await?;
    equal("what came", (read.text.as_str(), read.job.state), ("", JobState::Ended(Ended::Exited(0))))?;
    ensure(started.elapsed() < AT_ONCE, format!("it took {:?}", started.elapsed()))
}

/// A read with a wait returns when its time is over.
pub async fn without_a_wait_a_read_returns_at_once(sandbox: &dyn Sandbox) -> Outcome {
    let begun = job(sandbox, "sleep 600").await?;
    let started = Instant::now();
    for wait in [Duration::ZERO, Duration::from_millis(200)] {
        let read = sandbox.read_job(&begun.id, &JobRead::from(0).wait(wait)).await?;
        equal("what came", (read.text.as_str(), read.next, read.job.state), ("", 0, JobState::Running))?;
        ensure(started.elapsed() >= wait, "a read did not wait")?;
    }
    ensure(started.elapsed() < AT_ONCE, format!("it took {:?}", started.elapsed()))
}

/// Output of background processes after the end of the job is kept.
pub async fn the_output_of_what_a_job_left_behind_is_in_its_log(sandbox: &dyn Sandbox) -> Outcome {
    let begun = job(sandbox, "(while [ ! -e late-line ]; do sleep 0.05; done; echo late) & echo early").await?;
    equal("until its end", outcome(sandbox, &begun.id).await?.0, "early\n")?;
    until(sandbox, ": > late-line", AT_ONCE).await?;
    let started = Instant::now();
    while sandbox.read_job(&begun.id, &JobRead::from(6)).await?.text != "late\n" {
        ensure(started.elapsed() < AT_ONCE, "what was printed after the end of the job is not there")?;
        super::calls::pause(50).await;
    }
    Ok(())
}

/// Unlimited output does not fill the disk.
pub async fn what_the_log_has_no_room_for_is_skipped_and_said(sandbox: &dyn Sandbox) -> Outcome {
    const ALL: u64 = 40 * 1024 * 1024;
    let begun = job(sandbox, "head -c 41943040 /dev/zero | tr '\\0' x").await?;
    let started = Instant::now();
    let ended = loop {
        let read = JobRead::from(ALL).most(1).wait(Duration::from_secs(1));
        let read = sandbox.read_job(&begun.id, &read).await?;
        if read.job.state != JobState::Running {
            break read.job;
        }
        ensure(started.elapsed() < 2 * AT_ONCE, "a flood does not end")?;
    };
    equal("what was printed", ended.printed, ALL)?;
    let (mut seen, mut offset) = (0, 0);
    while offset < ALL {
        let read = sandbox.read_job(&begun.id, &JobRead::from(offset).most(4 * 1024 * 1024)).await?;
        seen += read.text.len() as u64 + read.skipped;
        ensure(read.next > offset, format!("reading does not go on from {offset}"))?;
        offset = read.next;
    }
    equal("what was read and skipped", seen, ALL)
}
