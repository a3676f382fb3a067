//! Sessions in a cluster: any process finds the pod of a session, and one pod is created however many ask for it.

use std::time::Duration;

use futures_util::future::try_join_all;
use workden_core::{ErrorKind, Sandbox, sandbox::ExecuteRequest};
use workden_sandboxes::{LaunchRequest, Launcher, SessionId, kubernetes::KubernetesLauncher};

use crate::places::{BUSYBOX, kubectl, pod};

fn launcher(owner: &str) -> KubernetesLauncher {
    KubernetesLauncher::new(pod(BUSYBOX), owner).unwrap()
}

fn order(session: &str) -> LaunchRequest {
    LaunchRequest { session: Some(session.parse().unwrap()), ..LaunchRequest::default() }
}

fn pods_of(owner: &str) -> usize {
    let label = format!("workden.dev/owner={owner}");
    kubectl(&["get", "pods", "--selector", &label, "--output", "name"]).lines().count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_that_create_a_session_at_once_share_one_pod() {
    let owner = format!("shared-{}", std::process::id());
    // Each launcher has connections of its own, like a process.
    let launchers: Vec<KubernetesLauncher> = (0..4).map(|_| launcher(&owner)).collect();
    let wanted = order("user_1");
    let all = try_join_all(launchers.iter().map(|launcher| launcher.create(&wanted))).await.unwrap();
    assert_eq!(pods_of(&owner), 1);
    all[0].sandbox.execute(&ExecuteRequest::shell("echo one > note")).await.unwrap();
    for launched in &all {
        let seen = launched.sandbox.execute(&ExecuteRequest::shell("cat note")).await.unwrap();
        assert_eq!(seen.output.text(), "one\n");
    }
    // Ids that look alike are other sessions.
    let other = launchers[0].create(&order("user-1")).await.unwrap();
    assert_eq!((pods_of(&owner), other.name != all[0].name), (2, true));

    let found = launcher(&owner).find().await.unwrap();
    let mut sessions: Vec<SessionId> = found.iter().filter_map(|found| found.session.clone()).collect();
    sessions.sort();
    assert_eq!(sessions.iter().map(SessionId::as_str).collect::<Vec<_>>(), ["user-1", "user_1"]);
    let first = found.iter().find(|found| found.name == all[0].name).unwrap();
    let adopted = launcher(&owner).adopt(first).await.unwrap();
    let seen = adopted.sandbox.execute(&ExecuteRequest::shell("cat note")).await.unwrap();
    assert_eq!(seen.output.text(), "one\n");

    let different = KubernetesLauncher::new(pod(BUSYBOX).env("A", "b"), &owner).unwrap();
    assert_eq!(different.create(&order("user_1")).await.unwrap_err().kind(), ErrorKind::Conflict);
    for found in &found {
        launchers[0].remove(&found.name).await.unwrap();
    }
    launchers[0].remove("workden-missing").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_pod_has_ended_gets_a_new_one() {
    let owner = format!("again-{}", std::process::id());
    let launcher = launcher(&owner);
    let wanted = LaunchRequest { idle: Some(Duration::from_secs(1)), ..order("user") };
    let first = launcher.create(&wanted).await.unwrap();
    let uid = || kubectl(&["get", "pod", &first.name, "--output", "jsonpath={.metadata.uid}"]);
    let before = uid();
    // Its keeper exits when no client has been connected for the lease.
    drop(first.sandbox);
    kubectl(&["wait", "pod", &first.name, "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s"]);
    let second = launcher.create(&wanted).await.unwrap();
    assert_eq!(second.sandbox.execute(&ExecuteRequest::shell("true")).await.unwrap().exit_code(), 0);
    assert_ne!(uid(), before);
    launcher.remove(&second.name).await.unwrap();
}
