//! workden in a pod: it finds the cluster and the credentials of its service account there.
//!
//! The pod is itself a sandbox, into which the program `workden` and a keeper are written.

use std::{path::Path, time::Duration};

use serde_json::{Value, json};
use workden_core::{BackendExt, Expect, Sandbox, VirtualPath, sandbox::ExecuteRequest};
use workden_sandboxes::kubernetes::KubernetesSandbox;

use crate::{
    places::{BUSYBOX, Namespace, PYTHON, cluster, kubectl, pod},
    processes::eventually,
};

/// A namespace whose pods create sandboxes in another one. It is deleted when this value is dropped.
struct Clients(String);

impl Clients {
    /// The account of its pods.
    const ACCOUNT: &str = "agents";

    fn create() -> Self {
        let clients = Self(format!("workden-clients-{}", std::process::id()));
        kubectl(&["create", "namespace", &clients.0]);
        kubectl(&["create", "serviceaccount", Self::ACCOUNT, "--namespace", &clients.0]);
        clients
    }

    /// Does what docs/kubernetes.md tells operators to do for such a namespace.
    fn permit(&self, sandboxes: &Namespace) {
        kubectl(&["label", "namespace", &self.0, "workden.dev/clients=true"]);
        let account = format!("{}:{}", self.0, Self::ACCOUNT);
        sandboxes.kubectl(&["create", "rolebinding", "agents", "--role=workden", "--serviceaccount", &account]);
    }

    /// Starts a pod with the token of its account, and writes the programs into it.
    async fn pod(&self) -> KubernetesSandbox {
        let template = json!({"spec": {"automountServiceAccountToken": true, "containers": []}});
        let pod = pod(PYTHON)
            .cluster(cluster().namespace(&self.0))
            .service_account(Self::ACCOUNT)
            .pod_template(serde_json::from_value(template).unwrap())
            .build()
            .unwrap();
        for (program, name) in [
            (env!("CARGO_BIN_EXE_workden").to_owned(), "workden"),
            (std::env::var("WORKDEN_KEEPER").unwrap(), "keeper"),
        ] {
            let path = VirtualPath::parse(&format!("/workspace/{name}")).unwrap();
            pod.write_path(&path, stripped(Path::new(&program)).into(), Expect::Anything).await.unwrap();
        }
        assert_eq!(run(&pod, "chmod +x workden keeper").await, "");
        pod
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        kubectl(&["delete", "namespace", &self.0, "--wait=false"]);
    }
}

/// Returns a program without its symbols, which are most of it.
pub(crate) fn stripped(program: &Path) -> Vec<u8> {
    let small = tempfile::NamedTempFile::new().unwrap();
    let mut strip = std::process::Command::new("strip");
    assert!(strip.arg("-o").arg(small.path()).arg(program).status().unwrap().success());
    std::fs::read(small.path()).unwrap()
}

async fn run(sandbox: &KubernetesSandbox, line: &str) -> String {
    let request = ExecuteRequest::shell(line).environment([("WORKDEN_KEEPER", "/workspace/keeper")]);
    let request = request.timeout(Duration::from_secs(240));
    sandbox.execute(&request).await.unwrap().output.text()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_in_a_pod_uses_the_service_account_of_its_pod() {
    let (sandboxes, clients) = (Namespace::of("base", "inside", &[]), Clients::create());
    let pod = clients.pod().await;
    // Without a namespace, that of the pod: the account may do nothing there.
    let refused = run(&pod, &format!("./workden run --sandbox kubernetes --image {BUSYBOX} -- true; echo $?")).await;
    let account = format!("system:serviceaccount:{}:{}", clients.0, Clients::ACCOUNT);
    assert!(refused.contains(&format!("User \"{account}\" cannot create resource \"pods\"")), "{refused}");
    assert!(
        refused.contains(&format!("in the namespace \"{}\"", clients.0)) && !refused.ends_with("\n0\n"),
        "{refused}"
    );

    clients.permit(&sandboxes);
    let options = format!("--sandbox kubernetes --namespace {} --image {BUSYBOX}", sandboxes.0);
    assert_eq!(run(&pod, &format!("./workden run {options} -- echo hi")).await, "hi\n");
    let checked = run(&pod, &format!("./workden doctor {options} --json")).await;
    let document: Value = serde_json::from_str(&checked).unwrap_or_else(|_| panic!("{checked}"));
    assert_eq!(document["verdict"], "full", "{document:#}");
    // The label of the namespace opens the NetworkPolicy.
    let findings = document["findings"].as_array().unwrap();
    let direct = findings.iter().find(|finding| finding["name"] == "reach_direct");
    assert!(direct.is_some_and(|direct| direct["outcome"]["works"].is_string()), "{document:#}");
    pod.stop().await.unwrap();
    eventually("a pod is left", || sandboxes.kubectl(&["get", "pods", "--output", "name"]).is_empty());
}
