//! `NativeWorkspace`: a workspace as Python holds it. Files, and commands if there are any, behind their policy.
//!
//! Invariant: the parts of a workspace belong to one process. A forked child creates its own on first use, and never
//! touches the keepers and connections of its parent.

mod attached;
mod clusters;
mod commands;
mod daemons;
mod daytona;
mod derived;
mod docker;
mod entries;
mod files;
mod host_paths;
mod image_progress;
mod kubernetes;
mod lifecycle;
mod linux;
mod local;
mod mounts;
mod names;
mod python_files;
mod remote;
mod separate_streams;

use std::sync::Arc;

pub(crate) use daytona::DaytonaStatus;
use lifecycle::SandboxLifecycle;
use names::Names;
use pyo3::prelude::*;
use workden::{Workspace, WorkspaceBuilder};
use workden_core::Result;

use crate::{failure, per_process::PerProcess, runtime::Lock};

/// A workspace with a constructor for each kind. Safe to use from any thread.
#[pyclass(frozen, weakref, module = "workden._native")]
pub(crate) struct NativeWorkspace {
    parts: PerProcess<WorkspaceParts>,
    make: Box<dyn Fn() -> Result<WorkspaceParts> + Send + Sync>,
}

/// The parts of a workspace in one process. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct WorkspaceParts {
    pub(crate) workspace: Workspace,
    names: Arc<Names>,
    /// For a workspace with a sandbox.
    lifecycle: Option<SandboxLifecycle>,
    pub(crate) lock: Lock,
}

impl WorkspaceParts {
    /// Creates the parts of a workspace that takes every path as typed, without names of host directories.
    pub(crate) fn new(workspace: Workspace) -> Self {
        Self { workspace, names: Arc::default(), lifecycle: None, lock: Lock::LetGo }
    }

    /// Creates the parts of a workspace with a sandbox, which can be started, queried and ended.
    pub(crate) fn with_sandbox(builder: WorkspaceBuilder) -> Result<Self> {
        let workspace = builder.build()?;
        Ok(Self { lifecycle: SandboxLifecycle::of(&workspace), ..Self::new(workspace) })
    }
}

impl NativeWorkspace {
    /// Creates the parts with this function, now, and again in every child process that uses the workspace.
    pub(crate) fn made_by(make: impl Fn() -> Result<WorkspaceParts> + Send + Sync + 'static) -> PyResult<Self> {
        let workspace = Self { parts: PerProcess::new(), make: Box::new(make) };
        workspace.parts().map_err(failure::raised)?;
        Ok(workspace)
    }

    /// Returns the parts of this process.
    pub(crate) fn parts(&self) -> Result<WorkspaceParts> {
        self.parts.get_or_make(|| (self.make)()).cloned()
    }
}
