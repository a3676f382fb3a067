//! Every client is refused what the policy denies, and asks its user about what the policy asks.

use serde_json::json;

use crate::clients::{
    Answer, Askable, Client, Era,
    inspector::{Connected, OneShot},
    python::{Asks, Python},
    served::Served,
    text,
};

fn is_denied(client: &mut dyn Client) {
    let denied = client.call("read_file", &json!({ "path": ".env" }));
    assert!(denied["isError"] == true && text(&denied).contains("the policy denies it"), "{denied}");
    let denied = client.call("execute", &json!({ "command": "rm -rf /" }));
    assert!(denied["isError"] == true && text(&denied).contains("dangerous"), "{denied}");
}

fn asks_first(client: &mut dyn Askable, served: &Served) {
    let write = json!({ "path": "a.txt", "content": "written\n" });
    let (declined, question) = client.call_and_answer("write_file", &write, Answer::No);
    assert!(question.contains("/workspace/a.txt") && question.contains("+written"), "{question}");
    assert!(declined["isError"] == true && text(&declined).contains("the user declined"), "{declined}");
    assert!(!served.at("a.txt").exists());
    let (written, _) = client.call_and_answer("write_file", &write, Answer::Yes);
    assert!(written["isError"] != true, "{written}");
    assert_eq!(served.read("a.txt"), "written\n");
    let command = json!({ "command": "echo approved | tee approved.txt" });
    let (ran, question) = client.call_and_answer("execute", &command, Answer::YesAndDoNotAskAgain);
    assert!(question.contains("echo approved"), "{question}");
    assert_eq!(text(&ran), "approved\n");
    assert_eq!(text(&client.call("execute", &command)), "approved\n", "the client must not ask again");
}

#[test]
fn the_python_client_is_asked_over_pipes() {
    for era in [Era::Handshake, Era::Modern] {
        let served = Served::over_pipes(&[]);
        let mut client = Python::connect(&served, era);
        is_denied(&mut client);
        asks_first(&mut client, &served);
        client.end();
    }
}

#[test]
fn the_python_client_is_asked_over_http() {
    for era in [Era::Handshake, Era::Modern] {
        let served = Served::over_http(&[]);
        let mut client = Python::connect(&served, era);
        is_denied(&mut client);
        asks_first(&mut client, &served);
        client.end();
    }
}

#[test]
fn the_inspector_is_asked_over_pipes_and_http() {
    for (served, era) in Served::both(&[]).into_iter().zip([Era::Modern, Era::Handshake]) {
        let mut client = Connected::to(&served, era);
        is_denied(&mut client);
        asks_first(&mut client, &served);
    }
}

#[test]
fn a_client_that_cannot_ask_is_told_what_would_help() {
    let [pipes, http] = Served::both(&[]);
    let mut python = Python::connect_as(&pipes, Era::Modern, Asks::No);
    for client in [&mut python as &mut dyn Client, &mut OneShot::of(&http, Era::Handshake)] {
        let refused = client.call("write_file", &json!({ "path": "a.txt", "content": "x" }));
        assert!(refused["isError"] == true && text(&refused).contains("--yes"), "{refused}");
    }
    python.end();
    assert!(!pipes.at("a.txt").exists() && !http.at("a.txt").exists());
}

#[test]
fn what_the_policy_denies_everywhere_is_not_offered() {
    let served = Served::over_http(&["--policy", "readonly"]);
    let mut python = Python::connect(&served, Era::Handshake);
    for client in [&mut python as &mut dyn Client, &mut OneShot::of(&served, Era::Modern)] {
        let names = client.tools().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
        assert!(names.contains(&"read_file".to_owned()), "{names:?}");
        assert!(!names.contains(&"write_file".to_owned()) && !names.contains(&"execute".to_owned()), "{names:?}");
    }
    python.end();
}
