//! A manager as a process: it reads an order from each line of its input, and answers with what the order took.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use nix::sys::{
    resource::{UsageWho, getrusage},
    time::TimeValLike,
};
use serde::{Deserialize, Serialize};
use workden_sessions::{Adopt, Opened, SessionManager};

use super::manager;
use crate::{Failure, memory};

/// What an order took.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(super) struct Cost {
    seconds: f64,
    /// Processor time, in seconds.
    pub(super) cpu: f64,
    /// How many sessions it was about.
    pub(super) count: u64,
    /// Resident memory afterwards.
    pub(super) resident: u64,
}

impl Cost {
    pub(super) fn took(&self) -> Duration {
        Duration::from_secs_f64(self.seconds)
    }
}

/// A running manager.
pub(super) struct Process {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Process {
    pub(super) fn start(namespace: &str, owner: &str) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["manager", namespace, owner]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let orders = child.stdin.take().ok_or("a manager without input")?;
        let answers = BufReader::new(child.stdout.take().ok_or("a manager without output")?);
        Ok(Self { child, orders, answers })
    }

    /// Sends an order and waits for its result.
    pub(super) fn order(&mut self, order: &str) -> Result<Cost, Failure> {
        writeln!(self.orders, "{order}")?;
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(format!("a manager exited early ({})", self.child.wait()?).into());
        }
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Is such a process, until its input ends.
pub(crate) fn serve(namespace: &str, owner: &str) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let manager = runtime.block_on(manager::builder(namespace, owner)?.start())?;
    let mut out = std::io::stdout().lock();
    for order in std::io::stdin().lock().lines() {
        let order = order?;
        let words: Vec<&str> = order.split(' ').collect();
        let (began, before) = (Instant::now(), cpu()?);
        let count = runtime.block_on(obey(&manager, &words))?;
        let (seconds, cpu) = (began.elapsed().as_secs_f64(), cpu()? - before);
        let resident = memory::of_process(std::process::id())?.resident;
        writeln!(out, "{}", serde_json::to_string(&Cost { seconds, cpu, count, resident })?)?;
        out.flush()?;
    }
    Ok(())
}

async fn obey(manager: &SessionManager, words: &[&str]) -> Result<u64, Failure> {
    match words {
        ["adopt"] => Ok(manager.adopt_or_remove(Adopt::Running).await?.adopted.len() as u64),
        ["open", id] => {
            let session = manager.get_or_create(&id.parse()?, None).await?;
            match session.opened() {
                Opened::Existing => Ok(1),
                Opened::New => Err(format!("the session `{id}` was created, and existed").into()),
            }
        }
        ["rest", seconds] => {
            tokio::time::sleep(Duration::from_secs(seconds.parse()?)).await;
            Ok(0)
        }
        ["reap"] => Ok(manager.cleanup_idle(None).await as u64),
        other => Err(format!("unknown order {other:?}").into()),
    }
}

/// Returns the processor time of this process, in seconds.
fn cpu() -> Result<f64, Failure> {
    let used = getrusage(UsageWho::RUSAGE_SELF)?;
    Ok((used.user_time() + used.system_time()).num_microseconds() as f64 / 1e6)
}
