//! Workspaces derived from other workspaces: with more rules, with fewer directories, or combined.

use std::sync::Arc;

use pyo3::prelude::*;
use workden::{Derive, Workspace};
use workden_core::{Backend, Op, PrefixBackend, Resolved, Sandbox, Symlink, Verdict, VirtualPath};
use workden_policy::{Operation, PathScope, Policy};

use super::{NativeWorkspace, WorkspaceParts};
use crate::{asking, failure, rules};

impl WorkspaceParts {
    pub(crate) fn surroundings(&self) -> PathScope {
        match self.workspace.commands() {
            Ok(_) => PathScope::Machine,
            Err(_) => PathScope::FilesOnly,
        }
    }

    /// Judges one operation on a path, as typed and at its target.
    async fn judged(&self, operation: Operation, path: &VirtualPath) -> Verdict {
        let at = match self.workspace.files().resolve(path, Symlink::Follow).await {
            Ok(at) => at,
            Err(_) => Resolved::literal(path.clone()),
        };
        let op = match operation {
            Operation::Read => Op::Read(&at),
            Operation::Write => Op::Write(&at),
            Operation::Edit => Op::Change(&at),
            Operation::Delete => Op::Remove(&at),
            Operation::Glob => Op::Glob(&at),
            Operation::Grep => Op::Grep(&at),
            Operation::Ls => Op::List(&at),
            Operation::Execute => return self.workspace.judge_command(path.as_str()).await,
        };
        self.workspace.policy().judge(op)
    }

    /// Returns the base directory of relative paths, for host directories under their own names.
    fn root(&self) -> Option<VirtualPath> {
        self.workspace.named_directory().filter(|_| !self.names.directories.is_empty())
    }

    /// Returns the workspace as a sandbox, behind its own rules, if it has commands.
    fn sandbox(&self) -> Option<Arc<dyn Sandbox>> {
        self.workspace.commands().ok().map(|commands| Arc::new(commands.clone()) as Arc<dyn Sandbox>)
    }
}

/// A route of a composite: its prefix, its workspace, and, if the workspace sees paths without the prefix, where they
/// start.
type Route = (String, Py<NativeWorkspace>, Option<String>);

#[pymethods]
impl NativeWorkspace {
    /// Returns the same workspace behind additional rules.
    #[pyo3(signature = (rules, asks=None))]
    fn guarded(slf: Py<Self>, rules: String, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let approvals = asks.map(|asks| asking::approvals(Some(asks)));
        Self::made_by(move || {
            let parts = slf.get().parts()?;
            let rules = rules::enforced(&rules, parts.surroundings())?;
            Ok(WorkspaceParts { workspace: parts.workspace.behind(rules.as_ref(), approvals.clone())?, ..parts })
        })
    }

    /// Returns the same workspace restricted to some directories; `config` is JSON.
    fn derive(slf: Py<Self>, config: &str) -> PyResult<Self> {
        let config: Derive = serde_json::from_str(config)
            .map_err(|error| failure::raised(failure::invalid("a derived place", error)))?;
        Self::made_by(move || {
            let parts = slf.get().parts()?;
            Ok(WorkspaceParts { workspace: parts.workspace.derive(&config)?, ..parts })
        })
    }

    /// Combines several workspaces in one tree.
    #[staticmethod]
    #[pyo3(signature = (default, routes, rules=None, asks=None))]
    fn composite(
        default: Py<NativeWorkspace>,
        routes: Vec<Route>,
        rules: Option<String>,
        asks: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let approvals = asking::approvals(asks);
        Self::made_by(move || {
            let first = default.get().parts()?;
            let mut builder = Workspace::builder().approvals(approvals.clone());
            builder = match (first.sandbox(), first.workspace.named_directory()) {
                (Some(sandbox), Some(directory)) => builder.remote(sandbox).work_dir(&directory),
                (Some(sandbox), None) => builder.remote(sandbox),
                (None, directory) => {
                    let directory = directory.unwrap_or_else(VirtualPath::root);
                    builder.mount_backend("/", first.workspace.files().clone()).work_dir(&directory)
                }
            };
            for (prefix, workspace, start) in &routes {
                let (at, parts) = (VirtualPath::parse(prefix)?, workspace.get().parts()?);
                let files = parts.workspace.files().clone();
                let start = match start {
                    // Host directories under their own names start at their base directory.
                    Some(start) => parts.root().map_or_else(|| VirtualPath::parse(start), Ok)?,
                    None => at.clone(),
                };
                builder = match start.is_root() {
                    true => builder.mount_backend(at.as_str(), files),
                    false => builder.mount_backend(at.as_str(), PrefixBackend::new(files, start)),
                };
            }
            builder = rules::hold(builder, rules.as_ref(), first.surroundings())?;
            Ok(WorkspaceParts::new(builder.build()?))
        })
    }

    /// Whether it has commands.
    fn has_commands(&self) -> PyResult<bool> {
        Ok(self.parts().map_err(failure::raised)?.workspace.commands().is_ok())
    }

    /// Returns the readable directories.
    fn readable_roots(&self) -> PyResult<Vec<String>> {
        self.roots(Policy::readable_roots)
    }

    /// Returns the writable directories.
    fn writable_roots(&self) -> PyResult<Vec<String>> {
        self.roots(Policy::writable_roots)
    }

    /// Judges one operation on a path, with the reason. It asks no questions and opens no files.
    fn verdict(&self, py: Python<'_>, operation: &str, path: String) -> PyResult<(String, String)> {
        let parts = self.parts().map_err(failure::raised)?;
        let operation = Operation::ALL.into_iter().find(|known| known.name() == operation).ok_or_else(|| {
            failure::raised(failure::invalid("a verdict", format!("unknown operation `{operation}`")))
        })?;
        let verdict = crate::runtime::wait(py, parts.lock, async move {
            let path = parts.path(&path).await?;
            Ok(parts.judged(operation, &path).await)
        })?;
        Ok(match verdict {
            Verdict::Allow => ("allow".to_owned(), String::new()),
            Verdict::Ask(why) => ("ask".to_owned(), why.to_string()),
            Verdict::Deny(why) => ("deny".to_owned(), why.to_string()),
        })
    }
}

impl NativeWorkspace {
    fn roots(&self, of: impl Fn(&Policy) -> Vec<VirtualPath>) -> PyResult<Vec<String>> {
        let parts = self.parts().map_err(failure::raised)?;
        Ok(of(parts.workspace.policy()).iter().map(ToString::to_string).collect())
    }
}
