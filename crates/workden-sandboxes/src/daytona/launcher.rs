//! `DaytonaLauncher`: the sandboxes of sessions at Daytona. Any process with the same key finds a session again by the
//! labels of its sandbox.

use std::sync::Arc;

use async_trait::async_trait;
use workden_core::{Error, ErrorKind, Result, Timestamp};

use super::{
    DaytonaSandbox, DaytonaSandboxBuilder, WhenStopped,
    api::{Api, SandboxInfo, SandboxState},
    labels, lifecycle,
};
use crate::{
    launcher::{ExistingSandbox, LaunchRequest, Launched, Launcher},
    session_id::SessionId,
    token,
};

/// Creates the sandboxes of sessions from one template.
#[derive(Clone, Debug)]
pub struct DaytonaLauncher {
    template: DaytonaSandboxBuilder,
    /// One client for all sandboxes.
    api: Api,
    owner: String,
}

impl DaytonaLauncher {
    /// Creates sandboxes from this template for the sessions of this owner. Every process with the same owner and a key
    /// of the same organisation has the same sessions.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for an empty owner, and for a template without a key.
    pub fn new(template: DaytonaSandboxBuilder, owner: &str) -> Result<Self> {
        if owner.is_empty() {
            return Err(Error::new(ErrorKind::InvalidArgument, "invalid session owner: it is empty"));
        }
        let api = template.api()?;
        Ok(Self { template, api, owner: owner.to_owned() })
    }

    /// Returns the sandbox of an existing session. Stopping it deletes it, as the end of a session does.
    fn attached(&self, name: &str) -> Result<DaytonaSandbox> {
        self.template.clone().attached_to(name).when_stopped(WhenStopped::Delete).build()
    }

    fn found(info: &SandboxInfo) -> Option<ExistingSandbox> {
        let session = info.label(labels::SESSION).filter(|session| !session.is_empty());
        let created = info.created_at.as_deref().and_then(|created| Timestamp::parse(created).ok());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
        let now = Timestamp::from_nanos(i128::try_from(now.as_nanos()).ok()?);
        // One that was stopped has been idle, and is deleted soon.
        let is_over = matches!(
            info.state(),
            SandboxState::Error
                | SandboxState::BuildFailed
                | SandboxState::Stopping
                | SandboxState::Stopped
                | SandboxState::Archiving
                | SandboxState::Archived
                | SandboxState::Destroying
                | SandboxState::Destroyed
        );
        Some(ExistingSandbox {
            name: info.id.clone(),
            session: match session {
                Some(session) => Some(session.parse().ok()?),
                None => None,
            },
            running: !is_over,
            age: created.map(|created| now.since(created)),
        })
    }
}

#[async_trait]
impl Launcher for DaytonaLauncher {
    async fn create(&self, order: &LaunchRequest) -> Result<Launched> {
        if order.workspace.is_some() || order.runtime.is_some() {
            let what = if order.workspace.is_some() { "a directory of this machine" } else { "a runtime" };
            let sentence = format!("{what} is not supported with a Daytona sandbox");
            return Err(
                Error::new(ErrorKind::Unsupported, sentence).hint("use an image or a snapshot, and a volume for files")
            );
        }
        let mut builder = self.template.clone().label(labels::OWNER, &self.owner);
        if let Some(session) = &order.session {
            builder = builder.label(labels::SESSION, session.as_str());
        }
        if let Some(idle) = order.idle {
            builder = builder.auto_stop(idle).deleted_when_stopped();
        }
        // A name of its own, so that it outlives this process.
        let name = format!("workden-{}", token::random_digits(8)?);
        let sandbox = builder.name(name).build()?;
        sandbox.start().await?;
        let name = sandbox.id().unwrap_or_default();
        Ok(Launched { sandbox: Arc::new(sandbox), name })
    }

    async fn assign(&self, spare: Launched, session: &SessionId) -> Result<Launched> {
        let info = self.api.get(&spare.name).await?;
        let info = info.ok_or_else(|| lifecycle::gone(&self.api, &spare.name, "it was deleted"))?;
        let mut all = info.labels.unwrap_or_default();
        all.insert(labels::SESSION.to_owned(), session.as_str().to_owned());
        self.api.set_labels(&spare.name, &all).await?;
        Ok(spare)
    }

    async fn find(&self) -> Result<Vec<ExistingSandbox>> {
        let all = self.api.with_label(labels::OWNER, &self.owner).await?;
        Ok(all.iter().filter_map(Self::found).collect())
    }

    async fn adopt(&self, found: &ExistingSandbox) -> Result<Launched> {
        let sandbox = self.attached(&found.name)?;
        sandbox.start().await?;
        Ok(Launched { sandbox: Arc::new(sandbox), name: found.name.clone() })
    }

    async fn remove(&self, name: &str) -> Result<()> {
        lifecycle::delete(&self.api, name).await
    }
}
