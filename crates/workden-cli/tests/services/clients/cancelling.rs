//! A cancelled call ends its command, and a client that disconnects or dies leaves no command behind.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::json;

use crate::{
    clients::{
        Client, Era,
        inspector::{Connected, OneShot},
        process::Process,
        python::Python,
        served::Served,
        text,
    },
    processes::{eventually, is_running, mark},
};

/// A command that would run for years, found by its unique number, with a child in its own session.
fn sleep(mark: &str) -> String {
    format!("(setsid sleep {mark} &) ; sleep {mark}")
}

fn starts(mark: &str) {
    eventually("the command does not start", || is_running(mark));
}

fn is_gone(mark: &str) {
    eventually("the command is left behind", || !is_running(mark));
}

#[test]
fn a_call_that_the_python_client_cancels_ends_its_command() {
    for served in Served::both(&["--yes"]) {
        for era in [Era::Handshake, Era::Modern] {
            let mark = mark();
            let mut client = Python::connect(&served, era);
            let arguments = json!({ "command": sleep(&mark) });
            client.ask(&json!({ "do": "start", "tool": "execute", "args": arguments }));
            starts(&mark);
            client.ask(&json!({ "do": "cancel" }));
            is_gone(&mark);
            let after = client.call("execute", &json!({ "command": "echo still here" }));
            assert_eq!(text(&after), "still here\n");
            client.end();
        }
    }
}

#[test]
fn the_python_client_hears_how_a_command_goes_on() {
    for (served, era) in Served::both(&["--yes"]).into_iter().zip([Era::Handshake, Era::Modern]) {
        let mut client = Python::connect(&served, era);
        // A busy machine may need longer until the first progress message.
        let mut heard = ["1.5", "10", "60"].iter().map(|seconds| {
            let arguments = json!({ "command": format!("sleep {seconds}"), "timeout": 100 });
            client.ask(&json!({ "do": "call", "tool": "execute", "args": arguments }))["news"].clone()
        });
        let news = heard.find(|news| *news != json!([])).expect("no progress of any command");
        assert!(news.as_array().unwrap().iter().all(|told| told["total"] == 100.0), "{news}");
        drop(heard);
        client.end();
    }
}

/// `inspector --cli` has no option to cancel a call: its user interrupts it.
#[test]
fn a_call_of_the_inspector_that_is_interrupted_ends_its_command() {
    for served in Served::both(&["--yes"]) {
        let mark = mark();
        let client = OneShot::of(&served, Era::Modern);
        let arguments = json!({ "command": sleep(&mark) }).to_string();
        let words = ["--method", "tools/call", "--tool-name", "execute", "--tool-args-json", &arguments];
        let mut command = client.command(&words);
        let mut waiting = Process::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
        starts(&mark);
        waiting.signal(Signal::INT);
        waiting.wait();
        is_gone(&mark);
    }
}

/// Nor has `mcpdo`, which ends its calls when it closes the connection. With a handshake over HTTP it does not end its
/// session, to which it could return: there its calls would continue.
#[test]
fn a_connection_of_the_inspector_that_is_closed_ends_its_commands() {
    for (served, era) in Served::both(&["--yes"]).into_iter().zip([Era::Handshake, Era::Modern]) {
        let mark = mark();
        let client = Connected::to(&served, era);
        let arguments = json!({ "command": sleep(&mark) }).to_string();
        let mut command = client.command(&["@den", "tools/call", "execute", "--tool-args-json", &arguments]);
        let _waiting = Process::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
        starts(&mark);
        client.request(&["disconnect", "den"]);
        is_gone(&mark);
    }
}
