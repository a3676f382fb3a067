//! Processes with pipes: separate streams, standard input, the end, and backpressure.

use std::time::Instant;

use bytes::Bytes;
use futures_util::future::try_join;
use workden_core::{
    ErrorKind,
    sandbox::{Command, Ended, Process, Sandbox, SpawnRequest, WindowSize},
};

use super::{
    calls::{AT_ONCE, Printed, everything, pause, piped, prints, run, write},
    check::list_sandbox_checks,
};
use crate::{
    Failure, Outcome,
    verdict::{ensure, equal, refused},
};

list_sandbox_checks! { streams:
    output_and_error_come_apart_each_in_order,
    bytes_arrive_as_they_are,
    a_process_is_told_by_the_pid_that_it_has,
    what_is_written_is_read_until_the_input_is_closed,
    a_process_answers_while_its_input_is_open,
    megabytes_go_in_and_come_out,
    writing_to_a_process_that_reads_no_more_is_refused,
    a_program_that_is_missing_is_127_and_one_that_cannot_run_126,
    the_end_comes_though_the_output_is_held_open,
    a_reader_that_waits_slows_its_command_down_and_no_other,
    pipes_have_no_size,
}

/// The end of the process is the last event.
pub async fn output_and_error_come_apart_each_in_order(sandbox: &dyn Sandbox) -> Outcome {
    let line = "i=0; while [ $i -lt 500 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done; exit 5";
    let (printed, ended) = everything(&mut piped(sandbox, line).await?).await?;
    let expected = |word: &str| (0..500).map(|number| format!("{word} {number}\n")).collect::<String>();
    equal("standard output", printed.output(), expected("out"))?;
    equal("standard error", printed.error(), expected("err"))?;
    equal("the end", ended, Ended::Exited(5))
}

/// The bytes are not decoded as text.
pub async fn bytes_arrive_as_they_are(sandbox: &dyn Sandbox) -> Outcome {
    let (printed, _) = everything(&mut piped(sandbox, r"printf 'a\377\000\303'").await?).await?;
    equal("the bytes", printed.output, b"a\xff\0\xc3")
}

/// The pid is the one that commands in the sandbox see.
pub async fn a_process_is_told_by_the_pid_that_it_has(sandbox: &dyn Sandbox) -> Outcome {
    let mut process = piped(sandbox, "echo $$").await?;
    let pid = process.pid.to_string();
    equal("the pid", everything(&mut process).await?.0.output().trim().to_owned(), pid)
}

/// The input may arrive in several pieces.
pub async fn what_is_written_is_read_until_the_input_is_closed(sandbox: &dyn Sandbox) -> Outcome {
    let mut process = piped(sandbox, "cat; echo end >&2").await?;
    for piece in ["one ", "", "two\n", "three"] {
        write(&*process.control, piece).await?;
    }
    process.control.close_input().await?;
    let (printed, ended) = everything(&mut process).await?;
    equal("what came back", printed.output(), "one two\nthree")?;
    equal("what came after the end of the input", printed.error(), "end\n")?;
    equal("the end", ended, Ended::Exited(0))?;
    let mut process = piped(sandbox, "cat").await?;
    process.control.close_input().await?;
    equal("without any input", everything(&mut process).await?.1, Ended::Exited(0))
}

/// Output is not held back until the end.
pub async fn a_process_answers_while_its_input_is_open(sandbox: &dyn Sandbox) -> Outcome {
    let mut process = piped(sandbox, "while read line; do echo got $line; done; echo over").await?;
    let mut printed = Printed::default();
    for number in 0..5 {
        write(&*process.control, format!("{number}\n")).await?;
        printed.until(&mut process.events, &format!("got {number}\n")).await?;
    }
    process.control.close_input().await?;
    equal("the end", printed.finish(&mut process.events).await?, Ended::Exited(0))?;
    ensure(printed.output().ends_with("got 4\nover\n"), format!("it printed {:?}", printed.output()))
}

/// Input and output flow at the same time.
pub async fn megabytes_go_in_and_come_out(sandbox: &dyn Sandbox) -> Outcome {
    let content: Bytes = (0..4_000_000_u32).map(|number| (number % 251) as u8).collect::<Vec<_>>().into();
    let Process { control, mut events, .. } = piped(sandbox, "cat").await?;
    let writing = async {
        for piece in content.chunks(300_000) {
            control.write(Bytes::copy_from_slice(piece)).await?;
        }
        control.close_input().await?;
        Ok::<(), Failure>(())
    };
    let reading = async {
        let mut printed = Printed::default();
        let ended = printed.finish(&mut events).await?;
        Ok((printed, ended))
    };
    let ((), (printed, ended)) = try_join(writing, reading).await?;
    ensure(printed.output == content, format!("of 4000000 bytes {} came back, or others", printed.output.len()))?;
    equal("the end", ended, Ended::Exited(0))
}

/// The write is `Gone` and never blocks.
pub async fn writing_to_a_process_that_reads_no_more_is_refused(sandbox: &dyn Sandbox) -> Outcome {
    let mut process = piped(sandbox, "exit 0").await?;
    everything(&mut process).await?;
    refused("to one that has ended", process.control.write("x".into()).await, ErrorKind::Gone)?;
    let mut process = piped(sandbox, "exec <&-; echo closed; sleep 600").await?;
    Printed::default().until(&mut process.events, "closed").await?;
    let filled = async {
        for _ in 0..100 {
            process.control.write(Bytes::from(vec![b'x'; 100_000])).await?;
        }
        Ok(())
    };
    let filled = super::calls::within("writing without a reader", AT_ONCE, filled).await?;
    refused("to one that has closed its input", filled, ErrorKind::Gone).map(drop)
}

/// The codes are the same as for commands that run to their end.
pub async fn a_program_that_is_missing_is_127_and_one_that_cannot_run_126(sandbox: &dyn Sandbox) -> Outcome {
    run(sandbox, "mkdir directory").await?;
    for (word, code) in [("no-such-program-here", 127), ("/no/such/program", 127), ("./directory", 126)] {
        let request = SpawnRequest::piped(Command::Program(vec![word.into()]));
        let (_, ended) = everything(&mut sandbox.spawn(&request).await?).await?;
        equal(format!("how `{word}` ended"), ended, Ended::Exited(code))?;
    }
    Ok(())
}

/// The end arrives even if a background process holds the output open.
pub async fn the_end_comes_though_the_output_is_held_open(sandbox: &dyn Sandbox) -> Outcome {
    let started = Instant::now();
    let (printed, ended) = everything(&mut piped(sandbox, "sleep 600 & echo hi; exit 6").await?).await?;
    equal("what it printed", printed.output(), "hi\n")?;
    equal("the end", ended, Ended::Exited(6))?;
    ensure(started.elapsed() < AT_ONCE, format!("it took {:?}", started.elapsed()))
}

/// All output is read in the end.
pub async fn a_reader_that_waits_slows_its_command_down_and_no_other(sandbox: &dyn Sandbox) -> Outcome {
    let line = "dd if=/dev/zero bs=65536 count=400 2>/dev/null; : > finished";
    let mut process = piped(sandbox, line).await?;
    pause(1_000).await;
    equal("whether it has finished unread", run(sandbox, "[ -e finished ]").await?.ended, Ended::Exited(1))?;
    prints(sandbox, "echo others run", "others run\n").await?;
    let started = Instant::now();
    let (printed, ended) = everything(&mut process).await?;
    equal("all bytes", printed.output.len(), 400 * 65_536)?;
    equal("the end", ended, Ended::Exited(0))?;
    ensure(started.elapsed() < 2 * AT_ONCE, format!("reading it took {:?}", started.elapsed()))?;
    prints(sandbox, "[ -e finished ]", "").await
}

/// A process with pipes has no terminal to resize.
pub async fn pipes_have_no_size(sandbox: &dyn Sandbox) -> Outcome {
    let process = piped(sandbox, "sleep 600").await?;
    let resized = process.control.resize(WindowSize { rows: 1, columns: 1 }).await;
    refused("a resize", resized, ErrorKind::Unsupported).map(drop)
}
