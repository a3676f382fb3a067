//! Helpers for sessions, whose sandboxes Python holds: valid ids, and directories for their files.

use std::path::PathBuf;

use pyo3::prelude::*;
use workden::sandboxes::toolchains::Toolchain;
use workden::sessions::{SessionId, Workspaces};

use crate::failure;

/// Raises a `Failure` for an invalid session id.
#[pyfunction]
fn check_session_id(id: &str) -> PyResult<()> {
    id.parse::<SessionId>().map(drop).map_err(failure::raised)
}

/// Returns the directory for the files of a session, `{root}/{id}/workspace`, created if it is missing. Links below the
/// root are not followed.
#[pyfunction]
fn session_workspace(py: Python<'_>, root: PathBuf, id: &str) -> PyResult<PathBuf> {
    let id: SessionId = id.parse().map_err(failure::raised)?;
    py.detach(|| Workspaces::new(root).prepare(&id)).map_err(failure::raised)
}

/// Raises a `Failure` if the host does not have a toolchain of this name.
#[pyfunction]
fn check_toolchain(py: Python<'_>, name: &str) -> PyResult<()> {
    let found = py.detach(|| Toolchain::find(name, &workden::sandboxes::HostEnvironment::from_process()));
    found.map(drop).map_err(failure::raised)
}

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_session_id, module)?)?;
    module.add_function(wrap_pyfunction!(session_workspace, module)?)?;
    module.add_function(wrap_pyfunction!(check_toolchain, module)?)
}
