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
mod hosted;
mod install_script;
mod keeper_setup;
mod labels;
mod launcher;
mod lifecycle;
mod report;
mod toolbox_service;

use std::sync::Arc;

pub use builder::DaytonaSandboxBuilder;
use hosted::HostedSandbox;
pub use hosted::{DaytonaMode, WhenStopped};
pub use launcher::DaytonaLauncher;
use tokio::sync::OnceCell;
use toolbox_service::ToolboxService;
use workden_core::{Result, Sandbox};

use crate::{delegate, reconnecting::ReconnectingSandbox, served::ServedSandbox};

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

    async fn choose(&self) -> Result<Way> {
        let hosted = &self.kept.connector;
        let why = match hosted.plan.mode {
            DaytonaMode::Toolbox => "the mode `toolbox` was chosen".to_owned(),
            DaytonaMode::Keeper => return self.kept.remote().await.map(|_| Way::Keeper),
            DaytonaMode::Automatic => match self.kept.remote().await {
                Ok(_) => return Ok(Way::Keeper),
                Err(error) => hosted.why_impossible().ok_or(error)?,
            },
        };
        let made = hosted.started().await?;
        let service = ToolboxService::new(Arc::clone(hosted), made, why)?;
        Ok(Way::Toolbox(Box::new(ServedSandbox::new(service))))
    }
}

delegate!(DaytonaSandbox, |this| this.sandbox().await?, |answer| answer, {
    async fn spawn(&self, request: &SpawnRequest) -> Result<Process> {
        self.sandbox().await?.spawn(request).await
    }
    async fn stop(&self) -> Result<()> {
        self.kept.connector.give_up();
        self.kept.end().await
    }
});
