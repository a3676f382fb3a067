//! A backend that somebody wrote in Python, as one of ours: whatever has the methods of the protocol, sync
//! or async, works wherever a backend of ours does.
//!
//! Such a backend knows no versions and no links. Changes are made one at a time here, which keeps edits of
//! this process apart; others are noticed only as far as the backend notices them.

mod backend;
mod sandbox;
mod search;
mod text;

use std::{fmt, sync::Arc};

use pyo3::{prelude::*, types::PyTuple};
use workden_core::{Entry, EntryKind, Error, ErrorKind, Link, NameForm, Result, VirtualPath};

use crate::asking;

/// A Python object with the methods of a backend. Clones share it.
#[derive(Clone)]
pub(crate) struct Foreign {
    object: Arc<Py<PyAny>>,
    /// Held while something is read, changed and written back.
    changes: Arc<tokio::sync::Mutex<()>>,
    /// Whether somebody wrote its `read`.
    reads: bool,
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Foreign")
    }
}

impl Foreign {
    /// This object.
    pub(crate) fn new(object: Py<PyAny>) -> Self {
        let reads = Python::attach(|py| text::is_own(object.bind(py), "read"));
        Self { object: Arc::new(object), changes: Arc::default(), reads }
    }

    /// Calls a method, and waits for its answer, which is read by `read`.
    async fn call<A, T>(
        &self,
        method: &'static str,
        arguments: A,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Result<T>
    where
        A: for<'py> IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error: Into<PyErr>>
            + Send
            + 'static,
    {
        let object = Arc::clone(&self.object);
        let answer = asking::call(move |py| {
            let arguments = arguments.into_pyobject(py).map_err(Into::into)?;
            object.bind(py).call_method1(method, arguments).map(Bound::unbind)
        });
        let answer = answer.await?;
        Python::attach(|py| {
            answer.and_then(|answer| read(answer.bind(py))).map_err(|raised| failed(py, method, &raised))
        })
    }

    /// Whether it has a method.
    fn has(&self, method: &str) -> bool {
        Python::attach(|py| self.object.bind(py).hasattr(method).unwrap_or(false))
    }

    /// Where relative paths start, if it says so.
    pub(crate) fn named_directory(&self) -> Option<VirtualPath> {
        Python::attach(|py| {
            let object = self.object.bind(py);
            let named = ["root_dir", "work_dir", "_work_dir"].into_iter().find_map(|name| object.getattr(name).ok());
            let named = named?.str().ok()?.to_string_lossy().into_owned();
            named.starts_with('/').then(|| VirtualPath::parse(&named).ok()).flatten()
        })
    }

    /// What is in a directory, as it says.
    async fn entries(&self, directory: &VirtualPath) -> Result<Vec<Entry>> {
        self.call("ls_info", (directory.to_string(),), entries).await
    }

    /// One file or directory: what its directory says of it, or whether it says that there is a file.
    async fn entry(&self, path: &VirtualPath) -> Result<Entry> {
        let Some(parent) = path.parent() else { return Ok(workden_core::directory_entry(path.clone())) };
        let listed = self.entries(&parent).await.unwrap_or_default();
        if let Some(entry) = listed.into_iter().find(|entry| entry.path.name() == path.name()) {
            return Ok(Entry { path: path.clone(), ..entry });
        }
        if self.call("exists", (path.to_string(),), |answer| answer.is_truthy()).await? {
            return Ok(file_entry(path.clone(), None));
        }
        match self.entries(path).await {
            Ok(below) if !below.is_empty() => Ok(workden_core::directory_entry(path.clone())),
            _ => Err(Error::not_found("look at", path)),
        }
    }

    /// The content of a file.
    async fn content(&self, verb: &str, path: &VirtualPath) -> Result<bytes::Bytes> {
        let bytes = self.call("read_bytes", (path.to_string(),), |answer| answer.extract::<Vec<u8>>()).await?;
        // Nothing is what it says about files that are not there, too.
        if bytes.is_empty() {
            let entry = self.entry(path).await;
            match entry {
                Ok(entry) if entry.is_dir() => return Err(Error::is_directory(verb, path)),
                Ok(_) => {}
                Err(_) => return Err(Error::not_found(verb, path)),
            }
        }
        Ok(bytes.into())
    }
}

/// What a Python backend raised, as an error of ours. Its words are its own.
fn failed(py: Python<'_>, method: &str, raised: &PyErr) -> Error {
    let kind = match () {
        () if raised.is_instance_of::<pyo3::exceptions::PyFileNotFoundError>(py) => ErrorKind::NotFound,
        () if raised.is_instance_of::<pyo3::exceptions::PyPermissionError>(py) => ErrorKind::Denied,
        () if raised.is_instance_of::<pyo3::exceptions::PyAttributeError>(py) => ErrorKind::Unsupported,
        () if raised.is_instance_of::<pyo3::exceptions::PyNotImplementedError>(py) => ErrorKind::Unsupported,
        () => ErrorKind::Io,
    };
    let name = raised.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
    Error::new(kind, format!("the backend failed in `{method}`: {name}: {}", raised.value(py)))
}

fn file_entry(path: VirtualPath, size: Option<u64>) -> Entry {
    let (link, name) = (Link::Direct, NameForm::Exact);
    Entry { path, kind: EntryKind::File, size, modified: None, link, name, names: 1 }
}

/// Dictionaries with `path`, `is_dir` and `size`.
fn entries(answer: &Bound<'_, PyAny>) -> PyResult<Vec<Entry>> {
    let mut all = Vec::new();
    for info in answer.try_iter()? {
        let info = info?;
        let path: String = info.get_item("path")?.extract()?;
        // A path that is none of ours cannot be asked for, either.
        let Ok(path) = VirtualPath::parse(&path) else { continue };
        let size = info.call_method1("get", ("size",)).and_then(|size| size.extract::<Option<u64>>());
        let entry = match info.get_item("is_dir")?.is_truthy()? {
            true => workden_core::directory_entry(path),
            false => file_entry(path, size.unwrap_or_default()),
        };
        all.push(entry);
    }
    Ok(all)
}
