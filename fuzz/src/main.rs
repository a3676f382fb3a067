//! The driver for the stable compiler: random and mutated inputs for each target, until the time is over or a target
//! fails.
//!
//! `cargo run -p workden-fuzz -- --seconds 60 [--target NAME] [--seed N] [--input HEX]`

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that a person watches")]

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use workden_fuzz::{
    TARGETS, Target,
    mutate::{Random, minimised, mutated},
};

/// The minimum number of executions of a target, however slow the machine is.
const LEAST_EXECUTIONS: u64 = 100;
/// How often progress is printed.
const PROGRESS: Duration = Duration::from_secs(5);
/// After how long a hanging execution is reported; its thread cannot be ended.
const HANGS: Duration = Duration::from_secs(120);
/// The time limit for minimising a finding.
const MINIMISING: Duration = Duration::from_secs(10);
/// How many inputs of a target are kept for mutation.
const POOL: usize = 512;
/// The longest input that is kept: mutations of long inputs are longer, and few run in a second.
const POOLED_BYTES: usize = 1_024;

struct Arguments {
    seconds: u64,
    seed: u64,
    target: Option<String>,
    input: Option<Vec<u8>>,
}

fn main() -> ExitCode {
    let arguments = match arguments(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("{why}\nusage: workden-fuzz [--seconds N] [--target NAME] [--seed N] [--input HEX]");
            return ExitCode::from(2);
        }
    };
    let wanted = |target: &&Target| arguments.target.as_deref().is_none_or(|name| name == target.name);
    let targets: Vec<&Target> = TARGETS.iter().filter(wanted).collect();
    if targets.is_empty() {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("target not found; use one of: {}", names.join(", "));
        return ExitCode::from(2);
    }
    if let Some(input) = &arguments.input {
        // Not caught, so that the location of the panic is shown.
        targets.iter().for_each(|target| (target.run)(input));
        println!("nothing found");
        return ExitCode::SUCCESS;
    }
    // Findings are reported once, below, and minimising must not print each of them.
    std::panic::set_hook(Box::new(|_| {}));
    let time = Duration::from_secs(arguments.seconds) / u32::try_from(targets.len()).unwrap_or(1);
    println!("{} targets, {time:?} each, seed {}", targets.len(), arguments.seed);
    let mut found = false;
    for target in targets {
        found |= fuzz(target, time, arguments.seed);
    }
    if found { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn arguments(mut given: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut arguments = Arguments { seconds: 60, seed: 1, target: None, input: None };
    while let Some(name) = given.next() {
        let value = given.next().ok_or_else(|| format!("{name} requires a value"))?;
        let number = || value.parse().map_err(|_| format!("{name} requires a number, not `{value}`"));
        match name.as_str() {
            "--seconds" => arguments.seconds = number()?,
            "--seed" => arguments.seed = number()?,
            "--target" => arguments.target = Some(value),
            "--input" => arguments.input = Some(from_hex(&value).ok_or("--input requires hexadecimal digits")?),
            _ => return Err(format!("unknown argument {name}")),
        }
    }
    Ok(arguments)
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || text.len() % 2 == 1 {
        return None;
    }
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok()).collect()
}

/// Runs a target on an input; returns the message of its panic, if it panics.
fn finding(target: &Target, input: &[u8]) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(|| (target.run)(input))).err()?;
    let text = panic.downcast_ref::<String>().cloned();
    Some(text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default())
}

/// Runs one target; returns whether there was a finding.
fn fuzz(target: &Target, time: Duration, seed: u64) -> bool {
    let mut random = Random::new(seed);
    let mut pool: Vec<Vec<u8>> = target.seeds.iter().map(|seed| seed.to_vec()).collect();
    let seeds = pool.len();
    let started = Instant::now();
    let mut next_progress = PROGRESS;
    let mut slowest = Duration::ZERO;
    let mut executions = 0_u64;
    let mut queued = pool.clone();
    let running = watch(target);
    while executions < LEAST_EXECUTIONS || started.elapsed() < time {
        let input = queued.pop().unwrap_or_else(|| mutated(&mut random, &pool));
        let before = Instant::now();
        *running.lock().unwrap_or_else(PoisonError::into_inner) = Some((before, input.clone()));
        let broken = finding(target, &input);
        *running.lock().unwrap_or_else(PoisonError::into_inner) = None;
        executions += 1;
        if let Some(message) = broken {
            report(target, &input, &message);
            println!("{:<9} {executions:>9} executions, 1 finding", target.name);
            return true;
        }
        let took = before.elapsed();
        // Without coverage, keep slow inputs and a random selection.
        if input.len() <= POOLED_BYTES && (took > slowest || random.below(64) == 0) {
            if pool.len() < POOL {
                pool.push(input);
            } else {
                let place = seeds + random.below(POOL - seeds);
                pool[place] = input;
            }
        }
        slowest = slowest.max(took);
        if started.elapsed() > next_progress {
            next_progress += PROGRESS;
            println!("{:<9} {executions:>9} executions, slowest {slowest:?}", target.name);
        }
    }
    println!("{:<9} {executions:>9} executions, 0 findings, slowest {slowest:?}", target.name);
    false
}

/// The current input and its start time; a thread reports one that runs for too long.
type Running = Arc<Mutex<Option<(Instant, Vec<u8>)>>>;

fn watch(target: &Target) -> Running {
    let running = Running::default();
    let watched = Arc::downgrade(&running);
    let name = target.name;
    std::thread::spawn(move || {
        while let Some(running) = watched.upgrade() {
            if let Some((since, input)) = &*running.lock().unwrap_or_else(PoisonError::into_inner)
                && since.elapsed() > HANGS
            {
                show(name, input, "it hangs");
                std::process::exit(1);
            }
            drop(running);
            std::thread::sleep(Duration::from_millis(500));
        }
    });
    running
}

fn report(target: &Target, input: &[u8], message: &str) {
    let started = Instant::now();
    let smallest = minimised(input, |shorter| started.elapsed() < MINIMISING && finding(target, shorter).is_some());
    let message = finding(target, &smallest).unwrap_or_else(|| message.to_owned());
    show(target.name, &smallest, &message);
}

fn show(name: &str, input: &[u8], message: &str) {
    let hex: String = input.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("FINDING in {name}: {}", message.chars().take(2_000).collect::<String>());
    println!("  as bytes: b\"{}\"", input.escape_ascii());
    println!("  again:    cargo run -p workden-fuzz -- --target {name} --input {hex}");
}
