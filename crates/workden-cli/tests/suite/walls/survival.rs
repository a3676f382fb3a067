//! A sandbox still works after what its commands do to it.

use std::time::Duration;

use workden_core::{
    BackendExt, Sandbox, VirtualPath,
    sandbox::{ExecuteRequest, JobRequest},
};
use workden_sandboxes::{KeeperProgram, LinuxSandbox};

use crate::processes::PATIENCE;

async fn sandbox() -> LinuxSandbox {
    let program = KeeperProgram::at(env!("CARGO_BIN_EXE_workden"));
    LinuxSandbox::builder().keeper(program).pids(128).start().await.unwrap()
}

/// Runs a hostile command, and checks that the sandbox still works.
async fn survives(worst: &str) {
    let sandbox = sandbox().await;
    let request = ExecuteRequest::shell(worst).timeout(Duration::from_secs(1));
    let executed = tokio::time::timeout(PATIENCE, sandbox.execute(&request)).await;
    assert!(executed.is_ok(), "`{worst}` has no end");
    let after = sandbox.execute(&ExecuteRequest::shell("echo fine")).await.unwrap();
    assert_eq!(after.output.head, "fine\n", "after `{worst}`: {after:?}");
    let left = "ps=$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '); case $ps in *sleep\\ 77*) echo left ;; esac";
    let left = sandbox.execute(&ExecuteRequest::shell(left)).await.unwrap();
    assert_eq!(left.output.head, "", "after `{worst}` something is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sandbox_survives_what_its_commands_do_to_it() {
    for worst in [
        "kill -9 -1",
        "kill -STOP -1; sleep 77",
        "kill -STOP $PPID; sleep 77",
        "kill -9 $PPID; sleep 77",
        "kill -STOP $PPID; setsid sleep 77 & sleep 77",
        "(trap '' TERM; kill -STOP $PPID; setsid sh -c 'trap \"\" TERM; sleep 77' & sleep 77)",
        ":(){ :|:& };:; sleep 77",
        "perl -e 'while (1) { fork; }'",
        "perl -e 'while (1) { my $p = fork; if (!$p) { setpgrp; exec \"sleep\", \"77\" } }'",
        "yes > /tmp/full; yes > /dev/shm/full",
        "yes | head -c 300M",
        "chmod 000 /tmp",
        "rm -rf /tmp/* /tmp/.[a-z]* /workspace/* 2>/dev/null",
        "perl -e 'for (1 .. 100000) { mkdir \"d\" or last; chdir \"d\" or last }'",
        "ulimit -n 3; sleep 77",
        "exec 1>&- 2>&-; sleep 77",
    ] {
        survives(worst).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_are_stopped_by_other_commands_can_still_be_killed() {
    let sandbox = sandbox().await;
    let job = sandbox.start_job(&JobRequest::shell("trap '' TERM; sleep 77 & sleep 77; sleep 77")).await.unwrap();
    sandbox.execute(&ExecuteRequest::shell("kill -STOP -1").timeout(Duration::from_secs(2))).await.unwrap();
    tokio::time::timeout(PATIENCE, sandbox.kill_job(&job.id)).await.unwrap().unwrap();
    let left = sandbox.execute(&ExecuteRequest::shell("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")).await.unwrap();
    assert!(!left.output.head.contains("sleep 77"), "{left:?}");
}

/// File calls go through the keeper, which has more rights than a command, but cannot reach these files.
#[tokio::test(flavor = "multi_thread")]
async fn the_keepers_own_files_are_out_of_reach_of_file_calls() {
    let sandbox = sandbox().await;
    for path in [
        "/proc/1/environ",
        "/proc/self/mem",
        "/proc/self/environ",
        "/proc/1/root/etc/passwd",
        "/dev/null",
        "/sys/kernel",
    ] {
        let path = VirtualPath::parse(path).unwrap();
        assert!(sandbox.read_bytes(&path).await.is_err(), "`{path}` could be read");
        assert!(sandbox.write_path(&path, "x".into(), workden_core::Expect::Anything).await.is_err(), "`{path}`");
    }
    let link = ExecuteRequest::shell("ln -s /proc/1/environ l; ln -s /proc/self/mem m; ln -s ../proc n");
    sandbox.execute(&link).await.unwrap();
    for path in ["/workspace/l", "/workspace/m", "/workspace/n/1/environ"] {
        let path = VirtualPath::parse(path).unwrap();
        assert!(sandbox.read_bytes(&path).await.is_err(), "`{path}` could be read");
    }
}
