//! Faults of the cluster and of the way to it: each is a clear error in time, or is not noticed at all.

use std::time::{Duration, Instant};

use serde_json::json;
use workden_core::{BackendExt, ErrorKind, Expect, Sandbox, VirtualPath, sandbox::ExecuteRequest};
use workden_sandboxes::kubernetes::{Cluster, KubernetesSandbox, Reach};

use crate::{
    faulty_proxy::{Fault, FaultyProxy, Instead},
    impostors::Impostor,
    places::{BUSYBOX, kubectl, pod, with_token},
    processes::soon,
};

fn status(code: u16, reason: &str, retry_after: u64) -> String {
    let details = json!({"retryAfterSeconds": retry_after});
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": format!("{reason}, says a test"),
        "reason": reason, "code": code, "details": details})
    .to_string()
}

fn through(proxy: &FaultyProxy, way: Reach) -> KubernetesSandbox {
    pod(BUSYBOX).cluster(proxy.cluster()).reach(way).build().unwrap()
}

async fn says(sandbox: &KubernetesSandbox, command: &str) -> String {
    sandbox.execute(&ExecuteRequest::shell(command)).await.unwrap().output.text()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_outlasts_an_overloaded_cluster_and_a_lost_answer() {
    let proxy = FaultyProxy::start().await;
    let busy = "Too many requests, please try again later.".to_owned();
    let pods = "/api/v1/namespaces/default/pods";
    for (method, path, times, instead) in [
        ("POST", pods, 2, Instead::Answer("429 Too Many Requests", busy)),
        ("POST", pods, 1, Instead::LoseAnswer),
        ("GET", pods, 2, Instead::Answer("503 Service Unavailable", status(503, "ServiceUnavailable", 1))),
    ] {
        proxy.break_with(Fault { method, path, instead, times });
    }
    let sandbox = through(&proxy, Reach::Exec);
    assert_eq!(says(&sandbox, "echo hello").await, "hello\n");
    assert_eq!(proxy.faults_left(), 0);
    sandbox.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_that_has_expired_starts_again() {
    let proxy = FaultyProxy::start().await;
    let instead = Instead::Answer("410 Gone", status(410, "Expired", 0));
    proxy.break_with(Fault { method: "GET", path: "watch=true", instead, times: 1 });
    let sandbox = through(&proxy, Reach::Exec);
    assert_eq!(says(&sandbox, "echo hello").await, "hello\n");
    assert_eq!(proxy.faults_left(), 0);
    sandbox.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_stays_overloaded_is_an_error_in_time_and_leaves_nothing() {
    let proxy = FaultyProxy::start().await;
    let instead = Instead::Answer("503 Service Unavailable", status(503, "ServiceUnavailable", 2));
    proxy.break_with(Fault { method: "POST", path: "/pods", instead, times: usize::MAX });
    let began = Instant::now();
    let error = through(&proxy, Reach::Exec).start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.sentence().contains("ServiceUnavailable, says a test"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_cut_fails_one_call_and_the_next_one_connects_again() {
    let path = VirtualPath::parse("/workspace/large").unwrap();
    let content = bytes::Bytes::from(vec![b'x'; 4 << 20]);
    for way in [Reach::PortForward, Reach::Exec] {
        let proxy = FaultyProxy::start().await;
        let sandbox = through(&proxy, way);
        sandbox.start().await.unwrap();
        let began = Instant::now();
        let command = ExecuteRequest::shell("sleep 30; echo done > late; echo done");
        let cut = async {
            tokio::time::sleep(Duration::from_millis(700)).await;
            proxy.cut();
        };
        let (ended, ()) = tokio::join!(sandbox.execute(&command), cut);
        // The command may have had effects: it is not run again.
        let error = ended.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unreachable | ErrorKind::Gone | ErrorKind::Io), "{way}: {error}");
        assert!(began.elapsed() < Duration::from_secs(10), "{way}: {:?}", began.elapsed());
        sandbox.write_path(&path, content.clone(), Expect::Anything).await.unwrap();
        for nth in 0..4_u64 {
            let cut = async {
                tokio::time::sleep(Duration::from_millis(3 + 9 * nth)).await;
                proxy.cut();
            };
            let (read, ()) = tokio::join!(sandbox.read_bytes(&path), cut);
            // Never a part of the file.
            if let Ok(read) = read {
                assert!(read == content, "{way}: {} bytes", read.len());
            }
        }
        assert!(sandbox.read_bytes(&path).await.unwrap() == content);
        // The API server tells the keeper of the cut, sooner or later; the command ends before it has written `late`.
        soon("the command of a cut stream goes on", async || {
            says(&sandbox, "ps | grep -c [s]leep; ls").await == "0\nlarge\n"
        })
        .await;
        sandbox.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_fail_in_time_while_the_api_server_is_down_and_work_again_after() {
    let proxy = FaultyProxy::start().await;
    let relayed = through(&proxy, Reach::Exec);
    let direct = through(&proxy, Reach::Direct);
    for sandbox in [&relayed, &direct] {
        assert_eq!(says(sandbox, "echo before").await, "before\n");
    }
    proxy.refuse(true);
    // A connection to the pod itself does not need the API server.
    assert_eq!(says(&direct, "echo during").await, "during\n");
    let began = Instant::now();
    let error = relayed.execute(&ExecuteRequest::shell("true")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    proxy.refuse(false);
    assert_eq!(says(&relayed, "echo after").await, "after\n");
    for sandbox in [&relayed, &direct] {
        sandbox.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_that_is_evicted_or_deleted_during_a_write_is_gone_with_the_reason() {
    for evicts in [true, false] {
        let sandbox = pod(BUSYBOX).build().unwrap();
        sandbox.start().await.unwrap();
        let name = sandbox.pod_name().unwrap();
        let ends = tokio::task::spawn_blocking(move || {
            std::thread::sleep(Duration::from_millis(500));
            if evicts {
                // What draining a node does to each of its pods.
                let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction",
                    "metadata": {"name": name, "namespace": "default"}});
                let file = tempfile::NamedTempFile::new().unwrap();
                std::fs::write(&file, eviction.to_string()).unwrap();
                let url = format!("/api/v1/namespaces/default/pods/{name}/eviction");
                kubectl(&["create", "--raw", &url, "--filename", file.path().to_str().unwrap()]);
            } else {
                kubectl(&["delete", "pod", &name, "--grace-period=0", "--force"]);
            }
        });
        let content = bytes::Bytes::from(vec![b'x'; 1 << 20]);
        let began = Instant::now();
        let error = loop {
            let path = VirtualPath::parse("/workspace/file").unwrap();
            if let Err(error) = sandbox.write_path(&path, content.clone(), Expect::Anything).await {
                break error;
            }
            assert!(began.elapsed() < Duration::from_secs(40), "it goes on");
        };
        ends.await.unwrap();
        assert_eq!(error.kind(), ErrorKind::Gone, "evicted: {evicts}: {error}");
        assert!(error.sentence().starts_with("the sandbox is gone: its pod "), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credentials_that_have_expired_are_named_at_once() {
    let file = with_token("expired");
    let began = Instant::now();
    let error = pod(BUSYBOX).cluster(Cluster::kubeconfig(file.path())).build().unwrap().start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.sentence().ends_with("the cluster rejects the credentials"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pod_that_answers_with_garbage_is_an_error_in_time() {
    let endless = "while true; do head -c 100000 /dev/urandom | nc -l -p 27183 >/dev/null; done";
    let spec = json!({"terminationGracePeriodSeconds": 0, "containers": [
        {"name": "workden", "image": BUSYBOX, "command": ["sh", "-c", endless]}]});
    let pod = Impostor::create("garbage", &spec).await;
    kubectl(&["wait", "pod", &pod.name, "--for=condition=Ready", "--timeout=60s"]);
    let (error, took) = pod.adopt().await;
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
    assert!(error.sentence().contains("no TLS with the keeper"), "{error}");
    assert!(took < Duration::from_secs(20), "{took:?}");
}
