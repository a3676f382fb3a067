//! The rows of a benchmark, and their runner.
//!
//! In a row all contenders do the same work in turn and must find the same, or the row
//! is an error: less work in less time proves nothing.

use std::process::Command;

use crate::{
    Failure,
    contender::{Contender, Measured},
    options::Options,
    reference::{Reference, Rg},
    table::{self, Comparison, Target},
    task::Task,
};

/// The default number of rounds.
pub(crate) const ROUNDS: usize = 7;
/// Fewer rounds are too noisy.
const LEAST_ROUNDS: usize = 5;

/// One piece of work and its contenders.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) task: Task,
    pub(crate) peers: Vec<Peer>,
    /// The memory limit of ours, if any.
    pub(crate) most_kib: Option<u64>,
    /// The number of items in a round, and the time limit of one item, if any.
    pub(crate) each: Option<Each>,
}

/// A time limit for one of many items.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Each {
    pub(crate) times: u64,
    pub(crate) most_seconds: f64,
}

pub(crate) struct Peer {
    pub(crate) label: &'static str,
    pub(crate) kind: PeerKind,
    pub(crate) target: Target,
}

pub(crate) enum PeerKind {
    /// A program that does the same.
    Command(Task),
    /// The Python package.
    Reference(Task, Rg),
    /// Only the steps that no contender can skip.
    Floor(Task),
}

/// Runs the selected rows and prints the table between `title` and `below`.
pub(crate) fn run(
    rows: &[Row],
    reference: &Reference,
    options: &Options,
    title: &str,
    below: impl FnOnce(usize) -> Result<String, Failure>,
) -> Result<(), Failure> {
    let rounds = options.rounds.max(LEAST_ROUNDS);
    let mut comparisons = Vec::new();
    let mut missed = Vec::new();
    let mut notes = Vec::new();
    for row in rows {
        if options.only.as_ref().is_some_and(|text| !row.name.contains(text)) {
            continue;
        }
        eprintln!("running: {}", row.name);
        let compared = compare(row, reference, rounds)?;
        if let (Some(each), Some(first)) = (row.each, compared.first()) {
            let seconds = first.ours.median / each.times as f64;
            let verdict = if seconds <= each.most_seconds { "pass" } else { "FAIL" };
            let micros = |seconds: f64| seconds * 1e6;
            notes.push(format!(
                "{}: {:.2} us each at the median, {:.0} a second; at most {:.0} us: {verdict}",
                row.name,
                micros(seconds),
                1.0 / seconds,
                micros(each.most_seconds)
            ));
            if seconds > each.most_seconds {
                missed.push(format!("{}, each", row.name));
            }
        }
        comparisons.extend(compared);
    }
    if comparisons.is_empty() {
        return Err(format!("row {:?} not found", options.only.as_deref().unwrap_or_default()).into());
    }
    println!("{title}{rounds} rounds each, in turn; times are minimum / median, ratios of medians\n");
    println!("{}", table::markdown(&comparisons));
    notes.iter().for_each(|note| println!("{note}"));
    println!("{}", below(rounds)?);
    let slow = comparisons.iter().filter(|comparison| !comparison.passes());
    missed.extend(slow.map(|comparison| format!("{} against {}", comparison.row, comparison.peer.label)));
    options.judge(&missed)
}

fn compare(row: &Row, reference: &Reference, rounds: usize) -> Result<Vec<Comparison>, Failure> {
    let mut ours = worker("workden", "ours", &row.task)?;
    let mut peers = Vec::new();
    for peer in &row.peers {
        peers.push(match &peer.kind {
            PeerKind::Command(task) => worker(peer.label, "command", task)?,
            PeerKind::Reference(task, rg) => reference.start(peer.label, task, *rg)?,
            PeerKind::Floor(task) => worker(peer.label, "floor", task)?,
        });
    }
    ours.warm_up()?;
    for peer in &mut peers {
        peer.warm_up()?;
    }
    for _ in 0..rounds {
        for contender in peers.iter_mut().chain(std::iter::once(&mut ours)) {
            // So that no contender waits for the disk writes of another.
            nix::unistd::sync();
            contender.round()?;
        }
    }
    let ours = ours.finish()?;
    let mut comparisons = Vec::new();
    for (contender, peer) in peers.into_iter().zip(&row.peers) {
        let measured = contender.finish()?;
        same_work(row.name, &ours, &measured)?;
        comparisons.push(Comparison {
            row: row.name.to_owned(),
            ours: ours.clone(),
            peer: measured,
            target: peer.target,
            most_kib: row.most_kib,
        });
    }
    Ok(comparisons)
}

fn same_work(row: &str, ours: &Measured, peer: &Measured) -> Result<(), Failure> {
    if ours.count == peer.count {
        return Ok(());
    }
    Err(format!("{row}: different results: workden found {}, {} found {}", ours.count, peer.label, peer.count).into())
}

pub(crate) fn worker(label: &str, kind: &str, task: &Task) -> Result<Contender, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    Contender::start(label, command.args(["worker", kind, &serde_json::to_string(task)?]))
}

/// A row against the reference alone, which must be this many times slower.
pub(crate) fn against_reference(name: &'static str, task: Task, least: f64, most_kib: Option<u64>) -> Row {
    let kind = PeerKind::Reference(task.clone(), Rg::Hidden);
    Row {
        name,
        task,
        peers: vec![Peer { label: "0.2.15", kind, target: Target::FasterBy(least) }],
        most_kib,
        each: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_counts_are_not_the_same_work() {
        let measured = |count| Measured { label: "rg".to_owned(), min: 1.0, median: 1.0, peak_kib: 1, count };
        assert!(same_work("grep", &measured(3), &measured(3)).is_ok());
        let failure = same_work("grep", &measured(3), &measured(4)).unwrap_err().to_string();
        assert!(failure.contains("found 3") && failure.contains("found 4"), "{failure}");
    }
}
