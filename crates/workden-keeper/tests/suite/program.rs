//! The keeper as a program: how it is launched, and how it ends.

use std::{
    os::unix::net::UnixStream as StdStream,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use tokio::net::UnixStream;
use workden_core::{
    ErrorKind,
    sandbox::{ExecuteRequest, IsolationLevel, JobRequest, Sandbox},
};
use workden_wire::{Launch, LaunchTarget, Lifetime, PROTOCOL, RemoteSandbox, TokenHash, launch};

use crate::common::{environment, survivors};

/// A keeper in a process of its own.
pub(crate) struct Program<S = RemoteSandbox> {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) process: Child,
    pub(crate) sandbox: S,
}

impl Program {
    /// Started by this process, which owns it.
    pub(crate) async fn start() -> Self {
        Self::start_by(Command::new(env!("CARGO_BIN_EXE_workden-keeper"))).await
    }

    /// Started by a shell, which owns it.
    pub(crate) async fn start_by_another() -> Self {
        let mut shell = Command::new("sh");
        shell.args(["-c", BY_ANOTHER, env!("CARGO_BIN_EXE_workden-keeper")]);
        Self::start_by(shell).await
    }

    async fn start_by(command: Command) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (process, mut stream) = started(command);
        launch(&mut stream, &here(directory.path(), Lifetime::Owned)).await.unwrap();
        let sandbox = RemoteSandbox::connect(stream, None).await.unwrap();
        Self { directory, process, sandbox }
    }
}

/// A shell that starts what is named in the background, and lets go of its input.
const BY_ANOTHER: &str = "exec 3<&0; \"$0\" \"$@\" <&3 & exec 3<&- 0<&-; wait";

impl<S> Program<S> {
    /// Waits for the end of the process.
    pub(crate) async fn wait(&mut self, most: Duration) -> Option<i32> {
        let until = Instant::now() + most;
        while Instant::now() < until {
            if let Some(status) = self.process.try_wait().unwrap() {
                return Some(status.code().unwrap_or(-1));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        None
    }
}

fn started(mut command: Command) -> (Child, UnixStream) {
    let (ours, theirs) = StdStream::pair().unwrap();
    let process = command.stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs))).spawn().unwrap();
    ours.set_nonblocking(true).unwrap();
    (process, UnixStream::from_std(ours).unwrap())
}

/// This machine, as a container is taken: as it is.
fn here(directory: &std::path::Path, lifetime: Lifetime) -> Launch {
    let target = LaunchTarget::Container { directory: directory.into(), environment: environment() };
    Launch { protocol: PROTOCOL, target, lifetime }
}

#[tokio::test]
async fn a_keeper_serves_files_and_commands_on_its_standard_input() {
    let mut program = Program::start().await;
    std::fs::write(program.directory.path().join("file"), "content").unwrap();
    let executed = program.sandbox.execute(&ExecuteRequest::shell("cat file; pwd; ls /proc/$$/fd")).await.unwrap();
    assert_eq!(
        executed.output.text(),
        format!("content{}\n0\n1\n2\n", program.directory.path().canonicalize().unwrap().display())
    );
    assert_eq!(program.sandbox.isolation().await.unwrap().level, IsolationLevel::Container);
    program.sandbox.stop().await.unwrap();
    assert_eq!(program.sandbox.jobs().await.unwrap_err().kind(), ErrorKind::Gone);
    drop(program.sandbox.clone());
    assert_eq!(program.wait(Duration::from_secs(5)).await, Some(0));
}

#[tokio::test]
async fn on_the_host_files_are_below_the_root_and_commands_start_below_it() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("project")).unwrap();
    let target = LaunchTarget::Host { directory: root.join("project"), root: root.clone(), environment: environment() };
    let wanted = Launch { protocol: PROTOCOL, target, lifetime: Lifetime::Owned };
    let (mut process, mut stream) = started(Command::new(env!("CARGO_BIN_EXE_workden-keeper")));
    launch(&mut stream, &wanted).await.unwrap();
    let sandbox = RemoteSandbox::connect(stream, None).await.unwrap();
    assert_eq!(sandbox.isolation_at_start().level, IsolationLevel::None);
    assert_eq!(sandbox.directory().await.unwrap().as_str(), "/project");
    let executed = sandbox.execute(&ExecuteRequest::shell("pwd")).await.unwrap();
    assert_eq!(executed.output.text(), format!("{}\n", root.join("project").display()));
    drop(sandbox);
    assert_eq!(process.wait().unwrap().code(), Some(0));
}

#[tokio::test]
async fn a_command_that_stops_the_keeper_is_answered_when_it_ends() {
    let program = Program::start().await;
    let keeper = program.process.id();
    let stops = ExecuteRequest::shell(format!("echo stopping; kill -STOP {keeper}"));
    for _ in 0..5 {
        assert_eq!(program.sandbox.execute(&stops).await.unwrap().output.text(), "stopping\n");
    }
}

#[tokio::test]
async fn a_command_that_cannot_be_had_says_why() {
    let program = Program::start().await;
    let keeper = Some(Pid::from_child(&program.process));
    let none = Rlimit { current: Some(3), maximum: Some(3) };
    prlimit(keeper, Resource::Nofile, none).unwrap();
    let told = program.sandbox.start_job(&JobRequest::shell("sleep 300")).await.unwrap_err();
    assert_eq!(told.kind(), ErrorKind::Busy, "{told}");
}

#[tokio::test]
async fn a_launch_that_makes_no_sense_is_refused_in_words() {
    let nowhere = std::path::Path::new("no/such/directory");
    let other_version = Launch { protocol: PROTOCOL + 1, ..here(nowhere, Lifetime::Owned) };
    for (wanted, kind) in
        [(here(nowhere, Lifetime::Owned), ErrorKind::InvalidPath), (other_version, ErrorKind::Unsupported)]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workden-keeper"));
        command.stderr(Stdio::null());
        let (mut process, mut stream) = started(command);
        let refused = launch(&mut stream, &wanted).await.unwrap_err();
        assert_eq!(refused.kind(), kind, "{refused}");
        assert!(!refused.to_string().contains("no/such"), "{refused}");
        assert_eq!(process.wait().unwrap().code(), Some(1));
    }
}

#[tokio::test]
async fn a_leased_keeper_outlives_a_connection_but_not_its_lease() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("socket");
    let lifetime = Lifetime::Leased {
        ttl: Duration::from_millis(700),
        socket: socket.clone(),
        token_sha256: TokenHash::of("secret").to_string(),
        directory: None,
    };
    let (mut process, mut stream) = started(Command::new(env!("CARGO_BIN_EXE_workden-keeper")));
    launch(&mut stream, &here(directory.path(), lifetime)).await.unwrap();
    let first = RemoteSandbox::connect(stream, None).await.unwrap();
    let job = first.start_job(&JobRequest::shell("sleep 300")).await.unwrap();
    drop(first);
    tokio::time::sleep(Duration::from_millis(200)).await;

    let connect =
        async |token: &str| RemoteSandbox::connect(UnixStream::connect(&socket).await.unwrap(), Some(token)).await;
    assert_eq!(connect("wrong").await.unwrap_err().kind(), ErrorKind::PermissionDenied);
    let (second, third) = (connect("secret").await.unwrap(), connect("secret").await.unwrap());
    assert_eq!(second.jobs().await.unwrap()[0].pid, job.pid);
    tokio::time::sleep(Duration::from_millis(1000)).await;
    assert_eq!(third.jobs().await.unwrap().len(), 1, "a connection renews the lease");
    drop((second, third));
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert_eq!(process.try_wait().unwrap().map(|status| status.code()), Some(Some(0)));
    assert!(!std::path::Path::new(&format!("/proc/{}", job.pid)).exists(), "{:?}", survivors("sleep"));
}

#[tokio::test]
async fn in_a_container_a_relay_leads_to_the_socket() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("socket");
    let keeper = env!("CARGO_BIN_EXE_workden-keeper");
    let hash = TokenHash::of("secret").to_string();
    let mut serving = Command::new(keeper)
        .args(["serve", "--token-sha256", &hash, "--socket", socket.to_str().unwrap()])
        .args(["--directory", directory.path().to_str().unwrap()])
        .spawn()
        .unwrap();
    while !socket.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(socket.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let (ours, theirs) = StdStream::pair().unwrap();
    let theirs = std::os::fd::OwnedFd::from(theirs);
    let mut relay = Command::new(keeper)
        .args(["connect", "--socket", socket.to_str().unwrap()])
        .stdin(Stdio::from(theirs.try_clone().unwrap()))
        .stdout(Stdio::from(theirs))
        .spawn()
        .unwrap();
    ours.set_nonblocking(true).unwrap();
    let sandbox = RemoteSandbox::connect(UnixStream::from_std(ours).unwrap(), Some("secret")).await.unwrap();
    assert_eq!(sandbox.isolation_at_start().level, IsolationLevel::Container);
    let executed = sandbox.execute(&ExecuteRequest::shell("echo through; pwd")).await.unwrap();
    assert_eq!(executed.output.text(), format!("through\n{}\n", directory.path().display()));
    drop(sandbox);
    let relayed = async {
        while relay.try_wait().unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), relayed).await.expect("the relay ends with the stream");
    kill_process(Pid::from_child(&serving), Signal::TERM).unwrap();
    assert!(serving.wait().unwrap().success());
    assert!(!socket.exists());
}

#[tokio::test]
async fn a_flood_leaves_no_memory_behind() {
    let program = Program::start().await;
    let anonymous = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", program.process.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap()
    };
    program.sandbox.execute(&ExecuteRequest::shell("true")).await.unwrap();
    let before = anonymous();
    for _ in 0..3 {
        let executed = program.sandbox.execute(&ExecuteRequest::shell("head -c 300000000 /dev/zero")).await.unwrap();
        assert_eq!(executed.output.left_out.unwrap().bytes, 300_000_000 - 100_000);
    }
    // Threads that have nothing to do end after a while, and a busy machine takes its time. What the
    // allocator keeps for the next call is a few buffers, whatever came through.
    let mut after = anonymous();
    for _ in 0..50 {
        if after < before + 2048 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        after = anonymous();
    }
    panic!("{before} kB before, {after} kB after");
}
