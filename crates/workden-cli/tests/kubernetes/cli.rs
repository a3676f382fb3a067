//! Pods from the command line: `run`, `tool` and `mcp` with `--sandbox kubernetes`, and sessions that two machines
//! share.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    places::{BUSYBOX, kubeconfig},
    processes::{ended, eventually},
    program::{Place, printed, told},
};

fn interrupt(child: &Child) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
}

#[test]
fn a_command_in_a_pod_has_its_streams_its_exit_code_and_what_it_was_given() {
    let place = Place::new("run");
    let run = |options: &[&str], command: &[&str]| {
        place.workden(&[&["run"], &place.pod()[..], options, &["--"], command].concat())
    };
    let ran = run(
        &["--env", "MODE=test", "--memory", "64M", "--cpus", "0.5"],
        &["sh", "-c", "pwd; ls; echo $MODE; echo oops >&2; exit 3"],
    );
    assert_eq!(ran.status.code(), Some(3), "{}", told(&ran));
    assert_eq!((ran.stdout.as_slice(), ran.stderr.as_slice()), (&b"/workspace\ntest\n"[..], &b"oops\n"[..]));

    let words = [&["run"], &place.pod()[..], &["--", "cat"]].concat();
    let mut fed = place.command(&words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    fed.stdin.take().unwrap().write_all(b"passed on").unwrap();
    assert_eq!(fed.wait_with_output().unwrap().stdout, b"passed on");

    let ran = run(&["--json", "--isolation", "--net", "cluster"], &["sh", "-c", "echo j; exit 2"]);
    let json: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((&json["output"], &json["exit_code"]), (&"j\n".into(), &2.into()));
    assert!(json["isolation"]["reached_by"].is_string(), "{json:#}");
    assert_eq!(run(&["--timeout", "300ms"], &["sleep", "60"]).status.code(), Some(124));
    assert_eq!(run(&[], &["no-such-program"]).status.code(), Some(127));
    assert_eq!(place.pods(), "");
}

#[test]
fn a_template_is_merged_and_its_mistakes_are_named() {
    let place = Place::new("template");
    let template = place.file(
        "pod.yaml",
        &format!(
            "spec:\n  containers:\n  - name: workden\n    image: {BUSYBOX}\n    env: [{{name: FROM, value: it}}]\n"
        ),
    );
    let words = ["run", "--sandbox", "kubernetes", "--namespace", &place.namespace, "--pod-template"];
    let run = |file: &str| place.workden(&[&words[..], &[file, "--", "sh", "-c", "echo $FROM"]].concat());
    let ran = run(template.to_str().unwrap());
    assert_eq!(ran.stdout, b"it\n", "{}", told(&ran));
    let wrong = place.file("wrong.yaml", "spec:\n  container: []\n");
    let refused = run(wrong.to_str().unwrap());
    assert_eq!(refused.status.code(), Some(125));
    assert!(told(&refused).contains("unknown field `spec.container`"), "{}", told(&refused));
    assert!(told(&run("missing.yaml")).contains("pod template `missing.yaml` not found"));
}

#[test]
fn an_interrupted_command_leaves_no_pod() {
    let place = Place::new("signal");
    let words = [&["run"], &place.pod()[..], &["--", "sh", "-c", "echo started; sleep 60"]].concat();
    let mut running = place.command(&words).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(running.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_ne!(place.pods(), "");
    interrupt(&running);
    assert_eq!(ended(&mut running).code(), Some(130));
    assert_eq!(place.pods(), "");
    // Also at any moment of the start.
    for milliseconds in [50, 200, 400, 800] {
        let mut starting = place.command(&words).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        interrupt(&starting);
        ended(&mut starting);
        assert_eq!(place.pods(), "", "{milliseconds}");
    }
    // A pod that waits for an image that does not come is given up at once.
    let slow = ["--sandbox", "kubernetes", "--namespace", &place.namespace, "--image", "registry.invalid/slow:1"];
    let mut starting = place.command(&[&["run"], &slow[..], &["--", "true"]].concat()).spawn().unwrap();
    eventually("no pod appears", || !place.pods().is_empty());
    interrupt(&starting);
    ended(&mut starting);
    assert_eq!(place.pods(), "");
}

#[test]
fn options_of_other_sandboxes_are_refused_by_name() {
    let place = Place::new("refused");
    let pod = ["--sandbox", "kubernetes", "--image", "x"];
    for (option, says) in [
        (&["--root", "."][..], "`--root` is not supported with `--sandbox kubernetes`"),
        (&["--mount", ".:/x"], "`--mount` is not supported"),
        (&["--path", "own"], "`--path` is not supported"),
        (&["--toolchain", "python"], "`--toolchain` is not supported"),
        (&["--pids", "9"], "`--pids` is not supported"),
        (&["--level", "landlock"], "`--level` is not supported"),
        (&["--net", "host"], "`--net cluster`"),
        (&["--runtime", "python-web"], "leave out one"),
    ] {
        let refused = place.workden(&[&["run"], &pod[..], option, &["--", "true"]].concat());
        assert_eq!(refused.status.code(), Some(2), "{option:?}: {}", told(&refused));
        assert!(told(&refused).contains(says), "{option:?}: {}", told(&refused));
    }
    let built = ["run", "--sandbox", "kubernetes", "--runtime", "python-web", "--", "true"];
    assert!(told(&place.workden(&built)).contains("it has to be built"));
    for words in [
        &["run", "--context", "x", "--", "true"][..],
        &["run", "--sandbox", "docker", "--image", "x", "--context", "x", "--", "true"],
        &["tool", "--context", "x"],
        &["sessions", "open", "a", "--context", "x"],
        &["doctor", "--context", "x"],
    ] {
        let refused = place.workden(words);
        assert_eq!(refused.status.code(), Some(2), "{words:?}: {}", told(&refused));
        assert!(told(&refused).contains("`--context` requires `--sandbox kubernetes`"), "{}", told(&refused));
    }
    for words in [&["run", "--sandbox", "kubernetes", "--", "true"][..], &["tool", "--sandbox", "kubernetes"]] {
        assert!(told(&place.workden(words)).contains("`--sandbox kubernetes` needs an `--image`"), "{words:?}");
    }
}

#[test]
fn tools_and_mcp_work_in_a_pod() {
    let place = Place::new("tools");
    let options = [&place.pod()[..], &["--yes"]].concat();
    let call =
        |name: &str, arguments: Value| place.printed(&[&["tool", name, &arguments.to_string()], &options[..]].concat());
    assert_eq!(call("execute", json!({ "command": "pwd; ls" })), "/workspace\n");
    assert!(call("write_file", json!({ "path": "a", "content": "b\n" })).contains("/workspace/a"));
    let lines = [
        json!({ "tool": "write_file", "args": { "path": "a.txt", "content": "hello\n" } }),
        json!({ "tool": "read_file", "args": { "path": "a.txt" } }),
        json!({ "tool": "execute", "args": { "command": "cat a.txt" } }),
    ];
    let mut child = place.command(&[&["tool", "--jsonl"], &options[..]].concat());
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    // Calls of one input run at the same time, so each waits for the answer to the one before.
    let answers = lines.map(|line| {
        writeln!(input, "{line}").unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        answer
    });
    assert_eq!(answers.map(|answer| answer.contains("hello")), [false, true, true]);
    drop(input);
    assert!(ended(&mut child).success());

    let mut child = place.command(&[&["mcp", "--policy", "permissive"], &place.pod()[..]].concat());
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let execute = json!({ "name": "execute", "arguments": { "command": "id -u" } });
    let mut input = child.stdin.take().unwrap();
    for message in [
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": execute }),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    let answers = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    let answers = answers.map(|line| serde_json::from_str::<Value>(&line).unwrap());
    let ran = answers.into_iter().find(|answer| answer["id"] == 1).unwrap();
    assert_eq!(ran["result"]["content"][0]["text"], "1000\n", "{ran}");
    drop(input);
    assert!(ended(&mut child).success());
    assert_eq!(place.pods(), "");
}

#[test]
fn two_machines_share_a_session() {
    let place = Place::new("sessions");
    let other = Place::elsewhere();
    let there = |words: &[&str]| place.command_at(other.path(), &kubeconfig(), words);
    let open = [&["sessions", "open", "team"], &place.pod()[..]].concat();
    assert!(place.printed(&open).contains("is open; its files are in its pod, at `/workspace`"));
    assert!(place.printed(&open).contains("was open already"));
    assert_eq!(place.printed(&["sessions", "exec", "team", "--", "sh", "-c", "echo one > note; cat note"]), "one\n");

    let missing = there(&["sessions", "exec", "team", "--", "true"]).output().unwrap();
    assert!(told(&missing).contains("session `team` not found"), "{}", told(&missing));
    let differs = there(&[&open[..], &["--env", "A=b"]].concat()).output().unwrap();
    assert!(told(&differs).contains("created with other options"), "{}", told(&differs));
    printed(there(&open));
    assert_eq!(printed(there(&["sessions", "exec", "team", "--", "cat", "note"])), "one\n");

    let file = place.file("local.txt", "from here\n");
    printed(there(&["sessions", "files", "team", "put", file.to_str().unwrap(), "copied.txt"]));
    assert_eq!(place.printed(&["sessions", "files", "team", "get", "copied.txt"]), "from here\n");
    let listed = place.printed(&["sessions", "files", "team"]);
    assert!(listed.contains("copied.txt") && listed.contains("note"), "{listed}");
    let taken = other.path().join("taken.txt");
    printed(there(&["sessions", "files", "team", "get", "note", taken.to_str().unwrap()]));
    assert_eq!(std::fs::read_to_string(taken).unwrap(), "one\n");

    let rows: Value = serde_json::from_str(&place.printed(&["sessions", "list", "--json"])).unwrap();
    assert_eq!((&rows[0]["kind"], &rows[0]["state"]), (&"kubernetes".into(), &"running".into()), "{rows:#}");
    let by_session = [&["run", "--session", "team"], &place.pod()[..], &["--", "cat", "note"]].concat();
    assert_eq!(place.printed(&by_session), "one\n");
    let read = json!({ "path": "note" }).to_string();
    let by_tool = [&["tool", "read_file", &read, "--session", "team"], &place.pod()[..]].concat();
    assert!(place.printed(&by_tool).contains("one"));

    assert_eq!(printed(there(&["sessions", "release", "team"])), "released team\n");
    assert_eq!(place.pods(), "");
    let rows: Value = serde_json::from_str(&place.printed(&["sessions", "list", "--json"])).unwrap();
    assert_eq!(rows[0]["state"], "ended", "{rows:#}");
    assert!(place.printed(&["sessions", "prune"]).contains("the session `team`, which has ended"));
}
