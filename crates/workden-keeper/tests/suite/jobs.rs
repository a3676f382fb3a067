//! Background jobs: reading by offset, waiting, listing, ceilings.

use std::time::{Duration, Instant};

use tokio::time::timeout;
use workden_core::{
    ErrorKind, limits,
    sandbox::{Ended, JobRead, JobRequest, JobState, Sandbox},
};

use crate::common::{PATIENCE, TestKeeper};

#[tokio::test]
async fn output_is_read_on_from_where_one_was() {
    let place = TestKeeper::new();
    let job =
        place.keeper.start_job(&JobRequest::shell("echo one; sleep 0.3; echo two; sleep 0.3; exit 5")).await.unwrap();
    assert_eq!((job.id.0.as_str(), job.state), ("bg_1", JobState::Running));
    let (mut text, mut offset) = (String::new(), 0);
    let state = loop {
        let read = JobRead::from(offset).wait(PATIENCE);
        let read = place.keeper.read_job(&job.id, &read).await.unwrap();
        text += &read.text;
        assert_eq!((read.skipped, read.next - offset), (0, read.text.len() as u64));
        offset = read.next;
        if let JobState::Ended(ended) = read.job.state {
            break ended;
        }
    };
    assert_eq!((text.as_str(), state), ("one\ntwo\n", Ended::Exited(5)));
    let listed = place.keeper.jobs().await.unwrap();
    assert_eq!((listed.len(), listed[0].printed), (1, 8));
}

#[tokio::test]
async fn a_read_never_splits_a_character() {
    let place = TestKeeper::new();
    let line = r"printf 'a\303'; sleep 0.4; printf '\244b\377c\342'";
    let job = place.keeper.start_job(&JobRequest::shell(line)).await.unwrap();
    let (mut text, mut offset) = (String::new(), 0);
    while offset < 7 {
        let read = JobRead::from(offset).most(1).wait(PATIENCE);
        let read = place.keeper.read_job(&job.id, &read).await.unwrap();
        assert!(read.next > offset, "nothing came within {PATIENCE:?}: {text:?}");
        text += &read.text;
        offset = read.next;
    }
    assert_eq!(text, "aäb\u{FFFD}c\u{FFFD}");
}

#[tokio::test]
async fn a_read_waits_no_longer_than_it_is_told() {
    let place = TestKeeper::new();
    let job = place.keeper.start_job(&JobRequest::shell("sleep 300")).await.unwrap();
    let wait = Duration::from_millis(300);
    let (began, read) = (Instant::now(), JobRead::from(0).wait(wait));
    let read = timeout(PATIENCE, place.keeper.read_job(&job.id, &read)).await.expect("it waits for ever").unwrap();
    assert_eq!((read.text.as_str(), read.job.state), ("", JobState::Running));
    assert!(began.elapsed() >= wait, "{:?}", began.elapsed());
    place.keeper.stop().await.unwrap();
    assert_eq!(place.keeper.jobs().await.unwrap_err().kind(), ErrorKind::Gone);
    let again = place.keeper.start_job(&JobRequest::shell("true")).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Gone);
}

#[tokio::test]
async fn of_a_log_that_is_full_the_end_is_there() {
    let place = TestKeeper::new();
    let job = place.keeper.start_job(&JobRequest::shell("head -c 20000000 /dev/zero; echo end")).await.unwrap();
    let end = JobRead::from(20_000_004).wait(PATIENCE);
    assert_eq!(place.keeper.read_job(&job.id, &end).await.unwrap().job.state, JobState::Ended(Ended::Exited(0)));
    let read = place.keeper.read_job(&job.id, &JobRead::from(0)).await.unwrap();
    assert_eq!(read.skipped, 20_000_004 - limits::LOG_BYTES);
    assert_eq!(read.next, read.skipped + limits::JOB_READ_BYTES);
    let read = place.keeper.read_job(&job.id, &JobRead::from(19_999_999)).await.unwrap();
    assert_eq!(read.text, "\0end\n");
}

#[tokio::test]
async fn a_job_that_cannot_run_has_ended_and_says_why() {
    let place = TestKeeper::new();
    let mut request = JobRequest::shell("");
    request.command = workden_core::sandbox::Command::Program(vec!["no-such-program".to_owned()]);
    let job = place.keeper.start_job(&request).await.unwrap();
    let read = JobRead::from(0).wait(PATIENCE);
    let read = place.keeper.read_job(&job.id, &read).await.unwrap();
    assert_eq!(read.text, "cannot run `no-such-program`: no such program\n");
}

#[tokio::test]
async fn there_is_a_ceiling_for_what_runs() {
    let place = TestKeeper::new();
    let mut request = JobRequest::shell("");
    request.command = workden_core::sandbox::Command::Program(vec!["sleep".to_owned(), "300".to_owned()]);
    for _ in 0..limits::RUNNING_COMMANDS {
        place.keeper.start_job(&request).await.unwrap();
    }
    let refused = place.keeper.start_job(&request).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Busy, "{refused}");
    timeout(PATIENCE, place.keeper.stop()).await.expect("it ends them").unwrap();
}
