//! `execute`: output, ends and bounds.

use std::{
    io::Write,
    pin::pin,
    time::{Duration, Instant},
};

use futures_util::future::{join_all, select};
use tokio::time::timeout;
use workden_core::{
    BackendExt, ErrorKind, Expect, VirtualPath,
    sandbox::{Ended, ExecuteRequest, JobRead, Sandbox},
};

use crate::common::{PATIENCE, TestKeeper, until};

#[tokio::test]
async fn ends_are_told_as_a_shell_would() {
    let place = TestKeeper::new();
    std::fs::write(place.directory.path().join("plain"), "not a program").unwrap();
    for (request, code, text) in [
        (ExecuteRequest::shell("true"), 0, ""),
        (ExecuteRequest::shell("echo out; echo err >&2; exit 3"), 3, "out\nerr\n"),
        (ExecuteRequest::shell("kill -9 $$"), 137, ""),
        (ExecuteRequest::shell("kill -TERM $$"), 143, ""),
        (ExecuteRequest::program(["echo", "a b", "$x", "*"]), 0, "a b $x *\n"),
        (ExecuteRequest::program(["no-such-program"]), 127, "cannot run `no-such-program`: no such program\n"),
        (ExecuteRequest::program(["./plain"]), 126, "cannot run `./plain`: permission denied\n"),
        (ExecuteRequest::shell("no-such-program 2>/dev/null"), 127, ""),
        (ExecuteRequest::shell("cat; read x; echo $?"), 0, "1\n"),
        (ExecuteRequest::shell("kill -9 $PPID; sleep 9"), 137, ""),
        (ExecuteRequest::shell("exec 1>&- 2>&-; exit 4"), 4, ""),
        (ExecuteRequest::shell("exec 1>&- 2>&-; sleep 0.1; exit 4"), 4, ""),
        (ExecuteRequest::shell("echo a; sleep 0.1; echo b"), 0, "a\nb\n"),
        (ExecuteRequest::program(["env"]), 0, "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin\n"),
        (ExecuteRequest::shell("yes | head -1"), 0, "y\n"),
        (ExecuteRequest::shell("ls /proc/self/fd | tr '\\n' ' '"), 0, "0 1 2 3 "),
        (ExecuteRequest::shell("grep SigIgn /proc/self/status | tail -c 8"), 0, "0000000\n"),
        (ExecuteRequest::shell("grep SigBlk /proc/self/status"), 0, "SigBlk:\t0000000000000000\n"),
    ] {
        let executed = place.keeper.execute(&request).await.unwrap();
        assert_eq!((executed.exit_code(), executed.output.text().as_str()), (code, text), "{:?}", request.command);
    }
}

#[tokio::test]
async fn asking_what_a_sandbox_is_does_not_count_as_use() {
    let place = TestKeeper::new();
    let idle = async || place.keeper.usage().await.unwrap().idle;
    place.run("sleep 0.05").await;
    let before = idle().await;
    place.keeper.directory().await.unwrap();
    place.keeper.isolation().await.unwrap();
    assert!(idle().await >= before);
    let used = Instant::now();
    place.run("true").await;
    assert!(idle().await <= used.elapsed());
}

#[tokio::test]
async fn a_script_without_a_first_line_runs_in_the_shell() {
    use std::os::unix::fs::PermissionsExt;
    let place = TestKeeper::new();
    let script = place.directory.path().join("script");
    std::fs::write(&script, "echo ran $1\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let executed = place.keeper.execute(&ExecuteRequest::program(["./script", "it"])).await.unwrap();
    assert_eq!(executed.output.text(), "ran it\n");
}

#[tokio::test]
async fn long_arguments_come_through_or_are_refused() {
    let place = TestKeeper::new();
    let long = "x".repeat(120_000);
    assert_eq!(place.run(&format!("printf %s {long} | wc -c")).await.output.text().trim(), "120000");
    let words: Vec<String> = ["true".to_owned()].into_iter().chain(std::iter::repeat_n(long, 30)).collect();
    let executed = place.keeper.execute(&ExecuteRequest::program(words)).await.unwrap();
    assert_eq!(executed.exit_code(), 126, "{executed:?}");
    assert!(executed.output.text().contains("argument list too long"), "{executed:?}");
}

#[tokio::test]
async fn a_directory_that_was_removed_is_an_error() {
    let place = TestKeeper::new();
    std::fs::remove_dir_all(place.directory.path()).unwrap();
    let nowhere = place.keeper.execute(&ExecuteRequest::shell("pwd")).await.unwrap_err();
    assert_eq!(nowhere.kind(), ErrorKind::NotFound, "{nowhere}");
}

#[tokio::test]
async fn output_and_errors_come_in_the_order_in_which_they_were_printed() {
    let place = TestKeeper::new();
    let executed = place.run("for i in $(seq 1 2000); do echo o$i; echo e$i >&2; done").await;
    let expected: String = (1..=2000).map(|i| format!("o{i}\ne{i}\n")).collect();
    assert_eq!(executed.output.text(), expected);
}

#[tokio::test]
async fn a_timeout_keeps_what_was_printed() {
    let place = TestKeeper::new();
    let ran = place.run_for("echo before; sleep 600; echo after", Duration::from_millis(200));
    let executed = timeout(PATIENCE, ran).await.expect("the timeout ends it");
    assert_eq!(executed.ended, Ended::TimedOut);
    assert_eq!((executed.exit_code(), executed.output.text().as_str()), (124, "before\n"));
}

#[tokio::test]
async fn a_child_in_the_background_does_not_keep_a_caller_waiting() {
    let place = TestKeeper::new();
    let executed = timeout(PATIENCE, place.run("sleep 600 & echo hi")).await.expect("it does not wait for the child");
    assert_eq!(executed.output.text(), "hi\n");
    place.keeper.stop().await.unwrap();
}

#[tokio::test]
async fn what_a_child_in_the_background_prints_is_drained_into_the_log() {
    let place = TestKeeper::new();
    let child = "until [ -e go ]; do sleep 0.05; done; echo later; yes | head -c 1000000; echo done > finished";
    let executed = place.run(&format!("({child}) & echo hi")).await;
    assert_eq!(executed.output.text(), "hi\n");
    std::fs::write(place.directory.path().join("go"), "").unwrap();
    let finished = place.directory.path().join("finished");
    until("the child is not blocked by a full pipe", || finished.exists()).await;
    let read = place.keeper.read_job(&"exec_1".into(), &JobRead::from(0)).await.unwrap();
    assert!(read.text.starts_with("hi\nlater\ny\n"), "{:?}", &read.text[..30]);
}

#[tokio::test]
async fn a_directory_is_resolved_and_a_missing_one_is_an_error() {
    let place = TestKeeper::new();
    std::fs::create_dir_all(place.directory.path().join("a/b")).unwrap();
    std::os::unix::fs::symlink("/a/b", place.directory.path().join("link")).unwrap();
    std::fs::write(place.directory.path().join("file"), "").unwrap();
    let run_in = async |directory: &str| {
        let mut request = ExecuteRequest::shell("pwd");
        request.directory = Some(VirtualPath::parse(directory).unwrap());
        place.keeper.execute(&request).await
    };
    for directory in ["/a/b", "/link"] {
        let printed = run_in(directory).await.unwrap().output.text();
        assert!(printed.ends_with("/a/b\n"), "{printed}");
    }
    for (directory, kind) in [("/none", ErrorKind::NotFound), ("/file", ErrorKind::NotDirectory)] {
        let error = run_in(directory).await.unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.sentence().contains(directory), "{error}");
    }
}

#[tokio::test]
async fn of_much_output_head_and_tail_are_kept_and_the_rest_is_in_the_log() {
    let place = TestKeeper::new();
    let mut request = ExecuteRequest::shell("seq 1 100000");
    request.most_chars = 100;
    let output = place.keeper.execute(&request).await.unwrap().output;
    let all: String = (1..=100_000).map(|i| format!("{i}\n")).collect();
    let left_out = output.left_out.clone().unwrap();
    assert!(all.starts_with(&output.head) && all.ends_with(&output.tail));
    assert_eq!(left_out.bytes as usize + output.head.len() + output.tail.len(), all.len());
    let log = left_out.log.clone().unwrap();
    assert_eq!(log.kept, all.len() as u64);
    let mut read = String::new();
    loop {
        let part = place.keeper.read_job(&log.id, &JobRead::from(read.len() as u64)).await.unwrap();
        if part.text.is_empty() {
            break;
        }
        read += &part.text;
    }
    assert_eq!(read, all);
}

#[tokio::test]
async fn a_hundred_at_once() {
    let place = TestKeeper::new();
    let path = |name: &str| place.directory.path().join(name);
    place.run("mkfifo gate").await;
    // Each waits at the gate until all have started.
    let many = join_all((0..100).map(|i| {
        let keeper = &place.keeper;
        async move { keeper.execute(&ExecuteRequest::shell(format!("touch at_{i}; read x < gate; echo {i}"))).await }
    }));
    let gate = async {
        until("all have started", || (0..100).all(|i| path(&format!("at_{i}")).exists())).await;
        let mut gate = std::fs::File::options().read(true).write(true).open(path("gate")).unwrap();
        gate.write_all(&[b'\n'; 100]).unwrap();
        gate
    };
    let (many, _gate) = futures_util::future::join(many, gate).await;
    for (i, executed) in many.into_iter().enumerate() {
        assert_eq!(executed.unwrap().output.text(), format!("{i}\n"));
    }
}

/// A child that is just being forked has the descriptor of every file that is being written, and while it does, the
/// kernel refuses to execute that file.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_program_that_was_just_written_is_never_busy_while_other_commands_start() {
    const ALONE: &str = "WORKDEN_TEST_ALONE";
    // In a process of its own: other tests fork here without the lock of keepers.
    if std::env::var_os(ALONE).is_none() {
        let name = "commands::a_program_that_was_just_written_is_never_busy_while_other_commands_start";
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap());
        let done = alone.args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().unwrap();
        assert!(done.status.success() && String::from_utf8_lossy(&done.stdout).contains("1 passed"), "{done:?}");
        return;
    }
    let (writing, starting) = (TestKeeper::new(), TestKeeper::new());
    let program = VirtualPath::parse("/program").unwrap();
    let write = async || {
        writing.keeper.write_path(&program, "#!/bin/sh\necho ran\n".into(), Expect::Anything).await.unwrap();
    };
    write().await;
    writing.run("chmod +x program").await;
    let write_and_run = async {
        for _ in 0..200 {
            write().await;
            assert_eq!(writing.run("./program").await.output.text(), "ran\n");
        }
    };
    let others = join_all((0..4).map(async |_| {
        loop {
            starting.run(":").await;
        }
    }));
    select(pin!(write_and_run), pin!(others)).await;
}
