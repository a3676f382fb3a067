//! A Postgres that crashes under load: calls wait or are refused with 503, and what was confirmed is there.

use std::{collections::BTreeSet, time::Duration};

use reqwest::StatusCode;
use serde_json::json;

use crate::{
    recorded::{assert_without_gaps, events, written},
    served::{Caller, Served, StateDirectory, until},
    server::{PASSWORD, Postgres},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_crashes_under_load_loses_nothing_that_was_confirmed() {
    let postgres = Postgres::start();
    let url = postgres.database("crashing");
    let state = StateDirectory::new();
    let start = || {
        Served::run(std::process::Command::new(env!("CARGO_BIN_EXE_workden")).args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--state",
            state.path().to_str().unwrap(),
            "--database",
            &url,
        ]))
    };
    let (one, two) = (start(), start());
    let (first, second) = (one.admin(), two.with_key(&one.key));
    let (session, _) = first.session(json!({})).await;
    let over = std::sync::atomic::AtomicBool::new(false);
    let write = async |caller: &Caller<'_>, mark: &str| {
        let (mut confirmed, mut refused) = (Vec::new(), 0);
        for number in 0.. {
            if over.load(std::sync::atomic::Ordering::Relaxed) {
                break;
            }
            let name = format!("{mark}{number}");
            match caller.put(&session, &name, "x").await {
                StatusCode::OK => confirmed.push(format!("/workspace/{name}")),
                StatusCode::SERVICE_UNAVAILABLE => refused += 1,
                other => panic!("{name}: {other}"),
            }
        }
        (confirmed, refused)
    };
    let crashes = async {
        for _ in 0..4 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            tokio::task::block_in_place(|| {
                postgres.crash();
                postgres.wait();
            });
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        over.store(true, std::sync::atomic::Ordering::Relaxed);
    };
    let (a, b, ()) = tokio::join!(write(&first, "a"), write(&second, "b"), crashes);
    println!("confirmed {} and {}, refused {} and {}", a.0.len(), b.0.len(), a.1, b.1);
    let confirmed = [a.0, b.0].concat();
    until("calls", || async { first.put(&session, "after", "x").await == StatusCode::OK }).await;
    assert_eq!(second.get("/readyz").await.0, StatusCode::OK);
    let all = events(&second, &session).await;
    assert_without_gaps(&all);
    let paths = written(&all);
    let unique: BTreeSet<&String> = paths.iter().collect();
    assert_eq!(unique.len(), paths.len(), "a call is recorded twice");
    let lost: Vec<&String> = confirmed.iter().filter(|path| !unique.contains(path)).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

#[tokio::test]
async fn a_database_that_is_gone_is_told_without_its_password() {
    let state = StateDirectory::new();
    let url = format!("postgres://workden:{PASSWORD}@127.0.0.1:1/none");
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_workden"));
    program.args(["serve", "--check", "--database", &url, "--state"]).arg(state.path()).env("WORKDEN_LOG", "debug");
    let output = program.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("cannot open the database: no connection within"), "{said}");
    assert!(!said.contains(PASSWORD), "{said}");
    // What the server says helps the operator.
    let postgres = Postgres::start();
    let url = postgres.database("other").replace(PASSWORD, "not-the-password");
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_workden"));
    program.args(["serve", "--check", "--database", &url, "--state"]).arg(state.path());
    let output = program.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cannot open the database: password authentication failed for user"), "{said}");
    assert!(!said.contains("not-the-password"), "{said}");
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_left_alone() {
    let postgres = Postgres::start();
    let url = postgres.database("newer");
    let state = StateDirectory::new();
    let words = ["serve", "--listen", "127.0.0.1:0", "--database", &url, "--state", state.path().to_str().unwrap()];
    Served::run(std::process::Command::new(env!("CARGO_BIN_EXE_workden")).args(words)).end();
    postgres.ask("newer", "DELETE FROM migrations WHERE name = 'kept files'; ALTER TABLE sessions DROP kept_until");
    let check = || {
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_workden"));
        let output = program.args(words).arg("--check").output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    assert!(check().contains("will change the tables of the database: kept files"), "{}", check());
    let served = Served::run(std::process::Command::new(env!("CARGO_BIN_EXE_workden")).args(words));
    assert_eq!(served.with_key("").get("/readyz").await.0, StatusCode::OK);
    served.end();
    postgres.ask("newer", "INSERT INTO migrations (name, at) VALUES ('of tomorrow', 0)");
    assert!(check().contains("made by a newer version of workden"), "{}", check());
}
