//! A session as a sandbox in another program: the conformance suite over the wire, what a client may not do, and
//! `--remote`.

use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use reqwest::StatusCode;
use serde_json::json;
use workden_conformance::{PrefixBackend, python_checks, sandbox_checks};
use workden_core::{BackendExt, ErrorKind, Expect, Sandbox, VirtualPath, sandbox::ExecuteRequest};
use workden_sandboxes::service::ServiceSandbox;

use crate::{
    reused_sandboxes::hold_reusing,
    served::{Served, text},
};

/// What differs: no sandbox starts to find the names of a file by its identity, as a mount table asks at every listing.
const DIFFERENT: [&str; 1] = ["entries::what_has_one_name_has_no_others"];

fn new_session(served: &Served) -> ServiceSandbox {
    ServiceSandbox::at(&served.url).key(&served.key).build().unwrap()
}

fn path(typed: &str) -> VirtualPath {
    VirtualPath::parse(typed).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_conform_over_the_wire_of_a_session() {
    let (_state, served) = Served::new();
    hold_reusing(sandbox_checks().chain(python_checks()), async || new_session(&served)).await;
    let (_, left) = served.admin().get("/v1/sessions").await;
    assert_eq!(left["sessions"], json!([]), "a session without a name ends with its sandbox");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_conform_over_the_wire_of_a_session() {
    let (_state, served) = Served::new();
    let (sandbox, next) = (Arc::new(new_session(&served)), AtomicU32::new(0));
    let work = sandbox.directory().await.unwrap();
    let report = workden_conformance::report(async || {
        let place = VirtualPath::parse(&format!("{work}/{}", next.fetch_add(1, Ordering::Relaxed))).unwrap();
        sandbox.make_dir_path(&place).await.unwrap();
        PrefixBackend::new(Arc::clone(&sandbox), place)
    })
    .await;
    let failed: Vec<String> = report.failed.iter().map(|(check, _)| check.to_string()).collect();
    assert_eq!(failed, DIFFERENT, "{report}");
    sandbox.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_policy_of_a_session_holds_over_its_wire_and_its_sandbox_is_not_the_clients_to_stop() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, token) = admin.session(json!({ "name": "kept", "policy": { "preset": "readonly" } })).await;
    let name = || "kept".parse().unwrap();
    let sandbox = ServiceSandbox::at(&served.url).key(&served.key).session(name()).build().unwrap();
    let refused = sandbox.write_path(&path("/workspace/a"), "x".into(), Expect::Anything).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Denied, "{refused}");
    let (_, events) = admin.get(&format!("{session}/events")).await;
    let is_write =
        |event: &serde_json::Value| event["data"]["call"] == "write" && event["data"]["outcome"] != "allowed";
    assert!(events.as_array().unwrap().iter().any(is_write), "{events}");
    sandbox.stop().await.unwrap();
    assert_eq!(admin.get(&session).await.1["state"], "running", "a session with a name goes on");
    // The token of a session opens its wire, and no other.
    let other = admin.session(json!({})).await.0;
    assert_eq!(served.with_key(&token).get(&format!("{session}/wire")).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(served.with_key(&token).get(&format!("{other}/wire")).await.0, StatusCode::NOT_FOUND);
    assert_eq!(served.with_key("e2b_0").get(&format!("{session}/wire")).await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_deleted_is_gone_for_its_clients() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({ "name": "short" })).await;
    let sandbox = ServiceSandbox::at(&served.url).key(&served.key).session("short".parse().unwrap()).build().unwrap();
    let run = ExecuteRequest::shell("sleep 1000");
    let delete = async {
        let (_, usage) = admin.get(&format!("{session}/usage")).await;
        assert!(usage["age_seconds"].is_number(), "{usage}");
        assert_eq!(admin.delete(&session).await, StatusCode::NO_CONTENT);
    };
    let (ended, ()) = tokio::join!(sandbox.execute(&run), delete);
    assert!(ended.map_or(true, |done| done.exit_code() != 0), "a command ends with its session");
    let gone = sandbox.execute(&ExecuteRequest::shell("true")).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::Gone, "{gone}");
}

/// Runs `workden` against a service, and returns its exit code and output.
fn workden(served: &Served, words: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_workden"));
    let empty = tempfile::tempdir().unwrap();
    let output = command.args(words).env("WORKDEN_API_KEY", &served.key).current_dir(empty.path()).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), format!("{out}{err}"))
}

#[tokio::test]
async fn commands_and_tools_work_in_a_service_from_the_command_line() {
    let (_state, served) = Served::new();
    let url = served.url.clone();
    let line = "cat; pwd; exit 3";
    assert_eq!(
        workden(&served, &["run", "--remote", &url, "--", "sh", "-c", line]),
        (Some(3), "/workspace\n".to_owned())
    );
    assert_eq!(served.admin().get("/v1/sessions").await.1["sessions"], json!([]));
    let named = ["--remote", &url, "--session", "mine"];
    let (code, _) = workden(&served, &[&["run"], &named[..], &["--", "sh", "-c", "echo kept > note"]].concat());
    assert_eq!(code, Some(0));
    let (code, said) = workden(&served, &[&["tool", "read_file", "{\"path\": \"note\"}"], &named[..]].concat());
    assert!(code == Some(0) && said.contains("kept"), "{said}");
    let (_, sessions) = served.admin().get("/v1/sessions").await;
    assert_eq!(text(&sessions["sessions"][0]["name"]), "mine");
    for (words, expected) in [
        (&["--remote", "ftp://a"][..], "invalid URL of a service"),
        (&["--remote", "http://127.0.0.1:1"], "the service cannot be reached"),
        (&["--remote", &url, "--root", "."], "`--root` is not supported with `--remote`"),
        (&["--remote", &url, "--runtime", "none"], "runtime `none` not found"),
        (&["--remote", &url, "--sandbox", "linux"], "cannot be used with"),
    ] {
        let (code, said) = workden(&served, &[&["run"], words, &["--", "true"]].concat());
        assert!(code != Some(0) && said.contains(expected), "{words:?}: {code:?} {said}");
    }
}

#[tokio::test]
async fn sessions_of_a_service_are_listed_used_and_ended_from_the_command_line() {
    let (_state, served) = Served::new();
    let url = served.url.clone();
    let remote = |words: &[&str]| {
        let command = &words[..1];
        workden(&served, &[&["sessions"], command, &["--remote", &url], &words[1..]].concat())
    };
    assert_eq!(remote(&["list"]).0, Some(0));
    for name in ["mine", "other"] {
        served.admin().session(json!({ "name": name })).await;
    }
    let (code, table) = remote(&["list"]);
    assert!(code == Some(0) && table.contains("mine") && table.contains("running"), "{table}");
    let (_, listed) = remote(&["list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 2, "{listed}");
    assert_eq!(remote(&["exec", "mine", "--", "sh", "-c", "pwd; exit 3"]), (Some(3), "/workspace\n".to_owned()));
    let (code, said) = remote(&["exec", "none", "--", "true"]);
    assert!(code != Some(0) && said.contains("session `none` not found at the service"), "{said}");
    assert_eq!(served.admin().get("/v1/sessions/none").await.0, StatusCode::NOT_FOUND, "exec creates nothing");
    assert_eq!(remote(&["release", "mine"]), (Some(0), "paused mine\n".to_owned()));
    assert_eq!(served.admin().get("/v1/sessions/mine").await.1["state"], "paused");
    assert_eq!(remote(&["release", "mine", "other", "--purge"]).1, "deleted mine\ndeleted other\n");
    let (code, said) = remote(&["release", "mine"]);
    assert!(code != Some(0) && said.contains("not found"), "{said}");
    assert_eq!(served.admin().get("/v1/sessions").await.1["sessions"], json!([]));
}
