//! Commands, jobs and processes at the other end of a byte stream.

use std::{sync::atomic::Ordering, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt;
use workden_core::{
    Error, ErrorKind, Sandbox,
    sandbox::{
        Ended, ExecuteRequest, Isolation, JobId, JobRead, JobRequest, JobState, Killed, Process, ProcessEvent, Signal,
        Stream, WindowSize,
    },
};

use crate::{
    pipes::{connected, in_memory_files, played, until},
    scripted::{Scripted, spawning},
};

#[tokio::test]
async fn a_command_comes_back_with_all_it_has_to_say() {
    let (remote, _) = played().await;
    let done = remote.execute(&ExecuteRequest::program(["echo", "a b", "\u{0}ü"])).await.unwrap();
    assert_eq!(done.output.head, "echo 'a b' '\u{0}ü'");
    assert_eq!((done.ended, done.duration), (Ended::Exited(3), Duration::from_millis(20)));
    assert_eq!(remote.directory().await.unwrap().as_str(), "/workspace");
    assert_eq!(remote.directory_at_start().as_str(), "/workspace");
    assert_eq!(remote.isolation().await.unwrap(), Isolation::none());
    assert_eq!(remote.usage().await.unwrap().memory, Some(u64::MAX));
}

#[tokio::test]
async fn jobs_are_started_read_listed_and_killed() {
    let (remote, _) = played().await;
    let job = remote.start_job(&JobRequest::shell("make all")).await.unwrap();
    assert_eq!((job.line.as_str(), job.state), ("make all", JobState::Ended(Ended::Signalled(9))));
    assert_eq!(remote.jobs().await.unwrap().len(), 2);
    let read = JobRead::from(3).most(9).wait(Duration::from_millis(1_250));
    let output = remote.read_job(&job.id, &read).await.unwrap();
    assert_eq!((output.text.as_str(), output.skipped, output.next), ("3 9 1.25s", 1, 8));
    assert_eq!(remote.kill_job(&job.id).await.unwrap(), Killed::AlreadyOver);
    let unknown = remote.read_job(&JobId::from("bg_9"), &read).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_sandbox_is_stopped() {
    let (remote, seen) = played().await;
    remote.stop().await.unwrap();
    assert!(seen.stopped.load(Ordering::SeqCst));
}

/// What comes out of both streams, and what comes last.
async fn all(process: &mut Process) -> (Vec<u8>, Vec<u8>, Option<Result<Ended, Error>>) {
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    while let Some(event) = process.events.next().await {
        match event {
            Ok(ProcessEvent::Printed(Stream::Output, bytes)) => output.extend_from_slice(&bytes),
            Ok(ProcessEvent::Printed(Stream::Error, bytes)) => errors.extend_from_slice(&bytes),
            Ok(ProcessEvent::LimitHit(hit)) => errors.extend_from_slice(hit.sentence.as_bytes()),
            Ok(ProcessEvent::Ended(ended)) => return (output, errors, Some(Ok(ended))),
            Err(error) => return (output, errors, Some(Err(error))),
        }
    }
    (output, errors, None)
}

#[tokio::test]
async fn streams_come_apart_and_end_with_how_it_ended() {
    let (remote, seen) = played().await;
    let mut process = remote.spawn(&spawning("both")).await.unwrap();
    assert_eq!(process.pid, 42);
    let (output, errors, last) = all(&mut process).await;
    assert_eq!((output, errors), (b"out\n".to_vec(), vec![0xff; 100_000]));
    assert_eq!(last.unwrap().unwrap(), Ended::Signalled(15));
    assert!(process.events.next().await.is_none(), "nothing comes after the end");
    until("it is over", || seen.running.load(Ordering::SeqCst) == 0).await;
}

#[tokio::test]
async fn an_error_among_the_events_is_the_last_of_them() {
    let failure = Error::new(ErrorKind::NoSpace, "no room").hint("make some");
    let remote = connected(Scripted::over(in_memory_files()).failing(failure.clone())).await;
    let mut process = remote.spawn(&spawning("fail-later")).await.unwrap();
    let (output, _, last) = all(&mut process).await;
    assert_eq!((output, last.unwrap().unwrap_err()), (b"so far".to_vec(), failure));
    assert!(process.events.next().await.is_none());
}

#[tokio::test]
async fn input_signals_and_sizes_reach_the_process() {
    let (remote, _) = played().await;
    let mut process = remote.spawn(&spawning("cat")).await.unwrap();
    process.control.write(Bytes::from_static(b"hello ")).await.unwrap();
    process.control.write(Bytes::new()).await.unwrap();
    process.control.write(Bytes::from_static(b"world")).await.unwrap();
    process.control.signal(Signal::Usr1).await.unwrap();
    process.control.resize(WindowSize { rows: 24, columns: 80 }).await.unwrap();
    process.control.close_input().await.unwrap();
    let (output, errors, last) = all(&mut process).await;
    assert_eq!((output, errors), (b"hello world".to_vec(), b"Usr124x80".to_vec()));
    assert_eq!(last.unwrap().unwrap(), Ended::Exited(0));
}

#[tokio::test]
async fn a_process_that_has_ended_takes_signals_and_nothing_else() {
    let (remote, _) = played().await;
    let mut process = remote.spawn(&spawning("both")).await.unwrap();
    all(&mut process).await;
    drop(process.events);
    // The server lets go of it when the last of its output has been sent.
    let gone = async |write: &Process| write.control.write(Bytes::from_static(b"x")).await;
    process.events = Box::pin(futures_util::stream::empty());
    assert_eq!(gone(&process).await.unwrap_err().kind(), ErrorKind::Gone);
    let size = WindowSize { rows: 1, columns: 1 };
    assert_eq!(process.control.resize(size).await.unwrap_err().kind(), ErrorKind::Gone);
    assert_eq!(process.control.close_input().await.unwrap_err().kind(), ErrorKind::Gone);
    process.control.signal(Signal::Term).await.unwrap();
}
