//! Converts results into plain Python dictionaries, strings and bytes.

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

/// Converts one file or directory into a dictionary.
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

/// From this many matches on, a separate thread frees them.
const WORTH_A_THREAD: usize = 10_000;

/// Matches, each a dictionary with `path`, `line_number` and `line`.
pub(crate) struct Matches(pub(crate) Grepped);

impl<'py> IntoPyObject<'py> for Matches {
    type Target = PyList;
    type Output = Bound<'py, PyList>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        // Copying a dictionary that has the keys is cheaper than adding the keys to a new one.
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
            // Freeing many matches takes a good part of the time of making the list. If no thread can be started, it
            // happens here.
            drop(thread::Builder::new().name("workden-free".to_owned()).spawn(move || drop(self.0)));
        }
        PyList::new(py, all)
    }
}

/// Bytes, as `bytes`.
pub(crate) enum Blob {
    /// Bytes in memory.
    Bytes(bytes::Bytes),
    /// Bytes of a file, read directly into the Python object.
    File {
        /// The file.
        file: File,
        /// Its size when it was opened.
        size: u64,
        /// Its path, for errors.
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
                        format!("cannot read `{path}`: I/O error ({})", error.value(py)),
                    )),
                    // Ctrl-C was pressed, or memory ran out.
                    false => error,
                }
            }),
        }
    }
}

/// Reads a file up to its size at the time it was opened. Python's `os.read` fills the `bytes` object without the
/// interpreter lock; other ways to fill one would have to write its memory twice.
fn read_all<'py>(py: Python<'py>, file: &File, size: u64) -> PyResult<Bound<'py, PyBytes>> {
    let read = py.import(pyo3::intern!(py, "os"))?.getattr(pyo3::intern!(py, "read"))?;
    let mut pieces = Vec::new();
    let mut left = size;
    while left > 0 {
        let piece = read.call1((file.as_raw_fd(), left))?.cast_into::<PyBytes>()?;
        match piece.as_bytes().len() as u64 {
            // The file has become shorter.
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
