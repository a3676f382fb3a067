//! A dictionary of files as a backend. The dictionary is the only copy, here and in Python.
//!
//! Programs pass a dictionary, keep it, read it and change it. So nothing of it is held beyond a call: a call takes the
//! files it needs, the in-memory engine of the core works on them without the interpreter lock, and changes are written
//! back.

mod backend;
mod directories;
mod document;

use std::{collections::HashSet, sync::Arc};

use bytes::Bytes;
use directories::Directories;
use document::FileText;
use futures_util::FutureExt;
use pyo3::{prelude::*, types::PyDict};
use workden_core::{Clock, Error, ErrorKind, Result, VirtualPath, names};
use workden_files::StateBackend;

use crate::failure;

/// A dictionary of files. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct LiveFiles {
    files: Arc<Py<PyDict>>,
    /// Held during a read, change and write back.
    changes: Arc<tokio::sync::Mutex<()>>,
    directories: Arc<Directories>,
}

/// The part of the dictionary that a call needs.
#[derive(Clone, Debug)]
enum Needs {
    /// The entry at a path: a file, or whether anything is below.
    One(VirtualPath),
    /// The direct entries of a directory, or the file at its path.
    Children(VirtualPath),
    /// All files below a path, or the file at it.
    Below(VirtualPath),
}

impl LiveFiles {
    /// Wraps this dictionary.
    pub(crate) fn new(files: Py<PyDict>) -> Self {
        Self { files: Arc::new(files), changes: Arc::default(), directories: Arc::default() }
    }

    /// Runs a function on an in-memory backend with the required files, without the interpreter lock.
    fn in_memory<T: Send>(&self, needs: &Needs, work: impl FnOnce(&StateBackend) -> Result<T> + Send) -> Result<T> {
        Python::attach(|py| {
            let taken = self.take(py, needs)?;
            py.detach(|| {
                let (mut files, mut directories) = (Vec::new(), Vec::new());
                for (path, content) in taken {
                    match content {
                        Some(content) => files.push((path, content)),
                        None => directories.push(path),
                    }
                }
                // Results are not ordered by time: the timestamps are texts that Python wrote.
                work(&StateBackend::of_files(files, directories, Arc::new(Still)))
            })
        })
    }

    /// Returns the content of a file.
    fn content(&self, verb: &str, path: &VirtualPath) -> Result<Bytes> {
        Python::attach(|py| match self.find(py, path)? {
            Some(file) => file.bytes(),
            None if self.has_below(py, path) => Err(Error::is_directory(verb, path)),
            None => Err(Error::not_found(verb, path)),
        })
    }

    /// Whether a path is a directory, because something is below it.
    fn has_below(&self, py: Python<'_>, path: &VirtualPath) -> bool {
        let files = self.files.bind(py);
        let all = || files.iter().filter_map(|(key, _)| path_of(&key)).collect();
        let is_below = |key: &Bound<'_, PyAny>| path_below(key, path).is_some_and(|file| file != *path);
        path.is_root()
            || (self.directories.may_have(path, files.len(), all) && files.iter().any(|(key, _)| is_below(&key)))
    }

    fn take(&self, py: Python<'_>, needs: &Needs) -> Result<Vec<(VirtualPath, Option<Bytes>)>> {
        let wanted = match needs {
            Needs::One(path) | Needs::Children(path) | Needs::Below(path) => path,
        };
        if let Some(file) = self.find(py, wanted)? {
            return Ok(vec![(wanted.clone(), Some(file.bytes()?))]);
        }
        let mut taken = Vec::new();
        let mut directories = HashSet::new();
        for (key, file) in self.files.bind(py).iter() {
            let Some(path) = path_below(&key, wanted) else { continue };
            let below = path.strip_prefix(wanted).unwrap_or_else(VirtualPath::root);
            match needs {
                // Anything below it makes it a directory.
                Needs::One(_) => return Ok(vec![(wanted.clone(), None)]),
                Needs::Children(_) if below.depth() > 1 => {
                    let name = below.components().next().unwrap_or_default();
                    if !directories.contains(name) {
                        directories.insert(name.to_owned());
                        taken.push((wanted.child_unchecked(name), None));
                    }
                }
                Needs::Children(_) | Needs::Below(_) => {
                    taken.push((path, Some(FileText::of(&file).and_then(|text| text.bytes())?)));
                }
            }
        }
        Ok(taken)
    }

    /// Returns the file at a path. Keys without a leading slash are accepted, too.
    fn find<'py>(&self, py: Python<'py>, path: &VirtualPath) -> Result<Option<FileText<'py>>> {
        let files = self.files.bind(py);
        for key in [path.as_str(), path.relative()] {
            if let Some(file) = files.get_item(key).map_err(|error| broken(&error))? {
                return FileText::of(&file).map(Some);
            }
        }
        Ok(None)
    }

    /// Stores a file in the dictionary.
    fn put(&self, py: Python<'_>, path: &VirtualPath, content: &[u8]) -> Result<()> {
        names::check_names("write", path)?;
        let files = self.files.bind(py);
        let before = files.len();
        document::put(files, path, content).map_err(|error| broken(&error))?;
        if files.len() > before {
            self.directories.added(path, files.len());
        }
        Ok(())
    }

    /// Removes a file from the dictionary.
    fn forget(&self, path: &VirtualPath) -> Result<()> {
        Python::attach(|py| {
            let files = self.files.bind(py);
            let key = files.keys().iter().find(|key| path_of(key).as_ref() == Some(path));
            key.map_or(Ok(()), |key| files.del_item(key)).map_err(|error| broken(&error))
        })
    }

    /// Returns the files at and below a path.
    fn below(&self, path: &VirtualPath) -> Vec<VirtualPath> {
        let keys = |py: Python<'_>| self.files.bind(py).keys().iter().filter_map(|key| path_of(&key)).collect();
        let all: Vec<VirtualPath> = Python::attach(keys);
        all.into_iter().filter(|file| file.is_within(path)).collect()
    }
}

/// Returns the result of an in-memory call, which never blocks.
fn at_once<T>(call: impl Future<Output = Result<T>>) -> Result<T> {
    let waits = || Err(Error::new(ErrorKind::Io, "an in-memory call did not complete"));
    call.now_or_never().unwrap_or_else(waits)
}

fn path_of(key: &Bound<'_, PyAny>) -> Option<VirtualPath> {
    VirtualPath::parse(key.extract::<&str>().ok()?).ok()
}

/// Returns the path of a key below another. Comparing the text first rules out most keys.
fn path_below(key: &Bound<'_, PyAny>, directory: &VirtualPath) -> Option<VirtualPath> {
    let text = key.extract::<&str>().ok()?;
    let is_normal = text.starts_with('/') && !text.contains("//") && !text.contains("/.");
    if is_normal && !text.starts_with(directory.as_str()) {
        return None;
    }
    VirtualPath::parse(text).ok().filter(|path| path.is_within(directory))
}

fn broken(error: &PyErr) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("invalid dictionary of files: {error}"))
}

fn invalid(why: &str) -> Error {
    failure::invalid("a file of the dictionary", why)
}

/// A clock that always returns the same time.
#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> workden_core::Timestamp {
        workden_core::Timestamp::from_nanos(0)
    }
}
