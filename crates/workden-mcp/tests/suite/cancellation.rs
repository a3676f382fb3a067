//! Cancelled calls, and clients that disconnect during one: nothing is left of a command.

use rmcp::{
    model::{CallToolRequest, ClientRequest},
    service::PeerRequestOptions,
};
use serde_json::json;

use crate::{
    client::{Client, Revision, User, calling, text},
    test_workspace::{TestWorkspace, gone, process_in},
};

/// A command that starts others, one of them in a session of its own.
const TREE: &str =
    "setsid sh -c 'echo $$ > stray; sleep 300; true' & sleep 300 & echo $! > child; echo $$ > shell; wait";

async fn processes(place: &TestWorkspace) -> [String; 3] {
    let number = |name: &str| place.path(name);
    [process_in(&number("shell")).await, process_in(&number("child")).await, process_in(&number("stray")).await]
}

async fn started(client: &Client) -> rmcp::service::RequestHandle<rmcp::RoleClient> {
    let call = CallToolRequest::new(calling("execute", json!({ "command": TREE, "timeout": 600 })));
    let request = ClientRequest::CallToolRequest(call);
    client.send_cancellable_request(request, PeerRequestOptions::no_options()).await.unwrap()
}

#[tokio::test]
async fn a_cancelled_command_is_ended_with_all_that_it_started() {
    for revision in [Revision::Handshake, Revision::Stateless] {
        let place = TestWorkspace::new();
        let client = User::silent().connect(&place.server(), revision).await;
        let call = started(&client).await;
        let processes = processes(&place).await;
        call.cancel(Some("changed my mind".to_owned())).await.unwrap();
        for process in &processes {
            gone(process).await;
        }
        assert_eq!(text(&client, "execute", json!({ "command": "echo still there" })).await, "still there\n");
    }
}

#[tokio::test]
async fn a_client_that_goes_takes_its_command_with_it() {
    for revision in [Revision::Handshake, Revision::Stateless] {
        let place = TestWorkspace::new();
        let client = User::silent().connect(&place.server(), revision).await;
        let _call = started(&client).await;
        let processes = processes(&place).await;
        client.cancel().await.unwrap();
        for process in &processes {
            gone(process).await;
        }
    }
}
