//! `spawn`: streams, signals, terminals.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use workden_core::{
    ErrorKind,
    sandbox::{Command, Ended, Process, ProcessEvent, Sandbox, Signal, SpawnRequest, Stream, WindowSize},
};

use crate::common::{self, PATIENCE, TestKeeper, survivors};

async fn piped(place: &TestKeeper, line: &str) -> Process {
    place.keeper.spawn(&SpawnRequest::piped(Command::Shell(line.to_owned()))).await.unwrap()
}

async fn in_terminal(place: &TestKeeper, line: &str) -> Process {
    let size = WindowSize { rows: 24, columns: 80 };
    place.keeper.spawn(&SpawnRequest::in_terminal(Command::Shell(line.to_owned()), size)).await.unwrap()
}

/// Reads until a text has come.
async fn until(process: &mut Process, text: &str) -> String {
    let mut all = String::new();
    while !all.contains(text) {
        let event = tokio::time::timeout(PATIENCE, process.events.next()).await;
        match event.unwrap_or_else(|_| panic!("no {text:?} in {all:?}")).unwrap().unwrap() {
            ProcessEvent::Printed(_, bytes) => all += &String::from_utf8_lossy(&bytes),
            ProcessEvent::LimitHit(hit) => panic!("{hit:?} before {text:?}: {all:?}"),
            ProcessEvent::Ended(ended) => panic!("{ended:?} before {text:?}: {all:?}"),
        }
    }
    all
}

/// Everything to the end: output, errors, and how it ended.
async fn to_the_end(mut process: Process) -> (String, String, Ended) {
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    while let Some(event) = process.events.next().await {
        match event.unwrap() {
            ProcessEvent::Printed(Stream::Output, bytes) => output.extend_from_slice(&bytes),
            ProcessEvent::Printed(Stream::Error, bytes) => errors.extend_from_slice(&bytes),
            ProcessEvent::LimitHit(hit) => panic!("{hit:?}"),
            ProcessEvent::Ended(ended) => {
                assert!(process.events.next().await.is_none(), "the end is the last event");
                let text = |bytes| String::from_utf8(bytes).unwrap();
                return (text(output), text(errors), ended);
            }
        }
    }
    panic!("no end");
}

#[tokio::test]
async fn streams_come_apart() {
    let place = TestKeeper::new();
    let process = piped(&place, "echo out; echo err >&2; exit 3").await;
    assert_eq!(to_the_end(process).await, ("out\n".to_owned(), "err\n".to_owned(), Ended::Exited(3)));
    let request = SpawnRequest::piped(Command::Program(vec!["no-such-program".to_owned()]));
    let (_, errors, ended) = to_the_end(place.keeper.spawn(&request).await.unwrap()).await;
    assert_eq!((errors.as_str(), ended), ("cannot run `no-such-program`: no such program\n", Ended::Exited(127)));
}

#[tokio::test]
async fn input_goes_in_until_it_is_closed() {
    let place = TestKeeper::new();
    let process = piped(&place, "cat; echo closed").await;
    process.control.write(Bytes::from_static(b"one\n")).await.unwrap();
    process.control.write(Bytes::from_static(b"two\n")).await.unwrap();
    process.control.close_input().await.unwrap();
    assert_eq!(process.control.write(Bytes::from_static(b"x")).await.unwrap_err().kind(), ErrorKind::Gone);
    assert_eq!(
        process.control.resize(WindowSize { rows: 1, columns: 1 }).await.unwrap_err().kind(),
        ErrorKind::Unsupported
    );
    assert_eq!(to_the_end(process).await.0, "one\ntwo\nclosed\n");
}

#[tokio::test]
async fn who_does_not_read_input_holds_the_writer_up_and_one_that_has_ended_says_so() {
    let place = TestKeeper::new();
    let process = piped(&place, "sleep 300").await;
    let much = Bytes::from(vec![b'x'; 1 << 20]);
    let write = process.control.write(much.clone());
    assert!(tokio::time::timeout(Duration::from_millis(300), write).await.is_err(), "the pipe is full");
    process.control.signal(Signal::Kill).await.unwrap();
    assert_eq!(process.control.write(much).await.unwrap_err().kind(), ErrorKind::Gone);
    assert_eq!(to_the_end(process).await.2, Ended::Signalled(9));
}

#[tokio::test]
async fn who_does_not_take_output_slows_the_command_down() {
    let place = TestKeeper::new();
    let mut process = piped(&place, "yes | head -c 10000000; echo done > finished").await;
    process.events.next().await.unwrap().unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!place.directory.path().join("finished").exists());
    let (output, _, ended) = to_the_end(process).await;
    assert_eq!(ended, Ended::Exited(0));
    assert!(output.len() > 9_000_000);
}

#[tokio::test]
async fn a_signal_reaches_the_group() {
    let place = TestKeeper::new();
    for (signal, ended) in [(Signal::Term, 15), (Signal::Int, 2), (Signal::Usr1, 10), (Signal::Kill, 9)] {
        // No shell with a pipeline: one that is interrupted in between goes on.
        let mut process = piped(&place, "echo ready; exec sleep 300").await;
        let ready = process.events.next().await.unwrap().unwrap();
        assert!(matches!(ready, ProcessEvent::Printed(..)), "{ready:?}");
        process.control.signal(Signal::Stop).await.unwrap();
        process.control.signal(Signal::Cont).await.unwrap();
        process.control.signal(signal).await.unwrap();
        let end = loop {
            if let ProcessEvent::Ended(end) = process.events.next().await.unwrap().unwrap() {
                break end;
            }
        };
        assert_eq!(end, Ended::Signalled(ended));
        process.control.signal(signal).await.unwrap();
    }
}

#[tokio::test]
async fn dropping_the_events_ends_the_tree_and_taking_the_end_does_not() {
    let place = TestKeeper::new();
    let mark = format!("workden_spawn_{}", std::process::id());
    let mut request = SpawnRequest::piped(Command::Shell("setsid sleep 300 & sleep 300".to_owned()));
    request.environment.insert("MARK".to_owned(), mark.clone());
    let process = place.keeper.spawn(&request).await.unwrap();
    common::until("all of it runs", || survivors(&mark).len() >= 3).await;
    drop(process.events);
    common::until("nothing of it is left", || survivors(&mark).is_empty()).await;

    request.command = Command::Shell("setsid sleep 300 & exit 0".to_owned());
    let process = place.keeper.spawn(&request).await.unwrap();
    assert_eq!(to_the_end(process).await.2, Ended::Exited(0));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(survivors(&mark).len(), 1, "what it left lives until the sandbox ends");
    place.keeper.stop().await.unwrap();
    assert_eq!(survivors(&mark), Vec::<String>::new());
}

#[tokio::test]
async fn a_terminal_is_one_and_can_be_resized() {
    let place = TestKeeper::new();
    let line = "tty; stty size; trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.05; done";
    let mut process = in_terminal(&place, line).await;
    let said = until(&mut process, "ready").await;
    assert!(said.starts_with("/dev/pts/") && said.contains("24 80"), "{said:?}");
    process.control.resize(WindowSize { rows: 50, columns: 132 }).await.unwrap();
    assert!(to_the_end(process).await.0.contains("50 132"));
}

#[tokio::test]
async fn control_c_ends_the_job_in_the_foreground_and_control_d_the_input() {
    let place = TestKeeper::new();
    // A length of sleep that no other process has.
    let sleep = format!("sleep 3{:07}", std::process::id());
    let mut process = in_terminal(&place, &format!("echo ready; {sleep}; echo not reached")).await;
    until(&mut process, "ready").await;
    // A shell that is about to start its child waits for it, whatever signal came before.
    common::until("the child runs", || survivors(&sleep).iter().any(|line| line.ends_with(&format!(": {sleep} "))))
        .await;
    process.control.write(Bytes::from_static(b"\x03")).await.unwrap();
    let (output, _, ended) = to_the_end(process).await;
    assert_eq!(ended, Ended::Signalled(2), "{output}");

    let mut process = in_terminal(&place, "cat; echo after").await;
    process.control.write(Bytes::from_static(b"typed\n")).await.unwrap();
    until(&mut process, "typed\r\ntyped\r\n").await;
    process.control.close_input().await.unwrap();
    let (output, _, ended) = to_the_end(process).await;
    assert_eq!((output.as_str(), ended), ("after\r\n", Ended::Exited(0)));
}
