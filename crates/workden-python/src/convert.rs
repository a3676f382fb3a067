//! What answers become in Python: plain dictionaries, strings and bytes, made at once.

use std::{fs::File, os::fd::AsRawFd, thread};

use pyo3::{
    exceptions::PyOSError,
    prelude::*,
    types::{PyBytes, PyDict, PyList},
};
use workden_core::{
    Entry, Error, ErrorKind, VirtualPath,
    search::{Grepped, LineRole},
};

use crate::failure;

/// Files and directories, each a dictionary with `name`, `path`, `is_dir` and `size`.
pub(crate) struct Entries(pub(crate) Vec<Entry>);

impl<'py> IntoPyObject<'py> for Entries {
    type Target = PyList;
    type Output = Bound<'py, PyList>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let all = PyList::empty(py);
        for entry in self.0 {
            all.append(entry_info(py, &entry)?)?;
        }
        Ok(all)
    }
}

/// One file or directory as a dictionary.
fn entry_info<'py>(py: Python<'py>, entry: &Entry) -> PyResult<Bound<'py, PyDict>> {
    let info = PyDict::new(py);
    info.set_item(pyo3::intern!(py, "name"), entry.path.name().unwrap_or("/"))?;
    info.set_item(pyo3::intern!(py, "path"), entry.path.as_str())?;
    info.set_item(pyo3::intern!(py, "is_dir"), entry.is_dir())?;
    info.set_item(pyo3::intern!(py, "size"), entry.size.filter(|_| !entry.is_dir()))?;
    Ok(info)
}

/// One file or directory, as such a dictionary.
pub(crate) struct OneEntry(pub(crate) Entry);

impl<'py> IntoPyObject<'py> for OneEntry {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        entry_info(py, &self.0)
    }
}

/// Matches that are worth a thread to free them.
const WORTH_A_THREAD: usize = 10_000;

/// Matches, each a dictionary with `path`, `line_number` and `line`.
pub(crate) struct Matches(pub(crate) Grepped);

impl<'py> IntoPyObject<'py> for Matches {
    type Target = PyList;
    type Output = Bound<'py, PyList>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        // A copy of a dictionary with the right keys is had for less than one that grows them.
        let (path, number, text) =
            (pyo3::intern!(py, "path"), pyo3::intern!(py, "line_number"), pyo3::intern!(py, "line"));
        let blank = PyDict::new(py);
        for key in [path, number, text] {
            blank.set_item(key, py.None())?;
        }
        let mut all = Vec::with_capacity(self.0.kept_lines());
        for file in &self.0.files {
            blank.set_item(path, file.path.as_str())?;
            for line in file.lines.iter().filter(|line| line.role == LineRole::Match) {
                let info = blank.copy()?;
                info.set_item(number, line.number)?;
                info.set_item(text, line.text)?;
                all.push(info);
            }
        }
        if all.len() >= WORTH_A_THREAD {
            // To free so many takes as long as to make a good part of the list. Without a thread it is done here.
            drop(thread::Builder::new().name("workden-free".to_owned()).spawn(move || drop(self.0)));
        }
        PyList::new(py, all)
    }
}

/// Bytes, as `bytes`.
pub(crate) enum Blob {
    /// Those that are here.
    Bytes(bytes::Bytes),
    /// Those of a file, which are read right into their place.
    File {
        /// The file.
        file: File,
        /// How far it went when it was opened.
        size: u64,
        /// What it is called.
        path: VirtualPath,
    },
}

impl<'py> IntoPyObject<'py> for Blob {
    type Target = PyBytes;
    type Output = Bound<'py, PyBytes>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        match self {
            Self::Bytes(bytes) => Ok(PyBytes::new(py, &bytes)),
            Self::File { file, size, path } => read_all(py, &file, size).map_err(|error| {
                match error.is_instance_of::<PyOSError>(py) {
                    true => failure::raised(Error::new(
                        ErrorKind::Io,
                        format!("cannot read `{path}`: the system says no ({})", error.value(py)),
                    )),
                    // Somebody pressed Ctrl-C, or there is no memory for it.
                    false => error,
                }
            }),
        }
    }
}

/// Reads a file as far as it went when it was opened. Python reads it, without its lock: of its `bytes`, nobody else
/// can fill one without having written to all of it before.
fn read_all<'py>(py: Python<'py>, file: &File, size: u64) -> PyResult<Bound<'py, PyBytes>> {
    let read = py.import(pyo3::intern!(py, "os"))?.getattr(pyo3::intern!(py, "read"))?;
    let mut pieces = Vec::new();
    let mut left = size;
    while left > 0 {
        let piece = read.call1((file.as_raw_fd(), left))?.cast_into::<PyBytes>()?;
        match piece.as_bytes().len() as u64 {
            // It is shorter by now.
            0 => break,
            length => left = left.saturating_sub(length),
        }
        pieces.push(piece);
    }
    match pieces.as_slice() {
        [whole] => Ok(whole.clone()),
        pieces => Ok(PyBytes::new(py, &pieces.iter().map(|piece| piece.as_bytes()).collect::<Vec<_>>().concat())),
    }
}
