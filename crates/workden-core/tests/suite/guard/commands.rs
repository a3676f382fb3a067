//! Commands behind gates, over a sandbox that only writes down what it is asked to run.

use std::time::Duration;

use futures_util::StreamExt;
use workden_core::sandbox::{
    Command, Ended, ExecuteRequest, Executed, FileChange, FileEvent, FileEvents, FullLog, Isolation, Job, JobId,
    JobOutput, JobRead, JobRequest, JobState, Killed, LeftOut, Output, PortStream, Process, Sandbox, SpawnRequest,
    Usage, WatchRequest,
};

use super::{records::Records, *};

/// A line, and where it was to run.
type Ran = (String, Option<String>);

/// Files in memory, and commands that are written down.
#[derive(Clone, Debug)]
struct Scripted {
    files: StateBackend,
    ran: Arc<Mutex<Vec<Ran>>>,
}

impl Scripted {
    fn new() -> Self {
        Self { files: state(), ran: Arc::default() }
    }

    fn ran(&self) -> Vec<String> {
        self.ran.lock().unwrap().iter().map(|(line, _)| line.clone()).collect()
    }

    fn run(&self, command: &Command, directory: Option<&VirtualPath>) -> usize {
        let mut ran = self.ran.lock().unwrap();
        ran.push((command.as_line(), directory.map(ToString::to_string)));
        ran.len()
    }
}

fn job(number: usize) -> Job {
    Job::new(JobId(format!("bg_{number}")), 1, "", JobState::Running)
}

workden_core::forward_backend! {
    impl[] for Scripted;
    looks: [|this| &this.files, |answer| answer], changes: [|this| &this.files, |answer| answer],
    host_files: |this| this.files.host_files()
}

#[async_trait]
impl Sandbox for Scripted {
    async fn execute(&self, request: &ExecuteRequest) -> Result<Executed> {
        let number = self.run(&request.command, request.directory.as_ref());
        let log = FullLog::new(JobId(format!("log_{number}")), 1);
        let output = Output::default().left_out(LeftOut::new(1, 0).log(log));
        Ok(Executed::new(output, Ended::Exited(0), Duration::ZERO))
    }
    async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
        self.run(&request.command, request.directory.as_ref());
        Err(Error::new(ErrorKind::Unsupported, "no streams here"))
    }
    async fn start_job(&self, request: &JobRequest) -> Result<Job> {
        Ok(job(self.run(&request.command, request.directory.as_ref())))
    }
    async fn jobs(&self) -> Result<Vec<Job>> {
        Ok((1..=self.ran().len()).map(job).collect())
    }
    async fn read_job(&self, _: &JobId, _: &JobRead) -> Result<JobOutput> {
        Ok(JobOutput::new("secret", 6, job(1)))
    }
    async fn kill_job(&self, _: &JobId) -> Result<Killed> {
        Ok(Killed::Stopped)
    }
    async fn connect_port(&self, _: u16) -> Result<PortStream> {
        Err(Error::new(ErrorKind::Unsupported, "no ports here"))
    }
    async fn watch(&self, at: &Resolved, request: &WatchRequest) -> Result<FileEvents> {
        let visibility = request.visibility.compile()?;
        let seen = ["plain", "secret"].map(|name| at.real.child(name).unwrap()).into_iter();
        let shown = seen.filter(move |path| visibility.to_list(path) == Sight::Shown);
        let changed = |path| Ok(FileEvent::Changed { path, change: FileChange::Created, is_directory: false });
        Ok(Box::pin(futures_util::stream::iter(shown.map(changed))))
    }
    async fn usage(&self) -> Result<Usage> {
        Ok(Usage::default())
    }
    async fn isolation(&self) -> Result<Isolation> {
        Ok(Isolation::none())
    }
    async fn directory(&self) -> Result<VirtualPath> {
        Ok(path("/d"))
    }
    async fn stop(&self) -> Result<()> {
        Ok(())
    }
}

/// Denies what has `rm` in it, asks about what has `ask` in it.
#[derive(Debug)]
struct Manners;

#[async_trait]
impl Gate for Manners {
    async fn judge(&self, op: Op<'_>) -> Judgement {
        let Op::Execute(execution) = op else { return Verdict::Allow.into() };
        let has = |word| execution.whole_script().contains(word);
        let verdict = match (has("rm"), has("ask"), execution.input) {
            (true, _, _) => Verdict::Deny(Error::new(ErrorKind::Denied, "no removing")),
            (_, true, _) | (_, _, ExecutionInput::Later) => {
                Verdict::Ask(Error::new(ErrorKind::ApprovalNeeded, "it has to be approved"))
            }
            _ => Verdict::Allow,
        };
        let command = execution.script.split(' ').map(str::to_owned).collect();
        Judgement::from(verdict).for_commands(Some(vec![command]))
    }
    fn visibility(&self, _: Op<'_>) -> Visibility {
        Visibility::everything()
    }
    fn most_bytes(&self, _: &Resolved, _: Access) -> Option<u64> {
        None
    }
}

fn guarded(sandbox: &Scripted) -> Guarded<Scripted> {
    Guarded::new(sandbox.clone()).gate(Arc::new(Manners))
}

#[test]
fn a_command_is_judged_however_it_is_started() {
    let sandbox = Scripted::new();
    let guarded = guarded(&sandbox);
    for command in [Command::Shell("rm x".into()), Command::Program(vec!["rm".into(), "x y".into()])] {
        let denied = |error: Error| assert_eq!(error.kind(), ErrorKind::Denied);
        denied(block_on(guarded.execute(&ExecuteRequest::new(command.clone()))).unwrap_err());
        denied(block_on(guarded.spawn(&SpawnRequest::piped(command.clone()))).unwrap_err());
        let request = JobRequest::new(command);
        denied(block_on(guarded.start_job(&request)).unwrap_err());
    }
    assert!(sandbox.ran().is_empty());
    block_on(guarded.execute(&ExecuteRequest::program(["ls", "a b"]))).unwrap();
    assert_eq!(sandbox.ran(), ["ls 'a b'"]);
}

#[test]
fn variables_are_part_of_what_is_judged_shown_and_remembered() {
    let sandbox = Scripted::new();
    let answers = Answers::new(Approval::Granted);
    let guarded = guarded(&sandbox).approver(Arc::clone(&answers) as Arc<dyn Approver>);
    let with = |name: &str, value: &str| ExecuteRequest::shell("ls").environment([(name, value)]);
    assert_eq!(block_on(guarded.execute(&with("X", "rm"))).unwrap_err().kind(), ErrorKind::Denied);
    block_on(guarded.execute(&with("X", "ask it's"))).unwrap();
    let asked = answers.asked.lock().unwrap();
    let command = asked[0].command.as_ref().unwrap();
    assert_eq!(command.script, "export 'X=ask it'\\''s'\nls");
    assert_eq!((&asked[0].call, &asked[0].operations), (&"execute".to_owned(), &vec!["execute".to_owned()]));
    assert_eq!(asked[0].description, "Run `export 'X=ask it'\\''s'\\nls` in `/d`");
    for name in ["", "A=B", "A\nrm"] {
        assert_eq!(block_on(guarded.execute(&with(name, "x"))).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

/// Hides what is secret, and denies looking at one directory.
#[derive(Debug)]
struct Discreet;

#[async_trait]
impl Gate for Discreet {
    async fn judge(&self, op: Op<'_>) -> Judgement {
        match op {
            Op::List(at) if at.real == path("/private") => Verdict::Deny(Error::new(ErrorKind::Denied, "private")),
            _ => Verdict::Allow,
        }
        .into()
    }
    fn visibility(&self, _: Op<'_>) -> Visibility {
        let hide =
            Rule { pattern: "**/secret".into(), except: Vec::new(), sight: Sight::Hidden, case: RuleCase::Sensitive };
        let list = Rules { rules: vec![hide], otherwise: Sight::Shown };
        Visibility { layers: vec![Layer { list, ..Layer::open() }] }
    }
    fn most_bytes(&self, _: &Resolved, _: Access) -> Option<u64> {
        None
    }
}

#[test]
fn a_watch_is_judged_and_limited_like_a_listing() {
    let log = Arc::new(Records::default());
    let guarded = Guarded::new(Scripted::new()).gate(Arc::new(Discreet)).audit(Arc::clone(&log) as Arc<dyn Audit>);
    let watch = |typed| block_on(guarded.watch(&Resolved::literal(path(typed)), &WatchRequest::default()));
    assert_eq!(watch("/private").err().unwrap().kind(), ErrorKind::Denied);
    let events: Vec<_> = block_on(watch("/d").unwrap().map(Result::unwrap).collect());
    let plain = FileEvent::Changed { path: path("/d/plain"), change: FileChange::Created, is_directory: false };
    assert_eq!(events, [plain]);
    let outcomes: Vec<_> = log.events.lock().unwrap().iter().map(|event| (event.call.clone(), event.outcome)).collect();
    let refused = AuditOutcome::Refused(ErrorKind::Denied);
    assert_eq!(outcomes, [("list".to_owned(), refused), ("list".to_owned(), AuditOutcome::Allowed)]);
}

#[test]
fn a_question_says_what_would_run_and_where() {
    let sandbox = Scripted::new();
    let answers = Answers::new(Approval::Refused(Error::new(ErrorKind::Denied, "not today")));
    let guarded = guarded(&sandbox).approver(Arc::clone(&answers) as Arc<dyn Approver>);
    let request = ExecuteRequest::shell("ask now").directory(path("/d/deep"));
    let caller = Caller { tool: "execute".into(), arguments: serde_json::Value::Null };
    let refused = block_on(guarded.on_behalf_of(caller).execute(&request)).unwrap_err();
    assert_eq!(refused.sentence(), "not today");
    let asked = answers.asked.lock().unwrap();
    let expected = CommandLine {
        script: "ask now".into(),
        directory: path("/d/deep"),
        understood: Some(vec![vec!["ask".into(), "now".into()]]),
    };
    assert_eq!(asked[0].command, Some(expected));
    assert_eq!(asked[0].caller.as_ref().unwrap().tool, "execute");
    assert!(sandbox.ran().is_empty());
}

#[test]
fn what_is_written_to_a_process_later_is_something_to_ask_about() {
    let sandbox = Scripted::new();
    let refused = block_on(guarded(&sandbox).spawn(&SpawnRequest::piped(Command::Shell("sh".into())))).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ApprovalNeeded);
    assert!(sandbox.ran().is_empty());
}

#[test]
fn jobs_and_logs_belong_to_the_caller_that_started_them() {
    let sandbox = Scripted::new();
    let (one, other) = (guarded(&sandbox), guarded(&sandbox));
    let started = block_on(one.start_job(&JobRequest::shell("serve"))).unwrap().id;
    let log = block_on(one.execute(&ExecuteRequest::shell("make"))).unwrap().output.left_out.unwrap().log.unwrap().id;
    let caller = Caller { tool: "read_job".into(), arguments: serde_json::Value::Null };
    for own in [one.clone(), one.on_behalf_of(caller)] {
        assert_eq!(block_on(own.jobs()).unwrap().len(), 1);
        assert!(block_on(own.read_job(&started, &JobRead::from(0))).is_ok());
        assert!(block_on(own.read_job(&log, &JobRead::from(0))).is_ok());
    }
    assert!(block_on(other.jobs()).unwrap().is_empty());
    for id in [&started, &log] {
        assert_eq!(block_on(other.read_job(id, &JobRead::from(0))).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(block_on(other.kill_job(id)).unwrap_err().kind(), ErrorKind::NotFound);
    }
    assert_eq!(
        block_on(Guarded::new(sandbox).jobs()).unwrap().len(),
        2,
        "without gates there is nothing to keep apart"
    );
}
