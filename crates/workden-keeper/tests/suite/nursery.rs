//! What holds for commands that a nursery starts, and for the minders that it makes.

use std::{future::poll_fn, pin::pin, time::Duration};

use rustix::process::{Pid, Signal, kill_process};
use workden_core::{
    ErrorKind,
    sandbox::{ExecuteRequest, Executed, JobRequest, Sandbox},
};
use workden_files::may_block;
use workden_keeper::Keeper;

use crate::{
    common::{COUNTS_DESCRIPTORS, open_descriptors, survivors},
    program::Program,
};

/// The minders of a nursery.
fn minders(program: &Program<Keeper>) -> Vec<i32> {
    let nursery = program.process.id();
    let children = std::fs::read_to_string(format!("/proc/{nursery}/task/{nursery}/children")).unwrap();
    children.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// Runs a command on a thread that may block, as somebody does who waits for it.
async fn waited_for(program: &Program<Keeper>, request: &ExecuteRequest) -> Executed {
    let mut call = pin!(program.sandbox.execute(request));
    poll_fn(|context| may_block(|| call.as_mut().poll(context))).await.unwrap()
}

#[tokio::test]
async fn a_minder_minds_one_command_after_the_other() {
    let program = Program::nursery().await;
    let request = ExecuteRequest::shell("echo $PPID");
    let mut used = std::collections::BTreeSet::new();
    for _ in 0..20 {
        used.insert(waited_for(&program, &request).await.output.text());
        used.insert(program.sandbox.execute(&request).await.unwrap().output.text());
    }
    assert!(used.len() <= 2, "{used:?}");
    assert!(minders(&program).len() <= 2);
}

#[tokio::test]
async fn many_at_once_leave_few_minders_and_no_descriptors() {
    let _alone = COUNTS_DESCRIPTORS.lock().await;
    let program = Program::nursery().await;
    let request = ExecuteRequest::shell("sleep 0.2; echo done");
    program.sandbox.execute(&request).await.unwrap();
    let before = open_descriptors();
    for _ in 0..3 {
        let all = futures_util::future::join_all((0..60).map(|_| program.sandbox.execute(&request))).await;
        assert!(all.into_iter().all(|executed| executed.unwrap().output.text() == "done\n"));
    }
    for _ in 0..200 {
        waited_for(&program, &ExecuteRequest::shell("true")).await;
    }
    let mut counts = (0, 0);
    for _ in 0..200 {
        counts = (minders(&program).len(), open_descriptors());
        if counts.0 <= 5 && counts.1 <= before + 4 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{counts:?} minders and descriptors, {before} descriptors before");
}

#[tokio::test]
async fn a_minder_that_is_killed_while_it_waits_is_not_missed() {
    let program = Program::nursery().await;
    for round in 0..5 {
        for minder in minders(&program) {
            kill_process(Pid::from_raw(minder).unwrap(), Signal::KILL).unwrap();
            while minders(&program).contains(&minder) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        let executed = program.sandbox.execute(&ExecuteRequest::shell("echo on")).await.unwrap();
        assert_eq!(executed.output.text(), "on\n", "round {round}");
    }
}

#[tokio::test]
async fn a_minder_that_is_stopped_while_it_waits_goes_on() {
    let program = Program::nursery().await;
    for minder in minders(&program) {
        kill_process(Pid::from_raw(minder).unwrap(), Signal::STOP).unwrap();
    }
    let executed = program.sandbox.execute(&ExecuteRequest::shell("echo on")).await.unwrap();
    assert_eq!(executed.output.text(), "on\n");
}

#[tokio::test]
async fn without_its_nursery_there_are_no_more_minders_and_it_is_said() {
    let mut program = Program::nursery().await;
    program.sandbox.execute(&ExecuteRequest::shell("true")).await.unwrap();
    program.process.kill().unwrap();
    program.process.wait().unwrap();
    // Minders that there are go on, minding one command after the other.
    for _ in 0..3 {
        let executed = program.sandbox.execute(&ExecuteRequest::shell("echo on")).await.unwrap();
        assert_eq!(executed.output.text(), "on\n");
    }
    let mut refused = None;
    for _ in 0..5 {
        refused = refused.or(program.sandbox.start_job(&JobRequest::shell("sleep 300")).await.err());
    }
    let refused = refused.unwrap();
    assert_eq!(refused.kind(), ErrorKind::Gone, "{refused}");
}

#[tokio::test]
async fn long_arguments_come_through_or_are_refused_as_anywhere() {
    let program = Program::nursery().await;
    let long = "x".repeat(120_000);
    let executed = program.sandbox.execute(&ExecuteRequest::shell(format!("printf %s {long} | wc -c"))).await.unwrap();
    assert_eq!(executed.output.text().trim(), "120000");
    let words: Vec<String> = ["true".to_owned()].into_iter().chain(std::iter::repeat_n(long, 30)).collect();
    let executed = program.sandbox.execute(&ExecuteRequest::program(words)).await.unwrap();
    assert_eq!(executed.exit_code(), 126, "{executed:?}");
    assert!(executed.output.text().contains("argument list too long"), "{executed:?}");
}

#[tokio::test]
async fn whoever_watches_by_themselves_sees_the_same() {
    let program = Program::nursery().await;
    for (line, code, text) in [
        ("true", 0, ""),
        ("echo out; echo err >&2; exit 3", 3, "out\nerr\n"),
        ("kill -9 $$", 137, ""),
        ("kill -9 $PPID; sleep 9", 137, ""),
        ("exec 1>&- 2>&-; exit 4", 4, ""),
        ("exec 1>&- 2>&-; sleep 0.1; exit 4", 4, ""),
        ("echo a; sleep 0.1; echo b", 0, "a\nb\n"),
        ("sleep 300 & echo left", 0, "left\n"),
        ("(sleep 0.2; echo later) & echo now", 0, "now\n"),
        ("cd /nowhere 2>/dev/null || echo no", 0, "no\n"),
    ] {
        let executed = waited_for(&program, &ExecuteRequest::shell(line)).await;
        assert_eq!((executed.exit_code(), executed.output.text().as_str()), (code, text), "{line}");
    }
    let lines = waited_for(&program, &ExecuteRequest::shell("seq 1 100000")).await;
    assert!(lines.output.left_out.as_ref().is_some_and(|left_out| left_out.bytes == 588_895 - 100_000), "{lines:?}");
    let request = ExecuteRequest::shell("echo a; sleep 7.25").timeout(Duration::from_millis(5));
    let late = waited_for(&program, &request).await;
    assert_eq!(late.exit_code(), 124);
    assert!(survivors("7.25").is_empty());
    let missing = ExecuteRequest::program(["no-such-program"]);
    assert_eq!(waited_for(&program, &missing).await.exit_code(), 127);
    std::fs::remove_dir_all(program.directory.path()).unwrap();
    let nowhere = program.sandbox.execute(&ExecuteRequest::shell("pwd")).await.unwrap_err();
    assert_eq!(nowhere.kind(), ErrorKind::NotFound, "{nowhere}");
}

#[tokio::test]
async fn a_nursery_that_stands_still_holds_nobody_up() {
    let _alone = COUNTS_DESCRIPTORS.lock().await;
    let program = Program::nursery().await;
    program.sandbox.execute(&ExecuteRequest::shell("true")).await.unwrap();
    let nursery = Pid::from_child(&program.process);
    kill_process(nursery, Signal::STOP).unwrap();
    let marked = program.directory.path().join("began");
    let request = ExecuteRequest::shell("touch began; sleep 300").timeout(Duration::from_millis(100));
    let began = std::time::Instant::now();
    // Minders that there are mind; for the others there is none, until there is no room for more who wait.
    let all = futures_util::future::join_all((0..400).map(|_| program.sandbox.execute(&request))).await;
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
    for executed in all {
        let told =
            executed.map_or_else(|error| error.kind() == ErrorKind::Busy, |executed| executed.exit_code() == 124);
        assert!(told);
    }
    std::fs::remove_file(&marked).unwrap();
    kill_process(nursery, Signal::CONT).unwrap();
    let on = program.sandbox.execute(&ExecuteRequest::shell("sleep 0.3; echo on")).await.unwrap();
    assert_eq!(on.output.text(), "on\n");
    assert!(!marked.exists(), "a command that nobody waits for any more is not begun");
}

#[tokio::test]
async fn a_command_that_cannot_be_had_says_why() {
    let program = Program::nursery().await;
    let nursery = Pid::from_child(&program.process);
    let none = rustix::process::Rlimit { current: Some(9), maximum: Some(9) };
    rustix::process::prlimit(Some(nursery), rustix::process::Resource::Nofile, none).unwrap();
    let mut told = None;
    for _ in 0..6 {
        told = told.or(program.sandbox.start_job(&JobRequest::shell("sleep 300")).await.err());
    }
    let told = told.unwrap();
    assert!(told.kind() == ErrorKind::Busy || told.to_string().contains("cannot start a process"), "{told}");
}
