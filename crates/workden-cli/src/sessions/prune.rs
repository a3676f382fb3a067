//! `workden sessions prune`: ends what nobody uses, and removes what dead sessions left behind.

use std::{io::Write, time::Duration};

use workden_core::{ErrorKind, Sandbox};
use workden_sandboxes::{
    docker::{Daemon, Leftovers},
    sessions::{Ended, SandboxFactory, SessionId},
};

use super::Kept;
use crate::{containers::keepers, failure::Failure, place::request};

/// Whether anything is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    Remove,
    Nothing,
}

pub(super) async fn run(idle: Duration, doing: Doing) -> Result<(), Failure> {
    let kept = Kept::of_user().map_err(request)?;
    let mut told = Told { doing, any: false };
    let ids = kept.sessions.ids().map_err(request)?;
    for id in &ids {
        let kind = kept.sessions.record(id).ok().flatten().map_or_else(String::new, |record| record.kind);
        let finder = kept.finder(&kind).map_err(request)?;
        let Some(why) = reason(&kept, id, finder.as_ref(), idle).await? else { continue };
        if doing == Doing::Remove {
            let ended = kept.sessions.release_unused(id, finder.as_ref()).await.map_err(request)?;
            if ended == Ended::InUse {
                continue;
            }
        }
        told.tell(&format!("the session `{id}`, {why}"))?;
    }
    let linux = kept.finder("linux").map_err(request)?;
    unknown(linux.as_ref(), &ids, &mut told, "a sandbox of no session").await?;
    match containers(&kept, &ids, &mut told).await {
        // Without a daemon there are no containers.
        Err(error) if error.kind() == ErrorKind::Unreachable => {}
        done => done.map_err(request)?,
    }
    if !told.any {
        writeln!(anstream::stdout().lock(), "There is nothing to end or remove.").map_err(Failure::Output)?;
    }
    Ok(())
}

/// Why a session is to end; `None` when it goes on.
async fn reason(
    kept: &Kept,
    id: &SessionId,
    finder: &dyn SandboxFactory,
    most: Duration,
) -> Result<Option<String>, Failure> {
    let idle = kept.sessions.idle(id);
    let Some(placed) = kept.sessions.look(id, finder).await.map_err(request)? else {
        return Ok(Some("which has ended".to_owned()));
    };
    let jobs = placed.sandbox.usage().await.map_err(request)?.jobs;
    let is_idle = jobs == 0 && idle >= most;
    Ok(is_idle.then(|| format!("idle for {} s", idle.as_secs())))
}

/// Sandboxes that no record speaks of.
async fn unknown(finder: &dyn SandboxFactory, ids: &[SessionId], told: &mut Told, what: &str) -> Result<(), Failure> {
    for found in finder.find().await.map_err(request)? {
        let is_known = found.session.as_ref().is_some_and(|session| ids.contains(session));
        // One that runs may be of somebody who has just opened it.
        if is_known || found.running {
            continue;
        }
        if told.doing == Doing::Remove {
            finder.remove(&found.name).await.map_err(request)?;
        }
        told.tell(what)?;
    }
    Ok(())
}

async fn containers(kept: &Kept, ids: &[SessionId], told: &mut Told) -> workden_core::Result<()> {
    let daemon = Daemon::of_environment(&kept.host)?;
    let leftovers = Leftovers::new(daemon, keepers(&kept.host));
    for leftover in leftovers.find().await? {
        if told.doing == Doing::Remove && !leftovers.remove(&leftover).await? {
            continue;
        }
        let _ = told.tell(&leftover.to_string());
    }
    let finder = kept.finder("docker")?;
    let _ = unknown(finder.as_ref(), ids, told, "a container of no session").await;
    Ok(())
}

/// What is said.
struct Told {
    doing: Doing,
    any: bool,
}

impl Told {
    fn tell(&mut self, what: &str) -> Result<(), Failure> {
        self.any = true;
        let done = if self.doing == Doing::Remove { "removed" } else { "would remove" };
        writeln!(anstream::stdout().lock(), "{done} {what}").map_err(Failure::Output)
    }
}
