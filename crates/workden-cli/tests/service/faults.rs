//! What a machine can do to a service: a full disk, a clock that is set; and followers that do not read.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use futures_util::{StreamExt, stream};
use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::{
    database,
    served::{Served, StateDirectory, until},
};

fn serve(state: &Path) -> Vec<String> {
    let words = [env!("CARGO_BIN_EXE_workden"), "serve", "--listen", "127.0.0.1:0", "--state"].map(str::to_owned);
    words.into_iter().chain([state.display().to_string()]).chain(database::arguments(state)).collect()
}

#[tokio::test]
async fn a_full_disk_is_told_and_nothing_that_was_confirmed_is_lost() {
    let state = StateDirectory::new();
    let mount = format!("mount -t tmpfs -o size=16m,mode=700 none {0} && exec \"$@\"", state.path().display());
    let mut program = Command::new("unshare");
    let served = Served::run(program.args(["--mount", "sh", "-c", &mount, "sh"]).args(serve(state.path())));
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    assert_eq!(admin.put(&session, "before", "x").await, StatusCode::OK);
    let fill = json!({ "command": "head -c 100000000 /dev/zero > large" });
    let (status, filled) = admin.post(&format!("{session}/commands"), fill).await;
    assert!(status == StatusCode::INSUFFICIENT_STORAGE || filled["exit_code"] == 1, "{status}: {filled}");
    // Sooner or later one is refused; each that is confirmed has happened.
    let mut confirmed = 1;
    let refused = loop {
        assert!(confirmed < 5000, "a disk without space took everything");
        match admin.put(&session, &format!("{confirmed}"), &"x".repeat(5000)).await {
            StatusCode::OK => confirmed += 1,
            refused => break refused,
        }
    };
    assert_eq!(refused, StatusCode::INSUFFICIENT_STORAGE);
    assert_eq!(admin.get("/healthz").await.0, StatusCode::OK);
    assert_eq!(admin.get(&format!("{session}/files?path=before")).await.1, json!("x"), "reading goes on");
    let remove = format!("{session}/files?path=large");
    until("space", || async { admin.delete(&remove).await.is_success() }).await;
    until("calls", || async { admin.put(&session, "after", "x").await == StatusCode::OK }).await;
    let files = admin.run(&session, "ls | grep -cE '^[0-9]+$|^before$'").await.1;
    assert!(files.trim().parse::<i32>().unwrap() >= confirmed, "{files}: {confirmed} were confirmed");
    let mut events = Vec::new();
    while let Some(page) = admin.get(&format!("{session}/events?limit=1000&after={}", events.len())).await.1.as_array()
        && !page.is_empty()
    {
        events.extend(page.clone());
    }
    let numbers: Vec<i64> = events.iter().map(|event| event["seq"].as_i64().unwrap()).collect();
    assert_eq!(numbers, (1..=i64::try_from(events.len()).unwrap()).collect::<Vec<_>>());
}

#[tokio::test]
async fn ten_thousand_events_wait_for_a_follower_that_does_not_read() {
    const EVENTS: usize = 10_000;
    let state = StateDirectory::new();
    let config = state.path().join("serve.toml");
    std::fs::write(&config, "[limits]\nunread_seconds = 3600\n").unwrap();
    let served = Served::start(state.path(), &["--config", config.to_str().unwrap()]);
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    admin.put(&session, "note", "x").await;
    let follow = format!("{session}/events/stream");
    let mut follower = admin.request(Method::GET, &follow).timeout(Duration::from_secs(600)).send().await.unwrap();
    let memory =
        async || crate::metrics::value(&crate::metrics::read(&served).await, "workden_process_resident_bytes ");
    let before = memory().await;
    let path = format!("{session}/files?path=note");
    let reads = stream::iter(0..EVENTS).map(|_| async { assert_eq!(admin.get(&path).await.0, StatusCode::OK) });
    reads.buffer_unordered(16).collect::<()>().await;
    let grown = memory().await - before;
    assert!(grown < 100e6, "events that wait for a follower stay in memory: {grown}");
    let (mut text, mut numbers) = (String::new(), Vec::new());
    while numbers.len() < EVENTS {
        let piece = follower.chunk().await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(&piece).unwrap());
        while let Some((event, rest)) = text.split_once("\n\n") {
            numbers.extend(event.lines().filter_map(|line| line.strip_prefix("id: ")?.parse::<usize>().ok()));
            text = rest.to_owned();
        }
    }
    assert!(numbers.iter().zip(1..).all(|(seq, expected)| *seq == expected), "{numbers:?}");
    let mut resumed = admin.request(Method::GET, &follow).header("last-event-id", "9000").send().await.unwrap();
    let first = resumed.chunk().await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&first).contains("id: 9001"), "{first:?}");
}

/// Returns the library that sets the clock of one process, of Debian's package `faketime`.
fn faketime() -> PathBuf {
    let libraries = std::fs::read_dir("/usr/lib").unwrap().flatten();
    let mut inside = libraries.map(|entry| entry.path().join("faketime/libfaketimeMT.so.1"));
    inside.find(|path| path.exists()).unwrap()
}

#[tokio::test]
async fn sessions_survive_a_clock_that_is_set() {
    let (state, clock) = (StateDirectory::new(), tempfile::tempdir().unwrap());
    let clock = clock.path().join("clock");
    let set = |offset: &str| {
        std::fs::write(clock.with_extension("next"), format!("{offset}\n")).unwrap();
        std::fs::rename(clock.with_extension("next"), &clock).unwrap();
    };
    set("+0");
    let words = serve(state.path());
    let mut program = Command::new(&words[0]);
    program.args(&words[1..]).env("LD_PRELOAD", faketime()).env("FAKETIME_TIMESTAMP_FILE", &clock);
    let served = Served::run(program.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1"));
    let admin = served.admin();
    let long = 29 * 24 * 3600;
    let (session, _) = admin.session(json!({ "idle_seconds": 3600, "lifetime_seconds": long })).await;
    let noticed = || served.log().iter().filter(|line| line.contains("the clock of this machine was set")).count();
    for (times, offset) in [(1, "+3d"), (2, "-2d"), (3, "+0")] {
        set(offset);
        until("a look at the clock", || async { noticed() == times }).await;
        assert_eq!(admin.get(&session).await.1["state"], "running", "{offset}");
        assert_eq!(admin.run(&session, "echo on").await.1, "on\n", "{offset}");
    }
    // Idle times are counted again.
    let (short, _) = admin.session(json!({ "idle_seconds": 1 })).await;
    until("its end", || async { admin.get(&short).await.0 == StatusCode::NOT_FOUND }).await;
    assert_eq!(admin.get(&session).await.1["state"], "running");
}
