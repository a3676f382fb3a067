//! Backends written in Python: any object with the methods of the protocol, sync or async, works like a native backend.
//!
//! Such a backend has no versions and no links. Changes are serialised here, which separates edits of this process;
//! other changes are noticed only if the backend notices them.

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
    /// Held during a read, change and write.
    changes: Arc<tokio::sync::Mutex<()>>,
    /// Whether its `read` is custom.
    reads: bool,
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Foreign")
    }
}

impl Foreign {
    /// Wraps this object.
    pub(crate) fn new(object: Py<PyAny>) -> Self {
        let reads = Python::attach(|py| text::is_own(object.bind(py), "read"));
        Self { object: Arc::new(object), changes: Arc::default(), reads }
    }

    /// Calls a method, waits for its answer, and converts it with `read`.
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

    /// Returns the base directory of relative paths, if the backend reports it.
    pub(crate) fn named_directory(&self) -> Option<VirtualPath> {
        Python::attach(|py| {
            let object = self.object.bind(py);
            let named = ["root_dir", "work_dir", "_work_dir"].into_iter().find_map(|name| object.getattr(name).ok());
            let named = named?.str().ok()?.to_string_lossy().into_owned();
            named.starts_with('/').then(|| VirtualPath::parse(&named).ok()).flatten()
        })
    }

    /// Lists a directory.
    async fn entries(&self, directory: &VirtualPath) -> Result<Vec<Entry>> {
        self.call("ls_info", (directory.to_string(),), entries).await
    }

    /// Returns one file or directory: from its directory, or by asking whether the file exists.
    async fn entry(&self, path: &VirtualPath) -> Result<Entry> {
        let Some(parent) = path.parent() else { return Ok(workden_core::directory_entry(path.clone())) };
        let listed = self.entries(&parent).await.unwrap_or_default();
        if let Some(mut entry) = listed.into_iter().find(|entry| entry.path.name() == path.name()) {
            entry.path = path.clone();
            return Ok(entry);
        }
        if self.call("exists", (path.to_string(),), |answer| answer.is_truthy()).await? {
            return Ok(file_entry(path.clone(), None));
        }
        match self.entries(path).await {
            Ok(below) if !below.is_empty() => Ok(workden_core::directory_entry(path.clone())),
            _ => Err(Error::not_found("look at", path)),
        }
    }

    /// Returns the content of a file.
    async fn content(&self, verb: &str, path: &VirtualPath) -> Result<bytes::Bytes> {
        let bytes = self.call("read_bytes", (path.to_string(),), |answer| answer.extract::<Vec<u8>>()).await?;
        // An empty answer also stands for a missing file.
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

/// Converts an exception of a Python backend into an error, with its own message.
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
    Entry::new(path, EntryKind::File).size(size).link(link).name(name)
}

/// Dictionaries with `path`, `is_dir` and `size`.
fn entries(answer: &Bound<'_, PyAny>) -> PyResult<Vec<Entry>> {
    let mut all = Vec::new();
    for info in answer.try_iter()? {
        let info = info?;
        let path: String = info.get_item("path")?.extract()?;
        // An invalid path could not be requested either.
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
