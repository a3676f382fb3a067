//! Commands in a session: its files are the workspace, its sandbox is opened by the first command, and it goes on
//! afterwards. What the policy denies to read has to be hidden in it, or it is not used.

use std::sync::{Arc, Mutex, PoisonError};

use workden::{Config, masks};
use workden_core::{Sandbox, sandbox::MountAccess};
use workden_sandboxes::{
    LateSandbox,
    sessions::{KeptSession, SessionId},
};

use super::{
    arguments::{MountAt, PlaceArguments, SandboxChoice},
    commands::{Commands, KnownLater},
    directories::{Directories, Source},
    request,
};
use crate::{
    failure::Failure,
    sessions::{Kept, SessionKind, Wanted},
};

pub(super) fn of(
    arguments: &PlaceArguments,
    id: &SessionId,
    config: Option<&Config>,
    policy: KnownLater,
) -> Result<(Directories, Option<Commands>), Failure> {
    let kind = match arguments.sandbox() {
        SandboxChoice::Linux => SessionKind::Linux,
        SandboxChoice::Docker => SessionKind::Docker,
        SandboxChoice::Host | SandboxChoice::None => {
            let sentence =
                "a session is a Linux sandbox or a container: `--session` needs `--sandbox linux` or `docker`";
            return Err(Failure::Request(sentence.to_owned()));
        }
    };
    let named = [
        ("--state", arguments.state.is_some()),
        ("--mount", !arguments.mount.is_empty()),
        ("--toolchain", !arguments.toolchain.is_empty()),
        ("a configuration with mounts", config.is_some_and(|config| !config.mounts.is_empty())),
    ];
    if let Some((name, _)) = named.iter().find(|(_, is_named)| *is_named) {
        return Err(Failure::Request(format!(
            "`--session` and {name} do not go together\nhint: leave out one of them"
        )));
    }
    let wanted = Wanted {
        container: arguments.container.clone(),
        root: arguments.root.clone(),
        net: arguments.net.clone(),
        ..Wanted::default()
    };
    let kept = Kept::of_user().map_err(request)?;
    let record = kept.record(id, kind, &wanted).map_err(request)?;
    let workspace =
        MountAt { at: record.directory.clone(), directory: record.workspace.clone(), access: MountAccess::ReadWrite };
    let working = record.directory.clone();
    let directories = Directories { all: vec![workspace], working: working.clone(), source: Source::Options };
    let (kept, id, used) = (Arc::new(kept), id.clone(), Used::default());
    let sandbox = LateSandbox::new(working, move || {
        let (kept, id, used, policy) = (Arc::clone(&kept), id.clone(), Arc::clone(&used), Arc::clone(&policy));
        let mut record = record.clone();
        async move {
            if let Some(policy) = policy.get() {
                record.masked.extend(masks(&Kept::shown(&record), policy).await?);
                record.masked.sort();
                record.masked.dedup();
            }
            let session = kept.open(&id, record).await?;
            let sandbox: Arc<dyn Sandbox> = Arc::clone(&session.placed.sandbox);
            *used.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
            Ok(sandbox)
        }
    });
    Ok((directories, Some(Commands::of_session(sandbox))))
}

/// The session, held for as long as commands may come.
type Used = Arc<Mutex<Option<KeptSession>>>;
