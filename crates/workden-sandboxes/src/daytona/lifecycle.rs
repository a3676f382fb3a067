//! The lifetime of a sandbox at Daytona: it is created, started, stopped and deleted by orders, and its state tells
//! when each is done.
//!
//! Invariant: a creation that fails leaves nothing behind, also when the service did not answer: each has a label of its
//! own, by which the sandbox is found again.

use std::time::{Duration, Instant};

use tokio::time::sleep;
use workden_core::{Error, ErrorKind, Result};

use super::{
    api::{Api, CreateSandbox, Failure, Progress, SandboxInfo, SandboxState, jittered},
    labels,
};
use crate::token;

/// The pauses between two looks at a state: the first, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long a change of state may keep another one from being ordered.
const CHANGE_TIME: Duration = Duration::from_secs(120);
/// How often a creation is tried that was not answered.
const ATTEMPTS: usize = 3;
/// The pauses before each look for a sandbox whose creation was not answered.
const LOOKS: [Duration; 3] = [Duration::ZERO, Duration::from_millis(500), Duration::from_secs(2)];

/// Creates a sandbox; it starts by itself. A failure says whether the name is taken.
pub(super) async fn create(api: &Api, request: &CreateSandbox) -> Result<SandboxInfo, Failure> {
    let mark = token::random_digits(16).map_err(|error| Failure { error, progress: Progress::NoConnection })?;
    let mut request = request.clone();
    request.labels.insert(labels::CREATION.to_owned(), mark.clone());
    for attempt in 1.. {
        let failure = match api.create(&request).await {
            Ok(made) => {
                if attempt > 1 {
                    remove_marked(api, &mark, Some(&made.id)).await;
                }
                return Ok(made);
            }
            Err(failure) if failure.had_no_effect() => return Err(failure),
            Err(failure) => failure,
        };
        tracing::debug!(error = %failure.error, "the creation was not answered; looking for the sandbox");
        if let Some(made) = marked(api, &mark).await.pop() {
            remove_marked(api, &mark, Some(&made.id)).await;
            return Ok(made);
        }
        if failure.progress != Progress::NoAnswer || attempt >= ATTEMPTS {
            return Err(failure);
        }
    }
    Err(Failure { error: Error::new(ErrorKind::Io, "cannot create a sandbox"), progress: Progress::NoConnection })
}

/// Returns the sandboxes of one creation. The service may show them late.
async fn marked(api: &Api, mark: &str) -> Vec<SandboxInfo> {
    for pause in LOOKS {
        sleep(pause).await;
        match api.with_label(labels::CREATION, mark).await {
            Ok(found) if !found.is_empty() => return found,
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "cannot look for a sandbox whose creation was not answered"),
        }
    }
    Vec::new()
}

/// Deletes the sandboxes of one creation but this one.
async fn remove_marked(api: &Api, mark: &str, but: Option<&str>) {
    let Ok(found) = api.with_label(labels::CREATION, mark).await else { return };
    for other in found.into_iter().filter(|other| Some(other.id.as_str()) != but) {
        let _ = delete(api, &other.id).await;
    }
}

/// Waits until a sandbox has started, and starts it if it is stopped.
pub(super) async fn running(api: &Api, mut info: SandboxInfo, most: Duration) -> Result<SandboxInfo> {
    let (began, mut pause) = (Instant::now(), FIRST_PAUSE);
    loop {
        match info.state() {
            SandboxState::Started => return Ok(info),
            SandboxState::Error | SandboxState::BuildFailed => return Err(failed(api, &info)),
            SandboxState::Destroying | SandboxState::Destroyed => return Err(gone(api, &info.id, "it was deleted")),
            SandboxState::Stopped | SandboxState::Archived | SandboxState::Paused => match api.start(&info.id).await {
                // It changes its state at this moment.
                Err(failure) if failure.is(409) => {}
                started => started?,
            },
            _ => {}
        }
        let Some(left) = most.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) else {
            let (state, seconds) = (info.state(), most.as_secs());
            let sentence = format!(
                "starting the Daytona sandbox `{}` timed out after {seconds} s: {state:?}",
                api.shown(&info.id)
            );
            return Err(Error::new(ErrorKind::TimedOut, sentence).hint("set a longer start timeout"));
        };
        sleep(jittered(pause).min(left)).await;
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        info = api.get(&info.id).await?.ok_or_else(|| gone(api, &info.id, "it was deleted while it started"))?;
    }
}

/// Deletes a sandbox, also one that changes its state at the moment. A missing one is not an error.
pub(super) async fn delete(api: &Api, id: &str) -> Result<()> {
    let (began, mut pause) = (Instant::now(), FIRST_PAUSE);
    loop {
        match api.delete(id).await {
            Err(failure) if failure.is(404) => return Ok(()),
            Err(failure) if failure.is(409) && began.elapsed() < CHANGE_TIME => {
                // It may be that very deletion.
                let state = api.get(id).await?.map_or(SandboxState::Destroyed, |info| info.state());
                if matches!(state, SandboxState::Destroying | SandboxState::Destroyed) {
                    return Ok(());
                }
            }
            deleted => return Ok(deleted?),
        }
        sleep(jittered(pause)).await;
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}

/// Stops a sandbox, and waits until it has stopped. A missing one is not an error.
pub(super) async fn stop(api: &Api, id: &str) -> Result<()> {
    let (began, mut pause) = (Instant::now(), FIRST_PAUSE);
    loop {
        let Some(info) = api.get(id).await? else { return Ok(()) };
        match info.state() {
            SandboxState::Stopped
            | SandboxState::Archiving
            | SandboxState::Archived
            | SandboxState::Destroying
            | SandboxState::Destroyed => return Ok(()),
            SandboxState::Error | SandboxState::BuildFailed => return Err(failed(api, &info)),
            SandboxState::Started => match api.stop(id).await {
                Err(failure) if failure.is(409) => {}
                Err(failure) if failure.is(404) => return Ok(()),
                stopped => stopped?,
            },
            _ => {}
        }
        if began.elapsed() >= CHANGE_TIME {
            let sentence =
                format!("stopping the Daytona sandbox `{}` timed out after {} s", api.shown(id), CHANGE_TIME.as_secs());
            return Err(Error::new(ErrorKind::TimedOut, sentence));
        }
        sleep(jittered(pause)).await;
        pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
    }
}

/// Returns why a sandbox does not answer; `Ok` when it runs, or can be started again.
pub(super) async fn why_gone(api: &Api, id: &str) -> Result<SandboxInfo> {
    let info = api.get(id).await?.ok_or_else(|| gone(api, id, "it was deleted"))?;
    match info.state() {
        SandboxState::Started | SandboxState::Stopped | SandboxState::Archived | SandboxState::Paused => Ok(info),
        SandboxState::Error | SandboxState::BuildFailed => {
            let why = failed(api, &info);
            Err(Error::new(ErrorKind::Gone, why.sentence().to_owned()))
        }
        SandboxState::Destroying | SandboxState::Destroyed => Err(gone(api, id, "it was deleted")),
        state => {
            let sentence = format!("the Daytona sandbox `{}` changes its state: {state:?}", api.shown(id));
            Err(Error::new(ErrorKind::Busy, sentence).hint("try again later"))
        }
    }
}

fn failed(api: &Api, info: &SandboxInfo) -> Error {
    let reason = info.error_reason.as_deref().filter(|reason| !reason.is_empty()).unwrap_or("no reason given");
    let sentence = format!("the Daytona sandbox `{}` failed: {}", api.shown(&info.id), api.shown(reason));
    Error::new(ErrorKind::Unsupported, sentence)
}

pub(super) fn gone(api: &Api, id: &str, why: &str) -> Error {
    let sentence = format!("the Daytona sandbox `{}` is gone: {why}", api.shown(id));
    Error::new(ErrorKind::Gone, sentence).hint("create a new sandbox")
}
