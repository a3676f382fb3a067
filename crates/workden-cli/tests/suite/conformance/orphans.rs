//! No orphans: every way to leave a process behind, times every way to end a command or a sandbox. The host looks for
//! survivors by a number that only the processes of one case have among their arguments.

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use futures_util::future::{Either, join_all, join3, select};
use workden_core::{
    Sandbox,
    sandbox::{Ended, ExecuteRequest, JobRequest, Killed},
};

use crate::{
    conformance::places::{Kind, Places, program},
    processes::{PATIENCE, mark, soon},
};

/// A way to leave processes behind, which run for `N` seconds, many hours.
struct Case {
    name: &'static str,
    line: &'static str,
    /// The number of processes with `N` among their arguments after the start, including the shell.
    processes: usize,
}

const CASES: &[Case] = &[
    Case { name: "a child", line: "sleep N; :", processes: 2 },
    Case { name: "a session of its own", line: "setsid sleep N & sleep N; :", processes: 3 },
    Case { name: "a double fork", line: "(setsid sh -c 'setsid sleep N & exit' &); sleep N; :", processes: 3 },
    Case { name: "TERM ignored", line: "trap '' TERM HUP QUIT; setsid sleep N & sleep N; sleep N", processes: 3 },
    Case {
        name: "a stopped process",
        line: "sleep N & kill -STOP $!; setsid sleep N & kill -STOP $!; sleep N; :",
        processes: 4,
    },
    Case {
        name: "a grandchild that holds the pipe",
        line: "(setsid sh -c 'echo held; sleep N; :' &); sleep N; :",
        processes: 4,
    },
];

/// A case with a unique number.
struct Marked {
    case: &'static Case,
    number: String,
}

impl Marked {
    fn all() -> Vec<Self> {
        CASES.iter().map(|case| Self { case, number: mark() }).collect()
    }

    fn line(&self) -> String {
        self.case.line.replace('N', &self.number)
    }

    /// Returns the processes of this machine with the number among their arguments.
    fn alive(&self) -> Vec<String> {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
        lines.filter(|line| line.contains(&self.number)).collect()
    }

    async fn is_up(&self, processes: usize) {
        soon(&format!("{} did not start", self.case.name), async || self.alive().len() >= processes).await;
    }

    async fn is_gone(&self, after: &str, most: Duration) {
        let started = Instant::now();
        loop {
            let alive = self.alive();
            if alive.is_empty() {
                return;
            }
            assert!(started.elapsed() <= most, "{} survived {after}: {alive:#?}", self.case.name);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Runs something on every case at once, in every kind of sandbox.
async fn each_case(after: &str, run: impl AsyncFn(&dyn Sandbox, &Marked, &str)) {
    let places = Places::new();
    let of_kind = async |kind: Kind| {
        let sandbox = places.start(kind).await;
        let (cases, after) = (Marked::all(), format!("{after} of a {kind:?} sandbox"));
        join_all(cases.iter().map(|case| run(&*sandbox, case, &after))).await;
        // The sandbox still works.
        let next = sandbox.execute(&ExecuteRequest::shell("echo on")).await.unwrap();
        assert_eq!(next.output.text(), "on\n");
    };
    join3(of_kind(Kind::Linux), of_kind(Kind::Landlock), of_kind(Kind::Host)).await;
}

/// Starts every case as a job in every kind of sandbox, ends the sandbox, and looks for survivors.
async fn each_sandbox(after: &str, most: Duration, end: impl AsyncFn(Box<dyn Sandbox>)) {
    let places = Places::new();
    let of_kind = async |kind: Kind| {
        let sandbox = places.start(kind).await;
        let cases = Marked::all();
        for marked in &cases {
            sandbox.start_job(&JobRequest::shell(marked.line())).await.unwrap();
        }
        join_all(cases.iter().map(|marked| marked.is_up(marked.case.processes))).await;
        end(sandbox).await;
        for marked in cases {
            marked.is_gone(&format!("{after} of a {kind:?} sandbox"), most).await;
        }
    };
    join3(of_kind(Kind::Linux), of_kind(Kind::Landlock), of_kind(Kind::Host)).await;
}

#[tokio::test]
async fn none_after_a_timeout() {
    each_case("a timeout", async |sandbox, marked, after| {
        // A busy machine may need longer to start all processes.
        for seconds in [2, 10, 60] {
            let request = ExecuteRequest::shell(marked.line()).timeout(Duration::from_secs(seconds));
            let running = sandbox.execute(&request);
            let (done, was_up) = match select(running, Box::pin(marked.is_up(marked.case.processes))).await {
                Either::Left((done, _)) => (done, false),
                Either::Right(((), running)) => (running.await, true),
            };
            assert_eq!(done.unwrap().ended, Ended::TimedOut, "{}", marked.case.name);
            marked.is_gone(after, Duration::ZERO).await;
            if was_up {
                return;
            }
        }
        panic!("{} did not start", marked.case.name);
    })
    .await;
}

#[tokio::test]
async fn none_after_a_dropped_call() {
    each_case("a dropped call", async |sandbox, marked, after| {
        let request = ExecuteRequest::shell(marked.line()).timeout(None);
        select(sandbox.execute(&request), Box::pin(marked.is_up(marked.case.processes))).await;
        marked.is_gone(after, PATIENCE).await;
    })
    .await;
}

#[tokio::test]
async fn none_after_a_killed_job() {
    each_case("a killed job", async |sandbox, marked, after| {
        let job = sandbox.start_job(&JobRequest::shell(marked.line())).await.unwrap();
        marked.is_up(marked.case.processes).await;
        assert_eq!(sandbox.kill_job(&job.id).await.unwrap(), Killed::Stopped, "{}", marked.case.name);
        marked.is_gone(after, Duration::ZERO).await;
    })
    .await;
}

#[tokio::test]
async fn none_after_a_stop() {
    each_sandbox("the stop", Duration::ZERO, async |sandbox| sandbox.stop().await.unwrap()).await;
}

#[tokio::test]
async fn none_after_a_drop() {
    each_sandbox("the drop", PATIENCE, async |sandbox| drop(sandbox)).await;
}

#[tokio::test]
async fn none_after_kill_9_of_workden() {
    let places = Places::new();
    let of_kind = async |kind: Kind| {
        let cases = Marked::all();
        let start = |marked: &Marked| {
            let mut workden = Command::new(program());
            workden.arg("run").args(options(kind)).args(["--", "sh", "-c", &marked.line()]);
            workden.current_dir(places.directory_for(kind));
            workden.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
        };
        let mut owners: Vec<_> = cases.iter().map(start).collect();
        // One more: the owner itself.
        join_all(cases.iter().map(|marked| marked.is_up(marked.case.processes + 1))).await;
        for owner in &mut owners {
            owner.kill().unwrap();
            owner.wait().unwrap();
        }
        for marked in cases {
            marked.is_gone(&format!("kill -9 of the owner of a {kind:?} sandbox"), PATIENCE).await;
        }
    };
    join3(of_kind(Kind::Linux), of_kind(Kind::Landlock), of_kind(Kind::Host)).await;
}

/// Returns the options of `workden run` for a kind of sandbox.
fn options(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Linux => &[],
        Kind::Landlock => &["--level", "landlock"],
        Kind::Host => &["--sandbox", "host"],
    }
}
