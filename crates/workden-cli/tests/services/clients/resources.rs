//! The files of the workspace as resources.

use serde_json::{Value, json};

use crate::clients::{Era, inspector::OneShot, python::Python, served::Served};

const NOTE: &str = "workden:///workspace/notes.md";

fn has_the_note_only(listed: &Value) {
    let resources = listed["resources"].as_array().unwrap();
    assert_eq!(resources.iter().map(|resource| &resource["uri"]).collect::<Vec<_>>(), [NOTE], "{listed}");
}

#[test]
fn the_python_client_lists_and_reads_files() {
    for (served, era) in Served::both(&[]).into_iter().zip([Era::Modern, Era::Handshake]) {
        let mut client = Python::connect(&served, era);
        has_the_note_only(&client.ask(&json!({ "do": "resources" })));
        let read = client.ask(&json!({ "do": "read", "uri": NOTE }));
        assert_eq!(read["contents"][0]["text"], "remember\n");
        let denied = client.ask(&json!({ "do": "read", "uri": "workden:///workspace/.env" }));
        assert!(denied["error"].as_str().unwrap().contains("the policy denies it"), "{denied}");
        client.end();
    }
}

#[test]
fn the_inspector_lists_and_reads_files() {
    for (served, era) in Served::both(&[]).into_iter().zip([Era::Handshake, Era::Modern]) {
        let client = OneShot::of(&served, era);
        has_the_note_only(&client.request(&["--method", "resources/list"]));
        let read = client.request(&["--method", "resources/read", "--uri", NOTE]);
        assert_eq!(read["contents"][0]["text"], "remember\n");
        let templates = client.request(&["--method", "resources/templates/list"]);
        assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "workden:///{+path}");
    }
}
