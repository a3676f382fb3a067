//! Two services on one Postgres: nothing is done twice, and nothing is lost.

use std::{collections::BTreeSet, process::Command};

use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::{
    database,
    recorded::{assert_without_gaps, events, written},
    served::{Caller, Served, StateDirectory, text, until},
};

/// Starts two services with one directory and one database.
fn two() -> (StateDirectory, Served, Served) {
    let state = StateDirectory::new();
    let (one, two) = (Served::start(state.path(), &[]), Served::start(state.path(), &[]));
    (state, one, two)
}

/// Starts two services with one database and a directory each, as on two machines.
fn apart() -> ([StateDirectory; 2], Served, Served) {
    let (here, elsewhere) = (StateDirectory::new(), StateDirectory::new());
    let one = Served::start(here.path(), &[]);
    let url = database::arguments(here.path());
    let mut program = Command::new(env!("CARGO_BIN_EXE_workden"));
    program.args(["serve", "--listen", "127.0.0.1:0", "--state"]).arg(elsewhere.path()).args(url);
    let two = Served::run(&mut program);
    ([here, elsewhere], one, two)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_two_services_are_numbered_without_gaps_and_followed_in_order() {
    const EACH: usize = 60;
    let (_state, one, two) = two();
    let (first, second) = (one.admin(), two.with_key(&one.key));
    let (session, _) = first.session(json!({})).await;
    let mut follower = second.request(Method::GET, &format!("{session}/events/stream")).send().await.unwrap();
    let write = async |caller: &Caller<'_>, mark: &str| {
        for number in 0..EACH {
            assert_eq!(caller.put(&session, &format!("{mark}{number}"), "x").await, StatusCode::OK);
        }
    };
    tokio::join!(write(&first, "a"), write(&second, "b"), write(&first, "c"), write(&second, "d"));
    let all = events(&first, &session).await;
    assert_without_gaps(&all);
    let paths = written(&all);
    assert_eq!((paths.len(), paths.iter().collect::<BTreeSet<_>>().len()), (4 * EACH, 4 * EACH));
    let mut followed = String::new();
    while followed.matches("\n\n").count() < all.len() {
        followed.push_str(std::str::from_utf8(&follower.chunk().await.unwrap().unwrap()).unwrap());
    }
    let ids: Vec<usize> = followed.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect();
    assert_eq!(ids, (1..=all.len()).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_answered_once_though_two_services_are_asked() {
    let (_state, one, two) = two();
    let (first, second) = (one.admin(), two.with_key(&one.key));
    let (session, _) = first.session(json!({ "policy": { "preset": "strict" } })).await;
    for number in 0..10 {
        let name = format!("note{number}");
        let call = first.put(&session, &name, "x");
        let answers = async {
            let pending = || async { second.get("/v1/approvals").await.1[0]["id"].clone() };
            until("a question", || async { pending().await.is_string() }).await;
            let path = format!("/v1/approvals/{}", text(&pending().await));
            let (yes, no) = (json!({ "decision": "approve" }), json!({ "decision": "deny" }));
            tokio::join!(first.post(&path, yes.clone()), second.post(&path, no), second.post(&path, yes))
        };
        let (written, (one, two, three)) = tokio::join!(call, answers);
        let accepted = [&one, &two, &three].into_iter().filter(|(status, _)| *status == StatusCode::OK);
        let accepted: Vec<&Value> = accepted.map(|(_, answer)| &answer["state"]).collect();
        assert_eq!(accepted.len(), 1, "{one:?} {two:?} {three:?}");
        let expected = if accepted[0] == "approved" { StatusCode::OK } else { StatusCode::FORBIDDEN };
        assert_eq!(written, expected, "the call follows the answer that counted");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_of_a_name_is_created_once_though_two_services_are_asked() {
    let (_state, one, two) = two();
    let (first, second) = (one.admin(), two.with_key(&one.key));
    for round in 0..3 {
        let new = json!({ "name": format!("only-{round}"), "if_exists": "attach" });
        let calls = (0..10).map(|number| if number % 2 == 0 { &first } else { &second });
        let made = join_all(calls.map(|caller| caller.post("/v1/sessions", new.clone()))).await;
        let created = made.iter().filter(|(status, _)| *status == StatusCode::CREATED).count();
        let attached = made.iter().filter(|(status, _)| *status == StatusCode::OK).count();
        assert_eq!((created, attached), (1, 9), "{made:?}");
        let ids: BTreeSet<String> = made.iter().map(|(_, session)| text(&session["id"])).collect();
        assert_eq!(ids.len(), 1, "{made:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_time_is_over_is_ended_by_one_of_two_services() {
    const SESSIONS: usize = 12;
    let (_state, one, two) = two();
    let (first, second) = (one.admin(), two.with_key(&one.key));
    let new = json!({ "idle_seconds": 2 });
    for number in 0..SESSIONS {
        if number % 2 == 0 {
            first.session(new.clone()).await
        } else {
            second.session(new.clone()).await
        };
    }
    let none = || async { first.get("/v1/sessions").await.1["sessions"] == json!([]) };
    until("the end of all", none).await;
    let (_, audit) = first.get("/v1/audit?limit=1000").await;
    let ended = audit.as_array().unwrap().iter().filter(|event| event["kind"] == "session_ended");
    let ended: Vec<String> = ended.map(|event| text(&event["session"])).collect();
    assert_eq!((ended.len(), ended.iter().collect::<BTreeSet<_>>().len()), (SESSIONS, SESSIONS), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_one_of_two_services_is_killed_nothing_is_done_twice_and_nothing_is_lost() {
    const CALLS: usize = 500;
    let (_state, one, two) = two();
    let (key, urls) = (one.key.clone(), [one.url.clone(), two.url.clone()]);
    let (session, _) = two.with_key(&key).session(json!({ "policy": null })).await;
    let client = reqwest::Client::new();
    let commands = format!("{session}/commands");
    let done = std::sync::atomic::AtomicUsize::new(0);
    // Appending says how often a call ran; a call whose service was killed is not repeated.
    let call = async |number: usize| {
        let url = format!("{}{commands}", urls[number % 2]);
        let body = json!({ "command": format!("echo {number} >> done") }).to_string();
        let request = client.post(url).bearer_auth(&key).header("content-type", "application/json").body(body);
        let answered = request.send().await.is_ok_and(|answer| answer.status() == StatusCode::OK);
        done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        answered.then_some(number)
    };
    let call = &call;
    let kill = async {
        until("some calls", || async { done.load(std::sync::atomic::Ordering::Relaxed) > CALLS / 4 }).await;
        one.kill();
    };
    let lanes = join_all((0..8).map(|lane| async move {
        let mut answered = Vec::new();
        for number in (lane..CALLS).step_by(8) {
            answered.extend(call(number).await);
        }
        answered
    }));
    let (answered, _) = tokio::join!(lanes, kill);
    let answered: BTreeSet<usize> = answered.concat().into_iter().collect();
    assert!(answered.len() > CALLS / 2, "those of the other service are all answered: {}", answered.len());
    let survivor = two.with_key(&key);
    let (_, ran) = survivor.run(&session, "cat done").await;
    let ran: Vec<usize> = ran.lines().map(|line| line.parse().unwrap()).collect();
    let unique: BTreeSet<usize> = ran.iter().copied().collect();
    assert_eq!(ran.len(), unique.len(), "a command ran twice");
    assert!(answered.is_subset(&unique), "lost: {:?}", answered.difference(&unique));
    let all = events(&survivor, &session).await;
    assert_without_gaps(&all);
    let recorded = all.iter().filter_map(|event| event["data"]["command"].as_str());
    let recorded: Vec<usize> =
        recorded.filter_map(|line| line.strip_prefix("echo ")?.split(' ').next()?.parse().ok()).collect();
    let unique: BTreeSet<usize> = recorded.iter().copied().collect();
    assert_eq!(recorded.len(), unique.len(), "a call is recorded twice");
    assert!(answered.is_subset(&unique), "without a record: {:?}", answered.difference(&unique));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_on_another_machine_is_not_started_again_without_its_files() {
    let ([here, _], one, two) = apart();
    let (first, second) = (one.admin(), two.with_key(&one.key));
    let (session, _) = first.session(json!({})).await;
    first.put(&session, "note", "x").await;
    assert_eq!(second.get(&session).await.1["state"], "running");
    let (status, refused) = second.post(&format!("{session}/commands"), json!({ "command": "cat note" })).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{refused}");
    assert!(text(&refused["error"]["message"]).contains("on another machine"), "{refused}");
    assert_eq!(second.post(&format!("{session}/pause"), json!({})).await.0, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(first.run(&session, "cat note").await.1, "x");
    // It is deleted where it is.
    assert_eq!(second.delete(&session).await, StatusCode::NO_CONTENT);
    until("its end", || async { first.get(&session).await.0 == StatusCode::NOT_FOUND }).await;
    assert_eq!(std::fs::read_dir(here.path().join("workspaces")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_starts_a_session_on_another_machine() {
    let (_states, one, two) = apart();
    let (first, second) = (one.admin(), two.with_key(&one.key));
    let sandbox = async |caller: &Caller<'_>, template: &str| {
        let (status, made) = caller.post("/v2/sandboxes", json!({ "templateID": template })).await;
        assert_eq!(status, StatusCode::CREATED, "{made}");
        text(&made["sandboxID"])
    };
    let source = sandbox(&first, "base").await;
    let made =
        first.run(&format!("/v1/sessions/{source}"), "head -c 5000000 /dev/urandom > large && sha256sum large").await;
    let (status, snapshot) = first.post(&format!("/sandboxes/{source}/snapshots"), json!({})).await;
    assert_eq!(status, StatusCode::CREATED, "{snapshot}");
    assert_eq!(first.delete(&format!("/v1/sessions/{source}")).await, StatusCode::NO_CONTENT);
    let copies = (0..4).map(|_| sandbox(&second, snapshot["snapshotID"].as_str().unwrap()));
    for copy in join_all(copies).await {
        let copy = format!("/v1/sessions/{copy}");
        assert_eq!(second.run(&copy, "sha256sum large").await, made);
        assert_eq!(
            second.get(&format!("{copy}/changes")).await.1,
            json!({ "changes": [], "not_compared": 0, "truncated": false })
        );
        assert_eq!(second.delete(&copy).await, StatusCode::NO_CONTENT);
    }
    assert_eq!(second.delete(&format!("/templates/{}", text(&snapshot["snapshotID"]))).await, StatusCode::NO_CONTENT);
}
