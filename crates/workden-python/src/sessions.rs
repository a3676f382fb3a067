//! What sessions need besides a sandbox, which Python keeps: names that are safe, and directories for their files.

use std::path::PathBuf;

use pyo3::prelude::*;
use workden_sandboxes::{
    sessions::{SessionId, Workspaces},
    toolchains::Toolchain,
};

use crate::failure;

/// Raises a `Failure` for what cannot be the id of a session.
#[pyfunction]
fn check_session_id(id: &str) -> PyResult<()> {
    id.parse::<SessionId>().map(drop).map_err(failure::raised)
}

/// The directory for the files of a session, `{root}/{id}/workspace`, made if it is not there. Below the root
/// no link is followed.
#[pyfunction]
fn session_workspace(py: Python<'_>, root: PathBuf, id: &str) -> PyResult<PathBuf> {
    let id: SessionId = id.parse().map_err(failure::raised)?;
    py.detach(|| Workspaces::new(root).prepare(&id)).map_err(failure::raised)
}

/// Raises a `Failure` if the host does not have a toolchain of this name.
#[pyfunction]
fn check_toolchain(py: Python<'_>, name: &str) -> PyResult<()> {
    let found = py.detach(|| Toolchain::find(name, &workden_sandboxes::HostEnvironment::from_process()));
    found.map(drop).map_err(failure::raised)
}

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_session_id, module)?)?;
    module.add_function(wrap_pyfunction!(session_workspace, module)?)?;
    module.add_function(wrap_pyfunction!(check_toolchain, module)?)
}
