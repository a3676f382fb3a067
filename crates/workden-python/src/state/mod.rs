//! A dictionary of files as a backend: the dictionary is the truth, here and in Python.
//!
//! Programs hand in a dictionary, keep it, look into it and change it. So nothing of it is held here
//! beyond a call: what a call needs is taken from it, the core's own engine in memory does the work without
//! the interpreter's lock, and what changed is put back.

mod backend;
mod document;

use std::sync::Arc;

use document::FileText;
use pyo3::{prelude::*, types::PyDict};
use workden_core::{Clock, Error, ErrorKind, Expect, Resolved, Result, StateBackend, VirtualPath, names};

use crate::failure;

/// A dictionary of files. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct LiveFiles {
    files: Arc<Py<PyDict>>,
    /// Held while something is read, changed and put back.
    changes: Arc<tokio::sync::Mutex<()>>,
}

/// What of the dictionary a call needs.
#[derive(Clone, Debug)]
enum Needs {
    /// What is at a path: a file, or that there is something below.
    One(VirtualPath),
    /// All files below a path, or the file at it.
    Below(VirtualPath),
}

impl LiveFiles {
    /// This dictionary.
    pub(crate) fn new(files: Py<PyDict>) -> Self {
        Self { files: Arc::new(files), changes: Arc::default() }
    }

    /// The core's backend in memory with what a call needs.
    async fn taken(&self, needs: Needs) -> Result<StateBackend> {
        let taken = Python::attach(|py| self.take(py, &needs))?;
        // Nothing is ordered by time: a file has the time at which Python wrote it, as text.
        let state = StateBackend::new(Arc::new(Still)).with_most_bytes(u64::MAX);
        for (path, content) in taken {
            use workden_core::Backend;
            let at = Resolved::literal(path);
            match content {
                Some(content) => state.write(&at, content.into(), Expect::Anything).await.map(drop)?,
                None => state.make_dir(&at).await?,
            }
        }
        Ok(state)
    }

    fn take(&self, py: Python<'_>, needs: &Needs) -> Result<Vec<(VirtualPath, Option<Vec<u8>>)>> {
        let files = self.files.bind(py);
        let wanted = match needs {
            Needs::One(path) | Needs::Below(path) => path,
        };
        if let Some(file) = self.find(py, wanted)? {
            return Ok(vec![(wanted.clone(), Some(file.bytes()?))]);
        }
        let mut taken = Vec::new();
        for (key, file) in files.iter() {
            let Some(path) = path_of(&key) else { continue };
            if !path.is_within(wanted) {
                continue;
            }
            match needs {
                // That there is something below makes it a directory.
                Needs::One(_) => return Ok(vec![(wanted.clone(), None)]),
                Needs::Below(_) => taken.push((path, Some(FileText::of(&file).and_then(|text| text.bytes())?))),
            }
        }
        Ok(taken)
    }

    /// The file at a path, however its key is spelled.
    fn find<'py>(&self, py: Python<'py>, path: &VirtualPath) -> Result<Option<FileText<'py>>> {
        let files = self.files.bind(py);
        if let Some(file) = files.get_item(path.as_str()).map_err(|error| broken(&error))? {
            return FileText::of(&file).map(Some);
        }
        // Keys that we wrote are normal; somebody else's may not be, and are looked at only then.
        let spelled = |key: &Bound<'_, PyAny>| key.extract::<&str>().is_ok_and(|key| !is_normal(key));
        let found = files.iter().find(|(key, _)| spelled(key) && path_of(key).as_ref() == Some(path));
        found.map(|(_, file)| FileText::of(&file)).transpose()
    }

    /// Puts a file into the dictionary.
    async fn put(&self, path: &VirtualPath, content: &[u8]) -> Result<()> {
        names::check_names("write", path)?;
        let (files, path, content) = (Arc::clone(&self.files), path.clone(), content.to_vec());
        Python::attach(|py| document::put(files.bind(py), &path, &content).map_err(|error| broken(&error)))
    }

    /// Takes a file out of the dictionary.
    fn forget(&self, path: &VirtualPath) -> Result<()> {
        Python::attach(|py| {
            let files = self.files.bind(py);
            let key = files.keys().iter().find(|key| path_of(key).as_ref() == Some(path));
            key.map_or(Ok(()), |key| files.del_item(key)).map_err(|error| broken(&error))
        })
    }

    /// The files at and below a path.
    fn below(&self, path: &VirtualPath) -> Vec<VirtualPath> {
        let keys = |py: Python<'_>| self.files.bind(py).keys().iter().filter_map(|key| path_of(&key)).collect();
        let all: Vec<VirtualPath> = Python::attach(keys);
        all.into_iter().filter(|file| file.is_within(path)).collect()
    }
}

fn path_of(key: &Bound<'_, PyAny>) -> Option<VirtualPath> {
    VirtualPath::parse(key.extract::<&str>().ok()?).ok()
}

fn is_normal(key: &str) -> bool {
    VirtualPath::parse(key).is_ok_and(|path| path.as_str() == key)
}

fn broken(error: &PyErr) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("the dictionary of files cannot be used: {error}"))
}

fn invalid(why: &str) -> Error {
    failure::invalid("a file of the dictionary", why)
}

/// A clock that stands still.
#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> workden_core::Timestamp {
        workden_core::Timestamp::from_nanos(0)
    }
}
