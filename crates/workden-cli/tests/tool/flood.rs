//! A flood of output is bounded while it streams: in memory, and in the answer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::json;

use crate::Project;

/// Memory in bytes that a process and those that it started take, as far as they are workden, too: its
/// keepers, not the commands. What they share is counted once.
pub(crate) fn memory(root: u32) -> u64 {
    summed(root, "Pss:")
}

/// The part of it that comes from no file. Of the other part, the program itself, each process that runs
/// it counts its share: it grows when another test ends.
pub(crate) fn own_memory(root: u32) -> u64 {
    summed(root, "Pss_Anon:")
}

fn summed(root: u32, field: &str) -> u64 {
    family(root).into_iter().filter(|pid| is_workden(*pid)).map(|pid| memory_of(pid, field)).sum()
}

pub(crate) fn family(root: u32) -> Vec<u32> {
    let mut all = vec![root];
    let mut at = 0;
    while let Some(pid) = all.get(at).copied() {
        at += 1;
        for task in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            all.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    all
}

fn is_workden(pid: u32) -> bool {
    std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|program| program.ends_with("workden"))
}

fn memory_of(pid: u32, field: &str) -> u64 {
    let all = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = all.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

#[test]
fn a_gigabyte_of_output_takes_little_memory_and_comes_as_head_tail_and_count() {
    let project = Project::new();
    let mut talk = project.jsonl(&["--yes"]);
    // The keeper is there from now on.
    assert_eq!(talk.ask(json!({ "id": 0, "tool": "execute", "args": { "command": "true" } }))["ok"], true);
    let (pid, done, peak) = (talk.child.id(), Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (watched, most) = (Arc::clone(&done), Arc::clone(&peak));
    // Keepers of single commands come and go: the most that was ever seen counts.
    let watching = std::thread::spawn(move || {
        while !watched.load(Ordering::Relaxed) {
            most.fetch_max(memory(pid), Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let flood = "echo begin; yes 0123456789abcde | head -c 1073741824; echo end";
    let answer = talk.ask(json!({ "id": 1, "tool": "execute", "args": { "command": flood } }));
    done.store(true, Ordering::Relaxed);
    watching.join().unwrap();
    let text = answer["text"].as_str().unwrap();
    assert!(answer["ok"] == true && text.len() < 300_000, "{} bytes", text.len());
    assert!(text.starts_with("begin\n0123456789abcde\n"), "{}", &text[..80]);
    assert!(text.contains("0123456789abcde\nend\n"), "{}", &text[text.len() - 300..]);
    // What was left out is said as a number: a gigabyte without what is here.
    let numbers = text.split(|c: char| !c.is_ascii_digit() && c != ',').map(|word| word.replace(',', ""));
    let mut left_out = numbers.filter_map(|word| word.parse::<u64>().ok());
    assert!(left_out.any(|number| (1_073_000_000..1_074_000_000).contains(&number)), "{}", besides_the_flood(text));
    let peak = peak.load(Ordering::Relaxed);
    assert!((1 << 20..64 << 20).contains(&peak), "{peak} bytes");
    assert_eq!(talk.end(), Some(0));
}

fn besides_the_flood(text: &str) -> String {
    text.lines().filter(|line| *line != "0123456789abcde").take(20).collect::<Vec<_>>().join("\n")
}
