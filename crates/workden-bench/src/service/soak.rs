//! Hours of ordinary use: afterwards the service needs what it needed before, and nothing of it is left.

use std::{
    fs,
    time::{Duration, Instant},
};

use hyper::Method;
use serde_json::Value;

use super::{calls, client::Client, servers::Workden};
use crate::{Failure, lines::Line, memory};

/// Sessions that are used at a time.
const CLIENTS: usize = 8;
/// How much of the time warms up.
const WARM_UP: u32 = 10;
/// How much more memory it may need in the end.
const GROWTH: f64 = 1.2;
/// Until the service has its spare sandboxes, which start when nothing else does.
const SETTLING: Duration = Duration::from_secs(5);
/// Descriptors that may come and go by chance.
const SPARE_DESCRIPTORS: usize = 20;
/// The same of processes.
const SPARE_PROCESSES: usize = 10;

/// Uses the service, and compares its memory, descriptors and processes with those at the start.
pub(super) async fn soak(ours: &Workden, time: Duration) -> Result<(Vec<Line>, String), Failure> {
    eprintln!("running: a soak of {time:?}");
    let mut rounds = used(ours, time / WARM_UP).await?;
    tokio::time::sleep(SETTLING).await;
    let before = Seen::now(ours).await?;
    let began = Instant::now();
    while began.elapsed() < time {
        rounds += used(ours, (time / 20).min(time - began.elapsed().min(time))).await?;
        eprintln!("  {:?} of {time:?}, {rounds} sessions: {:?}", began.elapsed(), Seen::now(ours).await?);
    }
    tokio::time::sleep(SETTLING).await;
    let after = Seen::now(ours).await?;
    if after.descriptors > before.descriptors + SPARE_DESCRIPTORS
        || after.sessions > 0
        || after.processes > before.processes + SPARE_PROCESSES
    {
        return Err(format!("something leaked: {before:?}, and then {after:?}").into());
    }
    let line = Line::bytes_beside("memory after the soak", "before", after.bytes, before.bytes, Some(GROWTH));
    Ok((vec![line], format!("soak: {rounds} sessions in {time:?}; {before:?}, and then {after:?}")))
}

/// Opens, uses and ends sessions for some time, and returns how many.
async fn used(ours: &Workden, time: Duration) -> Result<usize, Failure> {
    let began = Instant::now();
    let each = (0..CLIENTS).map(async |_| {
        let mut rounds = 0;
        while began.elapsed() < time {
            let mut client = Client::of(ours.linux()).await?;
            let session = calls::created(&mut client).await?;
            calls::prepare(&mut client, &session).await?;
            for call in calls::CALLS {
                for _ in 0..5 {
                    call.make(&mut client, &session).await?;
                }
            }
            client.delete(&session).await?;
            rounds += 1;
        }
        Ok::<_, Failure>(rounds)
    });
    Ok(futures_util::future::try_join_all(each).await?.into_iter().sum())
}

/// What the service needs at a moment without sessions.
#[derive(Clone, Copy, Debug)]
struct Seen {
    bytes: u64,
    descriptors: usize,
    sessions: usize,
    /// Those of sandboxes; spare ones are replaced now and then.
    processes: usize,
}

impl Seen {
    async fn now(ours: &Workden) -> Result<Self, Failure> {
        let mut client = Client::of(ours.linux()).await?;
        let listed = client.json(Method::GET, "/v1/sessions", &Value::Null).await?;
        // A sandbox has a mount of what is in the directory.
        let state = format!("/{}/", ours.state.file_name().unwrap_or_default().display());
        let is_inside = |process: &fs::DirEntry| {
            fs::read_to_string(process.path().join("mountinfo")).is_ok_and(|mounts| mounts.contains(&state))
        };
        Ok(Self {
            bytes: memory::of_process(ours.process())?.proportional,
            descriptors: fs::read_dir(format!("/proc/{}/fd", ours.process()))?.count(),
            sessions: listed["sessions"].as_array().map_or(0, Vec::len),
            processes: fs::read_dir("/proc")?.flatten().filter(is_inside).count(),
        })
    }
}
