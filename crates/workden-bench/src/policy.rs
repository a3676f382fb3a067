//! `bench policy`: the speed of decisions about paths and commands.

use crate::{
    Failure,
    options::Options,
    reference::{Reference, Rg, target_directory},
    rows::{self, Each, Peer, PeerKind, Row},
    table::Target,
    task::Task,
};

/// Typical paths of an agent; both sides treat one in ten as a secret.
const PATHS: &[&str] = &[
    "/workspace/src/main.rs",
    "/workspace/src/parser/lexer.rs",
    "/workspace/README.md",
    "/workspace/tests/suite/commands.rs",
    "/workspace/node_modules/left-pad/index.js",
    "/workspace/docs/guide/getting-started.md",
    "/workspace/.env",
    "/workspace/target/debug/build/output.txt",
    "/workspace/assets/images/logo.png",
    "/workspace/app/models/user.py",
];

/// Typical commands of an agent, denied by neither side.
const COMMANDS: &[&str] = &[
    "ls -la",
    "git status",
    "git commit -m 'Fix the parser'",
    "cargo test -p workden-core",
    "cd src && make -j4 2>&1 | tail -n 20",
    "grep -rn TODO src/",
    "python3 -m pytest -x tests/",
    "find . -name '*.py' -not -path './venv/*'",
    "sed -n '10,20p' src/main.rs",
    "cat README.md | head -n 5 > summary.txt",
];

/// Runs the rows and prints the table.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let reference = Reference::install(&target_directory()?)?;
    let rows = [
        row("read decisions", "read", PATHS, 2_000, 1e-6, Target::FasterBy(50.0)),
        row("write decisions", "write", PATHS, 2_000, 1e-6, Target::FasterBy(50.0)),
        // Shown only: the peer compares texts, ours parses a language.
        row("command decisions", "execute", COMMANDS, 200, 100e-6, Target::Shown),
    ];
    let title = "default preset, one thread; ";
    rows::run(&rows, &reference, options, title, |_| {
        Ok("The reference matches a command as one text; workden parses it and judges each program and file."
            .to_owned())
    })
}

fn row(name: &'static str, operation: &str, targets: &[&str], times: u32, most_seconds: f64, target: Target) -> Row {
    let task = Task::Decide {
        operation: operation.to_owned(),
        targets: targets.iter().map(|target| (*target).to_owned()).collect(),
        times,
    };
    let each = Each { times: u64::from(times) * targets.len() as u64, most_seconds };
    let kind = PeerKind::Reference(task.clone(), Rg::Hidden);
    let peers = vec![Peer { label: "0.2.15", kind, target }];
    Row { name, task, peers, most_kib: None, each: Some(each) }
}
