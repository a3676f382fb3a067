//! Holds the shell analysis to what shells really run.
//!
//! Scripts are made from a grammar and by mutation. Those that `bash -n` accepts are run by bash and by sh,
//! as an unprivileged user, in a bubblewrap sandbox without network, with a read-only root and a `PATH` of harmless
//! stand-ins that write down how they were called. Each program that ran must be among the
//! invocations, with the same arguments and directory, and each file that appeared among the
//! redirections, or the analysis must have a doubt. A script without a doubt is also read by
//! another parser, the oracle, and both must find the same commands and files in all of its branches.
//!
//! `cargo test -p workden-shell --test differential -- --seconds 60 [--seed N] [--show]`

#![expect(clippy::print_stdout, clippy::expect_used, reason = "a test that is a program of its own")]

mod driver;
mod generate;
mod judge;
mod oracle;
mod random;
mod sandbox;
mod stand_in;

use std::{
    env,
    process::ExitCode,
    thread,
    time::{Duration, Instant},
};

use judge::{Tally, judge};
use random::Random;
use sandbox::Sandbox;

/// Fewer scripts without a doubt than this would show nothing.
const LEAST_CLEAR: f64 = 0.4;

/// The least scripts of a worker that run a program, however slow the machine is.
const LEAST_RAN: usize = 100;

#[derive(Clone, Copy)]
struct Arguments {
    seconds: u64,
    seed: u64,
    show: bool,
}

fn main() -> ExitCode {
    if stand_in::played() {
        return ExitCode::SUCCESS;
    }
    if env::args().nth(1).as_deref() == Some(driver::ROLE) {
        return driver::run();
    }
    let arguments = arguments();
    match compare(arguments) {
        Ok(tally) => {
            println!("{}", tally.summary());
            tally.verdict(LEAST_CLEAR).map_or_else(failed, |()| ExitCode::SUCCESS)
        }
        Err(why) => failed(why),
    }
}

fn failed(why: String) -> ExitCode {
    println!("differential: {why}");
    ExitCode::FAILURE
}

/// Other arguments, such as those of the test harness, are ignored.
fn arguments() -> Arguments {
    let given: Vec<String> = env::args().collect();
    let number = |name: &str| {
        let at = given.iter().position(|argument| argument == name)?;
        given.get(at + 1)?.parse().ok()
    };
    Arguments {
        seconds: number("--seconds").unwrap_or(5),
        seed: number("--seed").unwrap_or(1),
        show: given.iter().any(|argument| argument == "--show"),
    }
}

fn compare(arguments: Arguments) -> Result<Tally, String> {
    let workers = thread::available_parallelism().map_or(1, |count| count.get().min(4)) as u64;
    let stage = sandbox::Stage::new()?;
    thread::scope(|scope| {
        let running: Vec<_> = (0..workers)
            .map(|worker| {
                let stage = &stage;
                scope.spawn(move || work(stage, arguments, worker))
            })
            .collect();
        let mut all = Tally::default();
        for worker in running {
            all.add(worker.join().map_err(|_| "a worker panicked".to_owned())??);
        }
        Ok(all)
    })
}

fn work(stage: &sandbox::Stage, arguments: Arguments, worker: u64) -> Result<Tally, String> {
    let until = Instant::now() + Duration::from_secs(arguments.seconds);
    let mut random = Random::new(arguments.seed.wrapping_mul(1_000).wrapping_add(worker));
    let mut sandbox = Sandbox::start(stage)?;
    let mut tally = Tally::default();
    while Instant::now() < until || tally.ran() < LEAST_RAN {
        let script = generate::script(&mut random);
        let ran = sandbox.run(&script)?;
        let findings = judge(&script, &ran, &mut tally);
        if arguments.show && !findings.is_empty() {
            println!("{script:?}\n{}", findings.join("\n"));
        }
    }
    Ok(tally)
}
