//! Keys and tokens are shown once, and stand neither in the log nor in the state of a service.

use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};

use crate::served::{Served, StateDirectory, text};

/// Returns the files below a directory that contain a text.
fn files_with(directory: &Path, wanted: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => found.extend(files_with(&path, wanted)),
            kind if kind.is_file() => {
                let bytes = std::fs::read(&path).unwrap_or_default();
                if bytes.windows(wanted.len()).any(|window| window == wanted.as_bytes()) {
                    found.push(path.display().to_string());
                }
            }
            _ => {}
        }
    }
    found
}

#[tokio::test]
async fn no_log_and_no_file_of_a_service_has_a_key_or_a_token() {
    let state = StateDirectory::new();
    let variables = [("WORKDEN_LOG", "debug"), ("WORKDEN_LOG_FORMAT", "json")];
    let served = Served::start_with(state.path(), &[], &variables);
    let admin = served.admin();
    let (session, token) = admin.session(json!({ "name": "quiet" })).await;
    let (_, made) = admin.post("/v1/keys", json!({ "role": "tenant", "tenant": "red" })).await;
    let tenant = text(&made["key"]);
    let wrong = format!("{}00", &served.key[..66]);
    for key in [&token, &tenant, &wrong] {
        served.with_key(key).run_status(&session).await;
        served.with_key(key).get(&format!("{session}/files?path=none&signature={token}")).await;
        served.with_key(key).get("/metrics").await;
    }
    let in_header = admin.request(Method::GET, &session).header("x-api-key", &tenant).header("x-access-token", &token);
    in_header.send().await.unwrap();
    let secrets = [served.key.clone(), token, tenant, wrong];
    for secret in &secrets {
        let found = files_with(state.path(), secret);
        assert!(found.is_empty(), "{found:?}");
    }
    let log = served.end();
    let shown_once = |line: &&String| line.contains("your key, shown once") || !line.starts_with('{');
    let (greeting, lines): (Vec<&String>, Vec<&String>) = log.iter().partition(shown_once);
    assert!(greeting.iter().any(|line| line.contains(&secrets[0])));
    for secret in &secrets {
        assert!(!lines.iter().any(|line| line.contains(secret.as_str())), "{lines:#?}");
    }
    // Every request is a line, with its id and who called.
    let requests: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ran = requests.iter().find(|line| line["status"] == 200 && text(&line["path"]).ends_with("/commands"));
    let ran = ran.unwrap_or_else(|| panic!("{requests:#?}"));
    assert!(text(&ran["key"]).starts_with("session:") && ran["tenant"] == "default" && ran["level"] == "info", "{ran}");
    assert_eq!(text(&ran["request"]).len(), 20, "{ran}");
}

#[tokio::test]
async fn the_log_of_a_failure_names_the_request_that_its_answer_names() {
    let state = StateDirectory::new();
    let config = state.path().join("serve.toml");
    std::fs::write(&config, "[runtimes.base]\n[runtimes.gone]\nsandbox = \"docker\"\nimage = \"none\"\n").unwrap();
    let nowhere = [("DOCKER_HOST", "tcp://127.0.0.1:1"), ("WORKDEN_LOG_FORMAT", "json")];
    let served = Served::start_with(state.path(), &["--config", config.to_str().unwrap()], &nowhere);
    let body = json!({ "runtime": "gone" }).to_string();
    let request = served.admin().request(Method::POST, "/v1/sessions").header("content-type", "application/json");
    let answer = request.body(body).send().await.unwrap();
    assert_eq!(answer.status(), 503, "the engine does not answer");
    assert_eq!(answer.headers()["retry-after"], "1");
    let id = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
    let log = served.end();
    let line = log.iter().find(|line| line.contains(&id)).unwrap_or_else(|| panic!("{log:#?}"));
    assert!(line.contains("\"level\":\"warn\"") && line.contains("call failed"), "{line}");
}

#[tokio::test]
async fn sessions_do_not_have_the_identity_of_the_operator() {
    let (state, home) = (StateDirectory::new(), tempfile::tempdir().unwrap());
    std::fs::write(home.path().join(".gitconfig"), "[user]\n\tname = Operator\n\temail = o@example.com\n").unwrap();
    let variables = [("HOME", home.path().to_str().unwrap()), ("XDG_CONFIG_HOME", ""), ("GIT_CONFIG_GLOBAL", "")];
    let served = Served::start_with(state.path(), &[], &variables);
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    let (code, printed) = admin.run(&session, "git config --get-regexp 'user[.].*'").await;
    assert_eq!((code, &*printed), (1, ""), "the session has an identity");
}
