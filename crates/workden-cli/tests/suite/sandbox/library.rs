//! The sandbox builders of the library, with this binary as the keeper.

use workden_core::{
    BackendExt, ErrorKind, Expect, Sandbox, VirtualPath,
    sandbox::{Ended, ExecuteRequest, IsolationLevel, JobRead, JobRequest},
};
use workden_sandboxes::{HostEnvironment, HostSandbox, KeeperProgram, LinuxSandbox};

use crate::{
    processes::{PATIENCE, is_running, mark, soon},
    project::Project,
};

fn keeper() -> KeeperProgram {
    KeeperProgram::at(env!("CARGO_BIN_EXE_workden"))
}

async fn both(project: &Project) -> Vec<Box<dyn Sandbox>> {
    let host = HostEnvironment::from_process();
    let linux = LinuxSandbox::builder().keeper(keeper()).root(project.path());
    let on_host = HostSandbox::builder().root(project.path()).keeper(keeper()).environment_of(host);
    vec![Box::new(linux.start().await.unwrap()), Box::new(on_host.start().await.unwrap())]
}

fn path(typed: &str) -> VirtualPath {
    VirtualPath::parse(typed).unwrap()
}

#[tokio::test]
async fn files_and_commands_see_one_tree() {
    let project = Project::new();
    for sandbox in both(&project).await {
        let directory = sandbox.directory().await.unwrap();
        let file = path(&format!("{directory}/{:?}.txt", sandbox.isolation().await.unwrap().level));
        sandbox.write_path(&file, "written\n".into(), Expect::Absent).await.unwrap();
        let read = sandbox.execute(&ExecuteRequest::shell("cat ./*.txt && rm ./*.txt")).await.unwrap();
        assert_eq!((read.output.text().as_str(), read.ended), ("written\n", Ended::Exited(0)), "{sandbox:?}");
        let gone = sandbox.read_bytes(&file).await.unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound);
    }
}

#[tokio::test]
async fn jobs_outlive_their_call_and_end_with_the_sandbox() {
    let project = Project::new();
    for sandbox in both(&project).await {
        let mark = mark();
        let job = sandbox.start_job(&JobRequest::shell(format!("echo started; exec sleep {mark}"))).await.unwrap();
        let read = JobRead::from(0).wait(PATIENCE);
        let output = sandbox.read_job(&job.id, &read).await.unwrap();
        assert_eq!(output.text, "started\n");
        soon("the job does not go on", async || is_running(&mark)).await;
        sandbox.stop().await.unwrap();
        assert!(!is_running(&mark), "the job outlived {sandbox:?}");
        let after = sandbox.execute(&ExecuteRequest::shell("true")).await.unwrap_err();
        assert_eq!(after.kind(), ErrorKind::Gone, "{after}");
        sandbox.stop().await.unwrap();
    }
}

#[tokio::test]
async fn what_isolates_and_what_does_not_is_said() {
    let project = Project::new();
    let mut levels = Vec::new();
    for sandbox in both(&project).await {
        let isolation = sandbox.isolation().await.unwrap();
        assert_eq!(isolation.walls.is_empty(), isolation.level == IsolationLevel::None, "{isolation:?}");
        levels.push(isolation.level);
    }
    assert_eq!(levels, [IsolationLevel::Namespaces, IsolationLevel::None]);
}

#[tokio::test]
async fn an_ephemeral_workspace_is_empty_and_bounded() {
    let sandbox = LinuxSandbox::builder().keeper(keeper()).ephemeral(1024 * 1024).start().await.unwrap();
    let listed = sandbox.execute(&ExecuteRequest::shell("pwd; ls -A; head -c 2000000 /dev/zero > big")).await.unwrap();
    assert!(listed.output.text().starts_with("/workspace\n"), "{listed:?}");
    assert!(listed.output.text().contains("No space left"), "{listed:?}");
}

#[tokio::test]
async fn what_is_no_keeper_is_told_and_not_waited_for() {
    let missing = LinuxSandbox::builder().start().await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(missing.hint_text().unwrap().contains("workden::init();"), "{missing}");
    for (program, kind, words) in [
        ("/no/such/keeper", ErrorKind::NotFound, "the keeper cannot be started"),
        ("/bin/false", ErrorKind::Gone, "the keeper ended before it was ready (exit status: 1)"),
        ("/bin/true", ErrorKind::Gone, "the keeper ended before it was ready (exit status: 0)"),
    ] {
        let starting = HostSandbox::builder().root("/").keeper(KeeperProgram::at(program)).start();
        let error = tokio::time::timeout(PATIENCE, starting).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.sentence().starts_with(words), "{error}");
    }
}

#[tokio::test]
async fn the_keepers_own_refusal_comes_through() {
    let error = LinuxSandbox::builder().keeper(keeper()).root("/no/such/place").start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.sentence().contains("`/workspace`") && error.hint_text().is_some(), "{error}");
}
