//! `workden doctor --sandbox kubernetes`: with all rights, without each one, and without a cluster.

use std::{path::PathBuf, process::Output};

use serde_json::{Value, json};

use crate::{
    places::{BUSYBOX, kubeconfig, kubectl},
    program::{Place, told},
    rights::{self, PERMISSIONS},
};

/// The verdict without a permission.
fn verdict_without(resource: &str, verb: &str) -> &'static str {
    match (resource, verb) {
        ("pods/portforward" | "events", _) => "full",
        ("pods", "patch") | ("secrets" | "leases", _) => "partial",
        _ => "none",
    }
}

fn doctor(place: &Place, kubeconfig: &std::path::Path, options: &[&str]) -> (Output, Value) {
    let words = [&["doctor", "--sandbox", "kubernetes", "--namespace", &place.namespace, "--json"], options].concat();
    let state = Place::elsewhere();
    let output = place.command_at(state.path(), kubeconfig, &words).output().unwrap();
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(&output)));
    (output, document)
}

fn finding<'d>(document: &'d Value, name: &str) -> &'d Value {
    let findings = document["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["name"] == name).unwrap_or_else(|| panic!("{name}: {document:#}"))
}

fn works(document: &Value, name: &str) -> bool {
    finding(document, name)["outcome"]["works"].is_string()
}

/// Creates what `deploy/kubernetes/base` has, except for its namespace.
fn apply_base(place: &Place) {
    for name in ["rbac.yaml", "network-policy.yaml", "limits.yaml"] {
        let file = format!("{}/../../deploy/kubernetes/base/{name}", env!("CARGO_MANIFEST_DIR"));
        kubectl(&["apply", "--namespace", &place.namespace, "--filename", &file]);
    }
    // The files name no namespace, which kustomize adds.
    let subject = json!([{ "kind": "ServiceAccount", "name": "workden", "namespace": place.namespace }]);
    let patch = json!({ "subjects": subject }).to_string();
    kubectl(&["patch", "rolebinding", "workden", "--namespace", &place.namespace, "--patch", &patch]);
}

/// Returns a kubeconfig with the token of a service account.
fn account(place: &Place, name: &str) -> PathBuf {
    let token = kubectl(&["create", "token", name, "--namespace", &place.namespace]);
    let mut config: Value =
        serde_json::from_str(&kubectl(&["config", "view", "--raw", "--minify", "--flatten", "--output", "json"]))
            .unwrap();
    config["users"][0]["user"] = json!({ "token": token });
    place.file(&format!("{name}.kubeconfig"), &config.to_string())
}

#[test]
fn a_cluster_with_everything_is_full_and_a_pod_is_tried_each_way() {
    let place = Place::new("doctor");
    apply_base(&place);
    // This machine is no client in the cluster, to which that policy leaves only the ways through the API server.
    kubectl(&["delete", "networkpolicy", "sandboxes-from-workden", "--namespace", &place.namespace]);
    let (output, document) = doctor(&place, &kubeconfig(), &["--image", BUSYBOX]);
    assert_eq!((output.status.code(), &document["verdict"]), (Some(0), &"full".into()), "{document:#}");
    let all = ["cluster", "namespace", "pod_security", "network_policy", "resource_quota", "sandbox"];
    for name in all.into_iter().chain(["reach_direct", "reach_port_forward", "reach_exec"]) {
        assert!(works(&document, name), "{name}: {document:#}");
    }
    assert_eq!(place.pods(), "");
    let words = ["doctor", "--sandbox", "kubernetes", "--namespace", &place.namespace, "--runtime-class", "missing"];
    let shown = place.workden(&words);
    assert_eq!(shown.status.code(), Some(1));
    let shown = told(&shown);
    assert!(shown.starts_with("This cluster does not run sandboxes.\n\nSandboxes: "), "{shown}");
    assert!(shown.contains("  missing  runtime class") && shown.contains("`missing` not found\n"), "{shown}");
}

#[test]
fn the_account_of_the_base_may_do_what_it_needs_and_a_pod_starts() {
    let place = Place::new("base");
    apply_base(&place);
    let (output, document) = doctor(&place, &account(&place, "workden"), &["--image", BUSYBOX]);
    assert_eq!((output.status.code(), &document["verdict"]), (Some(0), &"full".into()), "{document:#}");
    // It may not read these, which is not a fault.
    for name in ["namespace", "pod_security", "network_policy", "resource_quota"] {
        assert!(finding(&document, name)["outcome"]["unknown"].is_string(), "{document:#}");
    }
    assert!(works(&document, "sandbox"));
    assert_eq!(place.pods(), "");
}

#[test]
fn each_missing_permission_is_named_with_its_purpose_and_its_fix() {
    let place = Place::new("verbs");
    for nth in 0..PERMISSIONS.len() {
        crate::places::apply(&rights::all_but(nth, &format!("without-{nth}"), &place.namespace).to_string());
    }
    for (nth, (resource, verb)) in PERMISSIONS.iter().enumerate() {
        let verdict = verdict_without(resource, verb);
        let (output, document) = doctor(&place, &account(&place, &format!("without-{nth}")), &[]);
        assert_eq!(document["verdict"], verdict, "{verb} {resource}: {document:#}");
        assert_eq!(output.status.code(), Some(i32::from(verdict != "full")));
        for (other, (resource, verb)) in PERMISSIONS.iter().enumerate() {
            let name = format!("{}_{verb}", resource.replace('/', "_"));
            assert_eq!(works(&document, &name), other != nth, "{name}: {document:#}");
        }
        let lacking = &finding(&document, &format!("{}_{verb}", resource.replace('/', "_")))["outcome"]["lacking"];
        assert!(lacking["why"].as_str().unwrap().starts_with("not permitted: it "), "{lacking}");
        assert!(lacking["fix"].as_str().unwrap().contains("deploy/kubernetes/base"), "{lacking}");
    }
}

#[test]
fn a_namespace_without_walls_is_partial_and_a_missing_one_is_not_found() {
    let place = Place::new("bare");
    kubectl(&["label", "namespace", &place.namespace, "pod-security.kubernetes.io/enforce-"]);
    kubectl(&["create", "quota", "full", "--hard=pods=0", "--namespace", &place.namespace]);
    let quota = || {
        let path = "jsonpath={.status.hard.pods}";
        kubectl(&["get", "quota", "full", "--namespace", &place.namespace, "--output", path])
    };
    crate::processes::eventually("the quota is not counted", || quota() == "0");
    let (output, document) = doctor(&place, &kubeconfig(), &[]);
    assert_eq!((output.status.code(), &document["verdict"]), (Some(1), &"partial".into()), "{document:#}");
    for name in ["pod_security", "network_policy", "resource_quota"] {
        assert!(finding(&document, name)["outcome"]["lacking"]["fix"].is_string(), "{document:#}");
    }
    let (_, refused) = doctor(&place, &kubeconfig(), &["--image", BUSYBOX]);
    let why = finding(&refused, "sandbox")["outcome"]["lacking"]["why"].as_str().unwrap();
    assert!(refused["verdict"] == "none" && why.contains("exceeded quota"), "{refused:#}");
    let words = ["doctor", "--sandbox", "kubernetes", "--namespace", "workden-no-such-namespace"];
    let missing = told(&place.workden(&words));
    assert!(missing.contains("`workden-no-such-namespace` not found"), "{missing}");
    assert!(missing.contains("fix: kubectl create namespace workden-no-such-namespace"), "{missing}");
}

#[test]
fn an_unreachable_cluster_is_said_within_seconds() {
    let place = Place::new("away");
    let config = |server: &str| {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "a",
            "clusters": [{ "name": "a", "cluster": { "server": server } }],
            "contexts": [{ "name": "a", "context": { "cluster": "a", "user": "a" } }],
            "users": [{ "name": "a", "user": { "token": "x" } }],
        })
        .to_string()
    };
    // One refuses connections; the other, of a range for documentation, answers nothing.
    for server in ["https://127.0.0.1:1", "https://192.0.2.1:6443"] {
        let began = std::time::Instant::now();
        let (output, document) = doctor(&place, &place.file("away.kubeconfig", &config(server)), &["--image", "x"]);
        assert_eq!((output.status.code(), &document["verdict"]), (Some(1), &"none".into()), "{document:#}");
        assert_eq!(document["findings"].as_array().unwrap().len(), 1, "{document:#}");
        assert!(finding(&document, "cluster")["outcome"]["lacking"]["why"].is_string(), "{document:#}");
        assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
    }
    let missing = place.command_at(
        Place::elsewhere().path(),
        std::path::Path::new("no-such-kubeconfig"),
        &["doctor", "--sandbox", "kubernetes"],
    );
    let missing = { missing }.output().unwrap();
    assert!(told(&missing).contains("kubeconfig not found"), "{}", told(&missing));
}
