//! The control plane: keys, states, names, labels, pages.

use std::time::Duration;

use serde_json::json;

use crate::client::{options, stub};

#[tokio::test]
async fn a_request_without_the_right_key_is_refused() {
    let client = stub(options()).await;
    for headers in [&[][..], &[("Authorization", "Bearer other")][..], &[("Authorization", "dtn_stub_key")][..]] {
        let got = client.try_send("GET", "/api/sandbox", headers, "").await.unwrap();
        assert_eq!(got.status, 401);
        assert_eq!(got.json()["statusCode"], 401);
    }
    assert_eq!(client.api("GET", "/sandbox", None).await.ok(), json!({ "items": [], "nextCursor": null }));
}

#[tokio::test]
async fn a_sandbox_goes_through_its_states_and_keeps_its_files() {
    let client = stub(options()).await;
    let request = json!({ "name": "ada", "env": { "A": "b" }, "labels": { "x": "y" }, "autoStopInterval": 0,
        "networkBlockAll": true });
    let made = client.api("POST", "/sandbox", Some(&request)).await.ok();
    assert_eq!(made["state"], "creating");
    let id = made["id"].as_str().unwrap();
    let shown = client.wait("ada", "started").await;
    assert_eq!(shown["id"], id);
    assert_eq!((&shown["labels"]["x"], &shown["autoStopInterval"]), (&json!("y"), &json!(0)));
    let base = shown["toolboxProxyUrl"].as_str().unwrap().strip_prefix(client.stub.origin()).unwrap();
    let execute = format!("{base}/{id}/process/execute");
    let run = async |line: &str| client.send("POST", &execute, json!({ "command": line }).to_string()).await;
    assert_eq!(run("echo kept >file; echo $A").await.ok(), json!({ "exitCode": 0, "result": "b\n" }));

    client.api("POST", "/sandbox/ada/stop", None).await.ok();
    client.wait(id, "stopped").await;
    assert_eq!(run("true").await.status, 400);
    assert_eq!(client.stub.counters().running, 0);
    client.api("POST", "/sandbox/ada/archive", None).await.ok();
    client.wait(id, "archived").await;
    client.api("POST", "/sandbox/ada/start", None).await.ok();
    client.wait(id, "started").await;
    assert_eq!(run("cat file").await.ok()["result"], "kept\n");

    assert_eq!(client.api("DELETE", "/sandbox/ada", None).await.ok()["state"], "destroying");
    while client.stub.counters().known > 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(client.api("GET", "/sandbox/ada", None).await.status, 404);
    assert_eq!((client.stub.counters().created, client.stub.counters().running), (1, 0));
}

#[tokio::test]
async fn a_change_is_refused_while_another_is_in_progress() {
    let mut options = options();
    options.start_delay = Duration::from_secs(3600);
    let client = stub(options).await;
    let made = client.api("POST", "/sandbox", Some(&json!({}))).await.ok();
    let path = format!("/sandbox/{}", made["id"].as_str().unwrap());
    for (method, path) in
        [("DELETE", path.clone()), ("POST", format!("{path}/stop")), ("POST", format!("{path}/start"))]
    {
        assert_eq!(client.api(method, &path, None).await.status, 409, "{method} {path}");
    }
}

#[tokio::test]
async fn requests_that_make_no_sense_are_refused() {
    let client = stub(options()).await;
    client.create(&json!({ "name": "one" })).await;
    let build = json!({ "dockerfileContent": "FROM debian:12\n" });
    for (request, status) in [
        (json!({ "name": "one" }), 409),
        (json!({ "snapshot": "a", "buildInfo": build }), 400),
        (json!({ "buildInfo": {} }), 400),
        (json!({ "cpu": 2 }), 400),
        (json!({ "labels": ["a"] }), 400),
        (json!({ "env": { "A": 1 } }), 400),
        (json!({ "buildInfo": build, "cpu": 0 }), 400),
    ] {
        let got = client.api("POST", "/sandbox", Some(&request)).await;
        assert_eq!(got.status, status, "{request}: {:?}", got.bytes);
    }
    assert_eq!(client.stub.counters().created, 1);
}

#[tokio::test]
async fn listings_are_filtered_by_labels_and_come_in_pages() {
    let mut options = options();
    // None of them needs to start.
    options.start_delay = Duration::from_secs(3600);
    let client = stub(options).await;
    for (name, of) in [("a", "x"), ("b", "y"), ("c", "x"), ("d", "x")] {
        client.api("POST", "/sandbox", Some(&json!({ "name": name, "labels": { "of": of } }))).await.ok();
    }
    let mut names = Vec::new();
    let mut cursor = String::new();
    loop {
        let labels = "%7B%22of%22%3A%22x%22%7D";
        let page = client.api("GET", &format!("/sandbox?labels={labels}&limit=2{cursor}"), None).await.ok();
        names.extend(page["items"].as_array().unwrap().iter().map(|item| item["name"].clone()));
        let Some(next) = page["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(names, ["a", "c", "d"]);
    let page = client.api("GET", "/sandbox/paginated?page=2&limit=3", None).await.ok();
    assert_eq!((&page["total"], &page["totalPages"], &page["items"][0]["name"]), (&json!(4), &json!(2), &json!("d")));
    assert_eq!(client.api("GET", "/sandbox?states=started", None).await.ok()["items"], json!([]));
    assert_eq!(client.api("GET", "/sandbox?labels=x", None).await.status, 400);
}

#[tokio::test]
async fn labels_and_intervals_are_changed_by_name_and_id() {
    let client = stub(options()).await;
    let made = client.api("POST", "/sandbox", Some(&json!({ "name": "n", "labels": { "a": "1" } }))).await.ok();
    let labels = client.api("PUT", "/sandbox/n/labels", Some(&json!({ "labels": { "b": "2" } }))).await.ok();
    assert_eq!(labels, json!({ "labels": { "b": "2" } }));
    client.api("POST", "/sandbox/n/autostop/5", None).await.ok();
    client.api("POST", "/sandbox/n/autodelete/-1", None).await.ok();
    let id = made["id"].as_str().unwrap();
    let shown = client.api("POST", &format!("/sandbox/{id}/autoarchive/7"), None).await.ok();
    let intervals = ["autoStopInterval", "autoDeleteInterval", "autoArchiveInterval"].map(|name| shown[name].clone());
    assert_eq!(intervals, [json!(5), json!(-1), json!(7)]);
    assert_eq!(shown["labels"], json!({ "b": "2" }));
    assert_eq!(client.api("POST", "/sandbox/n/autostop/-5", None).await.status, 400);
}

#[tokio::test]
async fn sandboxes_share_a_volume_and_nothing_else() {
    let mut client = stub(options()).await;
    let request = json!({ "volumes": [{ "volumeId": "v", "mountPath": "/home/daytona/shared" }] });
    let (one, two) = (client.create(&request).await, client.create(&request).await);
    client.id = one;
    client.toolbox("POST", "/process/execute", Some(&json!({ "command": "echo x >shared/f; echo x >own" }))).await.ok();
    client.id = two;
    let seen = client.toolbox("POST", "/process/execute", Some(&json!({ "command": "cat shared/f; ls" }))).await.ok();
    assert_eq!(seen["result"], "x\nshared\n");
}
