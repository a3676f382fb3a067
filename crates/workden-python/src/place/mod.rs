//! `Place`: somewhere to work, as Python holds it. Files, and commands if it has any, behind their policy.
//!
//! Invariant: what a place is made of belongs to one process. A forked child makes its own when it first
//! needs it, and never touches the keepers and connections of its parent.

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
use workden::Workspace;
use workden_core::Result;

use crate::{failure, per_process::PerProcess, runtime::Lock};

/// Somewhere to work. Made by one of its constructors, one for each kind; safe to use from any thread.
#[pyclass(frozen, weakref, module = "workden._native")]
pub(crate) struct Place {
    dens: PerProcess<Den>,
    make: Box<dyn Fn() -> Result<Den> + Send + Sync>,
}

/// What a place is made of in one process. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Den {
    pub(crate) workspace: Workspace,
    names: Arc<Names>,
    /// Of a place that is a sandbox.
    life: Option<Life>,
    pub(crate) lock: Lock,
}

impl Den {
    /// A den in which every path is one of the workspace.
    pub(crate) fn new(workspace: Workspace) -> Self {
        Self { workspace, names: Arc::default(), life: None, lock: Lock::LetGo }
    }
}

impl Place {
    /// A place that this function makes, now, and once more in every child that uses it.
    pub(crate) fn made_by(make: impl Fn() -> Result<Den> + Send + Sync + 'static) -> PyResult<Self> {
        let place = Self { dens: PerProcess::new(), make: Box::new(make) };
        place.den().map_err(failure::raised)?;
        Ok(place)
    }

    /// That of this process.
    pub(crate) fn den(&self) -> Result<Den> {
        self.dens.get_or_make(|| (self.make)()).cloned()
    }
}
