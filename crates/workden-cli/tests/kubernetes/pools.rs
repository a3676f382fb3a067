//! Pods of a SandboxWarmPool, with the controller of agent-sandbox and the overlay that operators apply.

use std::time::{Duration, Instant};

use workden_core::{Error, ErrorKind, Sandbox, sandbox::ExecuteRequest};
use workden_sandboxes::{
    LaunchRequest, Launcher,
    kubernetes::{Cluster, KubernetesLauncher, KubernetesSandboxBuilder, WhenStopped},
};

use crate::places::{BUSYBOX, Namespace, apply, builder, with_token};

/// Creates a namespace with a pool of this many pods, and waits until they are ready.
fn pool(test: &str, pods: usize) -> Namespace {
    let replicas = format!("replicas: {pods}");
    let replaced = [("replicas: 3", replicas.as_str()), ("python:3.12-slim", BUSYBOX)];
    let namespace = Namespace::of("overlays/agent-sandbox", test, &replaced);
    let ready = format!("--for=jsonpath={{.status.readyReplicas}}={pods}");
    if pods > 0 {
        namespace.kubectl(&["wait", "sandboxwarmpool/workden", &ready, "--timeout=240s"]);
    }
    namespace
}

fn claiming(namespace: &Namespace) -> KubernetesSandboxBuilder {
    builder().cluster(namespace.cluster()).pool("workden")
}

async fn said(sandbox: &dyn Sandbox, command: &str) -> String {
    sandbox.execute(&ExecuteRequest::shell(command)).await.unwrap().output.text().to_string()
}

/// Waits until the namespace has no claim, and no pod that was claimed.
fn all_released(namespace: &Namespace) {
    namespace.kubectl(&["wait", "sandboxclaims", "--all", "--for=delete", "--timeout=240s"]);
    let claimed = ["wait", "pods", "--selector", "agents.x-k8s.io/claim-uid", "--for=delete", "--timeout=240s"];
    namespace.kubectl(&claimed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_warm_pod_is_claimed_and_released() {
    let namespace = pool("pool-claim", 2);
    let sandbox = claiming(&namespace).env("COLOUR", "blue").label("team", "a").build().unwrap();
    let began = Instant::now();
    assert_eq!(said(&sandbox, "echo $COLOUR; id -u; pwd; cat /proc/1/comm").await, "blue\n1000\n/workspace\nkeeper\n");
    println!("claim to first output: {:?}", began.elapsed());
    let (pod, claim) = (sandbox.pod_name().unwrap(), sandbox.claim_name().unwrap());
    let launch = ["get", "sandbox", &pod, "-o", "jsonpath={.metadata.labels.agents\\.x-k8s\\.io/launch-type}"];
    assert_eq!(namespace.kubectl(&launch), "warm");
    assert_eq!(namespace.kubectl(&["get", "sandboxclaim", &claim, "-o", "jsonpath={.metadata.labels.team}"]), "a");
    let isolation = sandbox.isolation().await.unwrap();
    assert!(isolation.lacking.iter().all(|lacking| lacking.contains("NetworkPolicy")), "{isolation:?}");
    sandbox.stop().await.unwrap();
    // One that is dropped is released, too.
    let dropped = claiming(&namespace).build().unwrap();
    dropped.start().await.unwrap();
    drop(dropped);
    all_released(&namespace);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_named_claim_is_found_again_and_a_suspended_sandbox_resumes() {
    let namespace = pool("pool-named", 1);
    let named = || claiming(&namespace).pod_name("mine");
    let first = named().build().unwrap();
    said(&first, "echo one > note").await;
    let second = named().when_stopped(WhenStopped::Keep).build().unwrap();
    assert_eq!(said(&second, "cat note").await, "one\n");
    let pod = second.pod_name().unwrap();
    // Other options are another sandbox.
    let other = claiming(&namespace).pod_name("mine").annotation("workden.dev/made-of", "other").build().unwrap();
    assert_eq!(other.start().await.unwrap_err().kind(), ErrorKind::Conflict);

    second.stop().await.unwrap();
    let mode = ["get", "sandbox", &pod, "-o", "jsonpath={.spec.operatingMode}"];
    assert_eq!(namespace.kubectl(&mode), "Suspended");
    let error = first.execute(&ExecuteRequest::shell("true")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Gone, "{error}");
    // At once: the pod of the suspended sandbox may still be there.
    let third = named().build().unwrap();
    assert_eq!(
        said(&third, "cat note; cat /proc/1/comm").await,
        "cat: can't open 'note': No such file or directory\nkeeper\n"
    );
    assert_eq!(namespace.kubectl(&mode), "Running");

    // Suspended by another program, and seen by the controller before it is opened.
    namespace.kubectl(&[
        "patch",
        "sandbox",
        &pod,
        "--type=merge",
        "--patch",
        r#"{"spec":{"operatingMode":"Suspended"}}"#,
    ]);
    namespace.kubectl(&["wait", "sandbox", &pod, "--for=condition=Suspended", "--timeout=240s"]);
    let fourth = named().build().unwrap();
    assert_eq!(said(&fourth, "echo again").await, "again\n");
    fourth.stop().await.unwrap();
    all_released(&namespace);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_named_claim_whose_keeper_has_exited_is_replaced() {
    let namespace = pool("pool-over", 1);
    let named = || claiming(&namespace).pod_name("mine").lease(Duration::from_secs(1));
    let first = named().build().unwrap();
    first.start().await.unwrap();
    let pod = first.pod_name().unwrap();
    drop(first);
    namespace.kubectl(&["wait", "pod", &pod, "--for=jsonpath={.status.phase}=Succeeded", "--timeout=240s"]);
    namespace.kubectl(&["wait", "sandboxclaim/mine", "--for=condition=Finished", "--timeout=240s"]);
    let second = named().build().unwrap();
    assert_eq!(said(&second, "echo again").await, "again\n");
    assert_ne!(second.pod_name().unwrap(), pod);
    second.stop().await.unwrap();
    all_released(&namespace);
}

/// Starts a sandbox that cannot start, and checks that nothing of it is left.
async fn fails(namespace: &Namespace, builder: KubernetesSandboxBuilder) -> Error {
    let began = Instant::now();
    let error = builder.build().unwrap().start().await.unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}: {error}", began.elapsed());
    all_released(namespace);
    error
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pools_that_cannot_serve_are_errors_in_the_clusters_words() {
    let namespace = pool("pool-errors", 0);
    let patience = Duration::from_secs(5);
    let claim = |pool: &str| builder().cluster(namespace.cluster()).pool(pool).scheduling_timeout(patience);
    let error = fails(&namespace, claim("missing")).await;
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.sentence().contains("SandboxWarmPool \"missing\" not found"), "{error}");

    // Templates that do not start a keeper, and one that no node can take.
    let pool = |name: &str, spec: &str| {
        apply(&format!(
            "apiVersion: extensions.agents.x-k8s.io/v1beta1\nkind: SandboxTemplate\n\
             metadata: {{name: {name}, namespace: {ns}}}\nspec: {{podTemplate: {{spec: {spec}}}}}\n---\n\
             apiVersion: extensions.agents.x-k8s.io/v1beta1\nkind: SandboxWarmPool\n\
             metadata: {{name: {name}, namespace: {ns}}}\nspec: {{replicas: 0, sandboxTemplateRef: {{name: {name}}}}}\n",
            ns = namespace.0
        ));
    };
    let container = |name: &str, command: &str| {
        format!(
            "{{name: {name}, image: \"{BUSYBOX}\", command: [{command}], securityContext: {{allowPrivilegeEscalation: false, \
             runAsNonRoot: true, runAsUser: 1000, capabilities: {{drop: [ALL]}}, seccompProfile: {{type: RuntimeDefault}}}}}}"
        )
    };
    pool(
        "foreign",
        &format!("{{terminationGracePeriodSeconds: 1, containers: [{}]}}", container("main", "sleep, '99'")),
    );
    let error = fails(&namespace, claim("foreign")).await;
    assert!(error.sentence().contains("no container `workden`"), "{error}");
    pool(
        "idle",
        &format!("{{terminationGracePeriodSeconds: 1, containers: [{}]}}", container("workden", "sleep, '99'")),
    );
    let error = fails(&namespace, claim("idle")).await;
    assert!(error.sentence().contains("is not `/.workden/bin/keeper pod`"), "{error}");
    assert!(error.hint_text().unwrap().contains("overlays/agent-sandbox"), "{error}");
    let keeper = container("workden", "/.workden/bin/keeper, pod");
    pool("nowhere", &format!("{{nodeSelector: {{disk: golden}}, containers: [{keeper}]}}"));
    let error = fails(&namespace, claim("nowhere")).await;
    assert!(error.sentence().contains("node affinity/selector"), "{error}");

    // No capacity: the quota refuses the pod.
    namespace.kubectl(&[
        "patch",
        "resourcequota",
        "sandboxes",
        "--type=merge",
        "--patch",
        r#"{"spec":{"hard":{"pods":"0"}}}"#,
    ]);
    let error = fails(&namespace, claim("workden")).await;
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(error.sentence().contains("exceeded quota"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_account_of_the_overlay_is_enough_for_sessions_of_a_pool() {
    let namespace = pool("pool-sessions", 2);
    let token = namespace.kubectl(&["create", "token", "workden"]);
    let file = with_token(&token);
    let cluster = || Cluster::kubeconfig(file.path()).namespace(&namespace.0);
    let launcher = || KubernetesLauncher::new(builder().cluster(cluster()).pool("workden"), "me").unwrap();
    let order = LaunchRequest { session: Some("user_1".parse().unwrap()), ..LaunchRequest::default() };
    let first = launcher().create(&order).await.unwrap();
    assert_eq!(said(&*first.sandbox, "echo one > note; cat note").await, "one\n");
    let found = launcher().find().await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].session.as_ref().unwrap().as_str(), found[0].running), ("user_1", true));
    let adopted = launcher().adopt(&found[0]).await.unwrap();
    assert_eq!(said(&*adopted.sandbox, "cat note").await, "one\n");
    let spare = launcher().create(&LaunchRequest::default()).await.unwrap();
    launcher().assign(spare, &"user_2".parse().unwrap()).await.unwrap();
    let sessions = launcher().find().await.unwrap().into_iter().filter_map(|found| found.session);
    assert_eq!(sessions.count(), 2);
    // Suspended and resumed with the same permissions.
    let kept = builder().cluster(cluster()).pool("workden").pod_name(&first.name).when_stopped(WhenStopped::Keep);
    let made_of = ["get", "sandboxclaim", &first.name, "-o", "jsonpath={.metadata.annotations.workden\\.dev/made-of}"];
    let kept = kept.annotation("workden.dev/made-of", namespace.kubectl(&made_of)).build().unwrap();
    kept.start().await.unwrap();
    kept.stop().await.unwrap();
    let resumed = launcher().create(&order).await.unwrap();
    assert_eq!(said(&*resumed.sandbox, "echo two").await, "two\n");
    for found in launcher().find().await.unwrap() {
        launcher().remove(&found.name).await.unwrap();
    }
    launcher().remove("missing").await.unwrap();
    all_released(&namespace);
}
