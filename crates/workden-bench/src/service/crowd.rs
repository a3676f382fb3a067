//! A thousand idle sessions with Linux sandboxes: what they need in all, and that each still answers.

use std::{fs, time::Duration};

use super::{calls, client::Client, servers::Workden};
use crate::{
    Failure,
    lines::{Line, Target},
    samples::Samples,
};

const SESSIONS: usize = 1_000;
/// How many clients create and ask them.
const CLIENTS: usize = 8;
/// What they may need in all.
const MOST_BYTES: u64 = 2_000_000_000;
/// How long a session may take to answer.
const ANSWER: Duration = Duration::from_millis(100);

/// Creates the sessions, measures the memory of the machine before and after, and asks each.
pub(super) async fn idle(ours: &Workden) -> Result<Vec<Line>, Failure> {
    eprintln!("running: {SESSIONS} idle sessions");
    let before = available()?;
    let each = (0..CLIENTS).map(async |_| {
        let mut client = Client::of(ours.linux()).await?;
        let mut sessions = Vec::new();
        for _ in 0..SESSIONS / CLIENTS {
            sessions.push(calls::created(&mut client).await?);
        }
        Ok::<_, Failure>(sessions)
    });
    let sessions = futures_util::future::try_join_all(each).await?.concat();
    // What commands have left is given back.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let held = before.saturating_sub(available()?);
    let mut client = Client::of(ours.linux()).await?;
    let mut samples = Samples::default();
    for session in &sessions {
        samples.take_async(calls::run(&mut client, session, "true")).await?;
    }
    for session in &sessions {
        client.delete(session).await?;
    }
    Ok(vec![
        Line::bytes("1,000 idle sessions: memory of the machine", held, MOST_BYTES),
        Line::alone("each of them runs `true`", &samples, Target::Within(ANSWER)),
    ])
}

/// Returns the memory of the machine that is free for programs.
fn available() -> Result<u64, Failure> {
    let text = fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:")).ok_or("no MemAvailable")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib << 10)
}
