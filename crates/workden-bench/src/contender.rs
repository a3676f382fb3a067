//! A contender: a process that runs one task on each request of the benchmark.
//!
//! Contenders live as long as their row and take turns, so that a slow moment of the machine
//! affects all of them. Each has its own process, so that its peak memory is its own.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use crate::{
    Failure,
    samples::Samples,
    task::{Farewell, Round},
};

/// A running contender.
pub(crate) struct Contender {
    label: String,
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    rounds: Vec<Round>,
}

/// The result of a contender.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) label: String,
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) peak_kib: u64,
    pub(crate) count: u64,
}

impl Contender {
    /// Starts the contender and waits until it is ready.
    pub(crate) fn start(label: &str, command: &mut Command) -> Result<Self, Failure> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {label}: {error}"))?;
        let orders = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().ok_or("a contender without output")?);
        let mut contender = Self { label: label.to_owned(), child, orders, answers, rounds: Vec::new() };
        contender.answer()?;
        Ok(contender)
    }

    /// Runs once without recording it, to warm caches and start threads.
    pub(crate) fn warm_up(&mut self) -> Result<(), Failure> {
        self.once().map(|_| ())
    }

    /// Runs once.
    pub(crate) fn round(&mut self) -> Result<(), Failure> {
        let round = self.once()?;
        self.rounds.push(round);
        Ok(())
    }

    /// Ends the contender. Fails unless every round found the same.
    pub(crate) fn finish(mut self) -> Result<Measured, Failure> {
        drop(self.orders.take());
        let farewell: Farewell = serde_json::from_str(&self.answer()?)?;
        self.child.wait()?;
        let count = self.rounds.first().ok_or("no rounds were run")?.count;
        if self.rounds.iter().any(|round| round.count != count) {
            return Err(format!("{} found different counts: {:?}", self.label, self.rounds).into());
        }
        let mut times = Samples::default();
        self.rounds.iter().for_each(|round| times.add(Duration::from_secs_f64(round.seconds)));
        Ok(Measured {
            label: self.label.clone(),
            min: times.min().as_secs_f64(),
            median: times.median().as_secs_f64(),
            peak_kib: farewell.peak_kib,
            count,
        })
    }

    fn once(&mut self) -> Result<Round, Failure> {
        let orders = self.orders.as_mut().ok_or("a contender without input")?;
        orders.write_all(b"go\n")?;
        orders.flush()?;
        Ok(serde_json::from_str(&self.answer()?)?)
    }

    fn answer(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(format!("{} exited early ({})", self.label, self.child.wait()?).into());
        }
        Ok(line)
    }
}

impl Drop for Contender {
    fn drop(&mut self) {
        // It still runs only after an error, so a failure here cannot be reported.
        drop(self.orders.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(text: &str) -> Contender {
        Contender::start("a script", Command::new("sh").args(["-c", text])).unwrap()
    }

    #[test]
    fn minimum_median_and_peak_are_of_the_counted_rounds() {
        let mut contender = script(
            r#"echo ready
            for s in 9 3 1 2; do read go; echo "{\"seconds\": $s, \"count\": 7}"; done
            read go || echo '{"peak_kib": 42}'"#,
        );
        contender.warm_up().unwrap();
        (0..3).for_each(|_| contender.round().unwrap());
        let measured = contender.finish().unwrap();
        assert_eq!((measured.min, measured.median, measured.peak_kib, measured.count), (1.0, 2.0, 42, 7));
    }

    #[test]
    fn a_contender_that_changes_its_mind_is_an_error() {
        let mut contender = script(
            r#"echo ready
            for c in 1 2; do read go; echo "{\"seconds\": 1, \"count\": $c}"; done
            read go || echo '{"peak_kib": 42}'"#,
        );
        (0..2).for_each(|_| contender.round().unwrap());
        assert!(contender.finish().unwrap_err().to_string().contains("found different counts"));
    }

    #[test]
    fn a_contender_that_dies_is_an_error() {
        let failure = script("echo ready; exit 3").round().unwrap_err().to_string();
        assert!(failure.contains("exited early") || failure.contains("pipe"), "{failure}");
    }
}
