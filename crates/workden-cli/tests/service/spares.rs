//! Sandboxes that are started before a session wants them.

use std::{path::Path, time::Duration};

use reqwest::StatusCode;
use serde_json::json;

use crate::served::{Served, StateDirectory, text, until};

/// The first runtime cannot start; the others do.
const CONFIG: &str = "[runtimes.absent]\nsandbox = \"docker\"\nimage = \"workden-absent\"\nspares = 1\n[runtimes.base]\nspares = 2\n[runtimes.other]\nmemory = \"100M\"\n";

/// Returns the ids of the directories of sandboxes.
fn directories(state: &Path) -> Vec<String> {
    let found = std::fs::read_dir(state.join("workspaces")).into_iter().flatten().flatten();
    found.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

/// Returns the processes of the sandboxes: they see a mount of what is in the directory.
fn sandboxed(state: &Path) -> Vec<String> {
    let name = format!("/{}/", state.file_name().unwrap().display());
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let inside = processes.filter(|process| {
        std::fs::read_to_string(process.path().join("mountinfo")).is_ok_and(|mounts| mounts.contains(&name))
    });
    inside.map(|process| process.file_name().into_string().unwrap()).collect()
}

fn configured() -> (StateDirectory, String) {
    let state = StateDirectory::new();
    let config = state.path().join("serve.toml");
    std::fs::write(&config, CONFIG).unwrap();
    let config = config.display().to_string();
    (state, config)
}

async fn two_ready(state: &Path, others: usize) -> Vec<String> {
    // A directory is there before its sandbox has started; a second later it has.
    until("the spare sandboxes", || async { directories(state).len() == others + 2 }).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    directories(state)
}

#[tokio::test]
async fn a_session_takes_a_spare_sandbox_which_is_replaced() {
    let (state, config) = configured();
    let served = Served::start(state.path(), &["--config", &config]);
    let admin = served.admin();
    let ready = two_ready(state.path(), 0).await;
    for list in ["/v1/sessions", "/v1/audit"] {
        let (_, listed) = admin.get(list).await;
        assert!(!listed.to_string().contains(&ready[0]) && !listed.to_string().contains(&ready[1]), "{listed}");
    }
    let spare = format!("/v1/sessions/{}", ready[0]);
    assert_eq!(admin.get(&spare).await.0, StatusCode::NOT_FOUND, "no client sees one");
    assert_eq!(admin.delete(&spare).await, StatusCode::NOT_FOUND);

    let (status, named) = admin.post("/v1/sessions", json!({ "name": "mine", "labels": { "a": "b" } })).await;
    assert_eq!((status, &named["name"]), (StatusCode::CREATED, &json!("mine")), "{named}");
    assert!(ready.contains(&text(&named["id"])), "{named} has the id of a spare one");
    let session = format!("/v1/sessions/{}", text(&named["id"]));
    assert_eq!(admin.put(&session, "a", "x").await, StatusCode::OK);
    assert_eq!(admin.run(&session, "cat a; hostname >/dev/null").await, (0, "x".to_owned()));
    // What is refused takes none.
    assert_eq!(admin.post("/v1/sessions", json!({ "name": "mine" })).await.0, StatusCode::CONFLICT);
    let attach = json!({ "name": "mine", "if_exists": "attach" });
    assert_eq!(admin.post("/v1/sessions", attach).await.1["id"], named["id"]);
    two_ready(state.path(), 1).await;

    // What starts differently is started.
    for asked in [json!({ "memory": "64M" }), json!({ "env": { "A": "1" } }), json!({ "runtime": "other" })] {
        let before = directories(state.path());
        let (_, made) = admin.post("/v1/sessions", asked.clone()).await;
        assert!(!before.contains(&text(&made["id"])), "{asked}: {made}");
    }
    let denied = json!({ "preset": "default" });
    let before = directories(state.path());
    let (_, made) = admin.post("/v1/sessions", json!({ "policy": denied })).await;
    assert!(!before.contains(&text(&made["id"])), "rules hold from the start");

    assert_eq!(admin.delete(&session).await, StatusCode::NO_CONTENT);
    let listed = admin.get("/v1/sessions").await.1["sessions"].as_array().map(Vec::len);
    assert_eq!(listed, Some(4));
    for row in admin.get("/v1/sessions").await.1["sessions"].as_array().unwrap() {
        assert_eq!(admin.delete(&format!("/v1/sessions/{}", text(&row["id"]))).await, StatusCode::NO_CONTENT);
    }
    served.end();
    assert_eq!(directories(state.path()), Vec::<String>::new(), "the spare ones end with the service");
    until("their keepers", || async { sandboxed(state.path()).is_empty() }).await;
}

#[tokio::test]
async fn many_callers_at_once_share_no_spare_sandbox() {
    let (state, config) = configured();
    let served = Served::start(state.path(), &["--config", &config]);
    two_ready(state.path(), 0).await;
    let admin = served.admin();
    let made = futures_util::future::join_all((0..8).map(|_| admin.session(json!({})))).await;
    for (number, (session, _)) in made.iter().enumerate() {
        assert_eq!(admin.run(session, &format!("ls; echo {number} > own")).await, (0, String::new()), "it is empty");
    }
}

#[tokio::test]
async fn a_dead_spare_sandbox_is_not_given_and_a_configuration_without_spares_ends_them() {
    let (state, config) = configured();
    let served = Served::start(state.path(), &["--config", &config]);
    let ready = two_ready(state.path(), 0).await;
    let admin = served.admin();
    let keepers = sandboxed(state.path());
    assert!(keepers.len() >= 2, "{keepers:?}");
    assert!(std::process::Command::new("kill").arg("-KILL").args(keepers).status().unwrap().success());
    let (session, _) = admin.session(json!({})).await;
    assert!(!ready.iter().any(|id| session.ends_with(id)), "a dead one is not given");
    assert_eq!(admin.run(&session, "echo here").await, (0, "here\n".to_owned()));
    assert_eq!(admin.delete(&session).await, StatusCode::NO_CONTENT);
    two_ready(state.path(), 0).await;
    std::fs::write(&config, "[runtimes.base]\n").unwrap();
    served.signal("HUP");
    until("the end of the spare ones", || async { directories(state.path()).is_empty() }).await;
    let (_, runtimes) = admin.get("/v1/runtimes").await;
    assert!(!runtimes.to_string().contains("spares"), "{runtimes}");
    assert_eq!(runtimes.as_object().map(serde_json::Map::len), Some(1), "{runtimes}");
}

#[tokio::test]
async fn no_session_gets_a_spare_sandbox_of_a_crashed_service() {
    let (state, config) = configured();
    let served = Served::start(state.path(), &["--config", &config]);
    let left = two_ready(state.path(), 0).await;
    let key = served.kill();
    let served = Served::start(state.path(), &["--config", &config]);
    let admin = served.with_key(&key);
    two_ready(state.path(), 2).await;
    let (session, _) = admin.session(json!({})).await;
    assert!(!left.iter().any(|id| session.ends_with(id)));
    let (_, listed) = admin.get("/v1/sessions").await;
    assert_eq!(listed["sessions"].as_array().map(Vec::len), Some(1), "{listed}");
}
