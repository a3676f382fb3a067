//! JSON lines: every line gets one answer, whatever is in it and however many there are.

use std::{
    collections::BTreeMap,
    io::{BufRead, Write},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    Conversation, Project, eventually,
    flood::{family, memory, own_memory},
};

/// The nth of many lines, and whether its answer is well.
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
        // Broken off, but after its id.
        7 => (format!("{{\"id\": {nth}, \"tool\": \"ls\", \"args\": {{"), Some(false)),
        8 => (json!({ "id": id, "tool": "ls", "arguments": {} }).to_string(), Some(false)),
        // Nothing that could be an id.
        _ => ("} nonsense {".to_owned(), None),
    }
}

#[test]
fn a_thousand_requests_and_nonsense_among_them_are_all_answered() {
    let project = Project::new();
    let mut talk = project.jsonl(&["--yes"]);
    let mut input = talk.input.take().unwrap();
    let writing = std::thread::spawn(move || {
        for nth in 0..1000 {
            writeln!(input, "{}", line(nth).0).unwrap();
            if nth % 100 == 0 {
                // Blank lines are none.
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
    assert_eq!(talk.child.wait().unwrap().code(), Some(0));
    assert_eq!((answers.len(), without_id), (900, 100));
    for (nth, answer) in answers {
        assert_eq!(answer["ok"].as_bool(), line(nth).1, "{nth}: {answer}");
        assert_eq!(answer["kind"].is_null(), answer["ok"] == true, "{answer}");
        if nth % 10 == 3 {
            assert_eq!(answer["text"], format!("{nth}\n"), "the answer of another");
        }
    }
    assert_eq!(std::fs::read_dir(project.at("made")).unwrap().count(), 100);
}

/// Sends so many lines of all kinds, and hears every answer.
fn a_flurry(talk: &mut Conversation, lines: usize) {
    let mut input = talk.input.take().unwrap();
    let writing = std::thread::spawn(move || {
        (0..lines).for_each(|nth| writeln!(input, "{}", line(nth).0).unwrap());
        input
    });
    (0..lines).for_each(|_| drop(talk.hear().unwrap()));
    talk.input = Some(writing.join().unwrap());
}

/// Processes, and files that they have open.
fn held(root: u32) -> (usize, usize) {
    let family = family(root);
    let open = |pid: &u32| std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    (family.len(), family.iter().map(open).sum())
}

#[test]
fn a_thousand_requests_leave_no_process_no_open_file_and_no_memory_behind() {
    let project = Project::new();
    // One heap for all threads: what is left is what was not given back, not what an allocator keeps for each.
    let mut command = project.command(&["tool", "--jsonl", "--yes"]);
    command.env("MALLOC_ARENA_MAX", "1");
    let mut talk = Conversation::with(command);
    let pid = talk.child.id();
    // The sandbox is there after a command, and everything has been used once.
    a_flurry(&mut talk, 1000);
    std::thread::sleep(Duration::from_secs(1));
    let before = held(pid);
    // Threads come with more to do, now and then; requests that stay take more every time.
    let mut sizes = vec![own_memory(pid)];
    for _ in 0..9 {
        a_flurry(&mut talk, 1000);
        eventually("processes or open files are left", || {
            let (processes, files) = held(pid);
            processes <= before.0 && files <= before.1
        });
        sizes.push(own_memory(pid));
    }
    let mut more: Vec<u64> = sizes.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    more.sort_unstable();
    assert!(more[more.len() / 2] < 3 << 20, "bytes, each after a thousand requests more: {sizes:?}");
    let all = family(pid);
    assert!(all.len() > 1, "it has no sandbox");
    assert_eq!(talk.end(), Some(0));
    let left: Vec<&u32> = all.iter().filter(|pid| std::path::Path::new(&format!("/proc/{pid}")).exists()).collect();
    assert!(left.is_empty(), "{left:?} outlived it");
}

#[test]
fn answers_come_when_they_are_ready_and_one_at_a_time_in_order() {
    let project = Project::new();
    let requests = [
        json!({ "id": "slow", "tool": "execute", "args": { "command": "sleep 1; echo slow" } }),
        json!({ "id": "quick", "tool": "read_file", "args": { "path": "notes.md" } }),
    ];
    for (words, expected) in [(&["--yes"][..], ["quick", "slow"]), (&["--yes", "--jobs", "1"], ["slow", "quick"])] {
        let mut talk = project.jsonl(words);
        requests.iter().for_each(|request| talk.say(request));
        let ids = [talk.hear().unwrap(), talk.hear().unwrap()].map(|answer| answer["id"].clone());
        assert_eq!(ids, expected, "{words:?}");
        assert_eq!(talk.end(), Some(0));
    }
}

#[test]
fn the_end_of_input_waits_for_the_last_answer() {
    let project = Project::new();
    let mut talk = project.jsonl(&["--yes"]);
    talk.say(json!({ "id": 1, "tool": "execute", "args": { "command": "sleep 0.5; echo done" } }));
    // The last line may end without its end.
    write!(talk.input.as_mut().unwrap(), "{}", json!({ "id": 2, "tool": "ls" })).unwrap();
    drop(talk.input.take());
    assert_eq!(talk.hear().unwrap()["id"], 2);
    assert_eq!(talk.hear().unwrap()["text"], "done\n");
    assert_eq!(talk.end(), Some(0));
    let ran = project.workden(&["tool", "--jsonl"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), ""));
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_next_one_is_read() {
    let project = Project::new();
    let mut talk = project.jsonl(&["--yes"]);
    let long = json!({ "id": 5, "tool": "write_file", "args": { "path": "a", "content": "x".repeat(17 << 20) } });
    // Whichever order its fields have: what is kept of it begins with the id.
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
fn who_does_not_read_answers_is_not_read_from() {
    let project = Project::new();
    std::fs::write(project.at("long.txt"), "0123456789\n".repeat(20_000)).unwrap();
    let mut talk = project.jsonl(&[]);
    let mut input = talk.input.take().unwrap();
    let request = json!({ "id": 1, "tool": "read_file", "args": { "path": "long.txt" } });
    let writing = std::thread::spawn(move || (0..20_000).take_while(|_| writeln!(input, "{request}").is_ok()).count());
    std::thread::sleep(Duration::from_secs(2));
    assert!(!writing.is_finished(), "all of it was taken in");
    let held = memory(talk.child.id());
    assert!(held < 64 << 20, "{held} bytes");
    let mut line = Vec::new();
    talk.output.read_until(b'\n', &mut line).unwrap();
    talk.child.kill().unwrap();
    assert!(writing.join().unwrap() < 20_000);
}

#[test]
fn answers_to_nothing_in_particular_come_quickly() {
    let project = Project::new();
    let mut talk = project.jsonl(&[]);
    let began = Instant::now();
    for nth in 0..300 {
        assert_eq!(talk.ask(json!({ "id": nth, "tool": "read_file", "args": { "path": "notes.md" } }))["id"], nth);
    }
    // A generous ceiling: a stall in the pipes would be far above it.
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
    assert_eq!(talk.end(), Some(0));
}
