//! Calls that are cancelled, and clients that go in the middle of one: nothing is left of a command.

use rmcp::{
    model::{CallToolRequest, ClientRequest},
    service::PeerRequestOptions,
};
use serde_json::json;

use crate::{
    client::{Client, Revision, User, calling, text},
    place::{Place, gone, process_in},
};

/// A command that starts others, one of which leaves its family.
const TREE: &str = "setsid sleep 300 & sleep 300 & echo $! > child; echo $$ > shell.tmp; mv shell.tmp shell; wait";

async fn started(client: &Client) -> rmcp::service::RequestHandle<rmcp::RoleClient> {
    let call = CallToolRequest::new(calling("execute", json!({ "command": TREE, "timeout": 600 })));
    let request = ClientRequest::CallToolRequest(call);
    client.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap()
}

#[tokio::test]
async fn a_cancelled_command_is_ended_with_all_that_it_started() {
    for revision in [Revision::Handshake, Revision::Stateless] {
        let place = Place::new();
        let client = User::silent().connect(&place.server(), revision).await;
        let call = started(&client).await;
        let (shell, child) = (process_in(&place.path("shell")).await, process_in(&place.path("child")).await);
        call.cancel(Some("changed my mind".to_owned())).await.unwrap();
        gone(&shell).await;
        gone(&child).await;
        assert_eq!(text(&client, "execute", json!({ "command": "pgrep -f 'sleep 30[0]' || echo none" })).await, "none\n");
    }
}

#[tokio::test]
async fn a_client_that_goes_takes_its_command_with_it() {
    for revision in [Revision::Handshake, Revision::Stateless] {
        let place = Place::new();
        let client = User::silent().connect(&place.server(), revision).await;
        let _call = started(&client).await;
        let (shell, child) = (process_in(&place.path("shell")).await, process_in(&place.path("child")).await);
        client.cancel().await.unwrap();
        gone(&shell).await;
        gone(&child).await;
    }
}
