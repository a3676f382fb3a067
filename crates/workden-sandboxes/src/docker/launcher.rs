//! `DockerLauncher`: the containers of sessions. Any process that talks to the same daemon finds a session again by
//! its container's name and label.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use bollard::{
    models::{ContainerSummary, ContainerSummaryStateEnum},
    query_parameters::{ListContainersOptions, RenameContainerOptions},
};
use workden_core::{Error, ErrorKind, Result};

use super::{DockerSandbox, DockerSandboxBuilder, WhenItEnds, labels, leftovers::age, removal};
use crate::{
    launcher::{ExistingSandbox, LaunchRequest, Launched, Launcher},
    session_id::SessionId,
    token,
};

/// Precedes the random part of the name of a spare container. A session id cannot start like this.
const SPARE: &str = "-spare-";

/// Creates the containers of sessions from one template.
#[derive(Clone, Debug)]
pub struct DockerLauncher {
    template: DockerSandboxBuilder,
    owner: String,
}

impl DockerLauncher {
    /// Creates containers from this template for the sessions of this owner. A later process with the same owner has
    /// the same sessions.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for an owner that would not be valid as a session id.
    pub fn new(template: DockerSandboxBuilder, owner: &str) -> Result<Self> {
        owner.parse::<SessionId>().map_err(|_| {
            Error::new(ErrorKind::InvalidArgument, format!("invalid session owner `{}`", owner.escape_debug()))
                .hint("use letters, digits, `.`, `_` and `-`, starting with a letter or digit")
        })?;
        Ok(Self { template, owner: owner.to_owned() })
    }

    fn prefix(&self) -> String {
        format!("workden.{}.", self.owner)
    }

    fn builder(&self, order: &LaunchRequest) -> Result<DockerSandboxBuilder> {
        let name = match &order.session {
            Some(session) => format!("{}{session}", self.prefix()),
            None => format!("{}{SPARE}{}", self.prefix(), token::random_digits(6)?),
        };
        let mut builder = self.template.clone().container_name(name).label(labels::OWNER, &self.owner);
        // Files to keep are outside of the container, so removing it loses nothing.
        builder = builder.when_it_ends(WhenItEnds::Remove);
        if let Some(session) = &order.session {
            builder = builder.label(labels::SESSION, session.as_str());
        }
        if let Some(runtime) = &order.runtime {
            builder = builder.runtime(runtime.clone());
        }
        if let Some(idle) = order.idle {
            builder = builder.lease(idle);
        }
        if let Some(workspace) = &order.workspace {
            builder = builder.root(workspace);
        }
        let made_of = builder.plan()?.fingerprint();
        Ok(builder.label(labels::MADE_OF, made_of))
    }

    /// Returns the session of a container by its name: a spare one is renamed when it is assigned.
    fn found(&self, summary: &ContainerSummary) -> Option<ExistingSandbox> {
        let names = summary.names.clone().unwrap_or_default();
        let prefix = self.prefix();
        let name = names.iter().map(|name| name.trim_start_matches('/')).find(|name| name.starts_with(&prefix))?;
        let rest = name.strip_prefix(&prefix)?;
        let session = if rest.starts_with(SPARE) { None } else { Some(rest.parse().ok()?) };
        // Attaching resumes a paused container.
        let running =
            matches!(summary.state, Some(ContainerSummaryStateEnum::RUNNING | ContainerSummaryStateEnum::PAUSED));
        Some(ExistingSandbox { name: name.to_owned(), session, running, age: summary.created.and_then(age) })
    }
}

#[async_trait]
impl Launcher for DockerLauncher {
    async fn create(&self, order: &LaunchRequest) -> Result<Launched> {
        let sandbox = self.builder(order)?.build()?;
        sandbox.start().await?;
        let name = sandbox.container_name().unwrap_or_default();
        Ok(Launched { sandbox: Arc::new(sandbox), name })
    }

    async fn assign(&self, spare: Launched, session: &SessionId) -> Result<Launched> {
        let daemon = self.template.daemon_or_usual()?;
        let name = format!("{}{session}", self.prefix());
        let options = RenameContainerOptions { name: name.clone() };
        let renamed = daemon.client().await?.rename_container(&spare.name, options).await;
        renamed.map_err(|error| daemon.failed("assign a container to a session", &error))?;
        Ok(Launched { name, ..spare })
    }

    async fn find(&self) -> Result<Vec<ExistingSandbox>> {
        let daemon = self.template.daemon_or_usual()?;
        let label = format!("{}={}", labels::OWNER, self.owner);
        let filters = HashMap::from([("label".to_owned(), vec![label])]);
        let options = ListContainersOptions { all: true, filters: Some(filters), ..ListContainersOptions::default() };
        let all = daemon.client().await?.list_containers(Some(options)).await;
        let all = all.map_err(|error| daemon.failed("list containers", &error))?;
        Ok(all.iter().filter_map(|summary| self.found(summary)).collect())
    }

    async fn adopt(&self, found: &ExistingSandbox) -> Result<Launched> {
        let sandbox =
            DockerSandbox::attach(self.template.daemon_or_usual()?, &found.name, self.template.keepers_or_found());
        sandbox.start().await?;
        Ok(Launched { sandbox: Arc::new(sandbox), name: found.name.clone() })
    }

    async fn remove(&self, name: &str) -> Result<()> {
        removal::remove(&self.template.daemon_or_usual()?, name).await
    }
}
