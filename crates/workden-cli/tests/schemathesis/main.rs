//! Schemathesis, unchanged, against a real `workden serve` with Linux sandboxes: it reads `/openapi.json`, calls every
//! operation with what the description permits and with what it does not, follows the ids of answers into further
//! calls, and checks each answer. It must find nothing. It has a test binary of its own because it needs packages of
//! other people: `cargo xtask clients` installs them. `WORKDEN_TEST_LONG=1` tries many more cases, with another seed each
//! time.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "../shared/client_service.rs"]
mod client_service;
#[path = "../shared/counts.rs"]
mod counts;

use std::{io::Write, path::Path, process::Command};

use client_service::{ClientService, home, output_of, said};
use counts::times;
use futures_util::future::join_all;
use reqwest::{Client, Method};
use serde_json::{Value, json};

/// The seed of the usual run, so that it is the same every time.
const SEED: u64 = 7;

/// Looks for faults with a key, in the operations that the options name. There must be none.
async fn look_for_faults(service: &ClientService, key: &str, options: &[&str]) {
    let seed = times(SEED, u64::from(std::process::id()));
    let mut schemathesis = Command::new(home("schemathesis", include_str!("requirements.txt")).join("bin/st"));
    schemathesis
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schemathesis"))
        .args(["--config-file", "schemathesis.toml", "run", &format!("{}/openapi.json", service.url)])
        .args(["--header", &format!("Authorization: Bearer {key}"), "--no-color"])
        .args(["--seed", &seed.to_string()])
        .args(times([].as_slice(), &["--max-examples", "200"]))
        .args(options)
        .env("WORKDEN_API_KEY", key)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    let output = output_of(&mut schemathesis);
    // Sandboxes outlive their service.
    delete_sessions(service).await;
    let report = said(&output);
    let (_, summary) = report.split_once("SUMMARY").unwrap();
    assert!(summary.contains("No issues found"), "{report}");
    let _ = writeln!(std::io::stderr(), "{summary}");
}

/// Calls as the administrator, and returns the answer.
async fn call(service: &ClientService, method: Method, path: &str, body: &Value) -> Value {
    let request = Client::new().request(method, format!("{}{path}", service.url)).bearer_auth(&service.key);
    let request = request.header("content-type", "application/json").body(body.to_string());
    let text = request.send().await.unwrap().text().await.unwrap();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Creates a key of a tenant.
async fn tenant_key(service: &ClientService) -> String {
    let made = call(service, Method::POST, "/v1/keys", &json!({ "role": "tenant", "tenant": "blue" })).await;
    made["key"].as_str().unwrap().to_owned()
}

async fn delete_sessions(service: &ClientService) {
    loop {
        let page = call(service, Method::GET, "/v1/sessions?limit=1000", &Value::Null).await;
        let ids = page["sessions"].as_array().unwrap().iter().map(|session| session["id"].as_str().unwrap().to_owned());
        let paths: Vec<String> = ids.map(|id| format!("/v1/sessions/{id}")).collect();
        if paths.is_empty() {
            return;
        }
        for some in paths.chunks(16) {
            join_all(some.iter().map(|path| call(service, Method::DELETE, path, &Value::Null))).await;
        }
    }
}

#[tokio::test]
async fn nothing_is_found_with_the_key_of_a_tenant() {
    let service = ClientService::start();
    let key = tenant_key(&service).await;
    look_for_faults(&service, &key, &[]).await;
}

#[tokio::test]
async fn nothing_is_found_with_the_key_of_an_administrator() {
    let service = ClientService::start();
    look_for_faults(&service, &service.key, &["--include-tag", "keys", "--include-tag", "tenants"]).await;
}
