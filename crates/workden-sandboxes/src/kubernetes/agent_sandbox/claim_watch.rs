//! `ClaimWatch`: the changes of one claim.

use futures_util::{StreamExt, TryStreamExt, stream::BoxStream};
use kube::runtime::{WatchStreamExt, watcher};
use workden_core::{Error, ErrorKind, Result};

use super::{
    claim::not_installed,
    claim_state::ClaimState,
    resources::{self, SandboxClaim},
};
use crate::kubernetes::{cluster::Cluster, starting};

/// The changes of one claim.
pub(super) struct ClaimWatch {
    name: String,
    changes: BoxStream<'static, watcher::Result<watcher::Event<SandboxClaim>>>,
    is_listed: bool,
}

impl ClaimWatch {
    pub(super) async fn new(cluster: &Cluster, name: &str) -> Result<Self> {
        let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
        // The claim's type is only known at run time.
        let claims = resources::claims(cluster).await?;
        let changes = watcher::watcher(claims, config).default_backoff().boxed();
        Ok(Self { name: name.to_owned(), changes, is_listed: false })
    }

    /// Waits for the next state.
    pub(super) async fn next(&mut self) -> Result<ClaimState> {
        loop {
            match self.changes.try_next().await {
                Ok(Some(watcher::Event::Apply(claim) | watcher::Event::InitApply(claim))) => {
                    self.is_listed = true;
                    return Ok(ClaimState::of(&claim));
                }
                Ok(Some(watcher::Event::Delete(_))) => return Err(self.deleted()),
                Ok(Some(watcher::Event::InitDone)) if !self.is_listed => return Err(self.deleted()),
                Ok(Some(watcher::Event::Init | watcher::Event::InitDone)) => {}
                Ok(None) => return Err(Error::new(ErrorKind::Unreachable, "the watch of the claim ended")),
                // The watch starts again by itself. What is refused for ever is a matter of permissions.
                Err(error) => match starting::refused("watch the claim", &error) {
                    Some(why) if why.kind() == ErrorKind::NotFound => return Err(not_installed()),
                    Some(why) => return Err(why),
                    None => {}
                },
            }
        }
    }

    fn deleted(&self) -> Error {
        Error::new(ErrorKind::Gone, format!("the sandbox is gone: its claim `{}` was deleted", self.name))
    }
}
