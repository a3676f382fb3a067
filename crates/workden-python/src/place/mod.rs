//! `Place`: a workspace as Python holds it. Files, and commands if there are any, behind their policy.
//!
//! Invariant: the parts of a place belong to one process. A forked child creates its own on first use, and never
//! touches the keepers and connections of its parent.

mod attached;
mod commands;
mod daemons;
mod docker;
mod files;
mod life;
mod linux;
mod local;
mod made_of;
mod mounts;
mod names;
mod news;
mod of_python;
mod run;
mod shown;
mod tree;

use std::sync::Arc;

use life::Life;
use names::Names;
use pyo3::prelude::*;
use workden::{Workspace, WorkspaceBuilder};
use workden_core::Result;

use crate::{failure, per_process::PerProcess, runtime::Lock};

/// A workspace with a constructor for each kind. Safe to use from any thread.
#[pyclass(frozen, weakref, module = "workden._native")]
pub(crate) struct Place {
    dens: PerProcess<Den>,
    make: Box<dyn Fn() -> Result<Den> + Send + Sync>,
}

/// The parts of a place in one process. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Den {
    pub(crate) workspace: Workspace,
    names: Arc<Names>,
    /// For a place with a sandbox.
    life: Option<Life>,
    pub(crate) lock: Lock,
}

impl Den {
    /// Creates the parts of a place in which every path is one of the workspace.
    pub(crate) fn new(workspace: Workspace) -> Self {
        Self { workspace, names: Arc::default(), life: None, lock: Lock::LetGo }
    }

    /// A den that is a sandbox: it can be started, asked and ended.
    pub(crate) fn with_sandbox(builder: WorkspaceBuilder) -> Result<Self> {
        let workspace = builder.build()?;
        Ok(Self { life: Life::of(&workspace), ..Self::new(workspace) })
    }
}

impl Place {
    /// Creates a place with this function, now, and again in every child process that uses it.
    pub(crate) fn made_by(make: impl Fn() -> Result<Den> + Send + Sync + 'static) -> PyResult<Self> {
        let place = Self { dens: PerProcess::new(), make: Box::new(make) };
        place.den().map_err(failure::raised)?;
        Ok(place)
    }

    /// Returns the parts of this process.
    pub(crate) fn den(&self) -> Result<Den> {
        self.dens.get_or_make(|| (self.make)()).cloned()
    }
}
