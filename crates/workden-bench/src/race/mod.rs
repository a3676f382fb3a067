//! A race for the way out: one process keeps swapping directories with links to a forbidden directory,
//! while every call of a backend is made on the paths through them. In one pass the forbidden directory
//! is outside the root, in the other it is inside and denied by a rule.
//!
//! No call may return content or names of that directory, or write there. A control
//! that checks a path and then opens it by name runs beside it: it must leak, or there was no race.

mod exchange;
mod ground;

use std::{
    fs,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use exchange::Exchanger;
pub(crate) use exchange::exchange;
use futures_executor::block_on;
use ground::{Forbidden, Ground, MARK, PAIRS};
use workden_core::{
    Backend, BackendExt, Expect, IfExists, Removal, Result, VirtualPath,
    search::{GlobKinds, GlobRequest, GrepRequest, Hidden, ListRequest},
    text::Replacement,
};
use workden_files::PathOpening;

use crate::Failure;

/// The length of the race.
pub(crate) struct Options {
    operations: u64,
    most: Duration,
}

impl Options {
    pub(crate) fn parse(words: &[&str]) -> Result<Self, Failure> {
        let mut options = Self { operations: 1_000_000, most: Duration::from_secs(3600) };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} requires a number"))?;
            match *word {
                "--operations" => options.operations = value.parse()?,
                "--seconds" => options.most = Duration::from_secs(value.parse()?),
                _ => return Err(format!("unknown option {word}").into()),
            }
        }
        Ok(options)
    }
}

/// Calls by name: how many were made, answered and leaked.
#[derive(Default)]
struct Count {
    all: AtomicU64,
    answered: AtomicU64,
    leaked: AtomicU64,
}

const CALLS: [&str; 10] = ["read", "lines", "write", "edit", "list", "glob", "grep", "copy", "move", "remove"];

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    for (what, told) in [
        (Forbidden::Outside, "links lead outside the root"),
        (Forbidden::Denied, "links lead to a directory inside that a rule denies"),
    ] {
        println!("\n{told}\n");
        run_on(&Ground::new(what)?, options)?;
    }
    Ok(())
}

fn run_on(ground: &Ground, options: &Options) -> Result<(), Failure> {
    let before = ground.forbidden_tree()?;
    let counts: Vec<Count> = CALLS.iter().map(|_| Count::default()).collect();
    let control = Count::default();
    let over = AtomicBool::new(false);
    let racers = [ground.files(PathOpening::Detect)?, ground.files(PathOpening::StepByStep)?];
    let exchanger = Exchanger::start(&ground.root)?;
    let started = Instant::now();
    thread::scope(|scope| -> Result<(), Failure> {
        for files in &racers {
            let (counts, over) = (&counts, &over);
            scope.spawn(move || race(files, counts, over));
        }
        scope.spawn(|| check_then_open(ground, &control, &over));
        let mut told = started;
        let total = || counts.iter().map(|count| count.all.load(Ordering::Relaxed)).sum::<u64>();
        while total() < options.operations && started.elapsed() < options.most / 2 {
            thread::sleep(Duration::from_millis(50));
            if told.elapsed() > Duration::from_secs(5) {
                eprintln!("{} operations in {:.0} s", total(), started.elapsed().as_secs_f64());
                told = Instant::now();
            }
        }
        over.store(true, Ordering::Relaxed);
        Ok(())
    })?;
    let exchanges = exchanger.stop()?;

    println!("| call | operations | answered | refused | leaks |\n|---|---|---|---|---|");
    let (mut all, mut leaked) = (0, 0);
    for (name, count) in CALLS.iter().zip(&counts).chain([(&"control: check, then open by name", &control)]) {
        let [calls, answered, leaks] = [&count.all, &count.answered, &count.leaked].map(|n| n.load(Ordering::Relaxed));
        println!("| {name} | {calls} | {answered} | {} | {leaks} |", calls - answered);
        if !name.starts_with("control") {
            all += calls;
            leaked += leaks;
        }
    }
    println!("\n{all} operations, {exchanges} exchanges, {:.0} s, {leaked} leaks", started.elapsed().as_secs_f64());
    if ground.forbidden_tree()? != before {
        return Err("a call wrote to the forbidden directory".into());
    }
    if leaked > 0 {
        return Err(format!("{leaked} answers leaked from the forbidden directory").into());
    }
    if control.leaked.load(Ordering::Relaxed) == 0 {
        return Err("the control did not leak, so there was no race".into());
    }
    Ok(())
}

fn race(files: &dyn Backend, counts: &[Count], over: &AtomicBool) {
    for round in 0_u64.. {
        for (name, count) in CALLS.iter().zip(counts) {
            if over.load(Ordering::Relaxed) {
                return;
            }
            let (swap, _) = PAIRS[usize::from(round % 2 == 1)];
            let answer = block_on(call(files, name, &format!("/{swap}"), round));
            count.all.fetch_add(1, Ordering::Relaxed);
            // The text of a refusal can leak too.
            let (told, answered) = match answer {
                Ok(told) => (told, 1),
                Err(error) => (error.to_string(), 0),
            };
            count.answered.fetch_add(answered, Ordering::Relaxed);
            count.leaked.fetch_add(u64::from(told.contains(MARK)), Ordering::Relaxed);
        }
    }
}

/// Makes one call and returns its whole answer.
async fn call(files: &dyn Backend, name: &str, directory: &str, round: u64) -> Result<String> {
    let path = |below: &str| VirtualPath::parse(&format!("{directory}{below}"));
    let file = path(if round.is_multiple_of(3) { "/sub/file.txt" } else { "/file.txt" })?;
    let new = path(&format!("/sub/new-{}", round % 4))?;
    Ok(match name {
        "read" => String::from_utf8_lossy(&files.read_bytes(&file).await?).into_owned(),
        "lines" => files.read_numbered(&file, 0, 10).await?.text,
        "write" => format!("{:?}", files.write_path(&new, "inside".into(), Expect::Anything).await?),
        "edit" => format!("{:?}", files.edit(&file, &[Replacement::once("needle", "needle")]).await?),
        "list" => format!("{:?}", files.list_path(&path("")?, &ListRequest::default()).await?),
        "glob" => {
            let request = GlobRequest::new("**").kinds(GlobKinds::Everything);
            format!("{:?}", files.glob_path(&VirtualPath::root(), &request).await?)
        }
        "grep" => {
            let request = GrepRequest::regex("needle|inside|OUTSIDE").hidden(Hidden::Include);
            format!("{:?}", files.grep_path(&VirtualPath::root(), &request).await?)
        }
        "copy" => format!("{:?}", files.copy_path(&file, &new, IfExists::Replace).await?),
        "move" => format!("{:?}", files.move_path(&new, &path("/sub/moved")?, IfExists::Replace).await?),
        _ => format!("{:?}", files.remove_path(&path("/sub/moved")?, Removal::One).await?),
    })
}

/// The control: resolves the links, checks the result, opens by name.
fn check_then_open(ground: &Ground, control: &Count, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        for (swap, _) in PAIRS {
            let typed = ground.root.join(swap).join("file.txt");
            control.all.fetch_add(1, Ordering::Relaxed);
            let Ok(real) = fs::canonicalize(&typed) else { continue };
            if !ground.is_allowed(&real) {
                continue;
            }
            if let Ok(content) = fs::read_to_string(real) {
                control.answered.fetch_add(1, Ordering::Relaxed);
                control.leaked.fetch_add(u64::from(content.contains(MARK)), Ordering::Relaxed);
            }
        }
        // The control only proves that there is a race.
        thread::sleep(Duration::from_micros(200));
    }
}
