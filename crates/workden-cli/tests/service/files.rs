//! Files, searches, edits and commands of a session.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::served::{Served, text};

#[tokio::test]
async fn a_session_has_files_and_commands_that_see_one_another() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({ "labels": { "team": "blue" } })).await;
    assert_eq!(admin.put(&session, "src/a.txt", "one\ntwo\n").await, StatusCode::OK);
    assert_eq!(admin.run(&session, "cat src/a.txt; whoami; exit 3").await, (3, "one\ntwo\nagent\n".to_owned()));
    admin.run(&session, "echo three >> src/a.txt").await;
    let (_, lines) = admin.get(&format!("{session}/files/lines?path=src/a.txt&offset=2")).await;
    assert_eq!(lines["text"], "     3\tthree");
    let (_, found) = admin.post(&format!("{session}/search/lines"), json!({ "pattern": "t[hw]" })).await;
    assert_eq!(found["matches"], 2, "{found}");
    let (_, found) = admin.post(&format!("{session}/search/paths"), json!({ "pattern": "**/*.txt" })).await;
    assert_eq!(found["paths"], json!(["/workspace/src/a.txt"]));
    let edit = json!({ "path": "src/a.txt", "replacements": [{ "old": "two", "new": "2" }] });
    assert_eq!(admin.post(&format!("{session}/files/edit"), edit.clone()).await.0, StatusCode::OK);
    let (status, refused) = admin.post(&format!("{session}/files/edit"), edit).await;
    assert_eq!((status, &refused["error"]["kind"]), (StatusCode::CONFLICT, &json!("no_match")), "{refused}");
    let (_, tools) = admin.get(&format!("{session}/tools")).await;
    assert!(tools.as_array().unwrap().iter().any(|tool| tool["name"] == "execute"));
    let call = json!({ "name": "read_file", "arguments": { "path": "src/a.txt" } });
    let (_, answer) = admin.post(&format!("{session}/tools"), call).await;
    assert!(text(&answer["text"]).contains("2\t2\n") && answer["is_error"] == false, "{answer}");
    let (_, page) = admin.get("/v1/sessions?labels=team=blue").await;
    assert_eq!(page["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(admin.get("/v1/sessions?labels=team=red").await.1["sessions"], json!([]));
    assert_eq!(admin.delete(&session).await, StatusCode::NO_CONTENT);
    assert_eq!(admin.get(&session).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn content_has_a_version_and_parts() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    let at = format!("{session}/files?path=data");
    let put = |condition: (&'static str, String), body: &'static str| {
        admin.request(Method::PUT, &at).header(condition.0, condition.1).body(body).send()
    };
    let made = put(("if-none-match", "*".into()), "0123456789").await.unwrap();
    assert_eq!(made.status(), StatusCode::OK);
    let tag = made.headers()["etag"].to_str().unwrap().to_owned();
    assert_eq!(put(("if-none-match", "*".into()), "x").await.unwrap().status(), StatusCode::CONFLICT);
    let same = admin.request(Method::GET, &at).header("if-none-match", &tag).send().await.unwrap();
    assert_eq!(same.status(), StatusCode::NOT_MODIFIED);
    let part = admin.request(Method::GET, &at).header("range", "bytes=2-4").send().await.unwrap();
    assert_eq!(
        (part.status(), part.headers()["content-range"].to_str().unwrap()),
        (StatusCode::PARTIAL_CONTENT, "bytes 2-4/10")
    );
    assert_eq!(part.text().await.unwrap(), "234");
    assert_eq!(put(("if-match", tag.clone()), "new").await.unwrap().status(), StatusCode::OK);
    assert_eq!(put(("if-match", tag), "late").await.unwrap().status(), StatusCode::CONFLICT);
    // Larger than what is read at once.
    let large = vec![b'x'; 20 << 20];
    let sent = admin.request(Method::PUT, &at).body(large.clone()).send().await.unwrap();
    assert_eq!(sent.status(), StatusCode::OK, "{:?}", sent.text().await);
    let read = admin.request(Method::GET, &at).send().await.unwrap().bytes().await.unwrap();
    assert!(read == large);
}

#[tokio::test]
async fn paths_do_not_leave_the_session() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    admin.run(&session, "ln -s / out; ln -s /etc/shadow secret; mkfifo pipe").await;
    for (path, expected) in [
        ("../../etc/passwd", StatusCode::BAD_REQUEST),
        ("out/root", StatusCode::BAD_REQUEST),
        ("secret", StatusCode::BAD_REQUEST),
        ("pipe", StatusCode::BAD_REQUEST),
        ("a%00b", StatusCode::BAD_REQUEST),
        ("missing", StatusCode::NOT_FOUND),
    ] {
        let (status, answer) = admin.get(&format!("{session}/files?path={path}")).await;
        assert!(status == expected || status == StatusCode::NOT_FOUND, "{path}: {status} {answer}");
        assert!(!answer.to_string().contains("root:"), "{path}: {answer}");
    }
    for id in ["..", "%2e%2e", "a%2Fb", "x%00"] {
        assert_eq!(admin.get(&format!("/v1/sessions/{id}")).await.0, StatusCode::NOT_FOUND, "{id}");
    }
}
