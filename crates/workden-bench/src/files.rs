//! `bench files`: the rows, and how they are run.
//!
//! In a row, everybody does the same work in turn, and everybody must find the same, or the row
//! is an error: a time means nothing when less was done in it.

use std::{path::PathBuf, process::Command};

use crate::{
    Failure,
    contender::{Contender, Measured},
    material::{FREQUENT, LARGE, MEDIUM, Material, NEEDLE, RARE, REGEX, REPLACED},
    reference::{Reference, Rg, target_directory},
    table::{self, Comparison, Target},
    task::{Fsync, Syntax, Task},
};

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    verdict: Verdict,
    rounds: usize,
    only: Option<String>,
}

/// What becomes of a missed target.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Shown,
    Enforced,
}

/// Fewer say too little.
const LEAST_ROUNDS: usize = 5;

impl Options {
    /// From the command line.
    pub(crate) fn parse(mut words: &[&str]) -> Result<Self, Failure> {
        let mut options = Self { verdict: Verdict::Shown, rounds: 7, only: None };
        loop {
            words = match words {
                [] => return Ok(options),
                ["--check", rest @ ..] => {
                    options.verdict = Verdict::Enforced;
                    rest
                }
                ["--rounds", number, rest @ ..] => {
                    options.rounds = number.parse::<usize>()?.max(LEAST_ROUNDS);
                    rest
                }
                ["--only", text, rest @ ..] => {
                    options.only = Some((*text).to_owned());
                    rest
                }
                other => return Err(format!("cannot make sense of `{}`\n{}", other.join(" "), crate::USAGE).into()),
            }
        }
    }
}

/// One piece of work, and who is to be compared in it.
struct Row {
    name: &'static str,
    task: Task,
    peers: Vec<Peer>,
    /// What ours may take in memory, if that is limited.
    most_kib: Option<u64>,
}

struct Peer {
    label: &'static str,
    kind: PeerKind,
    target: Target,
}

enum PeerKind {
    /// A program that does the same.
    Command(Task),
    /// The Python package.
    Reference(Task, Rg),
    /// Only what nobody can leave out.
    Floor(Task),
}

/// Runs every row that was asked for and prints the table.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let target = target_directory()?;
    let material = Material::provide(&target)?;
    let reference = Reference::install(&target)?;
    let mut comparisons = Vec::new();
    for row in rows(&material)? {
        if options.only.as_ref().is_none_or(|text| row.name.contains(text)) {
            eprintln!("running: {}", row.name);
            comparisons.extend(compare(&row, &reference, options.rounds)?);
        }
    }
    if comparisons.is_empty() {
        return Err(format!("no row is called {:?}", options.only.as_deref().unwrap_or_default()).into());
    }
    println!(
        "{} files, {} MB; {} rounds each, in turn; times are minimum / median, ratios of medians\n",
        material.files,
        material.bytes / 1_000_000,
        options.rounds
    );
    println!("{}", table::markdown(&comparisons));
    let start_up = rg_start_up(&material, options.rounds)?;
    println!("Programs are timed from start to end; starting rg alone takes {}.", table::time(start_up.median));
    let missed: Vec<String> = comparisons
        .iter()
        .filter(|comparison| !comparison.passes())
        .map(|comparison| format!("{} against {}", comparison.row, comparison.peer.label))
        .collect();
    if missed.is_empty() || options.verdict == Verdict::Shown {
        return Ok(());
    }
    Err(format!("missed: {}", missed.join("; ")).into())
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
            // Nobody is to wait for what another has left for the disk to do.
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
    Err(format!("{row}: not the same work: workden finds {}, {} finds {}", ours.count, peer.label, peer.count).into())
}

fn worker(label: &str, kind: &str, task: &Task) -> Result<Contender, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    Contender::start(label, command.args(["worker", kind, &serde_json::to_string(task)?]))
}

fn rg_start_up(material: &Material, rounds: usize) -> Result<Measured, Failure> {
    let task = program(material, "rg", &["--no-config", "--version"]);
    let mut contender = worker("rg --version", "command", &task)?;
    contender.warm_up()?;
    for _ in 0..rounds {
        contender.round()?;
    }
    contender.finish()
}

fn rows(material: &Material) -> Result<Vec<Row>, Failure> {
    let read_offset = material.large_lines - 100;
    let read = Task::ReadEnd { dir: material.large(), file: LARGE.to_owned(), offset: read_offset, limit: 100 };
    let list = Task::List { dir: material.entries() };
    let state = Task::StateGrep { files: 10_000, lines: 50, pattern: "marigold".to_owned() };
    Ok(vec![
        grep(material, "grep, rare literal", RARE, Syntax::Literal),
        grep(material, "grep, regex", REGEX, Syntax::Regex),
        grep(material, "grep, frequent word", FREQUENT, Syntax::Literal),
        glob(material, "glob **/*.py", "**/*.py", &["-name", "*.py"]),
        glob(material, "glob **/*", "**/*", &[]),
        against_reference("list 10,000 entries", list, None),
        against_reference("read 100 lines at the end of 200 MB", read, Some(16 * 1024)),
        edit(material, "edit in 10 MB, fsync on", Fsync::On)?,
        edit(material, "edit in 10 MB, fsync off", Fsync::Off)?,
        against_reference("StateBackend grep, 10,000 files", state, None),
    ])
}

fn grep(material: &Material, name: &'static str, pattern: &str, syntax: Syntax) -> Row {
    let task = Task::Grep { dir: material.tree(), pattern: pattern.to_owned(), syntax };
    let mut arguments: Vec<&str> = "--no-config --no-ignore-global --no-ignore-exclude --no-ignore-dot \
        --no-ignore-parent --no-messages --line-number --no-heading --color never"
        .split_whitespace()
        .collect();
    if syntax == Syntax::Literal {
        arguments.push("--fixed-strings");
    }
    arguments.extend(["--regexp", pattern, "."]);
    let rg = PeerKind::Command(program(material, "rg", &arguments));
    let peers = vec![
        Peer { label: "rg", kind: rg, target: Target::AtMost(1.1) },
        Peer { label: "0.2.15 with rg", kind: PeerKind::Reference(task.clone(), Rg::Found), target: Target::Shown },
        Peer {
            label: "0.2.15, Python path",
            kind: PeerKind::Reference(task.clone(), Rg::Hidden),
            target: Target::FasterBy(10.0),
        },
    ];
    Row { name, task, peers, most_kib: None }
}

fn glob(material: &Material, name: &'static str, pattern: &str, find_names: &[&str]) -> Row {
    let task = Task::Glob { dir: material.tree(), pattern: pattern.to_owned() };
    // `$@` hands the names over without another round of shell quoting.
    let pipe = "find . -type f \"$@\" -printf '%T@ %p\\n' | sort -rn";
    let arguments: Vec<&str> = ["-c", pipe, "sh"].iter().chain(find_names).copied().collect();
    let peers = vec![
        Peer {
            label: "find | sort",
            kind: PeerKind::Command(program(material, "sh", &arguments)),
            target: Target::AtMost(1.0),
        },
        Peer { label: "0.2.15", kind: PeerKind::Reference(task.clone(), Rg::Hidden), target: Target::FasterBy(10.0) },
    ];
    Row { name, task, peers, most_kib: None }
}

/// Both change a file in turn, so each has its own. The reference never waits for the disk.
fn edit(material: &Material, name: &'static str, fsync: Fsync) -> Result<Row, Failure> {
    let task = |dir: PathBuf| Task::Edit {
        dir,
        file: MEDIUM.to_owned(),
        old: NEEDLE.to_owned(),
        new: REPLACED.to_owned(),
        fsync,
    };
    let mut row = against_reference(name, task(material.copy_to_edit(&format!("reference-{fsync:?}"))?), None);
    row.task = task(material.copy_to_edit(&format!("ours-{fsync:?}"))?);
    if fsync == Fsync::On {
        let floor = Task::SaveAlone { dir: material.copy_to_edit("floor")?, file: MEDIUM.to_owned() };
        row.peers.push(Peer { label: "write + fsync alone", kind: PeerKind::Floor(floor), target: Target::Shown });
    }
    Ok(row)
}

fn against_reference(name: &'static str, task: Task, most_kib: Option<u64>) -> Row {
    let kind = PeerKind::Reference(task.clone(), Rg::Hidden);
    Row { name, task, peers: vec![Peer { label: "0.2.15", kind, target: Target::FasterBy(5.0) }], most_kib }
}

fn program(material: &Material, program: &str, arguments: &[&str]) -> Task {
    Task::Command {
        program: program.to_owned(),
        arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        dir: material.tree(),
        output: material.output(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_too_few_rounds_are_not_accepted() {
        let options = Options::parse(&["--check", "--rounds", "2", "--only", "grep"]).unwrap();
        assert_eq!(options, Options { verdict: Verdict::Enforced, rounds: 5, only: Some("grep".to_owned()) });
        assert!(Options::parse(&["--fast"]).unwrap_err().to_string().contains("--fast"));
        assert!(Options::parse(&["--rounds", "many"]).is_err());
    }

    #[test]
    fn different_counts_are_not_the_same_work() {
        let measured = |count| Measured { label: "rg".to_owned(), min: 1.0, median: 1.0, peak_kib: 1, count };
        assert!(same_work("grep", &measured(3), &measured(3)).is_ok());
        let failure = same_work("grep", &measured(3), &measured(4)).unwrap_err().to_string();
        assert!(failure.contains("finds 3") && failure.contains("finds 4"), "{failure}");
    }
}
