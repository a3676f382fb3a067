//! Bounds of output: head and tail past the ceiling, exact counts, and all output in a log.

use std::time::{Duration, Instant};

use workden_core::{
    BackendExt, limits,
    sandbox::{Ended, ExecuteRequest, Executed, FullLog, JobRead, LeftOut, Sandbox},
};

use super::{
    calls::{AT_ONCE, came_to},
    check::list_sandbox_checks,
};
use crate::{
    Failure, Outcome,
    verdict::{ensure, equal},
};

list_sandbox_checks! { output_bounds:
    output_up_to_the_ceiling_is_whole,
    of_more_the_head_and_the_tail_are_kept_and_the_rest_is_counted,
    the_full_log_has_all_of_it,
    characters_are_not_cut,
    a_ceiling_of_nothing_shows_nothing,
    a_flood_is_counted_to_the_byte,
    a_flood_that_is_stopped_keeps_its_head_and_tail,
}

async fn run_within(sandbox: &dyn Sandbox, line: &str, most_chars: usize) -> Result<Executed, Failure> {
    let request = ExecuteRequest::shell(line).most_chars(most_chars);
    Ok(sandbox.execute(&request).await?)
}

fn left_out(done: &Executed) -> Result<&LeftOut, Failure> {
    done.output.left_out.as_ref().ok_or_else(|| Failure::new("nothing is said to be left out"))
}

fn full_log(done: &Executed) -> Result<&FullLog, Failure> {
    left_out(done)?.log.as_ref().ok_or_else(|| Failure::new("there is no full log"))
}

/// Holds when head and tail are those of `all`, within the ceiling, and the omitted part is counted.
fn is_clipped(done: &Executed, all: &str, most_chars: usize) -> Outcome {
    let (head, tail) = (&done.output.head, &done.output.tail);
    ensure(all.starts_with(head.as_str()), format!("the head is not the beginning: {head:?}"))?;
    ensure(all.ends_with(tail.as_str()), format!("the tail is not the end: {tail:?}"))?;
    let shown = head.chars().count() + tail.chars().count();
    ensure(shown <= most_chars, format!("{shown} characters are shown, of at most {most_chars}"))?;
    ensure(shown + 8 >= most_chars, format!("only {shown} characters are shown, of {most_chars}"))?;
    if most_chars > 0 {
        ensure(head.len() > most_chars / 10, "there is hardly any head")?;
        ensure(tail.len() > most_chars / 10, "there is hardly any tail")?;
    }
    let missing = &all[head.len()..all.len() - tail.len()];
    let left_out = left_out(done)?;
    let lines = missing.bytes().filter(|byte| *byte == b'\n').count();
    equal("the bytes and lines left out", (left_out.bytes, left_out.lines), (missing.len() as u64, lines as u64))
}

fn numbers(last: usize) -> String {
    (1..=last).map(|number| format!("{number}\n")).collect()
}

/// Output of exactly the ceiling is shown whole.
pub async fn output_up_to_the_ceiling_is_whole(sandbox: &dyn Sandbox) -> Outcome {
    came_to("printf", &run_within(sandbox, "printf 0123456789", 10).await?, "0123456789", Ended::Exited(0))?;
    came_to("printf", &run_within(sandbox, "printf 01234é6789", 10).await?, "01234é6789", Ended::Exited(0))?;
    let done = run_within(sandbox, "seq 1 15000", limits::OUTPUT_CHARS).await?;
    came_to("seq", &done, &numbers(15_000), Ended::Exited(0))?;
    is_clipped(&run_within(sandbox, "printf 0123456789abcdefghijX", 20).await?, "0123456789abcdefghijX", 20)
}

/// The exit code is reported as always.
pub async fn of_more_the_head_and_the_tail_are_kept_and_the_rest_is_counted(sandbox: &dyn Sandbox) -> Outcome {
    for (last, most_chars) in [(400, 1_000), (20_000, 1_000), (20_000, 50_000), (40_000, limits::OUTPUT_CHARS)] {
        let done = run_within(sandbox, &format!("seq 1 {last}; exit 3"), most_chars).await?;
        is_clipped(&done, &numbers(last), most_chars)?;
        equal("the exit code", done.exit_code(), 3)?;
    }
    Ok(())
}

/// The log can be read by its id, and as a file if it has a path.
pub async fn the_full_log_has_all_of_it(sandbox: &dyn Sandbox) -> Outcome {
    let all = numbers(20_000);
    let done = run_within(sandbox, "seq 1 20000", 1_000).await?;
    let log = full_log(&done)?;
    let mut text = String::new();
    let mut offset = 0;
    loop {
        let read = sandbox.read_job(&log.id, &JobRead::from(offset).most(30_000)).await?;
        ensure(read.text.len() <= 30_000, "more was read than was asked for")?;
        equal("what the log skipped", read.skipped, 0)?;
        equal("where to go on", read.next, offset + read.text.len() as u64)?;
        if read.next == offset {
            break;
        }
        (text, offset) = (text + &read.text, read.next);
    }
    equal("the full log", text, all.clone())?;
    equal("what it has kept", log.kept, all.len() as u64)?;
    match &log.path {
        None => Ok(()),
        Some(path) => equal("the file", sandbox.read_bytes(path).await?, all),
    }
}

/// Head and tail start and end with whole characters.
pub async fn characters_are_not_cut(sandbox: &dyn Sandbox) -> Outcome {
    for most_chars in [100, 101, 102, 103] {
        let done = run_within(sandbox, "yes é€ | head -n 2000 | tr -d '\\n'", most_chars).await?;
        is_clipped(&done, &"é€".repeat(2_000), most_chars)?;
    }
    Ok(())
}

/// A ceiling of zero still counts all output.
pub async fn a_ceiling_of_nothing_shows_nothing(sandbox: &dyn Sandbox) -> Outcome {
    is_clipped(&run_within(sandbox, "echo hi", 0).await?, "hi\n", 0)
}

/// Output beyond the size of the log is skipped, and the reads report it.
pub async fn a_flood_is_counted_to_the_byte(sandbox: &dyn Sandbox) -> Outcome {
    const ALL: u64 = 40 * 1024 * 1024;
    let done = run_within(sandbox, "head -c 41943040 /dev/zero | tr '\\0' x", 1_000).await?;
    let shown = (done.output.head.len() + done.output.tail.len()) as u64;
    equal("all bytes", left_out(&done)?.bytes + shown, ALL)?;
    equal("the lines left out", left_out(&done)?.lines, 0)?;
    let log = full_log(&done)?;
    ensure(log.kept <= limits::LOG_BYTES, format!("the log keeps {} bytes", log.kept))?;
    ensure(log.kept > 0, "the log keeps nothing")?;
    let (mut read_bytes, mut skipped, mut offset) = (0, 0, 0);
    loop {
        let read = sandbox.read_job(&log.id, &JobRead::from(offset).most(4 * 1024 * 1024)).await?;
        ensure(read.text.bytes().all(|byte| byte == b'x'), "the log has something else in it")?;
        (read_bytes, skipped) = (read_bytes + read.text.len() as u64, skipped + read.skipped);
        if read.next == offset {
            break;
        }
        offset = read.next;
    }
    equal("what was read and what was skipped", read_bytes + skipped, ALL)?;
    equal("what was read", read_bytes, log.kept)
}

/// A command that prints without end is stopped at its timeout.
pub async fn a_flood_that_is_stopped_keeps_its_head_and_tail(sandbox: &dyn Sandbox) -> Outcome {
    let started = Instant::now();
    let request = ExecuteRequest::shell("echo first; yes").most_chars(1_000);
    let done = sandbox.execute(&request.timeout(Duration::from_secs(2))).await?;
    equal("how it ended", done.ended, Ended::TimedOut)?;
    ensure(done.output.head.starts_with("first\ny\ny\n"), format!("the head is {:?}", done.output.head))?;
    ensure(done.output.tail.contains("y\ny\ny\n"), format!("the tail is {:?}", done.output.tail))?;
    ensure(left_out(&done)?.bytes > 10_000, "hardly anything was left out of a flood")?;
    let took = started.elapsed();
    ensure(took < AT_ONCE, format!("it took {took:?} to stop it"))
}
