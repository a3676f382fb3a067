//! JSON lines: every line gets one answer, whatever it contains and however many there are.

use std::{
    collections::BTreeMap,
    io::{BufRead, Write},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    counts::times,
    family::{family, held, own_memory},
    processes::{PATIENCE, ended, eventually},
    project::Project,
    tool::Conversation,
};

/// Returns the nth line, and whether its answer is `ok`.
fn line(nth: usize) -> (String, Option<bool>) {
    let id = json!(nth);
    match nth % 10 {
        0 => (
            json!({ "id": id, "tool": "write_file", "args": { "path": format!("made/{nth}.txt"), "content": "x\n" } })
                .to_string(),
            Some(true),
        ),
        1 => (json!({ "id": id, "tool": "read_file", "args": { "path": "notes.md" } }).to_string(), Some(true)),
        2 => (json!({ "id": id, "tool": "grep", "args": { "pattern": "remember" } }).to_string(), Some(true)),
        3 => (
            json!({ "id": id, "tool": "execute", "args": { "command": format!("echo {nth}") } }).to_string(),
            Some(true),
        ),
        4 => {
            (json!({ "id": id, "tool": "read_file", "args": { "path": "../../etc/passwd" } }).to_string(), Some(false))
        }
        5 => (json!({ "id": id, "tool": "dance" }).to_string(), Some(false)),
        6 => (json!({ "id": id, "tool": "read_file", "args": { "file": "notes.md" } }).to_string(), Some(false)),
        // Truncated, but after its id.
        7 => (format!("{{\"id\": {nth}, \"tool\": \"ls\", \"args\": {{"), Some(false)),
        8 => (json!({ "id": id, "tool": "ls", "arguments": {} }).to_string(), Some(false)),
        // Contains no id.
        _ => ("} nonsense {".to_owned(), None),
    }
}

#[test]
fn many_requests_and_nonsense_among_them_are_all_answered() {
    let (project, lines) = (Project::with_secret(), times(300, 1000));
    let mut talk = project.jsonl(&["--yes"]);
    let mut input = talk.input.take().unwrap();
    let writing = std::thread::spawn(move || {
        for nth in 0..lines {
            writeln!(input, "{}", line(nth).0).unwrap();
            if nth % 100 == 0 {
                // Blank lines get no answer.
                writeln!(input, "  ").unwrap();
            }
        }
    });
    let mut answers: BTreeMap<usize, Value> = BTreeMap::new();
    let mut without_id = 0;
    while let Some(answer) = talk.hear() {
        match answer["id"].as_u64() {
            Some(id) => assert!(answers.insert(usize::try_from(id).unwrap(), answer).is_none(), "{id} twice"),
            None => {
                assert_eq!(
                    (&answer["id"], &answer["ok"], &answer["kind"]),
                    (&Value::Null, &json!(false), &json!("invalid_argument"))
                );
                without_id += 1;
            }
        }
    }
    writing.join().unwrap();
    assert_eq!(ended(&mut talk.child).code(), Some(0));
    assert_eq!((answers.len(), without_id), (lines / 10 * 9, lines / 10));
    for (nth, answer) in answers {
        assert_eq!(answer["ok"].as_bool(), line(nth).1, "{nth}: {answer}");
        assert_eq!(answer["kind"].is_null(), answer["ok"] == true, "{answer}");
        if nth % 10 == 3 {
            assert_eq!(answer["text"], format!("{nth}\n"), "the answer of another");
        }
    }
    assert_eq!(std::fs::read_dir(project.at("made")).unwrap().count(), lines / 10);
}

/// Sends this many lines of all kinds, and checks every answer.
fn a_flurry(talk: &mut Conversation, lines: usize) {
    let mut input = talk.input.take().unwrap();
    let writing = std::thread::spawn(move || {
        (0..lines).for_each(|nth| writeln!(input, "{}", line(nth).0).unwrap());
        input
    });
    (0..lines).for_each(|_| drop(talk.hear().unwrap()));
    talk.input = Some(writing.join().unwrap());
}

#[test]
fn requests_leave_no_process_no_open_file_and_no_memory_behind() {
    /// The memory that a request may leave; a leaked request takes more.
    const MOST_LEFT: u64 = 3 << 10;
    let project = Project::with_secret();
    // One heap for all threads: growth is then memory that was not freed, not an allocator's per-thread cache.
    let mut command = project.command(&["tool", "--jsonl", "--yes"]);
    command.env("MALLOC_ARENA_MAX", "1");
    let mut talk = Conversation::with(command);
    let (pid, lines) = (talk.child.id(), times(300, 1000));
    // Warm-up: starts the sandbox and uses every code path once.
    a_flurry(&mut talk, lines);
    let mut before = (0, 0);
    eventually("what it holds does not settle", || {
        std::thread::sleep(Duration::from_millis(300));
        let now = held(pid);
        now == std::mem::replace(&mut before, now)
    });
    let mut sizes = vec![own_memory(pid)];
    for _ in 0..times(6, 9) {
        a_flurry(&mut talk, lines);
        eventually("processes or open files are left", || {
            let (processes, files) = held(pid);
            processes <= before.0 && files <= before.1
        });
        sizes.push(own_memory(pid));
    }
    // Load adds threads, and a heap grows now and then; leaked requests take more every time.
    let least = sizes.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).min().unwrap();
    assert!(least < MOST_LEFT * lines as u64, "bytes, each after {lines} requests more: {sizes:?}");
    let all = family(pid);
    assert!(all.len() > 1, "it has no sandbox");
    assert_eq!(talk.end(), Some(0));
    let is_there = |pid: &&u32| std::path::Path::new(&format!("/proc/{pid}")).exists();
    eventually(&format!("some of {all:?} outlived it"), || !all.iter().any(|pid| is_there(&pid)));
}

/// A command that ends when the file `go` exists.
const UNTIL_TOLD: &str = "until test -e go; do sleep 0.02; done; echo done";

#[test]
fn answers_come_when_they_are_ready_and_one_at_a_time_in_order() {
    let project = Project::with_secret();
    let requests = [
        json!({ "id": "slow", "tool": "execute", "args": { "command": UNTIL_TOLD } }),
        json!({ "id": "quick", "tool": "read_file", "args": { "path": "notes.md" } }),
    ];
    let mut talk = project.jsonl(&["--yes"]);
    requests.iter().for_each(|request| talk.say(request));
    assert_eq!(talk.hear().unwrap()["id"], "quick");
    std::fs::write(project.at("go"), "").unwrap();
    assert_eq!(talk.hear().unwrap()["id"], "slow");
    assert_eq!(talk.end(), Some(0));

    // With one job at a time, answers keep their order.
    let mut talk = project.jsonl(&["--yes", "--jobs", "1"]);
    requests.iter().for_each(|request| talk.say(request));
    let ids = [talk.hear().unwrap(), talk.hear().unwrap()].map(|answer| answer["id"].clone());
    assert_eq!(ids, ["slow", "quick"]);
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn the_end_of_input_waits_for_the_last_answer() {
    let project = Project::with_secret();
    let mut talk = project.jsonl(&["--yes"]);
    talk.say(json!({ "id": 1, "tool": "execute", "args": { "command": UNTIL_TOLD } }));
    // The last line may lack its newline.
    write!(talk.input.as_mut().unwrap(), "{}", json!({ "id": 2, "tool": "ls" })).unwrap();
    drop(talk.input.take());
    assert_eq!(talk.hear().unwrap()["id"], 2);
    std::fs::write(project.at("go"), "").unwrap();
    assert_eq!(talk.hear().unwrap()["text"], "done\n");
    assert_eq!(talk.end(), Some(0));
    let ran = project.workden(&["tool", "--jsonl"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""));
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_next_one_is_read() {
    let project = Project::with_secret();
    let mut talk = project.jsonl(&["--yes"]);
    let long = json!({ "id": 5, "tool": "write_file", "args": { "path": "a", "content": "x".repeat(17 << 20) } });
    // The id comes first, because only the start of the line is kept.
    let long = long.to_string().replacen('{', "{\"id\":5,", 1).replace(",\"id\":5", "");
    let refused = talk.ask(&long);
    assert_eq!((&refused["id"], &refused["kind"]), (&json!(5), &json!("too_large")), "{refused}");
    assert!(!project.at("a").exists());
    assert_eq!(talk.ask(json!({ "id": 6, "tool": "ls" }))["ok"], true);
    let allowed = json!({ "id": 7, "tool": "write_file", "args": { "path": "b", "content": "x".repeat(15 << 20) } });
    assert_eq!(talk.ask(allowed)["ok"], true);
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_client_that_does_not_read_answers_is_not_read_from() {
    let project = Project::with_secret();
    std::fs::write(project.at("long.txt"), "0123456789\n".repeat(20_000)).unwrap();
    let mut talk = project.jsonl(&[]);
    let mut input = talk.input.take().unwrap();
    let request = json!({ "id": 1, "tool": "read_file", "args": { "path": "long.txt" } });
    let written = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&written);
    let writing = std::thread::spawn(move || {
        let send = |_: &usize| writeln!(input, "{request}").is_ok();
        (0..20_000).take_while(send).inspect(|_| _ = counted.fetch_add(1, Ordering::Relaxed)).count()
    });
    // From some line on, `workden` stops reading.
    let mut last = 0;
    eventually("it never stops reading", || {
        std::thread::sleep(Duration::from_secs(1));
        let now = written.load(Ordering::Relaxed);
        now > 0 && now == std::mem::replace(&mut last, now)
    });
    assert!(!writing.is_finished(), "it read every request");
    let held = own_memory(talk.child.id());
    assert!(held < 64 << 20, "{held} bytes");
    let mut line = Vec::new();
    talk.output.read_until(b'\n', &mut line).unwrap();
    talk.child.kill().unwrap();
    assert!(writing.join().unwrap() < 20_000);
}

#[test]
fn answers_to_nothing_in_particular_come_quickly() {
    let project = Project::with_secret();
    let mut talk = project.jsonl(&[]);
    let started = Instant::now();
    for nth in 0..300 {
        assert_eq!(talk.ask(json!({ "id": nth, "tool": "read_file", "args": { "path": "notes.md" } }))["id"], nth);
    }
    // A limit that a busy machine does not reach; a stall in each request would exceed it.
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
    assert_eq!(talk.end(), Some(0));
}
