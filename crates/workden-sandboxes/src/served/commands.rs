//! Commands. The server runs them: it decides about their limits, and what is left of them.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use workden_core::{
    Error, ErrorKind, Resolved, Result, Sandbox, VirtualPath,
    sandbox::{
        ExecuteRequest, Executed, FileEvents, Isolation, Job, JobId, JobOutput, JobRead, JobRequest, Killed, LeftOut,
        Output, PortStream, Process, SpawnRequest, Usage, WatchRequest,
    },
};

use super::{FileService, ServedSandbox, shown};

/// The time limit of a command that has none, as the protocol has it.
const COMMAND_TIME: Duration = Duration::from_secs(30 * 60);
impl<S: FileService> ServedSandbox<S> {
    fn unsupported(&self, what: &str) -> Error {
        Error::new(ErrorKind::Unsupported, format!("{what} is not supported with {}", self.service.name()))
            .hint("use a sandbox with a keeper")
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<S: FileService> Sandbox for ServedSandbox<S> {
    async fn execute(&self, request: &ExecuteRequest) -> Result<Executed> {
        let began = Instant::now();
        let time = request.timeout.unwrap_or(COMMAND_TIME);
        let ran = self.service.run(&line(request, self.service.work_dir())?, time).await?;
        Ok(Executed::new(shortened(&ran.output, request.most_chars, ran.is_cut), ran.ended, began.elapsed()))
    }

    async fn spawn(&self, _: &SpawnRequest) -> Result<Process> {
        Err(self.unsupported("a command with separate streams"))
    }

    async fn start_job(&self, _: &JobRequest) -> Result<Job> {
        Err(self.unsupported("a background command"))
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

    async fn connect_port(&self, _: u16) -> Result<PortStream> {
        Err(self.unsupported("a connection to a port"))
    }

    async fn watch(&self, _: &Resolved, _: &WatchRequest) -> Result<FileEvents> {
        Err(self.unsupported("watching files"))
    }

    async fn usage(&self) -> Result<Usage> {
        self.service.usage().await
    }

    async fn isolation(&self) -> Result<Isolation> {
        self.service.isolation().await
    }

    async fn directory(&self) -> Result<VirtualPath> {
        Ok(self.service.work_dir().clone())
    }

    async fn stop(&self) -> Result<()> {
        self.service.end().await
    }
}

/// Returns the line that runs a command in its directory and with its variables.
fn line(request: &ExecuteRequest, work_dir: &VirtualPath) -> Result<String> {
    let directory = request.directory.as_ref().unwrap_or(work_dir);
    let mut line = format!("cd -- {} || exit 1\n", quoted(directory.as_str()));
    for (name, value) in &request.environment {
        if name.is_empty() || name.contains(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_') {
            let sentence = format!("invalid variable name `{}`", shown(name));
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
pub(crate) fn quoted(word: &str) -> String {
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
