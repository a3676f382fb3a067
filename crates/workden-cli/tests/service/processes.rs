//! Commands whose output is followed, processes with input, terminals that come and go, and background jobs.

use futures_util::{SinkExt, StreamExt};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest},
};

use crate::served::{PATIENCE, Served, text, until};

/// Attaches to a process.
pub(crate) async fn attach(served: &Served, path: &str) -> WebSocketStream<TcpStream> {
    let address = served.address();
    let stream = TcpStream::connect(address).await.unwrap();
    let mut request = format!("ws://{address}{path}").into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {}", served.key).parse().unwrap());
    client_async(request, stream).await.unwrap().0
}

/// Reads output until it contains a text, or the process ends.
async fn read_until(socket: &mut WebSocketStream<TcpStream>, wanted: &str) -> (String, Option<Value>) {
    let mut output = String::new();
    while !output.contains(wanted) {
        let message = tokio::time::timeout(PATIENCE, socket.next()).await.unwrap();
        match message.unwrap().unwrap() {
            Message::Binary(bytes) => output.push_str(&String::from_utf8_lossy(&bytes[1..])),
            Message::Text(text) => return (output, Some(serde_json::from_str(&text).unwrap())),
            _ => {}
        }
    }
    (output, None)
}

#[tokio::test]
async fn a_terminal_goes_on_while_its_clients_come_and_go() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    let terminal = json!({ "command": "PS1= exec sh", "terminal": { "rows": 24, "columns": 80 }, "tag": "shell" });
    let (status, process) = admin.post(&format!("{session}/processes"), terminal).await;
    assert_eq!(status, StatusCode::CREATED, "{process}");
    let path = format!("{session}/processes/{}/attach", process["id"]);
    let mut first = attach(&served, &path).await;
    first.send(Message::Binary(b"echo fir''st\n".to_vec().into())).await.unwrap();
    read_until(&mut first, "first").await;
    drop(first);
    // Two at a time see the same, from the start.
    let (mut second, mut third) = (attach(&served, &path).await, attach(&served, &path).await);
    read_until(&mut second, "first").await;
    second.send(Message::Text(r#"{"type":"resize","rows":50,"columns":132}"#.into())).await.unwrap();
    second.send(Message::Binary(b"stty size; exit 7\n".to_vec().into())).await.unwrap();
    let (output, _) = read_until(&mut third, "50 132").await;
    assert!(output.contains("first"), "{output}");
    let (_, ended) = read_until(&mut third, "never printed").await;
    assert_eq!(ended.unwrap(), json!({ "type": "ended", "exit_code": 7 }));
    let (_, described) = admin.get(&format!("{session}/processes/{}", process["id"])).await;
    assert_eq!((&described["running"], &described["exit_code"]), (&json!(false), &json!(7)));
}

#[tokio::test]
async fn a_process_takes_input_and_is_stopped_with_all_that_it_started() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    let (_, cat) = admin.post(&format!("{session}/processes"), json!({ "argv": ["cat"] })).await;
    let at = format!("{session}/processes/{}", cat["id"]);
    let sent = admin.request(Method::POST, &format!("{at}/input")).body("typed\n").send().await.unwrap();
    assert_eq!(sent.status(), StatusCode::NO_CONTENT);
    read_until(&mut attach(&served, &format!("{at}/attach")).await, "typed").await;
    let line = json!({ "command": "sleep 1234 & sleep 1235" });
    let (_, sleeps) = admin.post(&format!("{session}/processes"), line).await;
    let running = || async { admin.run(&session, "pgrep -c sleep").await.1 == "2\n" };
    until("two processes", running).await;
    assert_eq!(admin.delete(&format!("{session}/processes/{}", sleeps["id"])).await, StatusCode::NO_CONTENT);
    until("their end", || async { admin.run(&session, "pgrep -c sleep").await.1 == "0\n" }).await;
}

#[tokio::test]
async fn output_is_followed_as_it_comes_and_ends_at_the_timeout() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    let line = json!({ "command": "echo out; echo err >&2; exit 4" });
    let (_, events) = admin.post(&format!("{session}/commands/stream"), line).await;
    let events = text(&events);
    for expected in
        ["event: output\ndata: {\"text\":\"out\\n\"}", "event: error\ndata: {\"text\":\"err\\n\"}", "\"exit_code\":4"]
    {
        assert!(events.contains(expected), "{expected}: {events}");
    }
    let endless = json!({ "command": "echo begun; sleep 1000", "timeout_seconds": 1 });
    let (_, events) = admin.post(&format!("{session}/commands/stream"), endless).await;
    assert!(text(&events).contains("\"timed_out\":true"), "{events}");
    until("its end", || async { admin.run(&session, "pgrep -c sleep").await.1 == "0\n" }).await;
}

#[tokio::test]
async fn a_background_job_is_read_by_offset() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    let (status, job) = admin.post(&format!("{session}/jobs"), json!({ "command": "echo one; sleep 1000" })).await;
    assert_eq!(status, StatusCode::CREATED, "{job}");
    let at = format!("{session}/jobs/{}", text(&job["id"]));
    let (_, read) = admin.get(&format!("{at}?wait_seconds=30")).await;
    assert_eq!((&read["text"], &read["next"]), (&json!("one\n"), &json!(4)), "{read}");
    assert_eq!(admin.delete(&at).await, StatusCode::NO_CONTENT);
    let (_, read) = admin.get(&format!("{at}?offset=4")).await;
    assert_eq!(read["job"]["running"], false, "{read}");
}

#[tokio::test]
async fn a_command_that_a_call_waits_for_is_watched_and_stopped() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({ "policy": { "preset": "permissive" } })).await;
    let commands = format!("{session}/commands");
    assert_eq!(admin.get(&commands).await, (StatusCode::OK, json!([])));
    let line = "echo begun; sleep 1234";
    let call = json!({ "name": "execute", "arguments": { "command": line } });
    let watched = async {
        until("the command", || async { admin.get(&commands).await.1 != json!([]) }).await;
        let (_, listed) = admin.get(&commands).await;
        assert_eq!((&listed[0]["command"], &listed[0]["running"]), (&json!(line), &json!(true)), "{listed}");
        let at = format!("{commands}/{}", text(&listed[0]["id"]));
        let (_, read) = admin.get(&format!("{at}?wait_seconds=30")).await;
        assert_eq!((&read["text"], &read["job"]["running"]), (&json!("begun\n"), &json!(true)), "{read}");
        // Its end is told to one that waits for it.
        let last = async { admin.get(&format!("{at}?offset=6&wait_seconds=60")).await.1 };
        let stop = async { admin.delete(&at).await };
        let (last, stopped) = tokio::join!(last, stop);
        assert_eq!((stopped, &last["job"]["exit_code"]), (StatusCode::NO_CONTENT, &json!(143)), "{last}");
        assert_eq!(admin.get(&at).await.0, StatusCode::NOT_FOUND);
        assert_eq!(admin.delete(&at).await, StatusCode::NOT_FOUND);
    };
    let tools = format!("{session}/tools");
    let ((_, answer), ()) = tokio::join!(admin.post(&tools, call), watched);
    assert!(text(&answer["text"]).contains("begun") && text(&answer["text"]).contains("143"), "{answer}");
    let (_, events) = admin.get(&format!("{session}/events")).await;
    assert!(events.to_string().contains("command_stopped"), "{events}");
    // A job is none of these commands.
    let (_, job) = admin.post(&format!("{session}/jobs"), json!({ "command": "sleep 1000" })).await;
    assert_eq!(admin.get(&format!("{commands}/{}", text(&job["id"]))).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_followed_command_is_a_process_until_its_client_goes_away() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    let line = json!({ "command": "echo begun; sleep 1236" }).to_string();
    let request = admin.request(Method::POST, &format!("{session}/commands/stream"));
    let mut followed = request.header("content-type", "application/json").body(line).send().await.unwrap();
    assert!(followed.chunk().await.unwrap().is_some());
    let (_, processes) = admin.get(&format!("{session}/processes")).await;
    assert_eq!((&processes[0]["running"], &processes[0]["command"]), (&json!(true), &json!("echo begun; sleep 1236")));
    drop(followed);
    until("its end", || async { admin.run(&session, "pgrep -c sleep").await.1 == "0\n" }).await;
    // Its output is not kept, however many such calls there are.
    until("no process", || async { admin.get(&format!("{session}/processes")).await.1 == json!([]) }).await;
}

#[tokio::test]
async fn of_many_processes_that_have_ended_the_last_are_remembered() {
    let (_state, served) = Served::new();
    let admin = served.admin();
    let (session, _) = admin.session(json!({})).await;
    let path = format!("{session}/processes");
    let (_, first) = admin.post(&path, json!({ "command": "exec sleep 1000" })).await;
    let mut last = first.clone();
    for _ in 0..70 {
        last = admin.post(&path, json!({ "command": "true" })).await.1;
    }
    let listed = async || admin.get(&path).await.1.as_array().unwrap().clone();
    until("the end of all", || async { listed().await.iter().filter(|one| one["running"] == true).count() == 1 }).await;
    until("the oldest to be forgotten", || async { listed().await.len() == 65 }).await;
    let listed = listed().await;
    assert_eq!((&listed[0]["id"], &listed[64]["id"]), (&first["id"], &last["id"]), "one that runs is not forgotten");
}
