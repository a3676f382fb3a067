//! Reports what isolates the commands of a Daytona sandbox: what the keeper sees from inside, and what Daytona says.

use workden_core::sandbox::{Isolation, IsolationLevel};

use super::api::SandboxInfo;

/// Completes the keeper's report with what Daytona says.
pub(super) fn complete(mut seen: Isolation, info: &SandboxInfo) -> Isolation {
    seen.lacking.push("the walls around commands are Daytona's: workden cannot check them".to_owned());
    seen.lacking.extend(network(info));
    seen.reached_by = Some("a keeper, through Daytona's proxy".to_owned());
    seen
}

/// Returns the report of a sandbox that only the toolbox serves; `why` there is no keeper.
pub(super) fn of_toolbox(info: Option<&SandboxInfo>, why: &str) -> Isolation {
    let mut lacking = vec![
        format!("files and commands are served by Daytona's toolbox: {why}"),
        "a write is not atomic: a reader may see a part of it".to_owned(),
        "links are followed: a rule about a path does not hold for a link that leads there".to_owned(),
        "the daemon in the sandbox is a process that commands can end or replace".to_owned(),
        "a command that daemonises outlives its time limit".to_owned(),
        "the walls around commands are Daytona's: workden cannot check them".to_owned(),
    ];
    lacking.extend(info.and_then(network));
    let mut seen = Isolation::new(IsolationLevel::Container).lacking(lacking);
    seen.reached_by = Some("Daytona's toolbox".to_owned());
    seen
}

fn network(info: &SandboxInfo) -> Option<String> {
    let allowed = info.network_allow_list.as_deref().filter(|list| !list.is_empty());
    match (info.network_block_all, allowed) {
        (Some(true), _) => None,
        (_, Some(list)) => Some(format!("commands reach these networks, as Daytona enforces it: {list}")),
        _ => Some("commands have the network that Daytona gives to the organisation".to_owned()),
    }
}
