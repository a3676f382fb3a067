//! Processes in a terminal: its size, its keys and its output.

use bytes::Bytes;
use workden_core::sandbox::{Command, Ended, Sandbox, SpawnRequest, WindowSize};

use super::{
    calls::{Printed, everything, in_terminal, write},
    check::list_sandbox_checks,
};
use crate::{
    Outcome,
    verdict::{ensure, equal},
};

list_sandbox_checks! { terminals:
    all_three_streams_are_one_terminal,
    a_terminal_has_the_size_that_was_asked_for,
    a_terminal_can_be_resized_and_says_so,
    what_is_typed_is_echoed_and_read_by_lines,
    control_c_interrupts,
    control_z_stops_what_runs_in_a_shell_with_jobs,
    closing_the_input_is_the_end_of_a_file,
    a_process_leads_its_terminal,
    a_lot_of_output_arrives_whole,
}

/// Standard error arrives as terminal output.
pub async fn all_three_streams_are_one_terminal(sandbox: &dyn Sandbox) -> Outcome {
    let line = "[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo out; echo err >&2; exit 3";
    let (printed, ended) = everything(&mut in_terminal(sandbox, line).await?).await?;
    equal("what it shows", printed.output(), "out\r\nerr\r\n")?;
    equal("standard error apart", printed.error(), "")?;
    equal("the end", ended, Ended::Exited(3))
}

/// The terminal has the requested size from the start.
pub async fn a_terminal_has_the_size_that_was_asked_for(sandbox: &dyn Sandbox) -> Outcome {
    let size = WindowSize { rows: 33, columns: 97 };
    let request = SpawnRequest::in_terminal(Command::Program(vec!["stty".into(), "size".into()]), size);
    let (printed, _) = everything(&mut sandbox.spawn(&request).await?).await?;
    equal("the size", printed.output(), "33 97\r\n")
}

/// The process gets `SIGWINCH`.
pub async fn a_terminal_can_be_resized_and_says_so(sandbox: &dyn Sandbox) -> Outcome {
    let line = "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done";
    let mut process = in_terminal(sandbox, line).await?;
    let mut printed = Printed::default();
    printed.until(&mut process.events, "ready\r\n").await?;
    process.control.resize(WindowSize { rows: 50, columns: 132 }).await?;
    equal("the end", printed.finish(&mut process.events).await?, Ended::Exited(0))?;
    equal("what it shows", printed.output(), "ready\r\n50 132\r\n")
}

/// Typed characters are echoed and can be erased, and the process reads whole lines.
pub async fn what_is_typed_is_echoed_and_read_by_lines(sandbox: &dyn Sandbox) -> Outcome {
    let mut process = in_terminal(sandbox, "echo ready; read line; echo \"got [$line]\"").await?;
    let mut printed = Printed::default();
    printed.until(&mut process.events, "ready\r\n").await?;
    write(&*process.control, "hellx\x7fo\n").await?;
    equal("the end", printed.finish(&mut process.events).await?, Ended::Exited(0))?;
    let shown = printed.output();
    ensure(shown.contains("hellx"), format!("what was typed is not echoed: {shown:?}"))?;
    ensure(shown.ends_with("got [hello]\r\n"), format!("it shows {shown:?}"))
}

/// A typed Ctrl-C sends `SIGINT`, which ends the process or runs its trap.
pub async fn control_c_interrupts(sandbox: &dyn Sandbox) -> Outcome {
    let mut process = in_terminal(sandbox, "echo ready; exec sleep 120").await?;
    let mut printed = Printed::default();
    printed.until(&mut process.events, "ready\r\n").await?;
    write(&*process.control, "\x03").await?;
    equal("the end", printed.finish(&mut process.events).await?, Ended::Signalled(2))?;
    let line = "trap 'echo interrupted; exit 8' INT; echo ready; while :; do sleep 0.05; done";
    let mut process = in_terminal(sandbox, line).await?;
    let mut printed = Printed::default();
    printed.until(&mut process.events, "ready\r\n").await?;
    write(&*process.control, "\x03").await?;
    equal("the end of one with a trap", printed.finish(&mut process.events).await?, Ended::Exited(8))?;
    ensure(printed.output().contains("interrupted\r\n"), format!("it shows {:?}", printed.output()))
}

/// A typed Ctrl-Z stops the job, and the shell gets the terminal back.
pub async fn control_z_stops_what_runs_in_a_shell_with_jobs(sandbox: &dyn Sandbox) -> Outcome {
    // `exec` is necessary: a shell that is stopped while it waits in `vfork` for a child that is stopped as well never
    // reports that it stopped.
    let line = "set -m; sh -c 'echo ready; exec sleep 120'; echo back; kill -KILL %1";
    let mut process = in_terminal(sandbox, line).await?;
    let mut printed = Printed::default();
    printed.until(&mut process.events, "ready\r\n").await?;
    write(&*process.control, "\x1a").await?;
    printed.until(&mut process.events, "back\r\n").await?;
    printed.finish(&mut process.events).await.map(drop)
}

/// Closing the input types the end-of-file character.
pub async fn closing_the_input_is_the_end_of_a_file(sandbox: &dyn Sandbox) -> Outcome {
    let mut process = in_terminal(sandbox, "echo ready; cat; echo over").await?;
    let mut printed = Printed::default();
    printed.until(&mut process.events, "ready\r\n").await?;
    write(&*process.control, "line\n").await?;
    process.control.close_input().await?;
    equal("the end", printed.finish(&mut process.events).await?, Ended::Exited(0))?;
    ensure(printed.output().ends_with("line\r\nover\r\n"), format!("it shows {:?}", printed.output()))
}

/// `/dev/tty` is the terminal of the process.
pub async fn a_process_leads_its_terminal(sandbox: &dyn Sandbox) -> Outcome {
    let (printed, ended) = everything(&mut in_terminal(sandbox, "echo by name > /dev/tty").await?).await?;
    equal("what it shows", printed.output(), "by name\r\n")?;
    equal("the end", ended, Ended::Exited(0))
}

/// Output arrives completely, up to the last byte before the end.
pub async fn a_lot_of_output_arrives_whole(sandbox: &dyn Sandbox) -> Outcome {
    let (printed, _) = everything(&mut in_terminal(sandbox, "seq 1 50000").await?).await?;
    let expected: String = (1..=50_000).map(|number| format!("{number}\r\n")).collect();
    ensure(printed.output == Bytes::from(expected), format!("{} bytes arrived, or others", printed.output.len()))
}
