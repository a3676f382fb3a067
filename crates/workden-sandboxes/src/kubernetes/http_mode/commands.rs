//! Commands, over `/exec`. The server runs them: it decides about their limits, and what is left of them.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use workden_core::{
    Error, ErrorKind, Result, Sandbox, VirtualPath,
    sandbox::{
        Ended, ExecuteRequest, Executed, Isolation, IsolationLevel, Job, JobId, JobOutput, JobRead, JobRequest, Killed,
        LeftOut, Output, Process, SpawnRequest, Usage,
    },
};

use super::{
    super::{cluster::patiently, errors, report},
    HttpPod,
    messages::{ExecAnswer, ExecRequest},
    server::CallLimits,
};

/// The time limit of a command that has none, as the protocol has it.
const COMMAND_TIME: Duration = Duration::from_secs(30 * 60);
/// How much later than a command's time limit the answer may come.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// Bytes of an answer with output. Servers send 100,000 characters.
const OUTPUT_BYTES: usize = 8 * 1024 * 1024;

impl HttpPod {
    /// Runs a line in the work directory. Returns its output and its exit code.
    pub(super) async fn run(&self, line: &str, time: Duration) -> Result<(String, i32)> {
        self.run_whole(line, time).await.map(|(output, code, _)| (output, code))
    }

    /// Runs a line. Returns its output, its exit code, and whether the server has cut the output.
    pub(super) async fn run_whole(&self, line: &str, time: Duration) -> Result<(String, i32, bool)> {
        // A server knows whole seconds, and zero means none to some.
        let timeout_seconds = time.as_secs_f64().ceil().max(1.0) as u64;
        let limits = CallLimits { time: time.saturating_add(ANSWER_TIME), bytes: OUTPUT_BYTES };
        let answer: ExecAnswer = self
            .call(async |server| server.ask("/exec", &ExecRequest { command: line, timeout_seconds }, limits).await)
            .await?;
        let code = answer.exit_code.ok_or_else(|| {
            Error::new(ErrorKind::Io, "invalid answer of the server in the pod to `/exec`: no exit code")
        })?;
        Ok((answer.output, code, answer.truncated == Some(true)))
    }

    fn unsupported(what: &str) -> Error {
        Error::new(ErrorKind::Unsupported, format!("{what} is not supported with the HTTP mode"))
            .hint("use a sandbox with a keeper: leave the HTTP mode out")
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Sandbox for HttpPod {
    async fn execute(&self, request: &ExecuteRequest) -> Result<Executed> {
        let began = Instant::now();
        let time = request.timeout.unwrap_or(COMMAND_TIME);
        let line = line(request, &self.work_dir)?;
        let (output, ended) = match self.run_whole(&line, time).await {
            Ok((output, code, is_cut)) => {
                let ended = if code == 124 { Ended::TimedOut } else { Ended::Exited(code) };
                (shortened(&output, request.most_chars, is_cut), ended)
            }
            // Servers answer with an error of their own, or not at all, when a command takes too long.
            Err(error) if began.elapsed() >= time && matches!(error.kind(), ErrorKind::Io | ErrorKind::TimedOut) => {
                (Output::new(""), Ended::TimedOut)
            }
            Err(error) => return Err(error),
        };
        Ok(Executed::new(output, ended, began.elapsed()))
    }

    async fn spawn(&self, _: &SpawnRequest) -> Result<Process> {
        Err(Self::unsupported("a command with separate streams"))
    }

    async fn start_job(&self, _: &JobRequest) -> Result<Job> {
        Err(Self::unsupported("a background command"))
    }

    async fn jobs(&self) -> Result<Vec<Job>> {
        Ok(Vec::new())
    }

    async fn read_job(&self, id: &JobId, _: &JobRead) -> Result<JobOutput> {
        Err(Error::new(ErrorKind::NotFound, format!("job `{id}` not found")))
    }

    async fn kill_job(&self, id: &JobId) -> Result<Killed> {
        Err(Error::new(ErrorKind::NotFound, format!("job `{id}` not found")))
    }

    async fn usage(&self) -> Result<Usage> {
        let (age, idle) = self.times();
        self.call(async |server| server.health().await).await?;
        Ok(Usage::default().age(age).idle(idle))
    }

    async fn isolation(&self) -> Result<Isolation> {
        let serving = self.serving().await?;
        let lacking = [
            "the server in the pod is a process that commands can end or replace",
            "the server in the pod decides whether a command that timed out is stopped",
            "the pod stays if this process ends without stopping it",
            "calls to the pod are not encrypted",
        ];
        let seen = Isolation::new(IsolationLevel::Container).lacking(lacking.map(str::to_owned).to_vec());
        let pods = self.cluster.pods().await?;
        let pod = patiently(|| pods.get_opt(&serving.name)).await;
        let pod = pod.map_err(|error| errors::failed(&format!("read the pod `{}`", serving.name), &error))?;
        Ok(pod.map_or(seen.clone(), |pod| report::complete(seen, &pod, Some(serving.way))))
    }

    async fn directory(&self) -> Result<VirtualPath> {
        Ok(self.work_dir.clone())
    }

    async fn stop(&self) -> Result<()> {
        self.end().await
    }
}

/// Returns the line that runs a command in its directory and with its variables.
fn line(request: &ExecuteRequest, work_dir: &VirtualPath) -> Result<String> {
    let directory = request.directory.as_ref().unwrap_or(work_dir);
    let mut line = format!("cd -- {} || exit 1\n", quoted(directory.as_str()));
    for (name, value) in &request.environment {
        if name.is_empty() || name.contains(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_') {
            let sentence = format!("invalid variable name `{}`", errors::shown(name));
            return Err(Error::new(ErrorKind::InvalidArgument, sentence).hint("use letters, digits and `_`"));
        }
        line += &format!("export {name}={}\n", quoted(value));
    }
    Ok(line + &request.command.as_line())
}

/// Keeps the head and the tail of an output.
fn shortened(output: &str, most: usize, is_cut: bool) -> Output {
    let count = output.chars().count();
    if count <= most {
        // The server does not say how much it has left out.
        return Output::new(output).left_out(is_cut.then_some(LeftOut::new(0, 0)));
    }
    let at = |index: usize| output.char_indices().nth(index).map_or(output.len(), |(at, _)| at);
    let (head, tail) = (at(most / 2), at(count - most.div_ceil(2)));
    let middle = &output[head..tail];
    let lines = middle.bytes().filter(|byte| *byte == b'\n').count();
    Output::new(&output[..head]).left_out(LeftOut::new(middle.len() as u64, lines as u64)).tail(&output[tail..])
}

/// Quotes a word so that a shell reads it literally.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_runs_in_its_directory_with_its_variables() {
        let work_dir = VirtualPath::parse("/workspace").unwrap();
        let request = ExecuteRequest::shell("echo $A").environment([("A", "it's")]);
        assert_eq!(line(&request, &work_dir).unwrap(), "cd -- '/workspace' || exit 1\nexport A='it'\\''s'\necho $A");
        let request = request.directory(VirtualPath::parse("/tmp").unwrap());
        assert!(line(&request, &work_dir).unwrap().starts_with("cd -- '/tmp'"));
        let request = request.environment([("A;rm", "x")]);
        assert_eq!(line(&request, &work_dir).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    #[test]
    fn long_output_keeps_head_and_tail() {
        let output = shortened("aé\nbcdé", 4, false);
        assert_eq!((output.head.as_str(), output.tail.as_str()), ("aé", "dé"));
        assert_eq!(output.left_out, Some(LeftOut::new(3, 1)));
        assert_eq!(shortened("abc", 4, true).left_out, Some(LeftOut::new(0, 0)));
    }
}
