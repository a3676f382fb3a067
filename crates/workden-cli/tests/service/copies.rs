//! Sessions that start with the files of others, by E2B's calls: whole, masked, and not before they are filled.

use reqwest::StatusCode;
use serde_json::json;

use crate::served::{Caller, Served, text};

async fn sandbox(caller: &Caller<'_>, template: &str) -> String {
    let (status, made) = caller.post("/v2/sandboxes", json!({ "templateID": template })).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    format!("/v1/sessions/{}", text(&made["sandboxID"]))
}

async fn snapshot(caller: &Caller<'_>, session: &str) -> String {
    let path = session.replace("/v1/sessions/", "/sandboxes/") + "/snapshots";
    let (status, made) = caller.post(&path, json!({})).await;
    assert_eq!(status, StatusCode::CREATED, "{made}");
    text(&made["snapshotID"])
}

#[tokio::test]
async fn a_session_from_a_snapshot_masks_what_its_policy_denies() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let source = sandbox(&admin, "base").await;
    assert_eq!(admin.run(&source, "echo hidden > secret.txt && echo shown > open.txt").await.0, 0);
    let template = snapshot(&admin, &source).await;
    let rules = json!({ "ls": { "default": "allow" }, "execute": { "default": "allow" }, "write": { "default": "allow" },
                        "read": { "default": "allow", "rules": [{ "pattern": "**/secret*", "action": "deny" }] } });
    let settings = json!({ "quotas": {}, "policy": { "rules": rules } });
    let (status, told) = admin.call(reqwest::Method::PUT, "/v1/tenants/default", Some(settings)).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{told}");
    let copy = sandbox(&admin, &template).await;
    // The analysis of commands does not see through this, so that only the mask holds.
    let read = "n=$(printf 'sec%s' ret.txt); cat open.txt $n; wc -c < $n";
    let (_, output) = admin.run_approved(&copy, read).await;
    assert!(output.contains("shown") && !output.contains("hidden"), "{output}");
    // What is masked is not in a copy, and does not prevent one.
    let template = snapshot(&admin, &copy).await;
    let again = sandbox(&admin, &template).await;
    assert_eq!(admin.run(&again, "cat open.txt").await, (0, "shown\n".to_owned()));
    for session in [&source, &copy, &again] {
        assert_eq!(admin.delete(session).await, StatusCode::NO_CONTENT);
    }
}

#[tokio::test]
async fn a_second_name_is_brought_back_and_a_large_file_is_not_lost() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let source = sandbox(&admin, "base").await;
    let line = "echo one > a && ln a b && head -c 70000000 /dev/zero > large";
    assert_eq!(admin.run(&source, line).await.0, 0);
    let copy = sandbox(&admin, &snapshot(&admin, &source).await).await;
    assert_eq!(admin.run(&copy, "rm a b && echo 2 > a && echo 2 > b && echo 2 > large").await.0, 0);
    let revert = async |path: &str| admin.post(&format!("{copy}/changes/revert"), json!({ "path": path })).await.0;
    for name in ["a", "b"] {
        let versions = admin.get(&format!("{copy}/changes/file?path={name}")).await.1;
        assert_eq!((&versions["before"], &versions["after"]), (&json!("one\n"), &json!("2\n")), "{versions}");
        assert_eq!(revert(name).await, StatusCode::NO_CONTENT);
    }
    assert_eq!(revert("large").await, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(admin.run(&copy, "cat a b large").await, (0, "one\none\n2\n".to_owned()));
    for session in [&source, &copy] {
        assert_eq!(admin.delete(session).await, StatusCode::NO_CONTENT);
    }
}

#[tokio::test]
async fn a_session_is_not_used_before_it_has_its_files() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let source = sandbox(&admin, "base").await;
    assert_eq!(admin.run(&source, "head -c 60000000 /dev/urandom > large").await.0, 0);
    let template = snapshot(&admin, &source).await;
    let create = async || {
        let body = json!({ "templateID": template }).to_string();
        let request = admin.request(reqwest::Method::POST, "/v2/sandboxes").header("idempotency-key", "once");
        let made = request.header("content-type", "application/json").body(body).send().await.unwrap();
        assert_eq!(made.status(), StatusCode::CREATED);
        let made: serde_json::Value = serde_json::from_str(&made.text().await.unwrap()).unwrap();
        let session = format!("/v1/sessions/{}", text(&made["sandboxID"]));
        (admin.run(&session, "wc -c < large").await.1, session)
    };
    let (one, two) = tokio::join!(create(), create());
    assert_eq!((one.0.as_str(), &one), ("60000000\n", &two));
    for session in [&source, &one.1] {
        assert_eq!(admin.delete(session).await, StatusCode::NO_CONTENT);
    }
}
