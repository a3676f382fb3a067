//! pydantic-ai-backend with its own container on the same daemon: a process that reads one request per
//! line and measures its time itself.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use super::ground::Ground;
use crate::{
    Failure,
    reference::{Reference, VERSION},
    task::Round,
};

const SCRIPT: &str = include_str!("peer.py");

/// A running peer.
pub(super) struct Peer {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) took: Duration,
    pub(super) count: u64,
}

impl Peer {
    /// Its name in the table.
    pub(super) const NAME: &str = VERSION;

    /// Installs it below `target` if it is missing, and starts it with a container.
    pub(super) fn start(target: &Path, ground: &Ground) -> Result<Self, Failure> {
        let reference = Reference::install(target)?;
        let mut command = Command::new(reference.python());
        command.args(["-c", SCRIPT, &ground.image]).env("DOCKER_HOST", &ground.host).env_remove("PYTHONPATH");
        let mut peer = Self::of(&mut command)?;
        peer.order(&json!({ "order": "start" }))?;
        Ok(peer)
    }

    fn of(command: &mut Command) -> Result<Self, Failure> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let orders = child.stdin.take().ok_or("a peer without input")?;
        let answers = BufReader::new(child.stdout.take().ok_or("a peer without output")?);
        Ok(Self { child, orders, answers })
    }

    /// Sends a request and waits for its result.
    pub(super) fn order(&mut self, order: &Value) -> Result<Done, Failure> {
        self.begin(order)?;
        self.end()
    }

    /// Sends a request.
    pub(super) fn begin(&mut self, order: &Value) -> Result<(), Failure> {
        // In one write, so that a partial line does not wake the peer.
        Ok(self.orders.write_all(format!("{order}\n").as_bytes())?)
    }

    /// Waits for the result of a request.
    pub(super) fn end(&mut self) -> Result<Done, Failure> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(format!("{} exited early ({})", Self::NAME, self.child.wait()?).into());
        }
        let Round { seconds, count } = serde_json::from_str(&line)?;
        Ok(Done { took: Duration::from_secs_f64(seconds), count })
    }

    /// The id of its process.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Its own shutdown would stop its container, which takes ten seconds; the ground removes the container.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_answered_and_a_peer_that_goes_is_noticed() {
        let script = r#"read -r order; printf '{"seconds": 0.5, "count": %s}\n' "${#order}""#;
        let mut peer = Peer::of(Command::new("sh").args(["-c", script])).unwrap();
        let order = json!({ "order": "stop" });
        let done = peer.order(&order).unwrap();
        assert_eq!(done, Done { took: Duration::from_millis(500), count: order.to_string().len() as u64 });
        assert!(peer.end().unwrap_err().to_string().contains("exited early"));
    }
}
