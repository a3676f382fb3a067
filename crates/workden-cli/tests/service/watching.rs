//! Following what changes in a directory.

use futures_util::StreamExt;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::served::{Caller, PATIENCE, Served, text};

/// The events of a watch, as they come.
struct Changes {
    body: futures_util::stream::BoxStream<'static, Vec<u8>>,
    held: String,
}

impl Changes {
    async fn of(caller: &Caller<'_>, path: &str) -> Self {
        let answer = caller.request(Method::GET, path).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        Self { body: answer.bytes_stream().map(|piece| piece.unwrap().to_vec()).boxed(), held: String::new() }
    }

    /// Returns the next event, by its name and its data.
    async fn next(&mut self) -> (String, Value) {
        loop {
            if let Some((event, rest)) = self.held.clone().split_once("\n\n") {
                self.held = rest.to_owned();
                let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
                if let (Some(name), Some(data)) = (field("event:"), field("data:")) {
                    return (name.to_owned(), serde_json::from_str(data).unwrap());
                }
                continue;
            }
            let piece = tokio::time::timeout(PATIENCE, self.body.next()).await.unwrap().unwrap();
            self.held.push_str(&String::from_utf8(piece).unwrap());
        }
    }

    /// Reads until something happened to a path, and returns all paths until then.
    async fn until(&mut self, ending: &str, change: &str) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            let (_, data) = self.next().await;
            seen.push(text(&data["path"]));
            if seen.last().is_some_and(|path| path.ends_with(ending)) && data["change"] == change {
                return seen;
            }
        }
    }
}

#[tokio::test]
async fn changes_come_as_they_happen_and_the_policy_hides_names() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let rules = json!({ "ls": { "default": "allow", "rules": [{ "pattern": "**/hidden*", "action": "deny" }] },
        "read": { "default": "allow" }, "write": { "default": "allow" }, "execute": { "default": "allow" } });
    let (session, _) = admin.session(json!({ "policy": { "rules": rules } })).await;
    assert_eq!(admin.run(&session, "mkdir -p src/deep").await.0, 0);
    let mut changes = Changes::of(&admin, &format!("{session}/watch?path=src&recursive=true")).await;
    assert_eq!(admin.put(&session, "src/deep/a", "1").await, StatusCode::OK);
    changes.until("/src/deep/a", "created").await;
    admin.run(&session, "echo x >> src/deep/a; touch src/hidden; mv src/deep/a src/b; rm src/b").await;
    let seen = changes.until("/src/b", "removed").await;
    assert!(!seen.iter().any(|path| path.contains("hidden")), "{seen:?}");
    admin.run(&session, "rm -r src").await;
    loop {
        let (name, data) = changes.next().await;
        if name == "error" {
            assert_eq!(data["error"]["kind"], "not_found");
            break;
        }
    }
    assert_eq!(admin.get(&format!("{session}/watch?path=missing")).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_deleted_session_ends_its_watches() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    let mut changes = Changes::of(&admin, &format!("{session}/watch")).await;
    assert_eq!(admin.delete(&session).await, StatusCode::NO_CONTENT);
    let (name, data) = changes.next().await;
    assert_eq!(name, "error", "{data}");
}
