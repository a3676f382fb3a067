//! `/v1/sessions/{id}/listening`: the ports on which servers of a session listen now.
//!
//! The tables of the kernel are read by a command in the sandbox, below its policy: the question is the service's own. In
//! the network of the machine they name servers of others, too, so there a port counts only if the sandbox connects to it.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};
use workden::Sandbox;
use workden_core::sandbox::{Command, ExecuteRequest, Wall};

use super::session::{NamedSession, OpenSession};
use crate::service::{Answer, Service};

/// The most ports of an answer.
const MOST: usize = 64;
/// The state of a listening socket in these tables.
const LISTENING: &str = "0A";

pub(super) fn routes() -> OpenApiRouter<Arc<Service>> {
    OpenApiRouter::new().routes(routes!(list))
}

/// The ports of servers.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ListeningPorts {
    /// In order; at most 64.
    ports: Vec<u16>,
}

/// List the ports on which servers listen
#[utoipa::path(get, operation_id = "list_listening_ports", path = "/v1/sessions/{id}/listening", tag = "ports",
    params(NamedSession),
    responses((status = 200, description = "Now; empty while the sandbox has not started", body = ListeningPorts)))]
pub(super) async fn list(session: OpenSession) -> Answer<Json<ListeningPorts>> {
    let workspace = session.live.unrecorded();
    let Some(sandbox) = workspace.lazy().and_then(workden::LazySandbox::sandbox) else {
        return Ok(Json(ListeningPorts { ports: Vec::new() }));
    };
    let tables = ["cat", "/proc/net/tcp", "/proc/net/tcp6"].map(str::to_owned).to_vec();
    let mut read = ExecuteRequest::new(Command::Program(tables));
    read.timeout = Some(Duration::from_secs(5));
    read.most_chars = 1 << 20;
    let mut ports = listening(&sandbox.execute(&read).await?.output.text());
    if !sandbox.isolation().await?.walls.contains(&Wall::NetworkNamespace) {
        let mut own = BTreeSet::new();
        for port in ports.iter().copied().take(MOST) {
            if sandbox.connect_port(port).await.is_ok() {
                own.insert(port);
            }
        }
        ports = own;
    }
    Ok(Json(ListeningPorts { ports: ports.into_iter().take(MOST).collect() }))
}

/// Returns the listening ports of tables like `/proc/net/tcp`.
fn listening(tables: &str) -> BTreeSet<u16> {
    let port = |line: &str| {
        let mut columns = line.split_ascii_whitespace();
        let (_, port) = columns.nth(1)?.rsplit_once(':')?;
        (columns.nth(1)? == LISTENING).then(|| u16::from_str_radix(port, 16).ok()).flatten()
    };
    tables.lines().filter_map(port).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listening_sockets_count() {
        let tables = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 00000000:0BB8 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1\n\
             1: 0100007F:0BB8 0100007F:E21A 01 00000000:00000000 00:00000000 00000000  1000        0 2 1\n\
             0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 0:0 0:0 0 1000 0 3\n";
        assert_eq!(listening(tables), BTreeSet::from([3000, 8080]));
        assert!(listening("cat: /proc/net/tcp: No such file or directory").is_empty());
    }
}
