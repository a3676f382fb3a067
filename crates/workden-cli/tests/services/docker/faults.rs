//! Faults of containers and of the daemon: each gives a clear error within a deadline.

use bytes::Bytes;
use tokio::time::timeout;
use workden_core::{
    BackendExt, ErrorKind, Expect, Sandbox, VirtualPath,
    sandbox::{ExecuteRequest, JobRequest, JobState, MountAccess},
};
use workden_sandboxes::docker::{ContainerKeepers, Daemon, DockerSandbox, DockerSandboxBuilder};

use crate::{
    docker::{
        places::{BUSYBOX, container, docker, keepers, unique},
        proxy::{Proxy, Way},
    },
    processes::{PATIENCE, soon},
};

fn at(path: &str) -> VirtualPath {
    VirtualPath::parse(path).unwrap()
}

fn sh(line: &str) -> ExecuteRequest {
    ExecuteRequest::shell(line)
}

async fn write(sandbox: &dyn Sandbox, path: &str, text: &'static str) {
    sandbox.write_path(&at(path), Bytes::from_static(text.as_bytes()), Expect::Anything).await.unwrap();
}

/// Returns a container that is reached through a proxy.
fn through(proxy: &Proxy) -> DockerSandboxBuilder {
    DockerSandbox::builder().daemon(proxy.daemon()).image(BUSYBOX).keepers(keepers())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_container_is_a_sandbox_that_is_gone_and_files_in_volumes_are_kept() {
    let files = tempfile::tempdir().unwrap();
    let sandbox = container(BUSYBOX).mount("/workspace", files.path(), MountAccess::ReadWrite).build().unwrap();
    write(&sandbox, "/workspace/kept", "x").await;
    let name = sandbox.container_name().unwrap();
    let request = sh("touch started; sleep 3600");
    let running = timeout(PATIENCE, sandbox.execute(&request));
    let killing = async {
        soon("the command does not start", async || files.path().join("started").exists()).await;
        docker(&["kill", &name]);
    };
    let (ended, ()) = tokio::join!(running, killing);
    let error = ended.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Gone, "{error}");
    assert!(error.sentence().starts_with("the sandbox is gone"), "{error}");
    let later = sandbox.execute(&sh("true")).await.unwrap_err();
    assert_eq!(later.kind(), ErrorKind::Gone, "{later}");
    assert_eq!(std::fs::read_to_string(files.path().join("kept")).unwrap(), "x");
    sandbox.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_container_says_so_and_goes_on_when_it_may() {
    let sandbox = container(BUSYBOX).build().unwrap();
    sandbox.start().await.unwrap();
    let name = sandbox.container_name().unwrap();
    docker(&["pause", &name]);
    let error = timeout(PATIENCE, sandbox.execute(&sh("true"))).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(error.to_string().contains("paused") && error.to_string().contains("docker unpause"), "{error}");
    docker(&["unpause", &name]);
    let done = sandbox.execute(&sh("echo on")).await.unwrap();
    assert_eq!(done.output.text(), "on\n");
    // A paused container can be ended too.
    docker(&["pause", &name]);
    sandbox.stop().await.unwrap();
    assert!(docker(&["ps", "-aq", "--filter", &format!("name={name}")]).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_breaks_is_made_anew_and_jobs_go_on() {
    let proxy = Proxy::new().await;
    let sandbox = through(&proxy).build().unwrap();
    write(&sandbox, "/workspace/a", "before").await;
    let job = sandbox.start_job(&JobRequest::shell("sleep 300")).await.unwrap();
    for _ in 0..3 {
        proxy.sever();
        assert_eq!(sandbox.read_bytes(&at("/workspace/a")).await.unwrap(), "before");
    }
    let jobs = sandbox.jobs().await.unwrap();
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].id, job.id);
    assert_eq!(jobs[0].state, JobState::Running);
    sandbox.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_whose_stream_breaks_is_not_run_again() {
    let proxy = Proxy::new().await;
    let sandbox = through(&proxy).build().unwrap();
    sandbox.start().await.unwrap();
    let request = sh("echo once >> /workspace/ran; sleep 3600");
    let running = sandbox.execute(&request);
    let severing = async {
        let has_run = async || sandbox.read_bytes(&at("/workspace/ran")).await.is_ok_and(|read| read == "once\n");
        soon("the command does not start", has_run).await;
        proxy.sever();
    };
    let (ended, ()) = tokio::join!(running, severing);
    let error = ended.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    assert!(error.to_string().contains("still there"), "{error}");
    assert_eq!(sandbox.read_bytes(&at("/workspace/ran")).await.unwrap(), "once\n");
    sandbox.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_that_is_cut_without_a_word_is_noticed_and_used_again_when_it_is_back() {
    let proxy = Proxy::new().await;
    let sandbox = through(&proxy).build().unwrap();
    write(&sandbox, "/workspace/a", "x").await;
    proxy.set(Way::Dead);
    let error = timeout(PATIENCE, sandbox.read_bytes(&at("/workspace/a"))).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    proxy.set(Way::Open);
    proxy.sever();
    assert_eq!(sandbox.read_bytes(&at("/workspace/a")).await.unwrap(), "x");
    sandbox.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_missing_is_named_and_nothing_is_left_of_the_attempt() {
    let nowhere = Daemon::at("tcp://127.0.0.1:1").unwrap();
    let none = DockerSandbox::builder().daemon(nowhere).image(BUSYBOX).keepers(keepers()).build().unwrap();
    let error = none.start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    assert!(error.to_string().contains("systemctl start docker"), "{error}");

    let error = container("workden-test/no-such-image:1").build().unwrap().start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    assert!(error.sentence().contains("workden-test/no-such-image:1"), "{error}");

    let name = unique("faults");
    let odd = container(BUSYBOX).container_name(&name).oci_runtime("no-such-runtime").build().unwrap();
    let error = odd.start().await.unwrap_err();
    assert!(error.sentence().contains("no-such-runtime"), "{error}");
    let missing = container(BUSYBOX).container_name(&name).mount("/data", "/no/such/directory", MountAccess::ReadOnly);
    let error = missing.build().unwrap().start().await.unwrap_err();
    assert_eq!(error.sentence(), "cannot mount `/data`: no such file or directory");
    assert!(docker(&["ps", "-aq", "--filter", &format!("name={name}")]).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_an_error_and_the_sandbox_goes_on() {
    let sandbox = container(BUSYBOX).tmpfs("/workspace/small", 1 << 20).build().unwrap();
    let full = sandbox.execute(&sh("dd if=/dev/zero of=/workspace/small/all bs=64k 2>&1")).await.unwrap();
    assert!(full.output.text().contains("No space left"), "{}", full.output.text());
    let content = Bytes::from(vec![b'x'; 64 * 1024]);
    let error = sandbox.write_path(&at("/workspace/small/more"), content, Expect::Anything).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoSpace, "{error}");
    sandbox.execute(&sh("rm /workspace/small/all")).await.unwrap();
    write(&sandbox, "/workspace/small/more", "fits").await;
    sandbox.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_keeper_that_is_killed_from_outside_is_a_sandbox_that_is_gone() {
    let sandbox = container(BUSYBOX).build().unwrap();
    sandbox.start().await.unwrap();
    let pid = docker(&["inspect", "--format", "{{.State.Pid}}", &sandbox.container_id().unwrap()]);
    // From inside, the keeper cannot be killed: it is the first process of the container.
    let tried = sandbox.execute(&sh("kill -9 1; kill -TERM 1; sleep 0.2; echo still")).await.unwrap();
    assert_eq!(tried.output.text(), "still\n");
    let killed = std::process::Command::new("kill").args(["-9", &pid]).status().unwrap();
    assert!(killed.success());
    let error = timeout(PATIENCE, sandbox.execute(&sh("true"))).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Gone, "{error}");
}

/// What a process leaves that was killed while it filled the volume, or shows while it still does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_keeper_volume_that_is_not_filled_is_filled_again() {
    // Another content has a volume of its own, which no other test uses.
    let directory = tempfile::tempdir().unwrap();
    let keeper = directory.path().join("workden-keeper");
    let mut content = std::fs::read(std::env::var_os("WORKDEN_KEEPER").unwrap()).unwrap();
    content.extend(unique("keeper").into_bytes());
    std::fs::write(&keeper, content).unwrap();
    let build = || container(BUSYBOX).keepers(ContainerKeepers::at(keeper.clone())).build().unwrap();
    let first = build();
    first.start().await.unwrap();
    let volume = "{{range .Mounts}}{{if eq .Destination \"/.workden/bin\"}}{{.Name}}{{end}}{{end}}";
    let volume = docker(&["inspect", "--format", volume, &first.container_name().unwrap()]);
    first.stop().await.unwrap();
    for damage in ["chmod 0 /v/keeper", ": > /v/keeper", "rm /v/keeper"] {
        docker(&["run", "--rm", "--volume", &format!("{volume}:/v"), BUSYBOX, "sh", "-c", damage]);
        let sandbox = build();
        let done = sandbox.execute(&sh("echo on")).await.unwrap_or_else(|error| panic!("after `{damage}`: {error}"));
        assert_eq!(done.output.text(), "on\n");
        sandbox.stop().await.unwrap();
    }
    docker(&["volume", "rm", &volume]);
}
