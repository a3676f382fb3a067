//! The keeper as a program: how it is launched, and how it ends.

use std::{
    os::unix::net::UnixStream as StdStream,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use tokio::net::UnixStream;
use workden_core::{
    ErrorKind,
    sandbox::{ExecuteRequest, IsolationLevel, JobRequest, Sandbox},
};
use workden_wire::{Launch, LaunchTarget, Lifetime, PROTOCOL, RemoteSandbox, TokenHash, launch};

use crate::common::{environment, rounds, survivors, until};

/// A keeper in a process of its own.
pub(crate) struct Program<S = RemoteSandbox> {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) process: Child,
    pub(crate) sandbox: S,
}

impl Program {
    /// Starts a keeper that this process owns.
    pub(crate) async fn start() -> Self {
        Self::start_by(Command::new(env!("CARGO_BIN_EXE_workden-keeper"))).await
    }

    /// Starts a keeper that a shell owns.
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

/// A shell that starts its arguments in the background, and closes its own input.
const BY_ANOTHER: &str = "exec 3<&0; \"$0\" \"$@\" <&3 & exec 3<&- 0<&-; wait";

impl<S> Program<S> {
    /// Waits for the end of the process, and returns its exit code.
    pub(crate) async fn wait(&mut self) -> Option<i32> {
        exit_code(&mut self.process).await
    }
}

fn started(mut command: Command) -> (Child, UnixStream) {
    let (ours, theirs) = StdStream::pair().unwrap();
    let process = command.stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs))).spawn().unwrap();
    ours.set_nonblocking(true).unwrap();
    (process, UnixStream::from_std(ours).unwrap())
}

/// Returns a launch on this machine, treated as a container.
fn here(directory: &std::path::Path, lifetime: Lifetime) -> Launch {
    let target = LaunchTarget::Container { directory: directory.into(), environment: environment() };
    Launch { protocol: PROTOCOL, target, lifetime }
}

#[tokio::test]
async fn a_keeper_serves_files_and_commands_on_its_standard_input() {
    let mut program = Program::start().await;
    std::fs::write(program.directory.path().join("file"), "content").unwrap();
    let line = "cat file; pwd; ls /proc/$$/fd; true";
    let executed = program.sandbox.execute(&ExecuteRequest::shell(line)).await.unwrap();
    assert_eq!(
        executed.output.text(),
        format!("content{}\n0\n1\n2\n", program.directory.path().canonicalize().unwrap().display())
    );
    assert_eq!(program.sandbox.isolation().await.unwrap().level, IsolationLevel::Container);
    program.sandbox.stop().await.unwrap();
    assert_eq!(program.sandbox.jobs().await.unwrap_err().kind(), ErrorKind::Gone);
    drop(program.sandbox.clone());
    assert_eq!(program.wait().await, Some(0));
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
    assert_eq!(exit_code(&mut process).await, Some(0));
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

/// Starts a keeper with a lease. Returns it with a connection, and the directory with its socket.
async fn leased(ttl: Duration) -> (Child, RemoteSandbox, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let lifetime = Lifetime::Leased {
        ttl,
        socket: directory.path().join("socket"),
        token_sha256: TokenHash::of("secret").to_string(),
        directory: None,
    };
    let (process, mut stream) = started(Command::new(env!("CARGO_BIN_EXE_workden-keeper")));
    launch(&mut stream, &here(directory.path(), lifetime)).await.unwrap();
    (process, RemoteSandbox::connect(stream, None).await.unwrap(), directory)
}

async fn connect(directory: &tempfile::TempDir, token: &str) -> workden_core::Result<RemoteSandbox> {
    let stream = UnixStream::connect(directory.path().join("socket")).await.unwrap();
    RemoteSandbox::connect(stream, Some(token)).await
}

async fn exit_code(process: &mut Child) -> Option<i32> {
    let mut ended = None;
    until("the keeper ends", || {
        ended = process.try_wait().unwrap();
        ended.is_some()
    })
    .await;
    ended.and_then(|status| status.code())
}

#[tokio::test]
async fn a_leased_keeper_outlives_its_connections() {
    let (mut process, first, directory) = leased(Duration::from_secs(3600)).await;
    let job = first.start_job(&JobRequest::shell("sleep 300")).await.unwrap();
    drop(first);
    assert_eq!(connect(&directory, "wrong").await.unwrap_err().kind(), ErrorKind::PermissionDenied);
    let (second, third) = (connect(&directory, "secret").await.unwrap(), connect(&directory, "secret").await.unwrap());
    assert_eq!(second.jobs().await.unwrap()[0].pid, job.pid);
    third.stop().await.unwrap();
    assert_eq!(exit_code(&mut process).await, Some(0));
}

#[tokio::test]
async fn a_leased_keeper_ends_when_nothing_renews_its_lease() {
    let ttl = Duration::from_millis(700);
    let (mut process, client, _directory) = leased(ttl).await;
    let job = client.start_job(&JobRequest::shell("sleep 300")).await.unwrap();
    tokio::time::sleep(ttl * 2).await;
    assert_eq!(client.jobs().await.unwrap().len(), 1, "a connection renews the lease");
    drop(client);
    assert_eq!(exit_code(&mut process).await, Some(0));
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
    until("the keeper listens", || socket.exists()).await;
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
    until("the relay ends with the stream", || relay.try_wait().unwrap().is_some()).await;
    kill_process(Pid::from_child(&serving), Signal::TERM).unwrap();
    assert!(serving.wait().unwrap().success());
    assert!(!socket.exists());
}

/// Returns a number of kB in the status of a process.
fn kilobytes(process: &Child, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_flood_is_bounded_and_leaves_no_memory_behind() {
    let program = Program::start().await;
    program.sandbox.execute(&ExecuteRequest::shell("true")).await.unwrap();
    let before = kilobytes(&program.process, "RssAnon:");
    let bytes = rounds(2 << 30);
    for _ in 0..2 {
        let flood = ExecuteRequest::shell(format!("head -c {bytes} /dev/zero"));
        let executed = program.sandbox.execute(&flood).await.unwrap();
        assert_eq!(executed.output.left_out.unwrap().bytes, bytes as u64 - 100_000);
    }
    let peak = kilobytes(&program.process, "VmHWM:");
    assert!(peak < 100 * 1024, "{peak} kB at the most");
    // Idle threads end after a while. The allocator keeps a few buffers for the next call, however much came through.
    until("memory is given back", || kilobytes(&program.process, "RssAnon:") < before + 2048).await;
}

#[tokio::test]
async fn no_descriptor_is_left_open() {
    let program = Program::start().await;
    let open = || std::fs::read_dir(format!("/proc/{}/fd", program.process.id())).unwrap().count();
    program.sandbox.execute(&ExecuteRequest::shell("true")).await.unwrap();
    let before = open();
    for _ in 0..rounds(200) {
        program.sandbox.execute(&ExecuteRequest::shell("echo x")).await.unwrap();
    }
    let request = ExecuteRequest::shell("sleep 0.2");
    for executed in futures_util::future::join_all((0..60).map(|_| program.sandbox.execute(&request))).await {
        assert_eq!(executed.unwrap().exit_code(), 0);
    }
    until("all are closed", || open() <= before).await;
}
