//! Clients with a handshake are agents of their own: what one has seen, the other has not.

use serde_json::json;

use crate::{
    client::{Revision, User, failure, text},
    place::Place,
};

#[tokio::test]
async fn what_another_client_has_read_does_not_make_an_edit_fresh() {
    let place = Place::new();
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
