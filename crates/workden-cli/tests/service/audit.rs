//! The audit: who did what, to sessions, keys and tenants.

use jiff::Timestamp;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::served::{Served, text};

#[tokio::test]
async fn calls_decisions_keys_and_tenants_are_in_the_audit_of_an_administrator() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let policy = json!({ "rules": { "execute": { "default": "allow" }, "write": { "default": "deny" } } });
    let policy = json!({ "policy": policy });
    assert_eq!(admin.call(Method::PUT, "/v1/tenants/red", Some(policy)).await.0, StatusCode::NO_CONTENT);
    let (_, made) = admin.post("/v1/keys", json!({ "role": "tenant", "tenant": "red", "label": "ci" })).await;
    let (id, red) = (text(&made["id"]), served.with_key(made["key"].as_str().unwrap()));
    let (session, token) = red.session(json!({})).await;
    let agent = served.with_key(&token);
    agent.run(&session, "echo of-the-agent").await;
    assert_eq!(agent.put(&session, "refused-file", "x").await, StatusCode::FORBIDDEN);
    assert_eq!(red.delete(&session).await, StatusCode::NO_CONTENT);
    assert_eq!(admin.delete(&format!("/v1/keys/{id}")).await, StatusCode::NO_CONTENT);
    let (_, audit) = admin.get("/v1/audit").await;
    let events = audit.as_array().unwrap();
    let find = |kind: &str, part: &str| {
        let found = events.iter().find(|event| event["kind"] == kind && event["data"].to_string().contains(part));
        found.unwrap_or_else(|| panic!("{kind} {part}: {audit}"))
    };
    assert_eq!(find("session_created", "base")["actor"], json!(id));
    let command = find("call", "echo of-the-agent");
    assert!(text(&command["actor"]).starts_with("session:") && command["data"]["outcome"] == "allowed", "{command}");
    let refused = find("call", "refused-file");
    assert_ne!(refused["data"]["outcome"], "allowed", "{refused}");
    assert_eq!(find("session_deleted", "")["actor"], json!(id));
    for (kind, part) in [("tenant_set", "deny"), ("key_created", "ci"), ("key_revoked", &*id)] {
        let event = find(kind, part);
        assert!(event["session"] == "" && event["actor"] == served.key[4..20], "{event}");
    }
    let newest_first: Vec<Timestamp> = events.iter().map(|event| text(&event["at"]).parse().unwrap()).collect();
    assert!(newest_first.windows(2).all(|pair| pair[0] >= pair[1]), "{newest_first:?}");
    // Another tenant sees nothing of it.
    let (_, made) = admin.post("/v1/keys", json!({ "role": "tenant", "tenant": "blue" })).await;
    let (_, seen) = served.with_key(made["key"].as_str().unwrap()).get("/v1/audit").await;
    let foreign = |event: &&Value| event["kind"] != "key_created";
    assert_eq!(seen.as_array().unwrap().iter().filter(foreign).count(), 0, "{seen}");
}
