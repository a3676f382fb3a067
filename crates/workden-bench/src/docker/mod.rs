//! `bench docker`: the cost of a sandbox in a container, beside pydantic-ai-backend and `docker run`, on one daemon,
//! with one image, in turn and in one run.
//!
//! All contenders must find the same, or the row is an error; everything is removed afterwards, also when a row fails.

mod calls;
mod ground;
mod life;
mod peer;

use calls::{CALLS, Call};
use ground::Ground;
use peer::Peer;
use serde_json::json;
use workden_core::{Sandbox, sandbox::ExecuteRequest};
use workden_sandboxes::{
    HostEnvironment,
    docker::{ContainerKeepers, Daemon, DockerSandbox},
};

use crate::{Failure, lines::Line, options::Options, reference::target_directory, samples::Samples};

/// The default number of rounds.
pub(crate) const ROUNDS: usize = 21;

/// Runs everything and prints the table.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let host = HostEnvironment::from_process();
    let keeper = options.keeper()?.to_owned();
    let daemon = Daemon::of_environment(&host)?;
    let ground = Ground::prepare(daemon.address())?;
    let peer = Peer::start(&target_directory()?, &ground)?;
    let keepers = ContainerKeepers::at(keeper);
    let mut bench = Bench { peer, ground, daemon, keepers, rounds: options.rounds };
    let (mut lines, mut notes) = (Vec::new(), Vec::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            done = bench.everything(&mut lines, &mut notes) => done,
            _ = tokio::signal::ctrl_c() => Err("interrupted".into()),
        }
    })?;
    options.conclude(&format!("{}; ", bench.title()?), &lines, &notes)
}

/// Both sides; the peer is dropped before the image that it uses.
struct Bench {
    peer: Peer,
    ground: Ground,
    daemon: Daemon,
    keepers: ContainerKeepers,
    rounds: usize,
}

impl Bench {
    async fn everything(&mut self, lines: &mut Vec<Line>, notes: &mut Vec<String>) -> Result<(), Failure> {
        lines.extend(self.calls().await?);
        let (first_outputs, stops) = self.first_output().await?;
        lines.extend(first_outputs);
        lines.extend(self.at_once(&stops).await?);
        notes.push(self.client_alone()?);
        Ok(())
    }

    /// Measures calls in running containers, in alternating batches.
    async fn calls(&mut self) -> Result<Vec<Line>, Failure> {
        let sandbox = self.sandbox()?;
        executed(&sandbox, &ground::script(), "").await?;
        self.peer.order(&json!({ "order": "execute", "command": ground::script() }))?;
        let mut lines = Vec::new();
        for call in CALLS {
            eprintln!("running: {}", call.name());
            lines.push(self.call(&sandbox, call).await?);
        }
        self.end(&sandbox).await?;
        Ok(lines)
    }

    async fn call(&mut self, sandbox: &DockerSandbox, call: Call) -> Result<Line, Failure> {
        let (mut ours, mut peer) = (Samples::default(), Samples::default());
        let mut turn = 0;
        // The first round warms up.
        for round in 0..=self.rounds {
            let mut batch = Samples::default();
            for _ in 0..call.batch() {
                same_work(call, batch.take_async(call.make(sandbox, turn)).await?, "workden")?;
                turn += 1;
            }
            let done = self.peer.order(&call.order(round))?;
            same_work(call, done.count, Peer::NAME)?;
            if round > 0 {
                ours.extend(batch);
                peer.add(done.took);
            }
        }
        Ok(Line::beside(&call.name(), Peer::NAME, &ours, &peer, call.target()))
    }

    /// Returns a sandbox that has not started yet.
    fn sandbox(&self) -> Result<DockerSandbox, Failure> {
        let builder = DockerSandbox::builder().daemon(self.daemon.clone()).image(&self.ground.image);
        Ok(builder.keepers(self.keepers.clone()).build()?)
    }

    /// Ends a sandbox, and waits until nothing is left of it.
    async fn end(&self, sandbox: &DockerSandbox) -> Result<(), Failure> {
        let id = sandbox.container_id();
        sandbox.stop().await?;
        id.map_or(Ok(()), |id| self.ground.wait_until_gone(&id))
    }

    fn title(&self) -> Result<String, Failure> {
        let said = self.ground.docker(&["version", "--format", "Docker {{.Server.Version}}"])?;
        Ok(format!("pydantic-ai-backend {}; {}", Peer::NAME, said.join(" ")))
    }
}

async fn executed(sandbox: &DockerSandbox, command: &str, expected: &str) -> Result<(), Failure> {
    let executed = sandbox.execute(&ExecuteRequest::shell(command)).await?;
    match executed.exit_code() == 0 && executed.output.text() == expected {
        true => Ok(()),
        false => Err(format!("`{command}` returned {executed:?}").into()),
    }
}

fn same_work(call: Call, count: u64, who: &str) -> Result<(), Failure> {
    match call.expected() == count {
        true => Ok(()),
        false => Err(format!("{}: {who} found {count}, expected {}", call.name(), call.expected()).into()),
    }
}
