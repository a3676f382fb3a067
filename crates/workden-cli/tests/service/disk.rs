//! The quota of a tenant's disk: what is measured, what it refuses, and the way out.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::served::{Served, text, until};

#[tokio::test]
async fn a_full_disk_can_be_read_and_emptied() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let quotas = json!({ "quotas": { "disk": "8M" }, "policy": {} });
    let (status, told) = admin.call(Method::PUT, "/v1/tenants/ada", Some(quotas)).await;
    assert_eq!(status, StatusCode::NO_CONTENT, "{told}");
    let (_, key) = admin.post("/v1/keys", json!({ "role": "tenant", "tenant": "ada", "label": "disk" })).await;
    let ada = served.with_key(&text(&key["key"]));
    let (session, _) = ada.session(json!({})).await;
    let (second, _) = ada.session(json!({})).await;
    // In both sessions together; a hole in a file is no use of a disk.
    for one in [&session, &second] {
        assert_eq!(ada.run(one, "head -c 5000000 /dev/urandom > large && truncate -s 9G hole").await.0, 0);
    }
    let refused = async || ada.run_status(&session).await == StatusCode::INSUFFICIENT_STORAGE;
    until("a refusal", refused).await;
    let (status, told) = ada.post("/v1/sessions", json!({})).await;
    assert_eq!(status, StatusCode::INSUFFICIENT_STORAGE, "{told}");
    assert!(text(&told["error"]["message"]).contains("`disk`"), "{told}");
    assert_eq!(ada.put(&session, "more", "x").await, StatusCode::INSUFFICIENT_STORAGE);
    let other = admin.session(json!({})).await.0;
    assert_eq!(admin.put(&other, "more", "x").await, StatusCode::OK, "another tenant's");
    assert_eq!(ada.get(&format!("{session}/files/list?path=.")).await.0, StatusCode::OK);
    assert_eq!(ada.delete(&format!("{second}/files?path=large")).await, StatusCode::NO_CONTENT);
    until("room", async || !refused().await).await;
    assert_eq!(ada.put(&session, "more", "x").await, StatusCode::OK);
    for one in [&session, &second, &other] {
        assert_eq!(admin.delete(one).await, StatusCode::NO_CONTENT);
    }
}
