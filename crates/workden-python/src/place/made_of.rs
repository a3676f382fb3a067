//! Places derived from other places: with more rules, with fewer directories, or combined.

use std::sync::Arc;

use pyo3::prelude::*;
use workden::{Derive, Workspace};
use workden_core::{Backend, Op, PrefixBackend, Resolved, Sandbox, Symlink, Verdict, VirtualPath};
use workden_policy::{Operation, PathScope, Policy};

use super::{Den, Place};
use crate::{asking, failure, rules};

impl Den {
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

    /// Returns the place as a sandbox, behind its own rules, if it has commands.
    fn sandbox(&self) -> Option<Arc<dyn Sandbox>> {
        self.workspace.commands().ok().map(|commands| Arc::new(commands.clone()) as Arc<dyn Sandbox>)
    }
}

/// A route of a composite: its prefix, its place, and, if the place sees paths without the prefix, where they start.
type Route = (String, Py<Place>, Option<String>);

#[pymethods]
impl Place {
    /// Returns the same place behind additional rules.
    #[pyo3(signature = (rules, asks=None))]
    fn guarded(slf: Py<Self>, rules: String, asks: Option<Py<PyAny>>) -> PyResult<Self> {
        let approvals = asks.map(|asks| asking::approvals(Some(asks)));
        Self::made_by(move || {
            let den = slf.get().den()?;
            let rules = rules::enforced(&rules, den.surroundings())?;
            Ok(Den { workspace: den.workspace.behind(rules.as_ref(), approvals.clone())?, ..den })
        })
    }

    /// Returns the same place restricted to some directories; `wanted` is JSON.
    fn derive(slf: Py<Self>, wanted: &str) -> PyResult<Self> {
        let wanted: Derive = serde_json::from_str(wanted)
            .map_err(|error| failure::raised(failure::invalid("a derived place", error)))?;
        Self::made_by(move || {
            let den = slf.get().den()?;
            Ok(Den { workspace: den.workspace.derive(&wanted)?, ..den })
        })
    }

    /// Combines several places in one tree.
    #[staticmethod]
    #[pyo3(signature = (default, routes, rules=None, asks=None))]
    fn composite(
        default: Py<Place>,
        routes: Vec<Route>,
        rules: Option<String>,
        asks: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let approvals = asking::approvals(asks);
        Self::made_by(move || {
            let first = default.get().den()?;
            let mut builder = Workspace::builder().approvals(approvals.clone());
            builder = match (first.sandbox(), first.workspace.named_directory()) {
                (Some(sandbox), Some(directory)) => builder.remote(sandbox).work_dir(&directory),
                (Some(sandbox), None) => builder.remote(sandbox),
                (None, directory) => {
                    let directory = directory.unwrap_or_else(VirtualPath::root);
                    builder.mount_backend("/", first.workspace.files().clone()).work_dir(&directory)
                }
            };
            for (prefix, place, start) in &routes {
                let (at, den) = (VirtualPath::parse(prefix)?, place.get().den()?);
                let files = den.workspace.files().clone();
                let start = match start {
                    // Host directories under their own names start at their base directory.
                    Some(start) => den.root().map_or_else(|| VirtualPath::parse(start), Ok)?,
                    None => at.clone(),
                };
                builder = match start.is_root() {
                    true => builder.mount_backend(at.as_str(), files),
                    false => builder.mount_backend(at.as_str(), PrefixBackend::new(files, start)),
                };
            }
            builder = rules::hold(builder, rules.as_ref(), first.surroundings())?;
            Ok(Den::new(builder.build()?))
        })
    }

    /// Whether it has commands.
    fn has_commands(&self) -> PyResult<bool> {
        Ok(self.den().map_err(failure::raised)?.workspace.commands().is_ok())
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
        let den = self.den().map_err(failure::raised)?;
        let operation = Operation::ALL.into_iter().find(|known| known.name() == operation).ok_or_else(|| {
            failure::raised(failure::invalid("a verdict", format!("unknown operation `{operation}`")))
        })?;
        let verdict = crate::runtime::wait(py, den.lock, async move {
            let path = den.path(&path).await?;
            Ok(den.judged(operation, &path).await)
        })?;
        Ok(match verdict {
            Verdict::Allow => ("allow".to_owned(), String::new()),
            Verdict::Ask(why) => ("ask".to_owned(), why.to_string()),
            Verdict::Deny(why) => ("deny".to_owned(), why.to_string()),
        })
    }
}

impl Place {
    fn roots(&self, of: impl Fn(&Policy) -> Vec<VirtualPath>) -> PyResult<Vec<String>> {
        let den = self.den().map_err(failure::raised)?;
        Ok(of(den.workspace.policy()).iter().map(ToString::to_string).collect())
    }
}
