//! `deploy/kubernetes`: the manifests of the service with the Postgres of the trial, applied as they are but for names and
//! images. Sessions go on while replicas are killed and replaced.
//!
//! The cluster of the tests has no names of services, so the URL of the database has an address.

use std::{
    net::{SocketAddr, TcpStream},
    process::Command,
    time::Duration,
};

use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    images::{self, POSTGRES, SERVICE},
    places::{BUSYBOX, Namespace, apply, kubeconfig, kubectl, kubectl_program, rendered},
    processes::soon,
    served::text,
};

/// How long a rollout may take on a busy machine.
const ROLLOUT: &str = "--timeout=240s";
/// Selects the replicas.
const REPLICAS: &str = "app.kubernetes.io/component=service";

/// The applied manifests. Both namespaces are deleted with this value.
struct Installed {
    service: Namespace,
    sandboxes: Namespace,
    client: Client,
    key: String,
}

impl Installed {
    fn new() -> Self {
        images::import_service();
        images::import_postgres();
        let (service, sandboxes) = (Namespace::named("service"), Namespace::named("of-service"));
        let objects = rendered(
            "overlays/trial",
            &[
                ("workden-service", &service.0),
                ("workden-sandboxes", &sandboxes.0),
                ("image: workden/workden:0.1.0", &format!("image: {SERVICE}")),
                ("image: postgres:17", &format!("image: {POSTGRES}")),
                ("image = \"python:3.12-slim\"", &format!("image = \"{BUSYBOX}\"")),
            ],
        );
        // The address of the database has to be known before the service starts.
        let is_first =
            |object: &&str| object.contains("kind: Namespace\n") || object.contains("port: 5432\n    target");
        apply(&objects.split("\n---\n").filter(is_first).collect::<Vec<_>>().join("\n---\n"));
        let address = service.kubectl(&["get", "service", "database", "--output", "jsonpath={.spec.clusterIP}"]);
        let url = format!("--from-literal=url=postgres://workden:of-the-test@{address}/workden");
        let secret = ["create", "secret", "generic", "workden-database", "--from-literal=password=of-the-test", &url];
        service.kubectl(&secret);
        apply(&objects);
        // Each call finds its replica anew.
        let client = Client::builder().no_proxy().pool_max_idle_per_host(0);
        let client = client.connect_timeout(Duration::from_secs(3)).timeout(Duration::from_secs(60)).build().unwrap();
        let mut installed = Self { service, sandboxes, client, key: String::new() };
        installed.rolled_out("statefulset/database");
        installed.rolled_out("deployment/workden");
        let new_key = ["workden", "serve", "--config", "/etc/workden/serve.toml", "--new-key"];
        installed.key = installed.service.kubectl(&[&["exec", "deployment/workden", "--"], &new_key[..]].concat());
        installed
    }

    /// Waits until all replicas are ready.
    fn rolled_out(&self, what: &str) {
        self.service.kubectl(&["rollout", "status", what, ROLLOUT]);
    }

    /// Replaces all replicas, as another image or configuration does, and waits until the last of the old ones has ended.
    fn replaced(&self) -> JoinHandle<()> {
        let (namespace, before) = (self.service.0.clone(), self.replicas());
        tokio::task::spawn_blocking(move || {
            let of_service = |words: &[&str]| kubectl(&[&["--namespace", namespace.as_str()], words].concat());
            of_service(&["rollout", "restart", "deployment/workden"]);
            of_service(&["rollout", "status", "deployment/workden", ROLLOUT]);
            let names: Vec<&str> = before.iter().map(|(name, _)| name.as_str()).collect();
            of_service(&[&["wait", "pod", "--for=delete", ROLLOUT], &names[..]].concat());
        })
    }

    /// Returns the address of the Service.
    fn url(&self) -> String {
        let address = self.service.kubectl(&["get", "service", "workden", "--output", "jsonpath={.spec.clusterIP}"]);
        format!("http://{address}")
    }

    /// Returns the names and addresses of the replicas that do not end.
    fn replicas(&self) -> Vec<(String, String)> {
        let all = self.service.kubectl(&["get", "pods", "--selector", REPLICAS, "--output", "json"]);
        let all: Value = serde_json::from_str(&all).unwrap();
        let all = all["items"].as_array().unwrap().iter();
        let stays = all.filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        let named = stays.map(|pod| (text(&pod["metadata"]["name"]), pod["status"]["podIP"].as_str()));
        named.map(|(name, address)| (name, format!("http://{}:8420", address.unwrap_or_default()))).collect()
    }

    /// Makes a call over a connection of its own. `None`: nothing answered.
    async fn call(&self, method: Method, url: &str, body: Option<Value>) -> Option<(StatusCode, String)> {
        let mut request = self.client.request(method, url).bearer_auth(&self.key);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let answer = request.send().await.ok()?;
        Some((answer.status(), answer.text().await.ok()?))
    }

    async fn post(&self, url: &str, body: Value) -> Value {
        let (status, said) = self.call(Method::POST, url, Some(body)).await.unwrap();
        assert!(status.is_success(), "{url}: {status} {said}");
        serde_json::from_str(&said).unwrap()
    }

    /// Returns what a command in a session prints, or `None` if no replica has answered.
    async fn run(&self, url: &str, session: &str, line: &str) -> Option<String> {
        let commands = format!("{url}/v1/sessions/{session}/commands");
        let (status, said) = self.call(Method::POST, &commands, Some(json!({ "command": line }))).await?;
        assert_eq!(status, StatusCode::OK, "{said}");
        Some(text(&serde_json::from_str::<Value>(&said).unwrap()["output"]))
    }

    async fn read(&self, url: &str, session: &str, path: &str) -> (StatusCode, String) {
        self.call(Method::GET, &format!("{url}/v1/sessions/{session}/files?path={path}"), None).await.unwrap()
    }

    /// Whether the account of the service may do this.
    fn may(&self, namespace: &Namespace, words: &[&str]) -> bool {
        let account = format!("--as=system:serviceaccount:{}:workden", self.service.0);
        let mut kubectl = Command::new(kubectl_program());
        kubectl.arg("--kubeconfig").arg(kubeconfig()).args(["auth", "can-i", "--quiet", &account]);
        kubectl.args(["--namespace", &namespace.0]).args(words).status().unwrap().success()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_of_the_installed_service_go_on_while_its_replicas_are_killed_and_replaced() {
    let installed = Installed::new();
    let url = installed.url();
    let replicas = installed.replicas();
    assert_eq!(replicas.len(), 2, "{replicas:?}");
    permitted(&installed);

    let made = installed.post(&format!("{url}/v1/sessions"), json!({ "name": "kept" })).await;
    assert_eq!(made["state"], "running", "{made}");
    assert_eq!(installed.run(&url, "kept", "echo here > note; id -u").await.unwrap(), "1000\n");
    installed.post(&format!("{url}/v1/sessions/kept/jobs"), json!({ "command": "sleep 1000" })).await;
    for (_, replica) in &replicas {
        assert_eq!(installed.read(replica, "kept", "note").await, (StatusCode::OK, "here\n".to_owned()));
    }

    // Without a moment for its calls.
    let (killed, survivor) = (&replicas[0], &replicas[1]);
    installed.service.kubectl(&["delete", "pod", &killed.0, "--grace-period=0", "--force"]);
    assert_eq!(installed.run(&survivor.1, "kept", "cat note").await.unwrap(), "here\n");
    let answers = async || installed.run(&url, "kept", "cat note").await.is_some_and(|read| read == "here\n");
    soon("the Service leads to the other replica", answers).await;
    installed.rolled_out("deployment/workden");
    let new = installed.replicas().into_iter().find(|replica| !replicas.contains(replica)).unwrap();
    assert_eq!(installed.read(&new.1, "kept", "note").await, (StatusCode::OK, "here\n".to_owned()));

    let rollout = installed.replaced();
    let mut answered = 0;
    while !rollout.is_finished() {
        let number = installed.run(&url, "kept", "echo line >> lines; wc -l < lines").await;
        answered += 1;
        assert_eq!(number.as_deref().map(str::trim), Some(answered.to_string().as_str()), "a call was lost");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    rollout.await.unwrap();
    assert!(answered > 20, "{answered}");
    assert_eq!(installed.run(&url, "kept", "ps | grep -c '[s]leep 1000'").await.unwrap(), "1\n", "its job goes on");

    let deleted = installed.call(Method::DELETE, &format!("{url}/v1/sessions/kept"), None).await;
    assert_eq!(deleted.map(|(status, _)| status), Some(StatusCode::NO_CONTENT));
    let left = async || installed.sandboxes.kubectl(&["get", "pods,leases", "--output", "name"]).is_empty();
    soon("nothing is left", left).await;
}

/// The account of the service has what sessions need, and no more; the database answers the service alone.
fn permitted(installed: &Installed) {
    let Installed { service, sandboxes, .. } = installed;
    for (namespace, words, expected) in [
        (sandboxes, &["create", "pods"][..], true),
        (sandboxes, &["create", "pods", "--subresource=exec"], true),
        (sandboxes, &["list", "secrets"], false),
        (sandboxes, &["delete", "secrets"], false),
        (sandboxes, &["create", "rolebindings"], false),
        (service, &["get", "secrets"], false),
        (service, &["create", "pods"], false),
        (service, &["get", "pods"], false),
    ] {
        assert_eq!(installed.may(namespace, words), expected, "{words:?} in {}", namespace.0);
    }
    let address = service.kubectl(&["get", "pod", "database-0", "--output", "jsonpath={.status.podIP}"]);
    let address: SocketAddr = format!("{address}:5432").parse().unwrap();
    assert!(TcpStream::connect_timeout(&address, Duration::from_secs(2)).is_err(), "the NetworkPolicy has a hole");
}
