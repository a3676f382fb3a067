//! `bench tools`: the shipped MCP server beside @modelcontextprotocol/server-filesystem, over
//! pipes and in turn; and a flood through `execute`.
//!
//! Both get the same directory and requests, from a client that does nothing while the clock runs.

mod client;
mod flood;
mod ground;
mod peer;
mod side;

use std::{path::PathBuf, process::Command};

use client::{Answer, Client};
use peer::Peer;
use serde_json::json;
use side::Side;

use crate::{
    Failure,
    lines::{Line, Target},
    memory::{self, Held},
    options::Options,
    reference::target_directory,
    samples::Samples,
    table::time,
};

const PEER: &str = "server-filesystem";
/// Consecutive reads before the other side's turn.
const BATCH: usize = 200;
/// The part of the peer's memory that ours may hold.
const MEMORY: f64 = 0.2;
/// The memory limit of a flood.
const FLOOD_BYTES: u64 = 64_000_000;

/// The default number of rounds.
pub(crate) const ROUNDS: usize = 21;

/// Runs everything and prints the table.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let program = options.program()?.to_owned();
    let target = target_directory()?;
    let (peer, root) = (Peer::install(&target)?, ground::provide(&target)?);
    let bench =
        Bench { ours: Side::ours(&program, &root), peer: Side::peer(&peer, &root), program, rounds: options.rounds };
    let (mut lines, mut notes) = (bench.start_up()?, Vec::new());
    lines.push(bench.first_command()?);
    lines.extend(bench.work(&mut notes)?);
    lines.extend(bench.flood(&mut notes)?);
    options.conclude(&format!("{}; {} files; ", peer.title, ground::FILES), &lines, &notes)
}

struct Bench {
    ours: Side,
    peer: Side,
    program: PathBuf,
    rounds: usize,
}

impl Bench {
    /// Measures from the start of a process to its first answers.
    fn start_up(&self) -> Result<Vec<Line>, Failure> {
        let mut times: [[Samples; 3]; 2] = Default::default();
        // The first start is not counted: it reads programs from the disk.
        for round in 0..=self.rounds {
            for (side, [greeted, read, listed]) in [&self.ours, &self.peer].into_iter().zip(&mut times) {
                let mut client = side.start()?;
                let to_greeting = client.greet()?.since_start;
                let to_read = side.read(&mut client)?.since_start;
                client.end()?;
                let mut client = side.begin()?;
                let to_list = client.ask("tools/list", &json!({}))?.since_start;
                client.end()?;
                if round > 0 {
                    greeted.add(to_greeting);
                    read.add(to_read);
                    listed.add(to_list);
                }
            }
        }
        let [ours, peer] = times;
        let names = ["start to `initialize` answered", "start to first `read_file`", "start to `tools/list`"];
        let lines = names.iter().zip(ours.iter().zip(&peer));
        Ok(lines.map(|(name, (ours, peer))| Line::beside(name, PEER, ours, peer, Target::FasterBy(10.0))).collect())
    }

    /// Measures reads and searches, and the memory of both sides afterwards.
    fn work(&self, notes: &mut Vec<String>) -> Result<Vec<Line>, Failure> {
        let mut both = [(&self.ours, self.ours.begin()?), (&self.peer, self.peer.begin()?)];
        let [ours, peer] = self.in_turn(&mut both, BATCH, Side::read)?;
        let mut lines = vec![Line::beside("`read_file`, 4 KiB", PEER, &ours, &peer, Target::FasterBy(3.0))];
        let [ours, peer] = self.in_turn(&mut both, 1, Side::search)?;
        lines.push(Line::beside("search by name, 20,000 files", PEER, &ours, &peer, Target::FasterBy(10.0)));
        let [(_, mut ours), (_, peer)] = both;
        let (held, of_peer) = (memory::of_family(ours.process())?, memory::of_family(peer.process())?);
        peer.end()?;
        lines.extend(held_beside("after that", held, of_peer, Some(MEMORY)));
        // The peer has no sandbox; ours is three processes of one program, whose pages count for each of them.
        lines.extend(held_beside("with its sandbox", self.held_with_sandbox()?, of_peer, None));
        let mut contents = Samples::default();
        for _ in 0..self.rounds {
            contents.add(self.ours.grep(&mut ours)?.took);
        }
        ours.end()?;
        lines.push(Line::alone("search by content, 20,000 files", &contents, Target::Shown));
        notes.push(format!("The pipes alone, 4 KiB there and back through `cat`: {}.", self.pipes()?));
        Ok(lines)
    }

    /// Runs batches of the same call in turn.
    fn in_turn(
        &self,
        both: &mut [(&Side, Client); 2],
        batch: usize,
        act: fn(&Side, &mut Client) -> Result<Answer, Failure>,
    ) -> Result<[Samples; 2], Failure> {
        let mut times: [Samples; 2] = Default::default();
        // The first round warms up caches and the just-in-time compiler.
        for round in 0..=self.rounds {
            for ((side, client), times) in both.iter_mut().zip(&mut times) {
                for _ in 0..batch {
                    let answer = act(side, client)?;
                    if round > 0 {
                        times.add(answer.took);
                    }
                }
            }
        }
        Ok(times)
    }

    /// Measures the memory of ours after the same work and a command, which starts a sandbox.
    fn held_with_sandbox(&self) -> Result<Held, Failure> {
        let side = self.ours.clone().with("--yes");
        let mut client = side.begin()?;
        for _ in 0..self.rounds {
            for _ in 0..BATCH {
                side.read(&mut client)?;
            }
            side.search(&mut client)?;
        }
        client.call("execute", &json!({ "command": "true" }))?;
        let held = memory::of_family(client.process())?;
        client.end()?;
        Ok(held)
    }

    /// Measures from the start of the process to the output of a command, which needs a sandbox.
    fn first_command(&self) -> Result<Line, Failure> {
        let side = self.ours.clone().with("--yes");
        let mut samples = Samples::default();
        for round in 0..=self.rounds {
            let mut client = side.begin()?;
            let answer = client.call("execute", &json!({ "command": "echo hi" }))?;
            if answer.result["content"][0]["text"] != "hi\n" {
                return Err(format!("a command printed something else: {}", answer.result).into());
            }
            if round > 0 {
                samples.add(answer.since_start);
            }
            client.end()?;
        }
        Ok(Line::alone("start to first `execute`", &samples, Target::Shown))
    }

    /// Measures the pipes alone, with `cat` at the other end.
    fn pipes(&self) -> Result<String, Failure> {
        let mut client = Client::start(&mut Command::new("cat"))?;
        let line = ground::notes().replace('\n', " ") + "\n";
        let mut samples = Samples::default();
        for _ in 0..self.rounds * BATCH {
            samples.add(client.exchange(line.as_bytes())?);
        }
        client.end()?;
        Ok(format!("{} / {}", time(samples.min().as_secs_f64()), time(samples.median().as_secs_f64())))
    }

    fn flood(&self, notes: &mut Vec<String>) -> Result<Vec<Line>, Failure> {
        let flood = flood::run(&self.ours, &self.program)?;
        notes.push(format!(
            "The flood: {} bytes shown and {} left out, in {}; {} processes of workden.",
            flood.shown,
            flood.left_out,
            time(flood.took.as_secs_f64()),
            flood.peak.processes()
        ));
        Ok(vec![
            Line::bytes("flood: marks of all processes", flood.peak.marks(), FLOOD_BYTES),
            Line::bytes("flood: proportional memory", flood.peak.proportional(), FLOOD_BYTES),
        ])
    }
}

fn held_beside(when: &str, ours: Held, peer: Held, most_resident: Option<f64>) -> [Line; 2] {
    let line =
        |what: &str, ours, peer, most| Line::bytes_beside(&format!("{what} memory {when}"), PEER, ours, peer, most);
    [
        line("resident", ours.resident, peer.resident, most_resident),
        line("proportional", ours.proportional, peer.proportional, Some(MEMORY)),
    ]
}
