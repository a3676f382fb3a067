//! A race for the way out: one process keeps exchanging directories with links that lead outside,
//! while every call of a backend is made on the paths that go through them.
//!
//! Nothing from outside may come back, not even a name, and nothing may be written there. A control
//! that checks a path and then opens it by name runs beside it: it must leak, or the race is none.

use std::{
    collections::BTreeMap,
    fs,
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use futures_executor::block_on;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use workden_backends::{Durability, LocalBackend, PathOpening};
use workden_core::{
    BackendExt, Existing, Expect, Removal, Result, VirtualPath,
    search::{GlobKinds, GlobRequest, GrepRequest, Hidden, ListRequest},
    text::Replacement,
};

use crate::Failure;

/// How long to race.
pub(crate) struct Options {
    operations: u64,
    most: Duration,
}

impl Options {
    pub(crate) fn parse(words: &[&str]) -> Result<Self, Failure> {
        let mut options = Self { operations: 1_000_000, most: Duration::from_secs(3600) };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} needs a number"))?;
            match *word {
                "--operations" => options.operations = value.parse()?,
                "--seconds" => options.most = Duration::from_secs(value.parse()?),
                _ => return Err(format!("unknown option {word}").into()),
            }
        }
        Ok(options)
    }
}

/// In every content and every second name outside, and nowhere inside.
const MARK: &str = "OUTSIDE";
const PAIRS: [(&str, &str); 2] = [("swap-a", "link-a"), ("swap-b", "link-b")];

/// Calls by name: how many, how many were answered, how many leaked.
#[derive(Default)]
struct Count {
    all: AtomicU64,
    answered: AtomicU64,
    leaked: AtomicU64,
}

const CALLS: [&str; 10] = ["read", "lines", "write", "edit", "list", "glob", "grep", "copy", "move", "remove"];

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let home = std::env::temp_dir().join(format!("workden-race-{}", std::process::id()));
    let _gone_at_the_end = Gone(home.clone());
    let (root, outside) = (home.join("root"), home.join("outside"));
    fill(&root, &outside)?;
    let before = tree(&outside)?;

    let counts: Vec<Count> = CALLS.iter().map(|_| Count::default()).collect();
    let control = Count::default();
    let over = AtomicBool::new(false);
    let exchanger = Exchanger::start(&root)?;
    let started = Instant::now();
    thread::scope(|scope| -> Result<(), Failure> {
        let workers = [PathOpening::Detect, PathOpening::StepByStep].map(|opening| {
            let files = LocalBackend::options().durability(Durability::None).path_opening(opening).open(&root);
            let (counts, over) = (&counts, &over);
            files.map(|files| scope.spawn(move || race(&files, counts, over)))
        });
        for worker in workers {
            worker?;
        }
        scope.spawn(|| check_then_open(&root, &control, &over));
        let mut told = started;
        let total = || counts.iter().map(|count| count.all.load(Ordering::Relaxed)).sum::<u64>();
        while total() < options.operations && started.elapsed() < options.most {
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
    if tree(&outside)? != before {
        return Err("something was written outside".into());
    }
    if leaked > 0 {
        return Err(format!("{leaked} answers had something from outside").into());
    }
    if control.leaked.load(Ordering::Relaxed) == 0 {
        return Err("not even the control leaked: this was no race".into());
    }
    Ok(())
}

/// Removes the place of the race at the end.
struct Gone(PathBuf);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn fill(root: &Path, outside: &Path) -> Result<(), Failure> {
    for (directory, word) in [(outside, MARK), (&root.join(PAIRS[0].0), "inside"), (&root.join(PAIRS[1].0), "inside")] {
        fs::create_dir_all(directory.join("sub"))?;
        fs::write(directory.join("file.txt"), format!("{word} needle\n"))?;
        fs::write(directory.join("sub/file.txt"), format!("{word} needle\n"))?;
        fs::write(directory.join(format!("{word}-name.txt")), format!("{word}\n"))?;
    }
    // One link as host tools write it, one that climbs.
    std::os::unix::fs::symlink(outside, root.join(PAIRS[0].1))?;
    std::os::unix::fs::symlink("../outside", root.join(PAIRS[1].1))?;
    Ok(())
}

/// Every path below a directory with its content.
fn tree(directory: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>, Failure> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            all.extend(tree(&path)?);
        } else {
            all.insert(path.clone(), fs::read(&path)?);
        }
    }
    Ok(all)
}

/// The process that exchanges; it ends with its standard input.
struct Exchanger(Child);

impl Exchanger {
    fn start(root: &Path) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("race-exchange").arg(root).stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(Self(command.spawn()?))
    }

    /// Ends it; says how often it exchanged.
    fn stop(mut self) -> Result<u64, Failure> {
        drop(self.0.stdin.take());
        let mut told = String::new();
        if let Some(mut out) = self.0.stdout.take() {
            out.read_to_string(&mut told)?;
        }
        self.0.wait()?;
        Ok(told.trim().parse()?)
    }
}

/// Exchanges directories and links until standard input ends; an even number of times each.
pub(crate) fn exchange(root: &str) -> Result<(), Failure> {
    let over = AtomicBool::new(false);
    let mut exchanges = 0_u64;
    thread::scope(|scope| -> Result<(), Failure> {
        scope.spawn(|| {
            let _ = std::io::stdin().read(&mut [0]);
            over.store(true, Ordering::Relaxed);
        });
        let root = Path::new(root);
        while !over.load(Ordering::Relaxed) {
            for (one, other) in PAIRS {
                for _ in 0..2 {
                    renameat_with(CWD, root.join(one), CWD, root.join(other), RenameFlags::EXCHANGE)?;
                    exchanges += 1;
                    // Long enough for a call to begin in one state and end in the other.
                    thread::sleep(Duration::from_micros(exchanges % 40));
                }
            }
        }
        Ok(())
    })?;
    println!("{exchanges}");
    Ok(())
}

fn race(files: &LocalBackend, counts: &[Count], over: &AtomicBool) {
    for round in 0_u64.. {
        for (name, count) in CALLS.iter().zip(counts) {
            if over.load(Ordering::Relaxed) {
                return;
            }
            let (swap, _) = PAIRS[usize::from(round % 2 == 1)];
            let answer = block_on(call(files, name, &format!("/{swap}"), round));
            count.all.fetch_add(1, Ordering::Relaxed);
            // What is said in a refusal counts as an answer, too.
            let (told, answered) = match answer {
                Ok(told) => (told, 1),
                Err(error) => (error.to_string(), 0),
            };
            count.answered.fetch_add(answered, Ordering::Relaxed);
            count.leaked.fetch_add(u64::from(told.contains(MARK)), Ordering::Relaxed);
        }
    }
}

/// Makes one call and gives back all it answered.
async fn call(files: &LocalBackend, name: &str, directory: &str, round: u64) -> Result<String> {
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
            let request = GlobRequest { kinds: GlobKinds::Everything, ..GlobRequest::new("**") };
            format!("{:?}", files.glob_path(&VirtualPath::root(), &request).await?)
        }
        "grep" => {
            let request = GrepRequest { hidden: Hidden::Include, ..GrepRequest::regex("needle|inside|OUTSIDE") };
            format!("{:?}", files.grep_path(&VirtualPath::root(), &request).await?)
        }
        "copy" => format!("{:?}", files.copy_path(&file, &new, Existing::Replace).await?),
        "move" => format!("{:?}", files.move_path(&new, &path("/sub/moved")?, Existing::Replace).await?),
        _ => format!("{:?}", files.remove_path(&path("/sub/moved")?, Removal::One).await?),
    })
}

/// What others do: follow the links, see that it is inside, open it by name.
fn check_then_open(root: &Path, control: &Count, over: &AtomicBool) {
    let Ok(root) = fs::canonicalize(root) else { return };
    while !over.load(Ordering::Relaxed) {
        for (swap, _) in PAIRS {
            let typed = root.join(swap).join("file.txt");
            control.all.fetch_add(1, Ordering::Relaxed);
            let Ok(real) = fs::canonicalize(&typed) else { continue };
            if !real.starts_with(&root) {
                continue;
            }
            if let Ok(content) = fs::read_to_string(real) {
                control.answered.fetch_add(1, Ordering::Relaxed);
                control.leaked.fetch_add(u64::from(content.contains(MARK)), Ordering::Relaxed);
            }
        }
        // It is there to show that there is a race, not to take part in it.
        thread::sleep(Duration::from_micros(200));
    }
}
