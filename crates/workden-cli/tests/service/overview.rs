//! What a page about sessions asks for: who the key is, what sessions did last and used, the audit as it happens, the policy
//! in force, the ports on which servers listen, and a websocket with a key that no header carries.

use std::time::Duration;

use futures_util::StreamExt;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    client_async,
    tungstenite::{Message, client::IntoClientRequest},
};

use crate::served::{PATIENCE, Served, text, until};

fn rules() -> Value {
    json!({ "rules": {
        "default": "allow",
        "write": { "default": "allow", "rules": [{ "pattern": "**/*.lock", "action": "deny" }] },
        "execute": { "default": "allow", "rules": [{ "pattern": "git push*", "action": "ask", "description": "Pushes" }] },
    } })
}

#[tokio::test]
async fn a_key_learns_whose_it_is() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, token) = admin.session(json!({})).await;
    let (_, own) = admin.get("/v1/caller").await;
    assert_eq!((text(&own["role"]), text(&own["tenant"])), ("admin".to_owned(), "default".to_owned()));
    let (_, agent) = served.with_key(&token).get("/v1/caller").await;
    assert_eq!(
        (text(&agent["role"]), format!("/v1/sessions/{}", text(&agent["session"]))),
        ("session".to_owned(), session)
    );
    assert_eq!(served.with_key("e2b_x").get("/v1/caller").await.0, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_verdict_is_explained_without_running_anything() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({ "policy": rules() })).await;
    let (_, policy) = admin.get(&format!("{session}/policy")).await;
    assert_eq!(policy["layers"][0]["source"], "session");
    assert_eq!(policy["layers"][0]["rules"]["execute"]["rules"][0]["pattern"], "git push*");
    for (operation, target, action) in [
        ("execute", "git push origin main", "ask"),
        ("execute", "touch made", "allow"),
        ("write", "a.lock", "deny"),
        ("read", "a.lock", "allow"),
    ] {
        let (status, told) =
            admin.post(&format!("{session}/policy/explain"), json!({ "operation": operation, "target": target })).await;
        assert_eq!((status, told["action"].as_str()), (StatusCode::OK, Some(action)), "{operation} {target}: {told}");
    }
    let push = json!({ "operation": "execute", "target": "git push" });
    let (_, told) = admin.post(&format!("{session}/policy/explain"), push).await;
    assert_eq!(told["programs"], json!([["git", "push"]]), "{told}");
    assert_eq!(told["layers"][0]["reasons"][0]["rule"], "git push*", "{told}");
    assert_eq!(admin.get(&format!("{session}/files/stat?path=made")).await.0, StatusCode::NOT_FOUND);
    let unknown = json!({ "operation": "fly", "target": "a" });
    assert_eq!(admin.post(&format!("{session}/policy/explain"), unknown).await.0, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(admin.get("/v1/approvals").await.1, json!([]));
}

#[tokio::test]
async fn events_tell_how_a_call_went_and_are_read_backwards() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({ "policy": rules() })).await;
    admin.put(&session, "a.txt", "12345").await;
    assert_eq!(admin.run(&session, "printf abc; exit 3").await.0, 3);
    assert_eq!(admin.put(&session, "b.lock", "x").await, StatusCode::FORBIDDEN);
    let (_, events) = admin.get(&format!("{session}/events?before=1000&limit=3")).await;
    let calls: Vec<&Value> = events.as_array().unwrap().iter().map(|event| &event["data"]).collect();
    assert!(text(&calls[0]["why"]).contains("cannot write `/workspace/b.lock`"), "{events}");
    assert_eq!((&calls[1]["exit_code"], &calls[1]["bytes"]), (&json!(3), &json!(3)), "{events}");
    assert_eq!(calls[2]["bytes"], 5, "{events}");
    assert!(calls[1]["millis"].is_u64(), "{events}");
    let (_, earlier) = admin.get(&format!("{session}/events?before={}", events[2]["seq"])).await;
    assert_eq!(earlier[0]["kind"], "session_created", "{earlier}");
}

#[tokio::test]
async fn activity_and_usage_are_no_use_of_a_session() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, token) = admin.session(json!({})).await;
    let id = session.rsplit('/').next().unwrap().to_owned();
    admin.run(&session, "true").await;
    let history = format!("{session}/usage/history");
    until("a sample", async || admin.get(&history).await.1["samples"].as_array().is_some_and(|all| !all.is_empty()))
        .await;
    let used = admin.get(&session).await.1["used_at"].clone();
    let (_, activity) = admin.get(&format!("/v1/activity?sessions={id},nothing")).await;
    assert_eq!(activity[&id]["last"]["data"]["command"], "true", "{activity}");
    assert!(activity[&id]["samples"][0]["memory"].is_u64() && activity.get("nothing").is_none(), "{activity}");
    tokio::time::sleep(Duration::from_millis(300)).await;
    admin.get(&format!("/v1/activity?sessions={id}")).await;
    assert_eq!(admin.get(&session).await.1["used_at"], used);
    assert!(admin.get("/v1/host/usage").await.1["samples"][0]["processors"].is_u64());
    assert_eq!(served.with_key(&token).get("/v1/host/usage").await.0, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn the_audit_is_followed_over_all_sessions() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, token) = admin.session(json!({})).await;
    assert_eq!(served.with_key(&token).get("/v1/audit/stream").await.0, StatusCode::FORBIDDEN);
    let stream = admin.request(Method::GET, "/v1/audit/stream").send().await.unwrap();
    let mut pieces = Box::pin(stream.bytes_stream());
    admin.put(&session, "seen.txt", "x").await;
    let mut told = String::new();
    while !told.contains("seen.txt") {
        let piece = tokio::time::timeout(PATIENCE, pieces.next()).await.unwrap();
        told.push_str(&String::from_utf8_lossy(&piece.unwrap().unwrap()));
    }
    assert!(told.contains("event: call"), "{told}");
    assert_eq!(told.matches("/workspace/seen.txt").count(), 2, "typed and real, once: {told}");
}

#[tokio::test]
async fn servers_that_listen_are_found() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({ "policy": { "preset": "strict" } })).await;
    assert_eq!(admin.get(&format!("{session}/listening")).await.1, json!({ "ports": [] }));
    let (session, _) = admin.session(json!({})).await;
    admin.post(&format!("{session}/jobs"), json!({ "command": "python3 -m http.server 3000" })).await;
    let path = format!("{session}/listening");
    until("the server", async || admin.get(&path).await.1 == json!({ "ports": [3000] })).await;
}

#[tokio::test]
async fn a_websocket_takes_its_key_as_a_protocol() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    let (_, process) = admin.post(&format!("{session}/processes"), json!({ "command": "echo by-protocol" })).await;
    let address = served.address();
    let url = format!("ws://{address}{session}/processes/{}/attach", process["id"]);
    let with = async |protocols: String| {
        let mut request = url.as_str().into_client_request().unwrap();
        request.headers_mut().insert("sec-websocket-protocol", protocols.parse().unwrap());
        client_async(request, TcpStream::connect(address).await.unwrap()).await
    };
    let (mut socket, answer) = with(format!("workden, workden.key.{}", served.key)).await.unwrap();
    assert_eq!(answer.headers()["sec-websocket-protocol"], "workden", "the answer does not repeat the key");
    let first = tokio::time::timeout(PATIENCE, socket.next()).await.unwrap().unwrap().unwrap();
    assert!(matches!(first, Message::Binary(bytes) if bytes.ends_with(b"by-protocol\n")));
    assert!(with("workden, workden.key.e2b_x".to_owned()).await.is_err());
}

#[tokio::test]
async fn the_dashboard_is_served_without_a_key_and_shows_nothing_by_itself() {
    let (_state, served) = Served::new();
    let page = served.with_key("").request(Method::GET, "/").send().await.unwrap();
    assert_eq!(page.status(), StatusCode::OK);
    let headers = page.headers().clone();
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    assert!(header("content-security-policy").starts_with("default-src 'none'; script-src 'self'"));
    assert_eq!((header("x-content-type-options"), header("referrer-policy")), ("nosniff".into(), "no-referrer".into()));
    assert!(page.text().await.unwrap().contains("<title>workden</title>"));
    let missing = served.admin().get("/assets/none.js").await;
    assert_eq!((missing.0, text(&missing.1["error"]["kind"])), (StatusCode::NOT_FOUND, "not_found".to_owned()));
}
