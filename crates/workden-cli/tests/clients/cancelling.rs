//! A call that a client no longer wants ends, and its command is gone; a client that goes leaves none behind.

use std::process::Stdio;

use rustix::process::Signal;
use serde_json::json;

use crate::{
    Client, Era,
    inspector::{Connected, OneShot},
    process::{Process, eventually, is_running},
    python::Python,
    served::Served,
    text,
};

/// A command that would run for months, by a number that nothing else has, and a child of it that hides.
fn sleep(mark: &str) -> String {
    format!("(setsid sleep {mark} &) ; sleep {mark}")
}

fn begins(mark: &str) {
    eventually("the command does not begin", || is_running(mark));
}

fn is_gone(mark: &str) {
    eventually("the command is left behind", || !is_running(mark));
}

#[test]
fn a_call_that_the_python_client_cancels_ends_its_command() {
    for (served, way) in Served::both(&["--yes"]).into_iter().zip(["1", "2"]) {
        for (era, number) in [(Era::Handshake, "1"), (Era::Modern, "2")] {
            let mark = format!("86402{way}{number}");
            let mut client = Python::connect(&served, era);
            let arguments = json!({ "command": sleep(&mark) });
            client.ask(&json!({ "do": "begin", "tool": "execute", "args": arguments }));
            begins(&mark);
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
        let arguments = json!({ "command": "sleep 1.5", "timeout": 30 });
        let done = client.ask(&json!({ "do": "call", "tool": "execute", "args": arguments }));
        let news = done["news"].as_array().unwrap();
        assert!(!news.is_empty() && news.iter().all(|told| told["total"] == 30.0), "{done}");
        client.end();
    }
}

/// `inspector --cli` has no word for it: who no longer wants to wait interrupts it.
#[test]
fn a_call_of_the_inspector_that_is_interrupted_ends_its_command() {
    for (served, mark) in Served::both(&["--yes"]).into_iter().zip(["8640331", "8640332"]) {
        let client = OneShot::of(&served, Era::Modern);
        let arguments = json!({ "command": sleep(mark) }).to_string();
        let words = ["--method", "tools/call", "--tool-name", "execute", "--tool-args-json", &arguments];
        let mut command = client.command(&words);
        let mut waiting = Process::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
        begins(mark);
        waiting.signal(Signal::INT);
        waiting.wait();
        is_gone(mark);
    }
}

/// Nor has `mcpdo`, whose connection ends its calls when it is closed. With a handshake over HTTP it does not end its
/// session, to which it could come back: there its calls would go on.
#[test]
fn a_connection_of_the_inspector_that_is_closed_ends_its_commands() {
    let ways = Served::both(&["--yes"]).into_iter().zip([Era::Handshake, Era::Modern]);
    for ((served, era), mark) in ways.zip(["8640341", "8640342"]) {
        let client = Connected::to(&served, era);
        let arguments = json!({ "command": sleep(mark) }).to_string();
        let mut command = client.command(&["@den", "tools/call", "execute", "--tool-args-json", &arguments]);
        let _waiting = Process::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
        begins(mark);
        client.request(&["disconnect", "den"]);
        is_gone(mark);
    }
}
