//! A file of the dictionary: lines without their ends, and when they were written.

use base64::{Engine, engine::general_purpose::STANDARD};
use pyo3::{
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyList, PyString},
};
use workden_core::{Result, VirtualPath};

use super::{broken, invalid};

/// How content is marked that is no text: one line of base64.
const BASE64: &str = "base64";

/// The content of a file, as it is in the dictionary.
pub(super) struct FileText<'py> {
    lines: Bound<'py, PyAny>,
    is_base64: bool,
}

impl<'py> FileText<'py> {
    /// That of this entry.
    pub(super) fn of(file: &Bound<'py, PyAny>) -> Result<Self> {
        let file = file.cast::<PyDict>().map_err(|_| invalid("it is no dictionary"))?;
        let lines = file.get_item("content").map_err(|error| broken(&error))?;
        let lines = lines.ok_or_else(|| invalid("it has no `content`"))?;
        let encoding = file.get_item("encoding").map_err(|error| broken(&error))?;
        let is_base64 = encoding.is_some_and(|named| named.extract::<&str>().is_ok_and(|named| named == BASE64));
        Ok(Self { lines, is_base64 })
    }

    /// As bytes.
    pub(super) fn bytes(&self) -> Result<Vec<u8>> {
        let text = self.text()?;
        match self.is_base64 {
            true => STANDARD.decode(text).map_err(|_| invalid("its content is no base64")),
            false => Ok(text),
        }
    }

    fn text(&self) -> Result<Vec<u8>> {
        if let Ok(whole) = self.lines.cast::<PyString>() {
            return Ok(utf8(whole)?.as_bytes().to_vec());
        }
        let lines = self.lines.cast::<PyList>().map_err(|_| invalid("its `content` is no list of lines"))?;
        let mut text = Vec::new();
        for (nth, line) in lines.iter().enumerate() {
            if nth > 0 {
                text.push(b'\n');
            }
            let line = line.cast_into::<PyString>().map_err(|_| invalid("a line is no text"))?;
            text.extend_from_slice(utf8(&line)?.as_bytes());
        }
        Ok(text)
    }
}

fn utf8<'a>(text: &'a Bound<'_, PyString>) -> Result<std::borrow::Cow<'a, str>> {
    text.to_cow().map_err(|_| invalid("a line has characters that are none"))
}

/// Puts a file into the dictionary: into the entry that is there, or a new one.
pub(super) fn put(files: &Bound<'_, PyDict>, path: &VirtualPath, content: &[u8]) -> PyResult<()> {
    let py = files.py();
    let now = now(py)?;
    let (lines, is_base64) = match std::str::from_utf8(content) {
        // Python takes its own texts apart faster than anybody can hand it the pieces.
        Ok(text) => (PyString::new(py, text).call_method1(pyo3::intern!(py, "split"), ("\n",))?, false),
        Err(_) => (PyList::new(py, [STANDARD.encode(content)])?.into_any(), true),
    };
    let file = PyDict::new(py);
    file.set_item(pyo3::intern!(py, "content"), lines)?;
    let before = files.get_item(path.as_str())?.and_then(|before| before.cast_into::<PyDict>().ok());
    let created = before.and_then(|before| before.get_item("created_at").ok().flatten());
    file.set_item(pyo3::intern!(py, "created_at"), created.unwrap_or_else(|| now.clone()))?;
    file.set_item(pyo3::intern!(py, "modified_at"), now)?;
    if is_base64 {
        file.set_item(pyo3::intern!(py, "encoding"), BASE64)?;
    }
    files.set_item(path.as_str(), file)
}

/// The time, as such files have it.
fn now(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static NOW: PyOnceLock<(Py<PyAny>, Py<PyAny>)> = PyOnceLock::new();
    let (now, utc) = NOW.get_or_try_init(py, || {
        let datetime = py.import("datetime")?;
        let utc = datetime.getattr("timezone")?.getattr("utc")?;
        PyResult::Ok((datetime.getattr("datetime")?.getattr("now")?.unbind(), utc.unbind()))
    })?;
    now.bind(py).call1((utc,))?.call_method0(pyo3::intern!(py, "isoformat"))
}
