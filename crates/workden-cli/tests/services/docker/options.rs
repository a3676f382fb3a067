//! The options of a container, and that they are enforced.

use std::os::unix::fs::MetadataExt;

use bytes::Bytes;
use workden_core::{
    BackendExt, ErrorKind, Expect, Sandbox, VirtualPath,
    sandbox::{Enforcement, ExecuteRequest, Hint, IsolationLevel, LimitName, MountAccess, Wall},
};
use workden_sandboxes::{
    HostEnvironment,
    docker::{ContainerUser, DockerSandbox, Init, Privileges, RootAccess, WhenItEnds},
};

use crate::{
    docker::places::{BUSYBOX, PYTHON, container, daemon, docker, keepers, unique},
    processes::soon,
};

fn at(path: &str) -> VirtualPath {
    VirtualPath::parse(path).unwrap()
}

async fn said(sandbox: &dyn Sandbox, line: &str) -> String {
    sandbox.execute(&ExecuteRequest::shell(line)).await.unwrap().output.text().trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_callers_start_one_container() {
    let label = unique("many");
    let sandbox = container(BUSYBOX).label("workden-test.many", &label).build().unwrap();
    let calls = (0..20).map(|_| said(&sandbox, "echo ok"));
    assert!(futures_util::future::join_all(calls).await.iter().all(|said| said == "ok"));
    let found = docker(&["ps", "-aq", "--filter", &format!("label=workden-test.many={label}")]);
    assert_eq!(found.lines().count(), 1);
    assert_eq!(
        docker(&["ps", "-q", "--filter", &format!("label=workden-test.many={label}"), "--filter", "label=workden"]),
        found
    );
    sandbox.stop().await.unwrap();
    assert!(docker(&["ps", "-aq", "--filter", &format!("label=workden-test.many={label}")]).is_empty());
    assert_eq!(sandbox.directory().await.unwrap_err().kind(), ErrorKind::Gone);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_who_stops_waiting_leaves_no_half_made_container() {
    let label = unique("cancelled");
    let sandbox = container(BUSYBOX).label("workden-test.cancelled", &label).build().unwrap();
    for millis in [0, 5, 30, 100] {
        let _ = tokio::time::timeout(std::time::Duration::from_millis(millis), sandbox.start()).await;
    }
    assert_eq!(said(&sandbox, "echo ok").await, "ok");
    let filter = format!("label=workden-test.cancelled={label}");
    assert_eq!(docker(&["ps", "-aq", "--filter", &filter]).lines().count(), 1);
    sandbox.stop().await.unwrap();
    // Stopped while it starts.
    let early = container(BUSYBOX).label("workden-test.cancelled", &label).build().unwrap();
    let _ = tokio::time::timeout(std::time::Duration::from_millis(20), early.start()).await;
    early.stop().await.unwrap();
    assert!(docker(&["ps", "-aq", "--filter", &filter]).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_sandbox_takes_its_container_along() {
    let label = unique("dropped");
    let sandbox = container(BUSYBOX).label("workden-test.dropped", &label).build().unwrap();
    sandbox.start().await.unwrap();
    drop(sandbox);
    let filter = format!("label=workden-test.dropped={label}");
    soon("the container is still there", async || docker(&["ps", "-aq", "--filter", &filter]).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_is_not_renewed_ends_the_container() {
    let name = unique("lease");
    let sandbox = container(BUSYBOX).container_name(&name).when_it_ends(WhenItEnds::Remove);
    let sandbox = sandbox.lease(std::time::Duration::from_secs(1)).build().unwrap();
    sandbox.start().await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    assert_eq!(said(&sandbox, "echo held").await, "held", "a lease is held by the one who is connected");
    drop(sandbox);
    let filter = format!("name={name}");
    soon("the container is still there", async || docker(&["ps", "-aq", "--filter", &filter]).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_is_found_again_by_its_name_whatever_became_of_it() {
    let name = unique("named");
    let make = || container(BUSYBOX).container_name(&name).build().unwrap();
    let first = make();
    first.write_path(&at("/kept"), Bytes::from_static(b"x"), Expect::Anything).await.unwrap();
    let id = first.container_id().unwrap();
    drop(first);
    for what in ["running", "paused", "stopped", "killed"] {
        match what {
            "paused" => docker(&["pause", &name]),
            "stopped" => docker(&["stop", "-t", "2", &name]),
            "killed" => docker(&["kill", &name]),
            _ => String::new(),
        };
        let again = make();
        assert_eq!(said(&again, "cat /kept").await, "x", "{what}");
        assert_eq!(again.container_id().unwrap(), id, "{what}");
    }
    let last = make();
    last.start().await.unwrap();
    last.stop().await.unwrap();
    assert_eq!(docker(&["inspect", "--format", "{{.State.Running}}", &name]), "false", "a named one is kept");
    docker(&["rm", "-f", &name]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_that_is_not_ours_is_lent_a_keeper_and_left_as_it_was() {
    let name = unique("foreign");
    docker(&["run", "-d", "--name", &name, "--network", "none", "-w", "/srv", BUSYBOX, "sleep", "600"]);
    let sandbox = DockerSandbox::attach(daemon(), &name, keepers());
    assert_eq!(said(&sandbox, "pwd; echo there > here; cat /proc/1/comm").await, "/srv\nsleep");
    assert_eq!(sandbox.read_bytes(&at("/srv/here")).await.unwrap(), "there\n");
    let isolation = sandbox.isolation().await.unwrap();
    assert_eq!(isolation.level, IsolationLevel::Container);
    assert!(!isolation.walls.contains(&Wall::ProtectedKeeper));
    assert!(isolation.lacking.iter().any(|why| why.contains("commands can kill it")), "{isolation:?}");
    assert!(isolation.lacking.iter().any(|why| why.contains("usual capabilities")), "{isolation:?}");
    sandbox.stop().await.unwrap();
    assert_eq!(docker(&["inspect", "--format", "{{.State.Running}}", &name]), "true");
    assert_eq!(docker(&["exec", &name, "ls", "-A", "/tmp"]), "");
    assert_eq!(docker(&["top", &name]).lines().count(), 2, "nothing of ours runs there");
    docker(&["rm", "-f", &name]);

    // A read-only root, and an executable /tmp.
    let words = ["run", "-d", "--name", &name, "--read-only", "--tmpfs", "/tmp:exec", BUSYBOX, "sleep", "600"];
    docker(&words);
    let sandbox = DockerSandbox::attach(daemon(), &name, keepers());
    assert_eq!(said(&sandbox, "echo ok").await, "ok");
    sandbox.stop().await.unwrap();
    docker(&["rm", "-f", &name]);

    let error = DockerSandbox::attach(daemon(), &name, keepers()).start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_written_into_a_volume_belong_to_its_owner() {
    let files = tempfile::tempdir().unwrap();
    std::os::unix::fs::chown(files.path(), Some(48_231), Some(48_232)).unwrap();
    let sandbox = container(BUSYBOX).mount("/workspace", files.path(), MountAccess::ReadWrite).build().unwrap();
    assert_eq!(
        said(&sandbox, "id -u; id -g; touch by-command; echo $HOME; cat /proc/1/status | grep Uid")
            .await
            .lines()
            .next(),
        Some("48231")
    );
    sandbox.write_path(&at("/workspace/by-call"), Bytes::from_static(b"x"), Expect::Anything).await.unwrap();
    for name in ["by-command", "by-call"] {
        let owner = std::fs::metadata(files.path().join(name)).unwrap();
        assert_eq!((owner.uid(), owner.gid()), (48_231, 48_232), "{name}");
    }
    sandbox.stop().await.unwrap();
    let read_only = container(BUSYBOX).mount("/data", files.path(), MountAccess::ReadOnly).build().unwrap();
    assert_eq!(said(&read_only, "ls /data; touch /data/x 2>&1 | grep -c Read-only").await, "by-call\nby-command\n1");
    read_only.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_root_and_an_ordinary_user_still_have_a_place_to_work() {
    let user = ContainerUser::Ids { user: 48_231, group: 48_231 };
    let sandbox =
        container(PYTHON).root_access(RootAccess::ReadOnly).user(user).privileges(Privileges::None).build().unwrap();
    let line =
        "touch a /tmp/b && echo made; touch /usr/x 2>&1 | grep -c -i read-only; id -u; grep CapBnd /proc/self/status";
    assert_eq!(said(&sandbox, line).await, "made\n1\n48231\nCapBnd:\t0000000000000000");
    let isolation = sandbox.isolation().await.unwrap();
    assert!(isolation.lacking.is_empty(), "{isolation:?}");
    for wall in [Wall::ProtectedKeeper, Wall::NoCapabilities, Wall::NetworkNamespace, Wall::Seccomp] {
        assert!(isolation.walls.contains(&wall), "{wall:?} in {isolation:?}");
    }
    sandbox.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_hold_and_a_command_that_runs_into_one_is_told() {
    let sandbox = container(PYTHON).memory(64 << 20).cpus(0.5).pids(40).build().unwrap();
    let isolation = sandbox.isolation().await.unwrap();
    let held = |name| isolation.limits.iter().find(|limit| limit.limit == name).map(|limit| limit.value.as_str());
    assert_eq!((held(LimitName::Memory), held(LimitName::Processes)), (Some("64 MB"), Some("40")));
    assert_eq!(held(LimitName::Cpus), Some("0.5"));
    assert!(isolation.limits.iter().all(|limit| limit.enforcement == Enforcement::Cgroup));

    let eats = sandbox.execute(&ExecuteRequest::shell("exec python3 -c 'x = bytearray(200 << 20)'")).await.unwrap();
    assert_eq!(eats.ended.exit_code(), 137);
    assert_eq!(eats.limits_hit[0].sentence, "killed: memory limit 64 MB");
    // A busy machine may need longer to start them all.
    let mut is_hit = false;
    for seconds in [1, 10, 60] {
        let forks = format!("i=0; while [ $i -lt 100 ]; do sleep {seconds} & i=$((i+1)); done; wait");
        let forks = sandbox.execute(&ExecuteRequest::shell(forks)).await.unwrap();
        is_hit = is_hit || forks.limits_hit.iter().any(|hit| hit.limit == LimitName::Processes);
        // When its background processes have ended, new ones can start again.
        let next = async || {
            let next = sandbox.execute(&ExecuteRequest::shell("echo next")).await;
            next.is_ok_and(|next| next.output.text() == "next\n")
        };
        soon("there is no room for another command", next).await;
        if is_hit {
            break;
        }
    }
    assert!(is_hit, "no limit was hit");
    let usage = sandbox.usage().await.unwrap();
    assert!(usage.memory.unwrap() > 0 && usage.cpu.unwrap().as_micros() > 0 && usage.processes.unwrap() > 0);
    sandbox.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_daemons_own_init_is_told_as_what_it_costs() {
    let init =
        container(BUSYBOX).init(Init::OfDaemon).env("GREETING", "hi there").network_name("bridge").build().unwrap();
    assert_eq!(said(&init, "echo $GREETING").await, "hi there");
    let isolation = init.isolation().await.unwrap();
    assert!(isolation.lacking.iter().any(|why| why.contains("commands can kill it")), "{isolation:?}");
    assert!(isolation.lacking.iter().any(|why| why.contains("`bridge`")), "{isolation:?}");
    init.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_container_is_a_place_to_work() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(".gitconfig"), "[user]\n\tname = Ada\n").unwrap();
    let mut host = HostEnvironment::from_process();
    host.variables.insert("HOME".to_owned(), home.path().display().to_string());
    for (image, shell) in [(BUSYBOX, "sh"), (PYTHON, "bash")] {
        let sandbox = container(image).environment_of(host.clone()).env("UV_OFFLINE", "0").build().unwrap();
        assert_eq!(said(&sandbox, "echo $0 $PIP_RETRIES $UV_OFFLINE").await, format!("{shell} 1 0"));
        let config = "[user]\n\tname = \"Ada\"\n[include]\n\tpath = /etc/gitconfig";
        assert_eq!(said(&sandbox, "cat $GIT_CONFIG_SYSTEM").await, config);
        let failed = sandbox.execute(&ExecuteRequest::shell("echo Could not resolve host; false")).await.unwrap();
        assert_eq!(failed.hints, [Hint::NoNetwork]);
        sandbox.stop().await.unwrap();
    }
    let bridge = container(BUSYBOX).network_name("bridge").build().unwrap();
    assert_eq!(said(&bridge, "echo ${PIP_RETRIES-unset} ${GIT_CONFIG_SYSTEM-unset}").await, "unset unset");
    bridge.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_a_container_is_refused_before_the_daemon_is_asked() {
    for odd in [
        container(BUSYBOX).work_dir("relative"),
        container(BUSYBOX).work_dir("/"),
        container(BUSYBOX).work_dir("/a/../etc"),
        container(BUSYBOX).mount("/.workden/run", "/tmp", MountAccess::ReadWrite),
        container(BUSYBOX).tmpfs("/x,exec", 1),
        container(BUSYBOX).env("A=B", "c"),
        container(BUSYBOX).cpus(-1.0),
    ] {
        let error = odd.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
}
