//! `bench service`: `workden serve` beside sandboxd of pydantic-ai-backend, on one daemon, with one image, in turn and in
//! one run; then what only ours is asked: sessions of Linux sandboxes, a thousand idle ones, terminals, and a soak.
//!
//! Both services are asked by the same client over the same kind of connections, and must answer the same, or the row is
//! an error.

mod calls;
mod client;
mod crowd;
mod ground;
mod load;
mod servers;
mod soak;
mod terminals;

use std::time::Duration;

use calls::{CALLS, Call};
use client::Client;
use ground::Ground;
use servers::{Side, Workden};

use crate::{
    Failure,
    lines::{Line, Target},
    memory,
    options::Options,
    samples::Samples,
};

/// The default number of rounds.
pub(crate) const ROUNDS: usize = 21;
/// Sessions that are created at once.
const AT_ONCE: usize = 10;

/// Runs everything and prints the table.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let ground = Ground::prepare()?;
    let (ours, peer) = (Workden::start(options.program()?, &ground)?, servers::sandboxd(&ground)?);
    let mut bench = Bench { ours, peer, rounds: options.rounds, lines: Vec::new(), notes: Vec::new() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            done = bench.everything(options) => done,
            _ = tokio::signal::ctrl_c() => Err("interrupted".into()),
        }
    })?;
    let title = format!("pydantic-ai-backend {}, sandboxd; ", servers::VERSION);
    options.conclude(&title, &bench.lines, &bench.notes)
}

struct Bench {
    ours: Workden,
    peer: Side,
    rounds: usize,
    lines: Vec<Line>,
    notes: Vec<String>,
}

impl Bench {
    async fn everything(&mut self, options: &Options) -> Result<(), Failure> {
        if let Some(seconds) = options.soak {
            let (lines, note) = soak::soak(&self.ours, Duration::from_secs(seconds)).await?;
            self.lines.extend(lines);
            self.notes.push(note);
            return Ok(());
        }
        self.beside().await?;
        self.linux_at_once().await?;
        self.ready_at_once().await?;
        self.lines.extend(terminals::streaming(&self.ours).await?);
        self.lines.extend(crowd::idle(&self.ours).await?);
        Ok(())
    }

    /// Measures both services with containers.
    async fn beside(&mut self) -> Result<(), Failure> {
        let (ours, peer) = (self.ours.side(), &self.peer);
        let (mut own, mut other) = (Client::of(ours).await?, Client::of(peer).await?);
        let (mut first, mut peer_first) = (Samples::default(), Samples::default());
        let mut ready = None;
        // The first round warms up; starting a container takes long, so there are fewer rounds.
        for round in 0..=self.rounds.div_ceil(3) {
            eprintln!("running: create to first output, {round}");
            let (mut our_time, mut peer_time) = (Samples::default(), Samples::default());
            let session = our_time.take_async(calls::created(&mut own)).await?;
            let theirs = peer_time.take_async(calls::created(&mut other)).await?;
            if round > 0 {
                first.extend(our_time);
                peer_first.extend(peer_time);
            }
            if let Some((session, theirs)) = ready.replace((session, theirs)) {
                own.delete(&session).await?;
                other.delete(&theirs).await?;
            }
        }
        let (session, theirs) = ready.ok_or("no session")?;
        self.lines.push(Line::beside(
            "create to first output",
            servers::VERSION,
            &first,
            &peer_first,
            Target::Ratio(1.0),
        ));
        calls::prepare(&mut own, &session).await?;
        calls::prepare(&mut other, &theirs).await?;
        for call in CALLS {
            eprintln!("running: {}", call.name());
            let line = self.call(call, (&mut own, &session), (&mut other, &theirs)).await?;
            self.lines.push(line);
        }
        eprintln!("running: reads of 8 clients");
        let ours = load::reads(self.ours.side(), &session).await?;
        let peer = load::reads(&self.peer, &theirs).await?;
        self.lines.push(Line::rates(
            "reads in a second, 8 clients",
            servers::VERSION,
            ours.rate,
            peer.rate,
            Some(20.0),
        ));
        let latest = |one: &load::Load| Samples::of(one.latest);
        let what = "the slowest of 100 of them (p99)";
        self.lines.push(Line::beside(what, servers::VERSION, &latest(&ours), &latest(&peer), Target::Shown));
        let (held, theirs_held) = (memory::of_process(self.ours.process())?, memory::of_family(self.peer.process())?);
        let (own_bytes, peer_bytes) = (held.proportional, theirs_held.proportional);
        let what = "memory of the service after that";
        self.lines.push(Line::bytes_beside(what, servers::VERSION, own_bytes, peer_bytes, Some(0.5)));
        own.delete(&session).await?;
        other.delete(&theirs).await
    }

    async fn call(
        &self,
        call: Call,
        (own, session): (&mut Client, &str),
        (other, theirs): (&mut Client, &str),
    ) -> Result<Line, Failure> {
        let (mut ours, mut peer) = (Samples::default(), Samples::default());
        for round in 0..=self.rounds {
            let (mut batch, mut peer_batch) = (Samples::default(), Samples::default());
            for _ in 0..call.batch() {
                batch.take_async(call.make(own, session)).await?;
            }
            for _ in 0..call.batch() {
                peer_batch.take_async(call.make(other, theirs)).await?;
            }
            if round > 0 {
                ours.extend(batch);
                peer.extend(peer_batch);
            }
        }
        Ok(Line::beside(call.name(), servers::VERSION, &ours, &peer, Target::Ratio(1.0)))
    }

    /// Measures Linux sandboxes, of which ten are created at once.
    async fn linux_at_once(&mut self) -> Result<(), Failure> {
        eprintln!("running: create with Linux sandboxes");
        let samples = at_once(self.ours.linux(), self.rounds, Duration::ZERO).await?;
        self.lines.push(Line::alone("create to first output, Linux sandbox, 10 at once", &samples, Target::Shown));
        Ok(())
    }

    /// Measures the same where ten are ready, which they are again a second later.
    async fn ready_at_once(&mut self) -> Result<(), Failure> {
        eprintln!("running: create with Linux sandboxes that are ready");
        let samples = at_once(self.ours.ready(), self.rounds, Duration::from_secs(1)).await?;
        let what = "the same of a runtime with 10 spare ones";
        self.lines.push(Line::alone(what, &samples, Target::Within(Duration::from_millis(20))));
        Ok(())
    }
}

/// Creates ten sessions at once, and ends them, in each round after a pause.
async fn at_once(side: &Side, rounds: usize, pause: Duration) -> Result<Samples, Failure> {
    let mut samples = Samples::default();
    for round in 0..=rounds {
        let clients = futures_util::future::try_join_all((0..AT_ONCE).map(|_| Client::of(side))).await?;
        tokio::time::sleep(pause).await;
        let created = clients.into_iter().map(async |mut client| {
            let mut took = Samples::default();
            let session = took.take_async(calls::created(&mut client)).await?;
            Ok::<_, Failure>((client, session, took))
        });
        for (mut client, session, took) in futures_util::future::try_join_all(created).await? {
            if round > 0 {
                samples.extend(took);
            }
            client.delete(&session).await?;
        }
    }
    Ok(samples)
}
