//! Many calls at once on one connection.

use std::{sync::atomic::Ordering, time::Duration};

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::time::timeout;
use workden_core::{BackendExt, Expect, Sandbox, sandbox::ExecuteRequest};

use crate::{
    pipes::{path, played, until},
    scripted::spawning,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thousands_of_calls_are_all_answered_each_with_its_own() {
    let (remote, _) = played().await;
    let calls = (0..3_000).map(|number| {
        let remote = remote.clone();
        tokio::spawn(async move {
            let file = path(&format!("/{}/{number}", number % 7));
            let content = Bytes::from(format!("{number}\n").repeat(number % 500));
            remote.write_path(&file, content.clone(), Expect::Absent).await.unwrap();
            assert_eq!(remote.read_bytes(&file).await.unwrap(), content);
            let line = format!("echo {number}");
            assert_eq!(remote.execute(&ExecuteRequest::shell(line.clone())).await.unwrap().output.head, line);
        })
    });
    for call in join_all(calls).await {
        call.unwrap();
    }
}

/// As many commands as a sandbox runs, all with output and input that is not moved on.
#[tokio::test]
async fn as_many_commands_as_a_sandbox_runs_leave_room_for_other_calls() {
    let (remote, seen) = played().await;
    seen.deaf.store(true, Ordering::SeqCst);
    let mut processes = Vec::new();
    for _ in 0..workden_core::limits::RUNNING_COMMANDS {
        processes.push(remote.spawn(&spawning("silent")).await.unwrap());
    }
    let writes = processes.iter().map(|process| process.control.write(Bytes::from_static(b"x")));
    let hanging = ExecuteRequest::shell("hang");
    let commands = (0..workden_core::limits::RUNNING_COMMANDS).map(|_| remote.execute(&hanging));
    let held_up = async { tokio::join!(join_all(writes), join_all(commands)) };
    let others = async {
        let all = 2 * workden_core::limits::RUNNING_COMMANDS;
        until("all are running", || seen.running.load(Ordering::SeqCst) == all).await;
        timeout(Duration::from_secs(10), remote.origins()).await.expect("an answer").unwrap();
    };
    tokio::select! {
        _ = held_up => panic!("a call that should hang returned"),
        () = others => {}
    }
}
