//! Workspaces whose files are in Python: a Python backend, or a dictionary.

use std::sync::Arc;

use pyo3::{prelude::*, types::PyDict};
use workden::Workspace;
use workden_policy::PathScope;

use super::{NativeWorkspace, WorkspaceParts};
use crate::{asking, foreign::Foreign, rules, runtime::Lock, state::LiveFiles};

#[pymethods]
impl NativeWorkspace {
    /// Wraps a Python backend. It has commands if it has `execute`.
    #[staticmethod]
    #[pyo3(signature = (backend, rules=None, asks=None))]
    fn foreign(backend: Bound<'_, PyAny>, rules: Option<String>, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let runs = backend.hasattr("execute")?;
        let (foreign, approvals) = (Foreign::new(backend.unbind()), asking::approvals(asks));
        Self::made_by(move || {
            let mut builder = Workspace::builder().approvals(approvals.clone());
            if let Some(directory) = foreign.named_directory() {
                builder = builder.work_dir(directory.as_str());
            }
            let surroundings = if runs { PathScope::Machine } else { PathScope::FilesOnly };
            builder = rules::hold(builder, rules.as_ref(), surroundings)?;
            builder = match runs {
                true => builder.remote(Arc::new(foreign.clone())),
                false => builder.mount_backend("/", foreign.clone()),
            };
            Ok(WorkspaceParts::new(builder.build()?))
        })
    }

    /// Wraps a dictionary of files without copying it: changes on either side are visible to the other.
    #[staticmethod]
    #[pyo3(signature = (files, rules=None, asks=None))]
    fn state(files: Bound<'_, PyDict>, rules: Option<String>, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let (files, approvals) = (LiveFiles::new(files.unbind()), asking::approvals(asks));
        Self::made_by(move || {
            let mut builder = Workspace::builder().approvals(approvals.clone()).mount_backend("/", files.clone());
            builder = rules::hold(builder, rules.as_ref(), PathScope::FilesOnly)?;
            Ok(WorkspaceParts { lock: Lock::Kept, ..WorkspaceParts::new(builder.build()?) })
        })
    }
}
