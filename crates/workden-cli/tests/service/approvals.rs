//! Questions for approval, answered while the call waits; and the events of it all.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::served::{Served, text, until};

#[tokio::test]
async fn a_call_waits_for_its_answer_and_only_the_first_counts() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, token) = admin.session(json!({ "policy": { "preset": "default" } })).await;
    let agent = served.with_key(&token);
    let pending = || async { admin.get("/v1/approvals").await.1.as_array().unwrap().clone() };
    let answers = async {
        until("a question", || async { !pending().await.is_empty() }).await;
        let question = pending().await[0].clone();
        assert!(text(&question["request"]["preview"]).contains("+hello"), "{question}");
        let path = format!("/v1/approvals/{}", text(&question["id"]));
        let approve = json!({ "decision": "approve", "scope": "session" });
        assert_eq!(agent.post(&path, approve.clone()).await.0, StatusCode::FORBIDDEN, "an agent answers itself");
        let (status, answered) = admin.post(&path, approve.clone()).await;
        assert_eq!((status, &answered["state"]), (StatusCode::OK, &json!("approved")), "{answered}");
        assert_eq!(admin.post(&path, approve).await.0, StatusCode::CONFLICT);
    };
    let (written, ()) = tokio::join!(agent.put(&session, "note", "hello\n"), answers);
    assert_eq!(written, StatusCode::OK);
    // Remembered for the session.
    assert_eq!(agent.put(&session, "note", "again\n").await, StatusCode::OK);
    let denies = async {
        until("a question", || async { !pending().await.is_empty() }).await;
        let path = format!("/v1/approvals/{}", text(&pending().await[0]["id"]));
        admin.post(&path, json!({ "decision": "deny", "note": "use make" })).await
    };
    let commands = format!("{session}/commands");
    let run = agent.post(&commands, json!({ "command": "touch x" }));
    let ((status, refused), _) = tokio::join!(run, denies);
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(text(&refused["error"]["message"]).contains("use make"), "{refused}");
    let (_, events) = admin.get(&format!("{session}/events")).await;
    let kinds: Vec<&str> = events.as_array().unwrap().iter().filter_map(|event| event["kind"].as_str()).collect();
    for kind in ["session_created", "approval_requested", "approval_answered", "call"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    let numbers: Vec<i64> = events.as_array().unwrap().iter().filter_map(|event| event["seq"].as_i64()).collect();
    assert_eq!(numbers, (1..=i64::try_from(numbers.len()).unwrap()).collect::<Vec<_>>());
    let by_agent = |event: &&Value| event["actor"].as_str().unwrap().starts_with("session:");
    assert!(events.as_array().unwrap().iter().find(by_agent).is_some(), "{events}");
}

#[tokio::test]
async fn a_caller_that_goes_away_withdraws_its_question() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({ "policy": { "preset": "strict" } })).await;
    let asked = || async { admin.get("/v1/approvals").await.1.as_array().unwrap().len() == 1 };
    {
        let call = admin.put(&session, "note", "x");
        tokio::select! {
            status = call => panic!("answered by itself: {status}"),
            () = until("a question", asked) => {}
        }
    }
    until("the withdrawal", || async { !asked().await }).await;
    let (_, all) = admin.get("/v1/approvals?state=any").await;
    assert_eq!(all[0]["state"], "withdrawn", "{all}");
}
