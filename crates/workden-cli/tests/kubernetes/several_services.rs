//! Two services, as on two machines, that share a Postgres and a cluster. One is killed under load: nothing is done twice,
//! and nothing is lost.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

use futures_util::future::join_all;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    places::{BUSYBOX, Namespace, kubeconfig},
    recorded::{assert_without_gaps, events, written},
    served::{Caller, PATIENCE, Served, text, until},
    server::Postgres,
};

const CALLS: usize = 500;
const LANES: usize = 8;
/// One session of a name is created by both services after so many calls.
const CREATE_EVERY: usize = 125;
/// The session that is being created when one service is killed.
const AT_THE_KILL: &str = "at-the-kill";

/// Starts a service with a directory of its own, whose sessions are pods.
fn start(namespace: &Namespace, database: &str) -> (TempDir, Served) {
    let state = tempfile::tempdir().unwrap();
    let config = state.path().join("serve.toml");
    let (boxes, place) = (&namespace.0, state.path().join("state"));
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nstate = {place:?}\ndefault_runtime = \"pods\"\n\
         [runtimes.pods]\nsandbox = \"kubernetes\"\nimage = \"{BUSYBOX}\"\nnamespace = \"{boxes}\"\n"
    );
    std::fs::write(&config, settings).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_workden"));
    program.args(["serve", "--database", database, "--config"]).arg(config).env("KUBECONFIG", kubeconfig());
    let served = Served::run(&mut program);
    (state, served)
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Append,
    Write,
    Read,
}

impl Kind {
    fn of(number: usize) -> Self {
        match number / LANES % 5 {
            0..3 => Self::Append,
            3 => Self::Write,
            _ => Self::Read,
        }
    }
}

/// Makes calls at services that may be killed.
struct Load<'a> {
    urls: [String; 2],
    key: &'a str,
    session: &'a str,
    client: Client,
    made: AtomicUsize,
}

impl Load<'_> {
    /// Returns the status and the body; `None` if there was no whole answer.
    async fn send(&self, request: reqwest::RequestBuilder) -> Option<(StatusCode, String)> {
        let answer = request.bearer_auth(self.key).timeout(PATIENCE).send().await.ok()?;
        Some((answer.status(), answer.text().await.ok()?))
    }

    async fn post(&self, url: &str, body: &Value) -> Option<(StatusCode, Value)> {
        let request = self.client.post(url).header("content-type", "application/json").body(body.to_string());
        let (status, said) = self.send(request).await?;
        Some((status, serde_json::from_str(&said).unwrap()))
    }

    /// Makes one call, and returns its number if it was answered.
    async fn call(&self, number: usize) -> Option<usize> {
        let url = format!("{}{}", self.urls[number % 2], self.session);
        match Kind::of(number) {
            Kind::Append => {
                let line = json!({ "command": format!("echo {number} >> done") });
                let (status, said) = self.post(&format!("{url}/commands"), &line).await?;
                assert_eq!((status, &said["exit_code"]), (StatusCode::OK, &json!(0)), "{number}: {said}");
            }
            Kind::Write => {
                let request = self.client.put(format!("{url}/files?path=written-{number}")).body(number.to_string());
                let (status, said) = self.send(request).await?;
                assert_eq!(status, StatusCode::OK, "{number}: {said}");
            }
            Kind::Read => {
                let (status, said) = self.send(self.client.get(format!("{url}/files?path=note"))).await?;
                assert_eq!((status, said.as_str()), (StatusCode::OK, "before"), "{number}");
            }
        }
        Some(number)
    }

    /// Creates a session of a name at both services at once. Returns its id at each that answered.
    async fn create(&self, name: &str) -> Vec<String> {
        let new = json!({ "name": name, "if_exists": "attach" });
        let urls = self.urls.each_ref().map(|url| format!("{url}/v1/sessions"));
        let made = join_all(urls.iter().map(|url| self.post(url, &new))).await;
        let is_made = |status: StatusCode| matches!(status, StatusCode::CREATED | StatusCode::OK);
        let made: Vec<(StatusCode, Value)> = made.into_iter().flatten().collect();
        assert!(made.iter().all(|(status, _)| is_made(*status)), "{made:?}");
        let created = made.iter().filter(|(status, _)| *status == StatusCode::CREATED).count();
        assert!(created <= 1, "created twice: {made:?}");
        made.iter().map(|(_, session)| text(&session["id"])).collect()
    }

    /// Makes every eighth call, one after another, and sometimes creates a session. Returns what was answered.
    async fn lane(&self, lane: usize) -> (Vec<usize>, Vec<(String, Vec<String>)>) {
        let (mut answered, mut created) = (Vec::new(), Vec::new());
        for number in (lane..CALLS).step_by(LANES) {
            if number % CREATE_EVERY == 0 {
                let name = format!("only-{number}");
                let ids = self.create(&name).await;
                created.push((name, ids));
            }
            answered.extend(self.call(number).await);
            self.made.fetch_add(1, Ordering::Relaxed);
        }
        (answered, created)
    }
}

/// Returns those of a kind, as a set; a number that comes twice fails.
fn once(numbers: impl IntoIterator<Item = usize>, what: &str) -> BTreeSet<usize> {
    let mut unique = BTreeSet::new();
    for number in numbers {
        assert!(unique.insert(number), "{what} twice: {number}");
    }
    unique
}

fn pods(namespace: &Namespace) -> usize {
    namespace.kubectl(&["get", "pods", "--output", "name"]).lines().count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_one_of_two_services_with_pods_is_killed_nothing_is_done_twice_and_nothing_is_lost() {
    let (namespace, postgres) = (Namespace::of("base", "two-services", &[]), Postgres::start());
    let database = postgres.database("services");
    let (_here, one) = start(&namespace, &database);
    let (_there, two) = start(&namespace, &database);
    let key = one.key.clone();
    let survivor = two.with_key(&key);
    let (session, _) = one.admin().session(json!({ "name": "shared" })).await;
    assert_eq!(survivor.put(&session, "note", "before").await, StatusCode::OK);
    let urls = [one.url.clone(), two.url.clone()];
    let load = Load { urls, key: &key, session: &session, client: Client::new(), made: AtomicUsize::new(0) };

    let kill = async {
        until("some calls", || async { load.made.load(Ordering::Relaxed) > CALLS / 4 }).await;
        // It has taken the name, and its pod does not run yet.
        let (url, new) = (format!("{}/v1/sessions", load.urls[0]), json!({ "name": AT_THE_KILL }));
        let creating = load.post(&url, &new);
        let killed = async {
            let is_there = || async { survivor.get(&format!("/v1/sessions/{AT_THE_KILL}")).await.0 == StatusCode::OK };
            until("the name is taken", is_there).await;
            one.kill();
        };
        let (made, _) = tokio::join!(creating, killed);
        made.is_some()
    };
    let (lanes, was_made) = tokio::join!(join_all((0..LANES).map(|lane| load.lane(lane))), kill);
    let (answered, created): (Vec<_>, Vec<_>) = lanes.into_iter().unzip();
    let answered = once(answered.concat(), "answered");
    println!("{} of {CALLS} calls answered; the service was killed before it had a pod: {}", answered.len(), !was_made);
    assert!(answered.len() > CALLS / 2, "those of the other service are all answered: {}", answered.len());
    let of = |kind: Kind| answered.iter().copied().filter(|number| Kind::of(*number) == kind).collect::<BTreeSet<_>>();

    let (_, ran) = survivor.run(&session, "cat done").await;
    let ran = once(ran.lines().map(|line| line.parse().unwrap()), "ran");
    assert!(of(Kind::Append).is_subset(&ran), "lost: {:?}", of(Kind::Append).difference(&ran));
    let (_, files) = survivor.run(&session, "grep -H '' written-*").await;
    let files = files.lines().map(|line| line.strip_prefix("written-").unwrap().split_once(':').unwrap());
    let files: BTreeMap<usize, usize> = files.map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap())).collect();
    assert!(files.iter().all(|(name, content)| name == content), "{files:?}");
    let there: BTreeSet<usize> = files.into_keys().collect();
    assert!(of(Kind::Write).is_subset(&there), "lost: {:?}", of(Kind::Write).difference(&there));
    recorded(&survivor, &session, &of(Kind::Append), &of(Kind::Write)).await;

    // One session and one pod of each name, also of the one whose service was killed while it created it.
    let mut sessions = BTreeMap::from([("shared".to_owned(), text(&survivor.get(&session).await.1["id"]))]);
    for (name, ids) in created.concat() {
        let (status, known) = survivor.get(&format!("/v1/sessions/{name}")).await;
        assert_eq!(status, StatusCode::OK, "{name}: {known}");
        assert!(!ids.is_empty() && ids.iter().all(|id| *id == text(&known["id"])), "{name}: {ids:?} {known}");
        sessions.insert(name, text(&known["id"]));
    }
    let attached = json!({ "name": AT_THE_KILL, "if_exists": "attach" });
    let (status, known) = survivor.post("/v1/sessions", attached).await;
    assert_eq!(status, StatusCode::OK, "{known}");
    sessions.insert(AT_THE_KILL.to_owned(), text(&known["id"]));
    for name in sessions.keys() {
        assert_eq!(
            survivor.run(&format!("/v1/sessions/{name}"), "echo here").await,
            (0, "here\n".to_owned()),
            "{name}"
        );
    }
    assert_eq!(sessions.len(), 2 + CALLS / CREATE_EVERY, "{sessions:?}");
    assert_eq!(pods(&namespace), sessions.len());

    let paths: Vec<String> = sessions.values().map(|id| format!("/v1/sessions/{id}")).collect();
    let deleted = join_all(paths.iter().map(|path| survivor.delete(path))).await;
    assert!(deleted.iter().all(|status| *status == StatusCode::NO_CONTENT), "{deleted:?}");
    let left = || namespace.kubectl(&["get", "pods,leases,secrets", "--output", "name"]);
    until("nothing is left", || async { left().is_empty() }).await;
}

/// Checks that each answered call is recorded, in the events of the session and in the audit, and no call twice.
async fn recorded(caller: &Caller<'_>, session: &str, appended: &BTreeSet<usize>, changed: &BTreeSet<usize>) {
    let of_session = events(caller, session).await;
    assert_without_gaps(&of_session);
    let (status, audit) = caller.get("/v1/audit?limit=1000").await;
    assert_eq!(status, StatusCode::OK, "{audit}");
    let audit = audit.as_array().unwrap();
    let number_of = |line: &str| line.strip_prefix("echo ")?.split(' ').next()?.parse().ok();
    for all in [&of_session, audit] {
        let commands = all.iter().filter_map(|event| event["data"]["command"].as_str());
        let commands = once(commands.filter_map(number_of), "recorded");
        assert!(appended.is_subset(&commands), "without a record: {:?}", appended.difference(&commands));
        let paths = written(all);
        let writes = paths.iter().filter_map(|path| path.rsplit_once("written-")?.1.parse().ok());
        let writes = once(writes, "recorded");
        assert!(changed.is_subset(&writes), "without a record: {:?}", changed.difference(&writes));
    }
    let created = audit.iter().filter(|event| event["kind"] == "session_created");
    let created: Vec<String> = created.map(|event| text(&event["session"])).collect();
    let unique: BTreeSet<&String> = created.iter().collect();
    assert_eq!(unique.len(), created.len(), "a session was created twice: {created:?}");
}
