//! workden, the subject of the benchmark. No other file of `bench files` and `bench policy` calls it.
//!
//! Preparation (opening, filling) happens before the first round and is not timed. A round is
//! one call through the runtime, as a program makes it.

use std::path::Path;

use tokio::runtime::Runtime;
use workden_core::{
    BackendExt, Expect, Op, Resolved, Verdict, VirtualPath,
    search::{GlobRequest, GrepRequest, Grepped, ListRequest},
    text::Replacement,
};
use workden_files::{Durability, LocalBackend, memory};
use workden_policy::{Policy, Preset};

use crate::{
    Failure,
    task::{Fsync, Syntax, Task, state_file},
};

/// A prepared task: each call runs it once and returns its count.
pub(crate) type Work = Box<dyn FnMut() -> Result<u64, Failure>>;

/// A ceiling that keeps every result, since the peers print every result.
const EVERYTHING: usize = 10_000_000;

/// Prepares a task.
pub(crate) fn prepare(task: &Task) -> Result<Work, Failure> {
    let runtime = Runtime::new()?;
    let root = VirtualPath::root();
    match task.clone() {
        Task::Grep { dir, pattern, syntax } => {
            let files = open(&runtime, &dir, Fsync::On)?;
            let request = grep_request(&pattern, syntax);
            Ok(Box::new(move || hits(&runtime.block_on(files.grep_path(&root, &request))?)))
        }
        Task::Glob { dir, pattern } => {
            let files = open(&runtime, &dir, Fsync::On)?;
            let request = GlobRequest::new(pattern).keep(EVERYTHING);
            Ok(Box::new(move || Ok(runtime.block_on(files.glob_path(&root, &request))?.entries.len() as u64)))
        }
        Task::List { dir } => {
            let files = open(&runtime, &dir, Fsync::On)?;
            let request = ListRequest::default();
            Ok(Box::new(move || Ok(runtime.block_on(files.list_path(&root, &request))?.entries.len() as u64)))
        }
        Task::ReadEnd { dir, file, offset, limit } => {
            let files = open(&runtime, &dir, Fsync::On)?;
            let path = VirtualPath::parse(&file)?;
            Ok(Box::new(move || {
                let read = runtime.block_on(files.read_numbered(&path, offset, limit))?;
                let last = read.text.lines().last().and_then(|line| line.split('\t').next()).unwrap_or("");
                if read.text.lines().count() as u64 != limit {
                    return Err(format!("{} lines were read", read.text.lines().count()).into());
                }
                Ok(last.trim().parse()?)
            }))
        }
        Task::Edit { dir, file, mut old, mut new, fsync } => {
            let files = open(&runtime, &dir, fsync)?;
            let path = VirtualPath::parse(&file)?;
            Ok(Box::new(move || {
                let replaced = runtime.block_on(files.edit(&path, &[Replacement::once(&*old, &*new)]))?;
                std::mem::swap(&mut old, &mut new);
                Ok(replaced)
            }))
        }
        Task::StateGrep { files: number, lines, pattern } => {
            let files = memory();
            for (path, text) in (0..number).map(|number| state_file(number, lines)) {
                let path = VirtualPath::parse(&path)?;
                runtime.block_on(files.write_path(&path, text.into(), Expect::Absent))?;
            }
            let request = grep_request(&pattern, Syntax::Regex);
            Ok(Box::new(move || hits(&runtime.block_on(files.grep_path(&root, &request))?)))
        }
        Task::Decide { operation, targets, times } => decide(&operation, targets, times),
        Task::Command { .. } | Task::SaveAlone { .. } => Err(format!("not a task of workden: {task:?}").into()),
    }
}

/// Decisions of the default preset on one thread, as in a gate: from the path to the verdict.
fn decide(operation: &str, targets: Vec<String>, times: u32) -> Result<Work, Failure> {
    let policy = Policy::new().with_rules(&Preset::Default.ruleset())?;
    let directory = VirtualPath::parse("/workspace")?;
    let is_denied = |verdict: &Verdict| u64::from(matches!(verdict, Verdict::Deny(_)));
    if operation == "execute" {
        return Ok(Box::new(move || {
            let once = || targets.iter().map(|script| is_denied(&policy.judge_command(script, &directory).verdict()));
            Ok((0..times).flat_map(|_| once()).sum())
        }));
    }
    let paths = targets.iter().map(|target| Ok(Resolved::literal(VirtualPath::parse(target)?)));
    let paths: Vec<Resolved> = paths.collect::<Result<_, Failure>>()?;
    let is_read = operation == "read";
    Ok(Box::new(move || {
        let op = |at| if is_read { Op::Read(at) } else { Op::Write(at) };
        let once = || paths.iter().map(|at| is_denied(&policy.judge(op(at))));
        Ok((0..times).flat_map(|_| once()).sum())
    }))
}

fn open(runtime: &Runtime, dir: &Path, fsync: Fsync) -> Result<LocalBackend, Failure> {
    let durability = match fsync {
        Fsync::On => Durability::Fsync,
        Fsync::Off => Durability::None,
    };
    let _inside = runtime.enter();
    Ok(LocalBackend::options().durability(durability).open(dir)?)
}

fn grep_request(pattern: &str, syntax: Syntax) -> GrepRequest {
    let request = match syntax {
        Syntax::Literal => GrepRequest::literal(pattern),
        Syntax::Regex => GrepRequest::regex(pattern),
    };
    request.keep(EVERYTHING).ceiling(u64::MAX)
}

/// Returns the number of lines found. Fails if the answer is incomplete.
fn hits(found: &Grepped) -> Result<u64, Failure> {
    if found.kept_lines() as u64 != found.matches {
        return Err(format!("{} of {} matches were returned", found.kept_lines(), found.matches).into());
    }
    Ok(found.matches)
}
