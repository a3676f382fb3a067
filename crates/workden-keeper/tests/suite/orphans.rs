//! No orphans: every way to leave processes behind, and every way to end a command.

use std::time::Duration;

use workden_core::sandbox::{Ended, ExecuteRequest, JobId, JobRequest, JobState, Killed, Sandbox};
use workden_wire::RemoteSandbox;

use crate::{
    common::{survivors, until},
    program::Program,
};

/// Ways to leave processes behind, each of which runs for minutes. `UP` marks that all of them run.
const CASES: &[(&str, &str)] = &[
    ("a child", "UP; sleep 300"),
    ("children in the background", "sleep 300 & sleep 300 & UP; sleep 300"),
    ("a session of its own", "setsid sleep 300 & setsid setsid sleep 300 & UP; sleep 300"),
    ("a double fork", "(setsid sh -c 'setsid sleep 300 & UP; exit' &) ; sleep 300"),
    ("TERM ignored", "trap '' TERM HUP INT; setsid sleep 300 & UP; sleep 300"),
    ("a child that is stopped", "sleep 300 & kill -STOP $!; setsid sleep 300 & kill -STOP $!; UP; sleep 300"),
    ("stopped itself", "setsid sleep 300 & UP; kill -STOP $$"),
    ("the pipe held by a grandchild", "(setsid sh -c 'echo held; UP; sleep 300' &) ; sleep 300"),
    ("always new children", "while :; do setsid sleep 300 & UP; sleep 0.02; done"),
    (
        "its reaper killed",
        "setsid sleep 300 & (setsid sh -c 'trap \"\" TERM; sleep 300' &) ; UP; kill -9 $PPID; sleep 300",
    ),
    ("its reaper traced", TRACES),
    ("its reaper stopped", "setsid sleep 300 & UP; kill -STOP $PPID; sleep 300"),
];

/// Traces its reaper, so that it cannot be reaped. The kernel allows that to root at most.
const TRACES: &str = "exec python3 -c 'import ctypes, os, signal, time; signal.signal(15, signal.SIG_IGN); \
                      ctypes.CDLL(None).ptrace(16, os.getppid(), 0, 0); open(os.environ[\"MARK\"], \"w\"); \
                      time.sleep(300)'";

/// Returns a word that only the processes of one case have in their environment.
fn mark(way: &str, case: usize) -> String {
    format!("workden_{way}_{case}_{}_", std::process::id())
}

/// Returns the line of a case. At `UP` it creates a file with the name of the mark.
fn line_of(case: &str) -> String {
    case.replace("UP", ": > \"$MARK\"")
}

fn request(line: &str, mark: &str) -> ExecuteRequest {
    let mut request = ExecuteRequest::shell(line_of(line));
    request.environment.insert("MARK".to_owned(), mark.to_owned());
    request
}

fn job(line: &str, mark: &str) -> JobRequest {
    let mut request = JobRequest::shell(line_of(line));
    request.environment.insert("MARK".to_owned(), mark.to_owned());
    request
}

/// Waits until nothing is left.
async fn none_left(mark: &str, case: &str) {
    until(&format!("nothing is left of {case}"), || survivors(mark).is_empty()).await;
}

/// Waits until all processes of a case run.
async fn up<S>(program: &Program<S>, mark: &str, case: &str) {
    let file = program.directory.path().join(mark);
    until(&format!("{case} is up"), || file.exists()).await;
}

#[tokio::test]
async fn none_after_a_timeout() {
    let (way, program) = ("timeout", Program::start().await);
    let all = CASES.iter().enumerate().map(|(number, (case, line))| {
        let sandbox = &program.sandbox;
        async move {
            let mark = mark(way, number);
            let executed = sandbox.execute(&request(line, &mark).timeout(Duration::from_millis(500))).await.unwrap();
            // A command that killed its reaper is not waited for.
            assert!([124, 137].contains(&executed.exit_code()), "{case}: {executed:?}");
            assert_eq!(survivors(&mark), Vec::<String>::new(), "{case}");
        }
    });
    futures_util::future::join_all(all).await;
    assert_eq!(program.sandbox.execute(&ExecuteRequest::shell("echo on")).await.unwrap().output.text(), "on\n");
}

#[tokio::test]
async fn none_after_a_call_was_dropped() {
    let (way, program) = ("dropped", Program::start().await);
    let all = CASES.iter().enumerate().map(|(number, (case, line))| {
        let (program, sandbox) = (&program, &program.sandbox);
        async move {
            let mark = mark(way, number);
            let request = request(line, &mark);
            tokio::select! {
                _ = sandbox.execute(&request) => {}
                () = up(program, &mark, case) => {}
            }
            none_left(&mark, case).await;
        }
    });
    futures_util::future::join_all(all).await;
}

#[tokio::test]
async fn none_after_a_job_was_killed() {
    let (way, program) = ("job", Program::start().await);
    let all = CASES.iter().enumerate().map(|(number, (case, line))| {
        let (program, sandbox) = (&program, &program.sandbox);
        async move {
            let mark = mark(way, number);
            let job = sandbox.start_job(&job(line, &mark)).await.unwrap();
            up(program, &mark, case).await;
            let killed = sandbox.kill_job(&job.id).await.unwrap();
            assert!(*case == "its reaper killed" || killed == Killed::Stopped, "{case}: {killed:?}");
            assert_eq!(survivors(&mark), Vec::<String>::new(), "{case}");
            assert_eq!(sandbox.kill_job(&job.id).await.unwrap(), Killed::AlreadyOver, "{case}");
        }
    });
    futures_util::future::join_all(all).await;
    let missing = program.sandbox.kill_job(&JobId::from("bg_99")).await.unwrap_err();
    assert_eq!(missing.sentence(), "job `bg_99` not found");
}

#[tokio::test]
async fn none_of_what_a_finished_job_left() {
    let program = Program::start().await;
    let mark = mark("finished", 0);
    let line = "setsid sleep 300 & (setsid sh -c 'trap \"\" TERM; UP; sleep 300' &) ; exit 7";
    let job = program.sandbox.start_job(&job(line, &mark)).await.unwrap();
    up(&program, &mark, "a finished job").await;
    let state = async || program.sandbox.jobs().await.unwrap()[0].state;
    while state().await == JobState::Running {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(state().await, JobState::Ended(Ended::Exited(7)));
    assert!(!survivors(&mark).is_empty());
    assert_eq!(program.sandbox.kill_job(&job.id).await.unwrap(), Killed::Stopped);
    assert_eq!(survivors(&mark), Vec::<String>::new());
}

/// Starts every case as a job, then ends the keeper in some way.
async fn with_all_running(way: &str, program: Program, end: impl AsyncFnOnce(&mut Program<Option<RemoteSandbox>>)) {
    let Program { directory, process, sandbox } = program;
    let mut program = Program { directory, process, sandbox: Some(sandbox) };
    for (number, (case, line)) in CASES.iter().enumerate() {
        let mark = mark(way, number);
        program.sandbox.as_ref().unwrap().start_job(&job(line, &mark)).await.unwrap();
        up(&program, &mark, case).await;
    }
    end(&mut program).await;
    for (number, (case, _)) in CASES.iter().enumerate() {
        none_left(&mark(way, number), case).await;
    }
    program.wait().await;
}

#[tokio::test]
async fn none_after_the_sandbox_was_stopped() {
    let way = "stop";
    with_all_running(way, Program::start().await, async |program| {
        program.sandbox.as_ref().unwrap().stop().await.unwrap();
        for (number, (case, _)) in CASES.iter().enumerate() {
            assert_eq!(survivors(&mark(way, number)), Vec::<String>::new(), "{case}: right after the stop");
        }
        program.sandbox = None;
    })
    .await;
}

#[tokio::test]
async fn none_after_the_stream_has_ended() {
    // The kernel closes the descriptors of an owner that dies.
    with_all_running("stream", Program::start().await, async |program| program.sandbox = None).await;
}

#[tokio::test]
async fn none_after_kill_9_of_the_owner() {
    with_all_running("owner", Program::start_by_another().await, async |program| {
        // The socket stays open in this process: the owner is the shell.
        let owner = rustix::process::Pid::from_child(&program.process);
        rustix::process::kill_process(owner, rustix::process::Signal::KILL).unwrap();
    })
    .await;
}

#[tokio::test]
async fn none_after_the_keeper_was_told_to_end() {
    with_all_running("term", Program::start().await, async |program| {
        let keeper = rustix::process::Pid::from_child(&program.process);
        rustix::process::kill_process(keeper, rustix::process::Signal::TERM).unwrap();
    })
    .await;
}

#[tokio::test]
async fn none_after_kill_9_of_the_keeper_but_what_killed_its_minder() {
    let (way, mut program) = ("keeper", Program::start().await);
    let cases: Vec<_> = CASES.iter().enumerate().filter(|(_, (case, _))| !case.starts_with("its reaper")).collect();
    for (number, (case, line)) in &cases {
        let mark = mark(way, *number);
        program.sandbox.start_job(&job(line, &mark)).await.unwrap();
        up(&program, &mark, case).await;
    }
    program.process.kill().unwrap();
    for (number, (case, _)) in &cases {
        none_left(&mark(way, *number), case).await;
    }
    program.process.wait().unwrap();
}
