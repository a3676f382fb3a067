//! Signals from outside: they reach the process and its group.

use workden_core::sandbox::{Ended, Sandbox, Signal};

use super::{
    calls::{Printed, everything, piped, prints},
    check::list_sandbox_checks,
};
use crate::{Outcome, verdict::equal};

list_sandbox_checks! { signals:
    a_signal_arrives_and_can_be_handled,
    a_signal_ends_a_process_that_does_not_handle_it,
    a_signal_reaches_the_group,
    a_stopped_process_goes_on_when_told,
    a_signal_to_one_that_has_ended_is_fine,
}

/// A shell `trap` handles the signal.
pub async fn a_signal_arrives_and_can_be_handled(sandbox: &dyn Sandbox) -> Outcome {
    for (signal, name) in [
        (Signal::Usr1, "USR1"),
        (Signal::Usr2, "USR2"),
        (Signal::Term, "TERM"),
        (Signal::Int, "INT"),
        (Signal::Hup, "HUP"),
        (Signal::Quit, "QUIT"),
        (Signal::Winch, "WINCH"),
    ] {
        let line = format!("trap 'echo caught {name}; exit 9' {name}; echo ready; while :; do sleep 0.05; done");
        let mut process = piped(sandbox, &line).await?;
        let mut printed = Printed::default();
        printed.until(&mut process.events, "ready\n").await?;
        process.control.signal(signal).await?;
        equal(format!("the end by {name}"), printed.finish(&mut process.events).await?, Ended::Exited(9))?;
        equal("what it printed", printed.output(), format!("ready\ncaught {name}\n"))?;
    }
    Ok(())
}

/// The process is reported as ended by that signal.
pub async fn a_signal_ends_a_process_that_does_not_handle_it(sandbox: &dyn Sandbox) -> Outcome {
    for (signal, number) in [(Signal::Kill, 9), (Signal::Term, 15), (Signal::Int, 2), (Signal::Usr1, 10)] {
        let mut process = piped(sandbox, "echo ready; exec sleep 600").await?;
        let mut printed = Printed::default();
        printed.until(&mut process.events, "ready\n").await?;
        process.control.signal(signal).await?;
        equal(format!("the end by {signal:?}"), printed.finish(&mut process.events).await?, Ended::Signalled(number))?;
    }
    Ok(())
}

/// The children of the process get the signal, too.
pub async fn a_signal_reaches_the_group(sandbox: &dyn Sandbox) -> Outcome {
    let child = "trap 'echo child; exit' USR1; echo ready; while :; do sleep 0.05; done";
    let line = format!("trap 'wait; echo parent; exit' USR1; sh -c \"{child}\" & wait; wait");
    let mut process = piped(sandbox, &line).await?;
    let mut printed = Printed::default();
    printed.until(&mut process.events, "ready\n").await?;
    process.control.signal(Signal::Usr1).await?;
    printed.until(&mut process.events, "child\n").await?;
    printed.until(&mut process.events, "parent\n").await
}

/// A stopped process does nothing until it is continued.
pub async fn a_stopped_process_goes_on_when_told(sandbox: &dyn Sandbox) -> Outcome {
    let mut process =
        piped(sandbox, "echo $$ > stopped-pid; echo ready; while [ ! -e continued ]; do :; done; echo went on").await?;
    let mut printed = Printed::default();
    printed.until(&mut process.events, "ready\n").await?;
    process.control.signal(Signal::Stop).await?;
    super::calls::until(sandbox, "grep -q '^State:.T' /proc/$(cat stopped-pid)/status", super::calls::AT_ONCE).await?;
    prints(sandbox, ": > continued; sleep 0.2; grep -c '^State:.T' /proc/$(cat stopped-pid)/status", "1\n").await?;
    process.control.signal(Signal::Cont).await?;
    equal("the end", printed.finish(&mut process.events).await?, Ended::Exited(0))?;
    equal("what it printed", printed.output(), "ready\nwent on\n")
}

/// A signal to an ended process is not an error.
pub async fn a_signal_to_one_that_has_ended_is_fine(sandbox: &dyn Sandbox) -> Outcome {
    let mut process = piped(sandbox, "true").await?;
    everything(&mut process).await?;
    for signal in [Signal::Term, Signal::Kill, Signal::Cont] {
        process.control.signal(signal).await?;
    }
    Ok(())
}
