//! Requests that no call takes: each is refused in the form of the API.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::served::Served;

#[tokio::test]
async fn every_refusal_has_the_form_of_the_api() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    let at = |rest: &str| format!("{session}/{rest}");
    let (get, post, put) = (Method::GET, Method::POST, Method::PUT);
    let json = Some("application/json");
    for (method, path, kind, body, status) in [
        (&get, "/v1/nothing".to_owned(), None, "", 404),
        (&get, "/nothing\"<b>".to_owned(), None, "", 404),
        (&Method::PATCH, "/v1/sessions".to_owned(), None, "", 405),
        (&post, "/healthz".to_owned(), None, "", 405),
        (&post, "/v1/sessions".to_owned(), None, "{}", 415),
        (&post, "/v1/sessions".to_owned(), Some("text/json"), "{}", 415),
        (&post, "/v1/sessions".to_owned(), json, "{", 400),
        (&post, "/v1/sessions".to_owned(), json, "", 400),
        (&post, "/v1/sessions".to_owned(), json, r#"{"nam": 1}"#, 422),
        (&post, "/v1/sessions".to_owned(), json, r#"{"name": 1}"#, 422),
        (&post, "/v1/sessions".to_owned(), json, r#"{"lifetime_seconds": 9223372036854775808}"#, 422),
        // A list is not an object, at any depth.
        (&post, at("lifetime"), json, "[600]", 422),
        (&put, "/v1/tenants/blue".to_owned(), json, r#"{"policy": ["strict", null]}"#, 422),
        (&put, "/v1/tenants/blue".to_owned(), json, r#"{"policy": {"rules": [null, null]}}"#, 422),
        (&put, "/v1/tenants/blue".to_owned(), json, r#"{"quotas": [9, null, null, 9, true]}"#, 422),
        (&post, at("files/edit"), json, r#"{"path": "a", "replacements": [["a", "b"]]}"#, 422),
        (&post, at("processes"), json, r#"{"command": "true", "terminal": [5, 5]}"#, 422),
        (&post, at("processes"), json, r#"{"command": "true", "timeout_seconds": 5}"#, 422),
        (&get, at("files"), None, "", 400),
        (&get, at("files?path=a&path=b"), None, "", 400),
        (&get, at("files/lines?path=a&offset=-1"), None, "", 400),
        (&get, at("processes/x"), None, "", 400),
        (&get, at("ports/70000"), None, "", 400),
        (&get, at("ports/0"), None, "", 400),
        (&get, at("processes/1"), None, "", 404),
        (&get, at("wire"), None, "", 400),
        (&get, "/v1/sessions/%ff".to_owned(), None, "", 400),
        (&get, "/v1/sessions/..%2Fx".to_owned(), None, "", 404),
    ] {
        let request = admin.request(method.clone(), &path).body(body.to_owned());
        let request = kind.into_iter().fold(request, |request, kind| request.header("content-type", kind));
        let answer = request.send().await.unwrap();
        let (found, headers) = (answer.status(), answer.headers().clone());
        let text = answer.text().await.unwrap();
        assert_eq!(found, StatusCode::from_u16(status).unwrap(), "{method} {path} {body}: {text}");
        assert_eq!(headers["content-type"], "application/json", "{method} {path} {body}: {text}");
        let told: Value = serde_json::from_str(&text).unwrap();
        let is_told = |name: &str| told["error"][name].as_str().is_some_and(|text| !text.is_empty());
        assert!(is_told("kind") && is_told("message"), "{method} {path} {body}: {told}");
        assert_eq!(headers.contains_key("allow"), status == 405, "{method} {path}");
    }
    let too_large = admin.request(post, "/v1/sessions").header("content-type", "application/json");
    let told = too_large.body(" ".repeat((16 << 20) + 1)).send().await.unwrap();
    assert_eq!(told.status(), StatusCode::PAYLOAD_TOO_LARGE);
    let told: Value = serde_json::from_str(&told.text().await.unwrap()).unwrap();
    assert_eq!(told["error"]["kind"], "too_large", "{told}");
    // Whole numbers may be written as clients do that count in floating point.
    let (status, told) = admin.post(&format!("{session}/lifetime"), json!({ "lifetime_seconds": 600.0 })).await;
    assert_eq!(status, StatusCode::OK, "{told}");
}
