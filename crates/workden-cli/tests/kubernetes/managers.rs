//! Managers that share the sessions of a cluster: in one process, in several, and in processes that are killed.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use futures_util::future::{join_all, try_join_all};
use serde_json::json;
use workden_core::sandbox::ExecuteRequest;
use workden_sandboxes::{LaunchRequest, Launcher, SessionId, kubernetes::KubernetesLauncher};
use workden_sessions::{ClusterStore, Opened, SessionManager, SessionManagerBuilder, SessionOptions};

use crate::places::{BUSYBOX, kubectl, pod};

/// What a process of another test does, as words.
const DOING: &str = "WORKDEN_TEST_MANAGER";

fn builder(owner: &str) -> SessionManagerBuilder {
    // Small enough for many on one node.
    let resources = json!({"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "128Mi"}});
    let small = json!({"spec": {"containers": [{"name": "workden", "resources": resources}]}});
    let template = pod(BUSYBOX).pod_template(serde_json::from_value(small).unwrap());
    let launcher = KubernetesLauncher::new(template, owner).unwrap();
    SessionManager::builder(launcher.clone()).store(ClusterStore::new(launcher))
}

async fn manager(owner: &str) -> SessionManager {
    builder(owner).start().await.unwrap()
}

fn id(name: &str) -> SessionId {
    name.parse().unwrap()
}

fn idle_after(idle: Duration) -> SessionOptions {
    SessionOptions { idle: Some(idle), ..SessionOptions::default() }
}

/// Returns the names of what exists of an owner.
fn existing(what: &str, owner: &str) -> Vec<String> {
    let label = format!("workden.dev/owner={owner}");
    let names = kubectl(&["get", what, "--selector", &label, "--output", "name"]);
    names.lines().map(str::to_owned).collect()
}

/// Removes everything of an owner when a test ends, also when it fails.
struct Owner(String);

impl Owner {
    fn new(test: &str) -> Self {
        Self(format!("{test}-{}", std::process::id()))
    }

    fn has(&self, pods: usize, leases: usize) {
        let found = (existing("pods", &self.0), existing("leases", &self.0));
        assert_eq!((found.0.len(), found.1.len()), (pods, leases), "{found:?}");
    }

    /// Waits until nothing is left, and fails when that takes too long.
    fn has_nothing_soon(&self) {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(40) {
            if existing("pods,leases", &self.0).is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        panic!("left: {:?}", existing("pods,leases", &self.0));
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let label = format!("workden.dev/owner={}", self.0);
        kubectl(&["delete", "pods,leases", "--selector", &label, "--wait=false"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn managers_that_open_a_session_at_once_share_it() {
    let owner = Owner::new("share");
    let managers = join_all((0..3).map(|_| manager(&owner.0))).await;
    let asked: Vec<SessionId> = vec![id("user_1"), id("user-1")];
    let mut sessions = Vec::new();
    for id in &asked {
        let asking = managers.iter().map(|manager| manager.get_or_create(id, None));
        sessions.extend(try_join_all(asking).await.unwrap());
    }
    owner.has(2, 2);
    let new = sessions.iter().filter(|session| session.opened() == Opened::New).count();
    assert_eq!(new, 2, "each was created once");
    sessions[0].execute(&ExecuteRequest::shell("echo one > note")).await.unwrap();
    for session in sessions.iter().filter(|session| *session.id() == asked[0]) {
        assert_eq!(session.execute(&ExecuteRequest::shell("cat note")).await.unwrap().output.text(), "one\n");
    }
    assert_eq!(managers[2].list_stored().await.unwrap(), [id("user-1"), id("user_1")]);
    // A manager that goes away leaves the sessions to the others.
    assert!(managers[0].shutdown(Duration::from_secs(5)).await.failed.is_empty());
    owner.has(2, 2);
    // One that a manager releases is gone for all, and opened again by the next.
    assert!(managers[1].release(&asked[0]).await.unwrap());
    // An answer of its keeper counts for a second.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let again = managers[2].get_or_create(&asked[0], None).await.unwrap();
    assert_eq!(again.execute(&ExecuteRequest::shell("ls")).await.unwrap().output.text(), "");
    for id in &asked {
        assert!(managers[2].release(id).await.unwrap());
    }
    owner.has_nothing_soon();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_manager_ends_an_idle_session_and_none_ends_one_in_use() {
    let owner = Owner::new("idle");
    let (ours, theirs) = (manager(&owner.0).await, manager(&owner.0).await);
    let session = ours.get_or_create_with(&id("a"), idle_after(Duration::from_secs(4))).await.unwrap();
    // A command that runs longer than that is use.
    let running = tokio::spawn({
        let session = session.clone();
        async move { session.execute(&ExecuteRequest::shell("sleep 8; echo done")).await }
    });
    for _ in 0..7 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(theirs.cleanup_idle(None).await, 0);
    }
    assert_eq!(running.await.unwrap().unwrap().output.text(), "done\n");
    // The other manager is still connected, so the keeper does not end by itself.
    drop(session);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(theirs.cleanup_idle(None).await, 0);
    let began = Instant::now();
    while theirs.cleanup_idle(None).await == 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "never idle");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    owner.has_nothing_soon();
    drop(ours);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spare_pods_are_shared_and_each_is_claimed_once() {
    let owner = Owner::new("spare");
    let managers = try_join_all((0..2).map(|_| builder(&owner.0).spares(3).start())).await.unwrap();
    wait_for_spares(&owner, 3);
    owner.has(3, 0);
    let ids: Vec<SessionId> = (0..3).map(|nth| id(&format!("user-{nth}"))).collect();
    let asking = managers.iter().flat_map(|manager| ids.iter().map(|id| manager.get_or_create(id, None)));
    let sessions = try_join_all(asking).await.unwrap();
    let mut pods: Vec<&str> = sessions.iter().map(|session| session.name()).collect();
    pods.sort_unstable();
    pods.dedup();
    assert_eq!(pods.len(), 3, "{sessions:?}");
    for session in &sessions {
        assert_eq!(session.execute(&ExecuteRequest::shell("echo hi")).await.unwrap().output.text(), "hi\n");
    }
    assert_eq!(existing("leases", &owner.0).len(), 3);
    wait_for_spares(&owner, 3);
    for id in &ids {
        managers[0].release(id).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reaper_leaves_pods_alone_whose_record_is_elsewhere() {
    let owner = Owner::new("elsewhere");
    let launcher = KubernetesLauncher::new(pod(BUSYBOX), &owner.0).unwrap();
    let idle = Some(Duration::from_secs(1));
    let made =
        launcher.create(&LaunchRequest { session: Some(id("a")), idle, ..LaunchRequest::default() }).await.unwrap();
    drop(made.sandbox);
    kubectl(&["wait", "pod", &made.name, "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s"]);
    assert_eq!(manager(&owner.0).await.cleanup_idle(None).await, 0);
    owner.has(1, 0);
}

fn wait_for_spares(owner: &Owner, ready: usize) {
    let began = Instant::now();
    let label = format!("workden.dev/owner={},workden.dev/spare=ready", owner.0);
    while kubectl(&["get", "pods", "--selector", &label, "--output", "name"]).lines().count() != ready {
        assert!(began.elapsed() < Duration::from_secs(90), "no {ready} spare pods: {:?}", existing("pods", &owner.0));
        std::thread::sleep(Duration::from_millis(300));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_that_differ_by_ten_minutes_end_no_session_in_use() {
    let owner = Owner::new("clock");
    let here = manager(&owner.0).await;
    // Not earlier: the certificates of a new cluster would not be valid yet.
    let wrong = "+10m";
    // It opens a session, ends idle ones, and says how many.
    let mut other = process(&owner.0, &format!("hold there 60 {wrong}"), Some(wrong));
    let mut said = BufReader::new(other.stdout.take().unwrap()).lines();
    let mut next = || loop {
        let line = said.next().unwrap().unwrap();
        if let Some(word) = line.strip_prefix("manager: ") {
            return word.to_owned();
        }
    };
    assert_eq!(next(), "opened");
    assert_eq!(here.cleanup_idle(None).await, 0, "the clock of the other is {wrong}");
    here.get_or_create_with(&id("here"), idle_after(Duration::from_secs(60))).await.unwrap();
    drop(other.stdin.take());
    assert_eq!(next(), "ended 0", "its clock is {wrong}");
    assert!(other.wait().unwrap().success());
    owner.has(2, 2);
    for session in ["here", "there"] {
        here.release(&id(session)).await.unwrap();
    }
    owner.has_nothing_soon();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_managers_leave_one_pod_for_each_session_and_nothing_after_the_reaper() {
    let setting = |name: &str, usual: u64| std::env::var(name).map_or(usual, |value| value.parse().unwrap());
    let (ids, calls) = (setting("WORKDEN_TEST_SESSIONS", 8), setting("WORKDEN_TEST_OPENINGS", 45));
    let owner = Owner::new("killed");
    let mut killed = 0;
    let mut left = [calls / 3; 3];
    let mut processes: Vec<Option<Counted>> = (0..3).map(|_| None).collect();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    while left.iter().any(|left| *left > 0) {
        for (nth, process) in processes.iter_mut().enumerate() {
            if left[nth] > 0 && process.is_none() {
                let seed = calls * 7 + left[nth] * 3 + nth as u64;
                *process = Some(Counted::start(&owner.0, &format!("churn {seed} {ids} {}", left[nth])));
            }
        }
        std::thread::sleep(Duration::from_millis(400));
        for (nth, process) in processes.iter_mut().enumerate() {
            let Some(running) = process else { continue };
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let ended = running.child.try_wait().unwrap();
            let kills = ended.is_none() && (random >> 33).is_multiple_of(8);
            if kills {
                running.child.kill().unwrap();
                running.child.wait().unwrap();
                killed += 1;
            }
            if kills || ended.is_some() {
                let opened = process.take().unwrap().count();
                assert!(kills || ended.is_some_and(|status| status.success()), "a manager failed: {opened}");
                left[nth] = left[nth].saturating_sub(opened.max(u64::from(!kills)));
            }
        }
        let pods = existing("pods", &owner.0);
        assert!(pods.len() <= usize::try_from(ids).unwrap(), "{pods:?}");
    }
    say(&format!("{calls} openings of {ids} sessions, {killed} managers killed"));
    let reaper = manager(&owner.0).await;
    let found = reaper.list_stored().await.unwrap();
    // Every pod has a session that is found by its id.
    let opened = join_all(found.iter().map(|id| reaper.get_or_create(id, None))).await;
    assert!(opened.iter().all(Result::is_ok), "{opened:?}");
    drop(opened);
    for id in &found {
        assert!(reaper.release(id).await.unwrap());
    }
    owner.has_nothing_soon();
    assert!(killed > 0);
}

/// A process, and the sessions that it says it has opened.
struct Counted {
    child: Child,
    counting: std::thread::JoinHandle<u64>,
}

impl Counted {
    fn start(owner: &str, doing: &str) -> Self {
        let mut child = process(owner, doing, None);
        let said = BufReader::new(child.stdout.take().unwrap());
        let is_one = |line: &String| line.starts_with("manager: opened");
        let counting = std::thread::spawn(move || said.lines().map_while(Result::ok).filter(is_one).count() as u64);
        Self { child, counting }
    }

    fn count(self) -> u64 {
        self.counting.join().unwrap()
    }
}

/// Starts a process of its own that does what [`works`] says, with a clock that is wrong by so much.
fn process(owner: &str, doing: &str, wrong: Option<&str>) -> Child {
    let this = std::env::current_exe().unwrap();
    let mut command = match wrong {
        Some(wrong) => {
            let mut command = Command::new("faketime");
            command.args(["-f", wrong]).arg(this);
            command
        }
        None => Command::new(this),
    };
    let words = ["--exact", "managers::process_of_another_test", "--ignored", "--nocapture"];
    command.args(words).env(DOING, format!("{owner} {doing}")).stdin(Stdio::piped()).stdout(Stdio::piped());
    command.spawn().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "other tests start it as a process"]
async fn process_of_another_test() {
    let doing = std::env::var(DOING).unwrap();
    let words: Vec<&str> = doing.split(' ').collect();
    match words[..] {
        [owner, "churn", seed, ids, calls] => churn(owner, seed, ids, calls).await,
        [owner, "hold", session, idle, _] => hold(owner, session, idle).await,
        _ => panic!("invalid words {words:?}"),
    }
}

/// Opens random sessions, and uses each.
async fn churn(owner: &str, seed: &str, ids: &str, calls: &str) {
    let (mut random, ids, calls): (u64, u64, u64) =
        (seed.parse().unwrap(), ids.parse().unwrap(), calls.parse().unwrap());
    let manager = manager(owner).await;
    for _ in 0..calls {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let session = manager.get_or_create(&id(&format!("user_{}", (random >> 33) % ids)), None).await.unwrap();
        let said = session.execute(&ExecuteRequest::shell("echo ok")).await.unwrap();
        assert_eq!(said.output.text(), "ok\n");
        say("opened");
    }
}

/// Opens a session, and ends idle ones when its input ends.
async fn hold(owner: &str, session: &str, idle: &str) {
    let manager = manager(owner).await;
    let idle = Duration::from_secs(idle.parse().unwrap());
    manager.get_or_create_with(&id(session), idle_after(idle)).await.unwrap();
    say("opened");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    say(&format!("ended {}", manager.cleanup_idle(None).await));
}

#[expect(clippy::print_stdout, reason = "another process reads it, and the full form is a measurement")]
fn say(what: &str) {
    println!("\nmanager: {what}");
}
