//! A configuration that is checked, read again, and kept when the next one is wrong.

use std::{path::Path, process::Command};

use reqwest::StatusCode;
use serde_json::json;

use crate::{
    database,
    served::{Served, StateDirectory, until},
};

#[tokio::test]
async fn hup_reads_runtimes_limits_and_rates_again_and_sessions_go_on() {
    let state = StateDirectory::new();
    let config = state.path().join("serve.toml");
    let base = "[runtimes.base]\n";
    std::fs::write(&config, base).unwrap();
    let served = Served::start(state.path(), &["--config", config.to_str().unwrap()]);
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    admin.run(&session, "sleep 1000 >/dev/null 2>&1 &").await;
    assert_eq!(admin.post("/v1/sessions", json!({ "runtime": "more" })).await.0, StatusCode::BAD_REQUEST);
    std::fs::write(&config, "port = 1\n").unwrap();
    served.signal("HUP");
    let told = |part: &'static str| served.log().iter().any(|line| line.contains(part));
    until("the refusal", || async { told("the previous configuration stays in use") }).await;
    assert!(told("unknown field `port`"));
    std::fs::write(&config, format!("{base}[runtimes.more]\nmemory = \"64M\"\n[quotas]\nrequests_per_second = 5\n"))
        .unwrap();
    served.signal("HUP");
    until("the new one", || async { told("read the configuration again") }).await;
    admin.session(json!({ "runtime": "more" })).await;
    assert_eq!(admin.run(&session, "pgrep -c sleep").await.1, "1\n", "the session went on");
    let mut statuses = Vec::new();
    for _ in 0..20 {
        statuses.push(admin.get("/v1/sessions").await.0);
    }
    assert!(statuses.contains(&StatusCode::TOO_MANY_REQUESTS), "{statuses:?}");
}

fn check(state: &Path, more: &[&str]) -> (Option<i32>, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_workden"));
    program.args(["serve", "--check", "--state"]).arg(state).args(more);
    if !more.contains(&"--database") {
        program.args(database::arguments(state));
    }
    let output = program.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), format!("{out}{err}"))
}

#[tokio::test]
async fn a_check_changes_nothing_and_ends_no_session() {
    let state = StateDirectory::new();
    let served = Served::start(state.path(), &[]);
    let (session, _) = served.admin().session(json!({ "idle_seconds": 1 })).await;
    let key = served.key.clone();
    served.end();
    // Its time is over, and only a service that serves may end it.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let (code, said) = check(state.path(), &[]);
    assert_eq!((code, &*said), (Some(0), "The configuration and the database are fine.\n"));
    let config = state.path().join("serve.toml");
    for (text, expected) in [
        ("no_key = true\nlisten = \"0.0.0.0:1\"", "without keys"),
        ("[limits]\nheaders = 0", "invalid `limits.headers`"),
        ("[runtimes.base]\nmemory = \"x\"", "invalid size `x`"),
    ] {
        std::fs::write(&config, text).unwrap();
        let (code, said) = check(state.path(), &["--config", config.to_str().unwrap()]);
        assert!(code == Some(1) && said.contains(expected), "{said}");
    }
    let (code, said) = check(state.path(), &["--database", "mysql://a"]);
    assert!(code != Some(0) && said.contains("invalid database URL"), "{said}");
    let served = Served::start(state.path(), &[]);
    let (_, audit) = served.with_key(&key).get("/v1/audit").await;
    let id = session.rsplit('/').next().unwrap();
    until("its end by the service", || async { served.with_key(&key).get(&session).await.0 == StatusCode::NOT_FOUND })
        .await;
    assert!(audit.to_string().contains(id), "{audit}");
}
