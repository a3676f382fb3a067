//! Sandboxes of Daytona, a hosting service.
//!
//! A [`DaytonaSandbox`] is a sandbox in which a keeper runs. One stream connects to it, so a call takes one round trip
//! and behaves as in every other sandbox. Where a keeper cannot run, the toolbox of the sandbox serves files and
//! commands, and [`isolation`](workden_core::Sandbox::isolation) says so.
//!
//! ```no_run
//! # async fn example() -> workden_core::Result<()> {
//! use workden_core::{Sandbox, sandbox::ExecuteRequest};
//! use workden_sandboxes::{HostEnvironment, daytona::DaytonaSandbox};
//!
//! let sandbox = DaytonaSandbox::builder()
//!     .environment_of(HostEnvironment::from_process())
//!     .api_key("dtn_...")
//!     .image("python:3.12-slim")
//!     .build()?;
//! let hello = sandbox.execute(&ExecuteRequest::shell("python3 -c 'print(6 * 7)'")).await?;
//! println!("{}", hello.output.text());
//! sandbox.stop().await?;
//! # Ok(()) }
//! ```

mod api;
mod builder;
mod doctor;
mod hosted;
mod install_script;
mod keeper_setup;
mod labels;
mod launcher;
mod lifecycle;
mod report;
mod status;
mod toolbox_service;

use std::{collections::BTreeMap, sync::Arc};

pub use builder::DaytonaSandboxBuilder;
use hosted::HostedSandbox;
pub use hosted::{DaytonaMode, WhenStopped};
pub use launcher::DaytonaLauncher;
pub use status::DaytonaStatus;
use tokio::sync::OnceCell;
use toolbox_service::ToolboxService;
use workden_core::{
    BackendExt, Result, Sandbox, VirtualPath, forward_backend, forward_sandbox,
    sandbox::{ExecuteRequest, Executed, Job, JobRequest, Process, SpawnRequest},
};

use crate::{reconnecting::ReconnectingSandbox, served::ServedSandbox};

/// A sandbox at Daytona. It starts when first needed, and ends when it is stopped. When it is dropped instead, it is
/// deleted as soon as Daytona receives the request, or after its interval.
#[derive(Debug)]
pub struct DaytonaSandbox {
    kept: ReconnectingSandbox<HostedSandbox>,
    /// Decided at the start.
    way: OnceCell<Way>,
}

/// How files and commands are reached.
#[derive(Debug)]
enum Way {
    /// By the keeper.
    Keeper,
    /// By the toolbox.
    Toolbox(Box<ServedSandbox<ToolboxService>>),
}

impl DaytonaSandbox {
    /// Returns a builder. It needs an API key.
    pub fn builder() -> DaytonaSandboxBuilder {
        DaytonaSandboxBuilder::default()
    }

    fn of(hosted: HostedSandbox) -> Self {
        Self { kept: ReconnectingSandbox::new(hosted), way: OnceCell::new() }
    }

    /// Starts the sandbox now, before the first call.
    ///
    /// # Errors
    ///
    /// Any reason that prevents the start, in Daytona's own words.
    pub async fn start(&self) -> Result<()> {
        self.sandbox().await.map(drop)
    }

    /// Returns the id of the sandbox; `None` before the start.
    #[must_use]
    pub fn id(&self) -> Option<String> {
        self.kept.connector.made().map(|made| made.id.clone())
    }

    /// Returns the name of the sandbox; `None` before the start.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        self.kept.connector.made().map(|made| made.name.clone())
    }

    /// Returns the sandbox that serves the calls.
    async fn sandbox(&self) -> Result<&dyn Sandbox> {
        if self.kept.connector.is_ended() {
            // It has the reason.
            return Ok(&self.kept);
        }
        Ok(match self.way.get_or_try_init(|| self.choose()).await? {
            Way::Keeper => &self.kept,
            Way::Toolbox(served) => &**served,
        })
    }

    /// Decides how files and commands are reached.
    async fn choose(&self) -> Result<Way> {
        let hosted = &self.kept.connector;
        let why = match hosted.plan.mode {
            DaytonaMode::Toolbox => "the mode `toolbox` was chosen".to_owned(),
            DaytonaMode::Keeper | DaytonaMode::Automatic => match self.kept.remote().await {
                Ok(remote) => {
                    // The keeper of another process may have been started for another directory.
                    if remote.directory_at_start() != self.work_dir() {
                        remote.make_dir_path(self.work_dir()).await?;
                    }
                    hosted.plan.status.set_mode(DaytonaMode::Keeper);
                    return Ok(Way::Keeper);
                }
                Err(error) => hosted.why_impossible().ok_or(error)?,
            },
        };
        let made = hosted.started().await?;
        let served = ServedSandbox::new(ToolboxService::new(Arc::clone(hosted), made, why));
        served.make_dir_path(self.work_dir()).await?;
        hosted.plan.status.set_mode(DaytonaMode::Toolbox);
        Ok(Way::Toolbox(Box::new(served)))
    }

    fn work_dir(&self) -> &VirtualPath {
        &self.kept.connector.plan.keeper.directory
    }

    /// Completes a command with the options of this sandbox: neither a keeper that another process has started nor the
    /// toolbox knows them.
    fn complete(&self, directory: &mut Option<VirtualPath>, environment: &mut BTreeMap<String, String>) {
        directory.get_or_insert_with(|| self.work_dir().clone());
        for (name, value) in &self.kept.connector.plan.variables {
            environment.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
}

forward_backend! {
    impl[] for DaytonaSandbox;
    looks: [|this| this.sandbox().await?, |answer| answer],
    changes: [|this| this.sandbox().await?, |answer| answer],
    host_files: own
}

forward_sandbox! {
    impl[] for DaytonaSandbox;
    looks: [|this| this.sandbox().await?, |answer| answer],
    changes: [|this| this.sandbox().await?, |answer| answer],
    forward: [jobs read_job kill_job connect_port watch usage isolation],
    {
        async fn execute(&self, request: &ExecuteRequest) -> Result<Executed> {
            let mut request = request.clone();
            self.complete(&mut request.directory, &mut request.environment);
            self.sandbox().await?.execute(&request).await
        }
        async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
            let mut request = request.clone();
            self.complete(&mut request.directory, &mut request.environment);
            self.sandbox().await?.spawn(&request).await
        }
        async fn start_job(&self, request: &JobRequest) -> Result<Job> {
            let mut request = request.clone();
            self.complete(&mut request.directory, &mut request.environment);
            self.sandbox().await?.start_job(&request).await
        }
        async fn directory(&self) -> Result<VirtualPath> {
            // A sandbox that has ended has none.
            self.sandbox().await?.directory().await.map(|_| self.work_dir().clone())
        }
        async fn stop(&self) -> Result<()> {
            self.kept.connector.give_up();
            self.kept.end().await
        }
    }
}
