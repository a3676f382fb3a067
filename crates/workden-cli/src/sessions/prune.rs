//! `workden sessions prune`: ends what nobody uses, and removes what dead sessions left behind.
//!
//! Invariant: what cannot be looked at is left alone, hinders nothing else, and is named in the end.

use std::{io::Write, time::Duration};

use workden::{
    Error, HostEnvironment, Result, SessionId, UserSessions,
    core::ErrorKind,
    sandboxes::docker::{Daemon, Leftovers},
    sessions::{Pruned, Pruning},
};

use super::user_sessions;
use crate::{
    containers::keepers,
    failure::{Failure, request},
};

pub(super) async fn run(idle: Duration, doing: Pruning) -> std::result::Result<(), Failure> {
    let sessions = user_sessions().map_err(request)?;
    let mut told = Told { doing, any: false };
    let (mut silent, mut failed) = (Vec::new(), Vec::new());
    for id in sessions.store().ids().map_err(request)? {
        match session(&sessions, &id, idle, doing).await {
            Ok(Pruned::Stays) => {}
            Ok(Pruned::HadEnded) => told.tell(&format!("the session `{id}`, which has ended"))?,
            Ok(Pruned::Damaged) => told.tell(&format!("the session `{id}`, whose record cannot be understood"))?,
            Ok(Pruned::Idle(time)) => told.tell(&format!("the session `{id}`, idle for {} s", time.as_secs()))?,
            Err(error) => {
                failed.push(format!("the session `{id}` could not be looked at: {}", error.sentence()));
                silent.push(id.to_string());
            }
        }
    }
    match sandboxes(&sessions, doing).await {
        Ok(many) => (0..many).try_for_each(|_| told.tell("a sandbox of no session"))?,
        Err(error) => failed.push(error.sentence().to_owned()),
    }
    match containers(&sessions, doing).await {
        Ok(removed) => removed.iter().try_for_each(|what| told.tell(what))?,
        // Without a daemon there are no containers.
        Err(error) if error.kind() == ErrorKind::Unreachable => {}
        Err(error) => failed.push(error.sentence().to_owned()),
    }
    if !failed.is_empty() {
        let hint = match silent.as_slice() {
            [] => String::new(),
            ids => format!("\nhint: `workden sessions release {}` ends what does not answer", ids.join(" ")),
        };
        return Err(Failure::Request(failed.join("\n       ") + &hint));
    }
    if !told.any {
        writeln!(anstream::stdout().lock(), "There is nothing to end or remove.").map_err(Failure::Output)?;
    }
    Ok(())
}

async fn session(sessions: &UserSessions, id: &SessionId, idle: Duration, doing: Pruning) -> Result<Pruned> {
    let managers = sessions.managers(id).await?;
    if let Some(error) = managers.missing {
        let why = format!("its record cannot be understood, and it may be a container: {}", error.sentence());
        return Err(Error::new(error.kind(), why));
    }
    let mut pruned = Pruned::Stays;
    for manager in &managers.all {
        match (pruned, doing) {
            (Pruned::Stays, _) => pruned = manager.prune(id, idle, doing).await?,
            // What a damaged record was of is unknown: of every kind, nothing is left.
            (_, Pruning::Remove) => drop(manager.release(id).await?),
            (_, Pruning::Look) => {}
        }
    }
    Ok(pruned)
}

async fn sandboxes(sessions: &UserSessions, doing: Pruning) -> Result<usize> {
    sessions.manager("linux").await?.prune_unknown(doing).await
}

async fn containers(sessions: &UserSessions, doing: Pruning) -> Result<Vec<String>> {
    let host = HostEnvironment::from_process();
    let leftovers = Leftovers::new(Daemon::of_environment(&host)?, keepers(&host));
    let mut removed = Vec::new();
    for leftover in leftovers.find().await? {
        if doing == Pruning::Look || leftovers.remove(&leftover).await? {
            removed.push(leftover.to_string());
        }
    }
    let many = sessions.manager("docker").await?.prune_unknown(doing).await?;
    removed.extend((0..many).map(|_| "a container of no session".to_owned()));
    Ok(removed)
}

/// What is said.
struct Told {
    doing: Pruning,
    any: bool,
}

impl Told {
    fn tell(&mut self, what: &str) -> std::result::Result<(), Failure> {
        self.any = true;
        let done = if self.doing == Pruning::Remove { "removed" } else { "would remove" };
        writeln!(anstream::stdout().lock(), "{done} {what}").map_err(Failure::Output)
    }
}
