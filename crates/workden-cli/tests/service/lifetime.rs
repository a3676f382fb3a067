//! What outlives what: sessions the service, files a pause, and nothing a session.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use jiff::Timestamp;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::served::{PATIENCE, Served, StateDirectory, text, until};

#[tokio::test]
async fn a_killed_service_loses_no_session_file_job_or_event() {
    let state = StateDirectory::new();
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
    let state = StateDirectory::new();
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

/// Stops the next process that a program starts for a time.
fn hold_next_child(program: u32, time: Duration) {
    std::thread::spawn(move || {
        let children = || {
            let tasks = std::fs::read_dir(format!("/proc/{program}/task")).unwrap().flatten();
            let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
            lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        let signal = |name: &str, child: &str| drop(std::process::Command::new("kill").args([name, child]).status());
        let (before, start) = (children(), Instant::now());
        while start.elapsed() < PATIENCE {
            if let Some(child) = children().iter().find(|child| !before.contains(child)) {
                signal("-STOP", child);
                std::thread::sleep(time);
                return signal("-CONT", child);
            }
        }
    });
}

#[tokio::test]
async fn the_lifetime_of_a_session_that_starts_slowly_counts_from_its_start() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (slow, lifetime) = (Duration::from_secs(5), 2);
    // A sandbox that was faster than the signal is not what is tested.
    for _ in 0..20 {
        hold_next_child(served.id(), slow);
        let start = Instant::now();
        let (status, made) = admin.post("/v1/sessions", json!({ "lifetime_seconds": lifetime })).await;
        assert_eq!(status, StatusCode::CREATED, "{made}");
        if start.elapsed() < slow {
            continue;
        }
        let at = |name: &str| text(&made[name]).parse::<Timestamp>().unwrap().as_millisecond();
        assert!(at("ends_at") - at("created_at") >= 7000, "{made}");
        let session = format!("/v1/sessions/{}", text(&made["id"]));
        until("the end", || async { admin.get(&session).await.0 == StatusCode::NOT_FOUND }).await;
        return;
    }
    panic!("no sandbox was held");
}

#[tokio::test]
async fn a_session_whose_client_goes_away_has_its_time_and_its_record() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    hold_next_child(served.id(), Duration::from_secs(2));
    let body = r#"{"name": "left", "lifetime_seconds": 3}"#;
    let mut client = std::net::TcpStream::connect(served.address()).unwrap();
    let head = format!("POST /v1/sessions HTTP/1.1\r\nhost: {}\r\nx-api-key: {}", served.address(), served.key);
    let length = body.len();
    write!(client, "{head}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    let session = "/v1/sessions/left";
    until("the session", || async { admin.get(session).await.0 == StatusCode::OK }).await;
    drop(client);
    until("its end", || async { admin.get(session).await.0 == StatusCode::NOT_FOUND }).await;
    let (_, audit) = admin.get("/v1/audit").await;
    let is_record = |event: &&Value| event["kind"] == "session_created" && event["data"]["name"] == "left";
    assert_eq!(audit.as_array().unwrap().iter().filter(is_record).count(), 1, "{audit}");
}

#[tokio::test]
async fn a_session_that_would_end_at_once_is_refused() {
    let (_state, served) = Served::new();
    let (status, refused) = served.admin().post("/v1/sessions", json!({ "lifetime_seconds": 0 })).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(text(&refused["error"]["message"]).starts_with("invalid `lifetime_seconds`"), "{refused}");
}

#[tokio::test]
async fn files_stay_for_a_time_after_their_session_if_the_configuration_says_so() {
    let state = StateDirectory::new();
    let config = state.path().join("serve.toml");
    let keep = |seconds: u32| std::fs::write(&config, format!("workspace_ttl_seconds = {seconds}\n")).unwrap();
    keep(3600);
    let served = Served::start(state.path(), &["--config", config.to_str().unwrap()]);
    let admin = served.admin();
    let (back, _) = admin.session(json!({ "name": "back", "idle_seconds": 1 })).await;
    admin.put(&back, "kept", "yes").await;
    until("its end", || async { admin.get(&back).await.1["state"] == "paused" }).await;
    assert!(admin.get(&back).await.1["kept_until"].is_string());
    assert_eq!(admin.post(&format!("{back}/resume"), json!({})).await.0, StatusCode::OK);
    assert_eq!(admin.get(&back).await.1["kept_until"], Value::Null);
    assert_eq!(admin.run(&back, "cat kept").await.1, "yes");
    // Deleting means deleting.
    assert_eq!(admin.delete(&back).await, StatusCode::NO_CONTENT);
    assert_eq!(admin.get(&back).await.0, StatusCode::NOT_FOUND);
    keep(1);
    served.signal("HUP");
    until("the configuration", || async { served.log().iter().any(|line| line.contains("again")) }).await;
    let (short, _) = admin.session(json!({})).await;
    admin.put(&short, "kept", "yes").await;
    assert_eq!(admin.post(&format!("{short}/pause"), json!({})).await.0, StatusCode::OK);
    until("the end of its files", || async { admin.get(&short).await.0 == StatusCode::NOT_FOUND }).await;
    assert_eq!(std::fs::read_dir(state.path().join("workspaces")).unwrap().count(), 0);
}

#[tokio::test]
async fn an_ending_service_answers_the_calls_in_progress_and_the_next_one_has_its_sessions() {
    let state = StateDirectory::new();
    let served = Served::start(state.path(), &[]);
    let (key, admin) = (served.key.clone(), served.admin());
    let (session, _) = admin.session(json!({})).await;
    let (_, job) = admin.post(&format!("{session}/jobs"), json!({ "command": "echo begun; sleep 1000" })).await;
    let commands = format!("{session}/commands");
    let call = admin.post(&commands, json!({ "command": "touch started; sleep 2; echo answered" }));
    let end = async {
        until("the call", || async { admin.run(&session, "ls").await.1.contains("started") }).await;
        served.signal("TERM");
    };
    let ((status, answer), ()) = tokio::join!(call, end);
    assert_eq!((status, &answer["output"]), (StatusCode::OK, &json!("answered\n")), "{answer}");
    let refused = || async { reqwest::get(format!("{}/healthz", served.url)).await.is_err() };
    until("the end", refused).await;
    let next = Served::start(state.path(), &[]);
    let admin = next.with_key(&key);
    let (_, jobs) = admin.get(&format!("{session}/jobs")).await;
    assert_eq!((&jobs[0]["id"], &jobs[0]["running"]), (&job["id"], &json!(true)), "{jobs}");
    assert_eq!(admin.delete(&session).await, StatusCode::NO_CONTENT);
}
