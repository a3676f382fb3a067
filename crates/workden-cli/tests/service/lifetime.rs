//! What outlives what: sessions the service, files a pause, and nothing a session.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::served::{Served, text, until};

#[tokio::test]
async fn a_killed_service_loses_no_session_file_job_or_event() {
    let state = tempfile::tempdir().unwrap();
    let served = Served::start(state.path(), &[]);
    let admin = served.admin();
    let (session, token) = admin.session(json!({})).await;
    assert_eq!(admin.put(&session, "kept", "yes").await, StatusCode::OK);
    let (_, job) = admin.post(&format!("{session}/jobs"), json!({ "command": "sleep 1000" })).await;
    let (_, before) = admin.get(&format!("{session}/events")).await;
    let key = served.kill();

    let served = Served::start(state.path(), &[]);
    assert_eq!(served.key, "", "a key is shown once");
    let admin = served.with_key(&key);
    let (_, after) = admin.get(&format!("{session}/events")).await;
    assert_eq!(after, before);
    assert_eq!(served.with_key(&token).run(&session, "cat kept; pgrep -c sleep").await, (0, "yes1\n".to_owned()));
    let (_, jobs) = admin.get(&format!("{session}/jobs")).await;
    assert_eq!((&jobs[0]["id"], &jobs[0]["running"]), (&job["id"], &json!(true)), "{jobs}");
    assert_eq!(admin.delete(&session).await, StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn two_services_share_their_sessions() {
    let state = tempfile::tempdir().unwrap();
    let one = Served::start(state.path(), &[]);
    let two = Served::start(state.path(), &[]);
    let (first, second) = (one.admin(), two.with_key(&one.key));
    let (session, _) = first.session(json!({ "name": "shared" })).await;
    assert_eq!(second.put(&session, "a", "from two").await, StatusCode::OK);
    assert_eq!(first.run(&session, "cat a; sleep 1000 & ").await.1, "from two");
    assert_eq!(second.run(&session, "pgrep -c sleep").await.1, "1\n", "it is one sandbox");
    let (status, _) = second.post("/v1/sessions", json!({ "name": "shared" })).await;
    assert_eq!(status, StatusCode::CONFLICT);
    let (status, attached) = second.post("/v1/sessions", json!({ "name": "shared", "if_exists": "attach" })).await;
    assert_eq!((status, format!("/v1/sessions/{}", text(&attached["id"]))), (StatusCode::OK, session.clone()));
    assert_eq!(second.delete(&session).await, StatusCode::NO_CONTENT);
    until("the other service to notice", || async { first.run_status(&session).await == StatusCode::NOT_FOUND }).await;
}

#[tokio::test]
async fn a_session_ends_when_its_time_is_over_or_pauses() {
    let (state, served) = Served::new();
    let admin = served.admin();
    let (gone, _) = admin.session(json!({ "idle_seconds": 1 })).await;
    let (paused, _) = admin.session(json!({ "lifetime_seconds": 1, "at_end": "pause", "idle_seconds": 0 })).await;
    admin.put(&paused, "kept", "yes").await;
    until("the end", || async { admin.get(&gone).await.0 == StatusCode::NOT_FOUND }).await;
    let (_, events) = admin.get("/v1/audit").await;
    let ended = |event: &Value| event["kind"] == "session_ended";
    assert!(events.as_array().unwrap().iter().any(ended), "{events}");
    until("the pause", || async { admin.get(&paused).await.1["state"] == "paused" }).await;
    let (status, refused) = admin.get(&format!("{paused}/files?path=kept")).await;
    assert_eq!(status, StatusCode::CONFLICT, "{refused}");
    assert_eq!(admin.post(&format!("{paused}/resume"), json!({})).await.0, StatusCode::OK);
    // Its time is counted from the start again: it may end before the next call.
    admin.post(&format!("{paused}/lifetime"), json!({ "lifetime_seconds": 600 })).await;
    admin.post(&format!("{paused}/resume"), json!({})).await;
    assert_eq!(admin.run(&paused, "cat kept").await, (0, "yes".to_owned()));
    assert_eq!(admin.delete(&paused).await, StatusCode::NO_CONTENT);
    let left = std::fs::read_dir(state.path().join("workspaces")).unwrap().count();
    assert_eq!(left, 0, "files of deleted sessions are removed");
}
