//! The life of containers: time to the first output, many at once, their memory, and the time
//! to stop.

use std::{
    io::Read,
    process::Stdio,
    time::{Duration, Instant},
};

use futures_util::future::try_join_all;
use serde_json::json;
use workden_core::Sandbox;
use workden_sandboxes::docker::DockerSandbox;

use super::{Bench, executed, ground::Ground, peer::Peer};
use crate::{
    Failure,
    lines::{Line, Target},
    memory::{self, Held},
    samples::Samples,
    table::time,
};

/// Concurrent sandboxes, and sessions of the peer, which start one after another.
const AT_ONCE: usize = 20;
const PEER_SESSIONS: usize = 10;
/// Their time limit.
const AT_ONCE_TIME: Duration = Duration::from_secs(4);
const STOP_TIME: Duration = Duration::from_millis(500);
/// Idle time before the memory of a keeper is measured, and its limits, as in `bench linux`.
const IDLE: Duration = Duration::from_secs(12);
const ANONYMOUS: u64 = 1_500_000;
const PROPORTIONAL: u64 = 3_000_000;

impl Bench {
    /// Measures the time to the first output in turn, and the time that each of ours takes to stop.
    pub(super) async fn first_output(&mut self) -> Result<(Vec<Line>, Samples), Failure> {
        const WHAT: &str = "create to first output";
        eprintln!("running: {WHAT}");
        let mut times: [Samples; 3] = Default::default();
        let mut stops = Samples::default();
        for round in 0..=self.rounds {
            let began = Instant::now();
            let sandbox = self.sandbox()?;
            executed(&sandbox, "echo hi", "hi\n").await?;
            let ours = began.elapsed();
            let began = Instant::now();
            let id = sandbox.container_id().ok_or("a running container has no id")?;
            sandbox.stop().await?;
            let stop = began.elapsed();
            self.ground.wait_until_gone(&id)?;
            let run = docker_run(&self.ground)?;
            let reference = self.peer.order(&json!({ "order": "first_output" }))?.took;
            if round > 0 {
                stops.add(stop);
                times.iter_mut().zip([ours, run, reference]).for_each(|(samples, took)| samples.add(took));
            }
        }
        let [ours, run, reference] = times;
        let lines = vec![
            Line::beside(WHAT, "`docker run`", &ours, &run, Target::Ratio(1.0)),
            Line::beside(WHAT, Peer::NAME, &ours, &reference, Target::Shown),
        ];
        Ok((lines, stops))
    }

    /// Creates many at once and uses each; measures their idle memory, and the time that the peer takes to stop.
    pub(super) async fn at_once(&mut self, stops: &Samples) -> Result<Vec<Line>, Failure> {
        eprintln!("running: {AT_ONCE} at once");
        let mut ours = Samples::default();
        let mut all = self.many(&mut ours).await?;
        for _ in 1..self.rounds.div_ceil(7).min(3) {
            self.end_all(&all).await?;
            all = self.many(&mut ours).await?;
        }
        let (mut peer, mut stop) = (Samples::default(), Samples::default());
        self.peer.begin(&json!({ "order": "stop" }))?;
        tokio::time::sleep(IDLE).await;
        stop.add(self.peer.end()?.took);
        let mut keepers = Held::default();
        for sandbox in &all {
            let id = sandbox.container_id().ok_or("a running container has no id")?;
            keepers += memory::of_family(self.ground.first_process(&id)?)?;
        }
        let keeper = keepers / all.len() as u64;
        if keeper.resident == 0 {
            return Err("the processes of the keepers are not visible\nhint: use a daemon on this machine".into());
        }
        let client = memory::of_process(std::process::id())?.resident;
        let peer_client = memory::of_process(self.peer.process())?.resident;
        self.end_all(&all).await?;
        peer.add(self.peer.order(&json!({ "order": "sessions", "number": PEER_SESSIONS }))?.took);
        let sessions = format!("{}, {PEER_SESSIONS} of them", Peer::NAME);
        Ok(vec![
            Line::beside("stop", Peer::NAME, stops, &stop, Target::Within(STOP_TIME)),
            Line::near("20 created at once, all used", &sessions, &ours, &peer, Target::Within(AT_ONCE_TIME)),
            Line::bytes("idle keeper: anonymous memory", keeper.anonymous, ANONYMOUS),
            Line::bytes("idle keeper: proportional memory", keeper.proportional, PROPORTIONAL),
            Line::bytes_beside("client: resident memory", Peer::NAME, client, peer_client, None),
        ])
    }

    async fn many(&self, times: &mut Samples) -> Result<Vec<DockerSandbox>, Failure> {
        let create = (0..AT_ONCE).map(|number| async move {
            let sandbox = self.sandbox()?;
            executed(&sandbox, &format!("echo {number}"), &format!("{number}\n")).await?;
            Ok::<_, Failure>(sandbox)
        });
        times.take_async(try_join_all(create)).await
    }

    async fn end_all(&self, all: &[DockerSandbox]) -> Result<(), Failure> {
        let ids: Vec<String> = all.iter().filter_map(DockerSandbox::container_id).collect();
        try_join_all(all.iter().map(Sandbox::stop)).await?;
        ids.iter().try_for_each(|id| self.ground.wait_until_gone(id))
    }

    /// Measures the start of the client alone, which is a part of `docker run`.
    pub(super) fn client_alone(&self) -> Result<String, Failure> {
        let mut samples = Samples::default();
        for _ in 0..self.rounds {
            samples.take(|| self.ground.docker(&["--version"]))?;
        }
        let took = time(samples.median().as_secs_f64());
        Ok(format!("`docker run` is timed from the start of its client, which alone takes {took}."))
    }
}

/// Measures from the start of the client to the first byte of output.
fn docker_run(ground: &Ground) -> Result<Duration, Failure> {
    let mut command = ground.client();
    command.args(["run", "--rm", "--network", "none", &ground.image, "echo", "hi"]);
    let began = Instant::now();
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut output = child.stdout.take().ok_or("the process has no output pipe")?;
    let mut said = vec![0];
    let first = output.read_exact(&mut said);
    let took = began.elapsed();
    let rest = output.read_to_end(&mut said);
    let status = child.wait()?;
    first.and(rest)?;
    match status.success() && said == b"hi\n" {
        true => Ok(took),
        false => Err(format!("`docker run` failed ({status})").into()),
    }
}
