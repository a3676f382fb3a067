//! Each client with a handshake is an agent of its own, with its own record of seen files and remembered approvals.

use rmcp::model::ReadResourceRequestParams;
use serde_json::json;
use workden::{Action, Operation, Preset, Ruleset, policy::OperationRules};

use crate::{
    client::{Revision, User, failure, no, text, yes_and_remember},
    test_workspace::{TestWorkspace, serving},
};

#[tokio::test]
async fn a_read_by_another_client_does_not_make_an_edit_fresh() {
    let place = TestWorkspace::new();
    place.write("a.txt", "one\n");
    let server = place.server();
    let one = User::silent().connect(&server, Revision::Handshake).await;
    let other = User::silent().connect(&server, Revision::Handshake).await;
    text(&one, "read_file", json!({ "path": "a.txt" })).await;
    place.write("a.txt", "one\ntwo\n");
    text(&other, "read_file", json!({ "path": "a.txt" })).await;
    let edit = json!({ "path": "a.txt", "old_string": "one", "new_string": "1" });
    let stale = failure(&one, "edit_file", edit.clone()).await;
    assert!(stale.contains("changed"), "{stale}");
    text(&other, "edit_file", edit).await;
}

#[tokio::test]
async fn an_approval_remembered_for_one_client_does_not_cover_another() {
    let place = TestWorkspace::new();
    let server = serving(&place.builder().preset(Preset::Default).build().unwrap());
    let write = |content: &str| json!({ "path": "a.txt", "content": content });
    let (user, other_user) = (User::answering([yes_and_remember()]), User::answering([no()]));
    let one = user.clone().connect(&server, Revision::Handshake).await;
    let other = other_user.clone().connect(&server, Revision::Handshake).await;
    let unable = User::silent().connect(&server, Revision::Handshake).await;
    let stateless = User::silent().connect(&server, Revision::Stateless).await;
    text(&one, "write_file", write("1")).await;
    text(&one, "write_file", write("2")).await;
    assert_eq!(user.asked().len(), 1);
    failure(&other, "write_file", write("evil")).await;
    assert_eq!(other_user.asked().len(), 1);
    failure(&unable, "write_file", write("evil")).await;
    failure(&stateless, "write_file", write("evil")).await;
    drop(one);
    let again = User::silent().connect(&server, Revision::Handshake).await;
    failure(&again, "write_file", write("evil")).await;
    assert_eq!(std::fs::read_to_string(place.path("a.txt")).unwrap(), "2");
}

#[tokio::test]
async fn a_remembered_resource_approval_does_not_cover_another_client() {
    let place = TestWorkspace::new();
    place.write("a.txt", "text\n");
    let mut rules = Ruleset::all(Action::Allow);
    *rules.of_mut(Operation::Read) = Some(OperationRules::always(Action::Ask));
    let server = serving(&place.builder().rules(rules).build().unwrap());
    let read = || ReadResourceRequestParams::new("workden:///a.txt");
    let one = User::answering([yes_and_remember()]).connect(&server, Revision::Handshake).await;
    let other = User::silent().connect(&server, Revision::Handshake).await;
    assert!(one.read_resource(read()).await.is_ok());
    assert!(one.read_resource(read()).await.is_ok());
    assert!(other.read_resource(read()).await.is_err());
}
