//! Who may do what: keys, roles, tenants and tokens.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::served::{Served, StateDirectory, text};

#[tokio::test]
async fn a_call_needs_a_key_and_sees_its_tenant_only() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    for key in ["", "e2b_00", "wds_abc_00", &served.key[..67]] {
        assert_eq!(served.with_key(key).get("/v1/sessions").await.0, StatusCode::UNAUTHORIZED, "{key}");
    }
    let mut keys = Vec::new();
    for tenant in ["red", "blue"] {
        let (status, made) = admin.post("/v1/keys", json!({ "role": "tenant", "tenant": tenant })).await;
        assert_eq!(status, StatusCode::CREATED, "{made}");
        keys.push((text(&made["id"]), text(&made["key"])));
    }
    let (red, blue) = (served.with_key(&keys[0].1), served.with_key(&keys[1].1));
    let (session, token) = red.session(json!({ "name": "work" })).await;
    for (method, path) in [
        (Method::GET, session.clone()),
        (Method::DELETE, session.clone()),
        (Method::GET, format!("{session}/files?path=a")),
        (Method::GET, format!("{session}/events")),
        (Method::GET, "/v1/sessions/work".to_owned()),
    ] {
        assert_eq!(blue.call(method, &path, None).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(blue.get("/v1/sessions").await.1["sessions"], json!([]));
    let (_, audit) = blue.get("/v1/audit").await;
    assert!(audit.as_array().unwrap().iter().all(|event| event["data"]["key"] == keys[1].0), "{audit}");
    assert_eq!(red.get("/v1/sessions/work").await.0, StatusCode::OK);
    // The same name is another session for another tenant.
    assert_eq!(blue.post("/v1/sessions", json!({ "name": "work" })).await.0, StatusCode::CREATED);
    // The token of a session uses that session, and nothing else.
    let agent = served.with_key(&token);
    assert_eq!(agent.run(&session, "echo hi").await, (0, "hi\n".to_owned()));
    assert_eq!(agent.post("/v1/sessions", json!({})).await.0, StatusCode::FORBIDDEN);
    assert_eq!(agent.get("/v1/keys").await.0, StatusCode::FORBIDDEN);
    let longer = json!({ "lifetime_seconds": 86_400 });
    assert_eq!(agent.post(&format!("{session}/lifetime"), longer).await.0, StatusCode::FORBIDDEN);
    let (other, _) = red.session(json!({})).await;
    assert_eq!(agent.get(&other).await.0, StatusCode::NOT_FOUND);
    // Only an administrator makes and revokes keys.
    assert_eq!(red.post("/v1/keys", json!({ "role": "admin" })).await.0, StatusCode::FORBIDDEN);
    assert_eq!(admin.delete(&format!("/v1/keys/{}", keys[1].0)).await, StatusCode::NO_CONTENT);
    assert_eq!(blue.get("/v1/sessions").await.0, StatusCode::UNAUTHORIZED);
    let listed = admin.get("/v1/keys").await.1.to_string();
    assert!(!listed.contains(&keys[0].1) && listed.contains(&keys[0].0), "{listed}");
}

#[tokio::test]
async fn a_tenant_has_quotas_and_a_policy_that_sessions_only_tighten() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let settings = json!({
        "quotas": { "max_sessions": 1, "memory": "1G" },
        "policy": { "rules": { "write": { "default": "allow", "rules": [{ "pattern": "**/locked/**", "action": "deny" }] } } },
    });
    let (status, told) = admin.call(Method::PUT, "/v1/tenants/small", Some(settings)).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{told}");
    let (_, made) = admin.post("/v1/keys", json!({ "role": "tenant", "tenant": "small" })).await;
    let key = text(&made["key"]);
    let small = served.with_key(&key);
    assert_eq!(small.post("/v1/sessions", json!({ "memory": "2G" })).await.0, StatusCode::FORBIDDEN);
    assert_eq!(small.post("/v1/sessions", json!({ "network": "host" })).await.0, StatusCode::FORBIDDEN);
    let (session, _) = small.session(json!({ "policy": { "preset": "permissive" } })).await;
    assert_eq!(small.put(&session, "free", "x").await, StatusCode::OK);
    assert_eq!(small.put(&session, "locked/file", "x").await, StatusCode::FORBIDDEN);
    let (status, refused) = small.post("/v1/sessions", json!({})).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS, "{refused}");
    assert_eq!(small.delete(&session).await, StatusCode::NO_CONTENT);
    small.session(json!({})).await;
}

#[tokio::test]
async fn without_keys_no_page_of_a_browser_is_served() {
    let state = StateDirectory::new();
    let served = Served::start(state.path(), &["--no-key"]);
    let page = |header: &'static str, value: &'static str| {
        let request = reqwest::Client::new().get(format!("{}/v1/sessions", served.url));
        async move { request.header(header, value).send().await.unwrap().status() }
    };
    assert_eq!(page("accept", "*/*").await, StatusCode::OK);
    assert_eq!(page("host", "rebound.example.com").await, StatusCode::UNAUTHORIZED);
    assert_eq!(page("origin", "https://example.com").await, StatusCode::UNAUTHORIZED);
    assert_eq!(page("origin", "null").await, StatusCode::UNAUTHORIZED);
}
