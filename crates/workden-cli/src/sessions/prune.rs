//! `workden sessions prune`: ends unused sessions, and removes what dead ones left behind.
//!
//! Invariant: a session that cannot be inspected is left alone, stops nothing else, and is reported at the end.

use std::{collections::BTreeSet, io::Write, time::Duration};

use workden::{
    Error, HostEnvironment, Result, SessionId, SessionKind, SessionPlace, UserSessions,
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
    let mut clusters = BTreeSet::new();
    for id in sessions.store().ids().map_err(request)? {
        let record = sessions.store().record(&id).ok().flatten();
        let place = record.as_ref().map(SessionPlace::of).filter(SessionPlace::is_cluster);
        let files = match &record {
            _ if place.is_some() => "files outside a claim end with its pod",
            Some(record) if !record.has_directory() => "its files end with it",
            _ => "its files stay",
        };
        clusters.extend(place);
        match session(&sessions, &id, idle, doing).await {
            Ok(Pruned::Stays) => {}
            Ok(Pruned::HadEnded) => told.tell(&format!("the session `{id}`, which has ended; {files}"))?,
            Ok(Pruned::Damaged) => {
                told.tell(&format!("the session `{id}`, whose record is invalid; its files stay"))?
            }
            Ok(Pruned::Idle(time)) => {
                told.tell(&format!("the session `{id}`, idle for {} s; {files}", time.as_secs()))?;
            }
            Err(error) => {
                failed.push(format!("cannot inspect the session `{id}`: {}", error.sentence()));
                silent.push(id.to_string());
            }
        }
    }
    match sandboxes(&sessions, doing).await {
        Ok(many) => (0..many).try_for_each(|_| told.tell("a sandbox without a session"))?,
        Err(error) => failed.push(error.sentence().to_owned()),
    }
    match containers(&sessions, doing).await {
        Ok(removed) => removed.iter().try_for_each(|what| told.tell(what))?,
        // Without a daemon there are no containers.
        Err(error) if error.kind() == ErrorKind::Unreachable => {}
        Err(error) => failed.push(error.sentence().to_owned()),
    }
    for cluster in &clusters {
        match pods(&sessions, cluster, doing).await {
            Ok(many) => (0..many).try_for_each(|_| told.tell("a pod without a session"))?,
            Err(error) => failed.push(error.sentence().to_owned()),
        }
    }
    if !failed.is_empty() {
        let hint = match silent.as_slice() {
            [] => String::new(),
            ids => format!("\nhint: `workden sessions release {}` ends silent sessions", ids.join(" ")),
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
        let why = format!("its record is invalid, and it may be a container: {}", error.sentence());
        return Err(Error::new(error.kind(), why));
    }
    let mut pruned = Pruned::Stays;
    for manager in &managers.all {
        match (pruned, doing) {
            (Pruned::Stays, _) => pruned = manager.prune(id, idle, doing).await?,
            // The kind of a damaged record is unknown: release the sandboxes of every kind.
            (_, Pruning::Remove) => drop(manager.release(id).await?),
            (_, Pruning::Look) => {}
        }
    }
    Ok(pruned)
}

async fn sandboxes(sessions: &UserSessions, doing: Pruning) -> Result<usize> {
    sessions.manager(&SessionKind::Linux.into()).await?.prune_unknown(doing).await
}

/// Removes pods that have ended and have no record, from a cluster that a record names.
async fn pods(sessions: &UserSessions, cluster: &SessionPlace, doing: Pruning) -> Result<usize> {
    sessions.manager(cluster).await?.prune_unknown(doing).await
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
    let many = sessions.manager(&SessionKind::Docker.into()).await?.prune_unknown(doing).await?;
    removed.extend((0..many).map(|_| "a container without a session".to_owned()));
    Ok(removed)
}

/// Prints what is removed.
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
