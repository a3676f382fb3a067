//! State that a command must not inherit from the process that starts it: open files, blocked and ignored signals.

use workden_core::sandbox::{Command, Ended, Sandbox, SpawnRequest, WindowSize};

use super::{
    calls::{everything, job, outcome, prints, run_program},
    check::list_sandbox_checks,
};
use crate::{
    Outcome,
    verdict::{ensure, equal},
};

list_sandbox_checks! { inheritance:
    a_command_has_its_standard_streams_open_and_nothing_else,
    no_signal_is_blocked_or_ignored,
    a_writer_whose_reader_is_gone_ends,
}

/// `ls` itself opens one more descriptor.
pub async fn a_command_has_its_standard_streams_open_and_nothing_else(sandbox: &dyn Sandbox) -> Outcome {
    let listed = "ls /proc/self/fd | tr '\\n' ' '";
    prints(sandbox, listed, "0 1 2 3 ").await?;
    equal("of a job", outcome(sandbox, &job(sandbox, listed).await?.id).await?.0, "0 1 2 3 ")?;
    let command = || Command::Shell("ls /proc/self/fd".into());
    for request in
        [SpawnRequest::piped(command()), SpawnRequest::in_terminal(command(), WindowSize { rows: 24, columns: 80 })]
    {
        let (printed, _) = everything(&mut sandbox.spawn(&request).await?).await?;
        let mut seen: Vec<String> = printed.output().split_whitespace().map(str::to_owned).collect();
        seen.sort();
        equal(format!("of a process with {:?}", request.streams), seen, ["0", "1", "2", "3"])?;
    }
    Ok(())
}

/// Signal masks survive an exec, so the sandbox has to reset them.
pub async fn no_signal_is_blocked_or_ignored(sandbox: &dyn Sandbox) -> Outcome {
    let done = run_program(sandbox, &["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]).await?;
    equal("how it ended", done.ended, Ended::Exited(0))?;
    for line in done.output.text().lines() {
        let mask = line.split_whitespace().nth(1).and_then(|mask| u64::from_str_radix(mask, 16).ok());
        // Signals 32 and 33 belong to the C library, and no program can set them.
        let set = mask.map(|mask| mask & !(0b11 << 31));
        ensure(set == Some(0), format!("a command starts with {line}"))?;
    }
    Ok(())
}

/// `SIGPIPE` ends the writer, as in a shell.
pub async fn a_writer_whose_reader_is_gone_ends(sandbox: &dyn Sandbox) -> Outcome {
    prints(sandbox, "yes | head -n 1; echo $?", "y\n0\n").await
}
