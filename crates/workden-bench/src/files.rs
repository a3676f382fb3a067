//! `bench files`: search, listing, reading and editing.

use std::path::PathBuf;

use crate::{
    Failure,
    contender::Measured,
    material::{FREQUENT, LARGE, MEDIUM, Material, NEEDLE, RARE, REGEX, REPLACED},
    options::Options,
    reference::{Reference, Rg, target_directory},
    rows::{self, Peer, PeerKind, Row, against_reference, worker},
    table::{self, Target},
    task::{Fsync, Syntax, Task},
};

/// Runs the rows and prints the table.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let target = target_directory()?;
    let material = Material::provide(&target)?;
    let reference = Reference::install(&target)?;
    let title = format!("{} files, {} MB; ", material.files, material.bytes / 1_000_000);
    rows::run(&rows(&material)?, &reference, options, &title, |rounds| {
        let start_up = rg_start_up(&material, rounds)?;
        Ok(format!("Programs are timed from start to end; starting rg alone takes {}.", table::time(start_up.median)))
    })
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
        against_reference("list 10,000 entries", list, 5.0, None),
        against_reference("read 100 lines at the end of 200 MB", read, 5.0, Some(16 * 1024)),
        edit(material, "edit in 10 MB, fsync on", Fsync::On)?,
        edit(material, "edit in 10 MB, fsync off", Fsync::Off)?,
        against_reference("StateBackend grep, 10,000 files", state, 5.0, None),
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
    Row { name, task, peers, most_kib: None, each: None }
}

fn glob(material: &Material, name: &'static str, pattern: &str, find_names: &[&str]) -> Row {
    let task = Task::Glob { dir: material.tree(), pattern: pattern.to_owned() };
    // `$@` passes the names on without shell quoting.
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
    Row { name, task, peers, most_kib: None, each: None }
}

/// Both sides change a file, so each has its own. The reference never waits for the disk.
fn edit(material: &Material, name: &'static str, fsync: Fsync) -> Result<Row, Failure> {
    let task = |dir: PathBuf| Task::Edit {
        dir,
        file: MEDIUM.to_owned(),
        old: NEEDLE.to_owned(),
        new: REPLACED.to_owned(),
        fsync,
    };
    let mut row = against_reference(name, task(material.copy_to_edit(&format!("reference-{fsync:?}"))?), 5.0, None);
    row.task = task(material.copy_to_edit(&format!("ours-{fsync:?}"))?);
    if fsync == Fsync::On {
        let floor = Task::SaveAlone { dir: material.copy_to_edit("floor")?, file: MEDIUM.to_owned() };
        row.peers.push(Peer { label: "write + fsync alone", kind: PeerKind::Floor(floor), target: Target::Shown });
    }
    Ok(row)
}

fn program(material: &Material, program: &str, arguments: &[&str]) -> Task {
    Task::Command {
        program: program.to_owned(),
        arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        dir: material.tree(),
        output: material.output(),
    }
}
