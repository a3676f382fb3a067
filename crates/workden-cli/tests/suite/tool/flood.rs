//! A flood of output is bounded while it streams: in memory, and in the answer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::json;

use crate::{counts::times, family::own_memory, project::Project};

#[test]
fn a_flood_of_output_takes_little_memory_and_comes_as_head_tail_and_count() {
    let project = Project::with_secret();
    let mut talk = project.jsonl(&["--yes"]);
    // Starts the keeper.
    assert_eq!(talk.ask(json!({ "id": 0, "tool": "execute", "args": { "command": "true" } }))["ok"], true);
    let (pid, done, peak) = (talk.child.id(), Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (watched, most) = (Arc::clone(&done), Arc::clone(&peak));
    // Keepers of single commands come and go, so the maximum counts.
    let watching = std::thread::spawn(move || {
        while !watched.load(Ordering::Relaxed) {
            most.fetch_max(own_memory(pid), Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let bytes: u64 = times(256 << 20, 1 << 30);
    let flood = format!("echo first; yes 0123456789abcde | head -c {bytes}; echo end");
    let answer = talk.ask(json!({ "id": 1, "tool": "execute", "args": { "command": flood } }));
    done.store(true, Ordering::Relaxed);
    watching.join().unwrap();
    let text = answer["text"].as_str().unwrap();
    assert!(answer["ok"] == true && text.len() < 300_000, "{} bytes", text.len());
    assert!(text.starts_with("first\n0123456789abcde\n"), "{}", &text[..80]);
    assert!(text.contains("0123456789abcde\nend\n"), "{}", &text[text.len() - 300..]);
    // The answer states how much was left out: the flood minus the text here.
    let numbers = text.split(|c: char| !c.is_ascii_digit() && c != ',').map(|word| word.replace(',', ""));
    let mut left_out = numbers.filter_map(|word| word.parse::<u64>().ok());
    assert!(left_out.any(|number| (bytes - 800_000..=bytes).contains(&number)), "{}", besides_the_flood(text));
    let peak = peak.load(Ordering::Relaxed);
    assert!((1 << 20..64 << 20).contains(&peak), "{peak} bytes");
    assert_eq!(talk.end(), Some(0));
}

fn besides_the_flood(text: &str) -> String {
    text.lines().filter(|line| *line != "0123456789abcde").take(20).collect::<Vec<_>>().join("\n")
}
