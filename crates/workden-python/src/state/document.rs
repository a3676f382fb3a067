//! A file of the dictionary: lines without line ends, and its timestamps.

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use pyo3::{
    prelude::*,
    pybacked::PyBackedStr,
    types::{PyDict, PyList, PyString},
};
use workden_core::{Result, VirtualPath};

use super::{broken, invalid};

/// Marks content that is not text: one line of base64.
const BASE64: &str = "base64";

/// The content of a file, as stored in the dictionary.
pub(super) struct FileText<'py> {
    lines: Bound<'py, PyAny>,
    is_base64: bool,
}

impl<'py> FileText<'py> {
    /// Returns the content of this entry.
    pub(super) fn of(file: &Bound<'py, PyAny>) -> Result<Self> {
        let file = file.cast::<PyDict>().map_err(|_| invalid("not a dictionary"))?;
        let py = file.py();
        let lines = file.get_item(pyo3::intern!(py, "content")).map_err(|error| broken(&error))?;
        let lines = lines.ok_or_else(|| invalid("`content` is missing"))?;
        let encoding = file.get_item(pyo3::intern!(py, "encoding")).map_err(|error| broken(&error))?;
        let is_base64 = encoding.is_some_and(|named| named.extract::<&str>().is_ok_and(|named| named == BASE64));
        Ok(Self { lines, is_base64 })
    }

    /// Returns the content as bytes.
    pub(super) fn bytes(&self) -> Result<Bytes> {
        let text = Bytes::from_owner(Utf8(self.text()?));
        match self.is_base64 {
            true => STANDARD.decode(text).map(Bytes::from).map_err(|_| invalid("`content` is not valid base64")),
            false => Ok(text),
        }
    }

    fn text(&self) -> Result<PyBackedStr> {
        let py = self.lines.py();
        let text = match self.lines.cast::<PyString>() {
            Ok(whole) => whole.clone(),
            Err(_) => {
                let lines = self.lines.cast::<PyList>().map_err(|_| invalid("`content` is not a list of lines"))?;
                // Python joins its own strings faster than this module could fetch them one by one.
                let joined = pyo3::intern!(py, "\n").call_method1(pyo3::intern!(py, "join"), (lines,));
                let joined = joined.map_err(|_| invalid("a line is not a string"))?;
                joined.cast_into::<PyString>().map_err(|_| invalid("a line is not a string"))?
            }
        };
        PyBackedStr::try_from(text).map_err(|_| invalid("a line contains invalid characters"))
    }
}

/// Returns a Python string as UTF-8.
struct Utf8(PyBackedStr);

impl AsRef<[u8]> for Utf8 {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// Stores a file in the dictionary: in its existing entry, or a new one.
pub(super) fn put(files: &Bound<'_, PyDict>, path: &VirtualPath, content: &[u8]) -> PyResult<()> {
    let py = files.py();
    let now = PyString::new(py, &now());
    let (lines, is_base64) = match std::str::from_utf8(content) {
        // Python splits its own strings faster than this module could create them one by one.
        Ok(text) => (PyString::new(py, text).call_method1(pyo3::intern!(py, "split"), ("\n",))?, false),
        Err(_) => (PyList::new(py, [STANDARD.encode(content)])?.into_any(), true),
    };
    let file = PyDict::new(py);
    file.set_item(pyo3::intern!(py, "content"), lines)?;
    let path = PyString::new(py, path.as_str());
    let before = files.get_item(&path)?.and_then(|before| before.cast_into::<PyDict>().ok());
    let created = before.and_then(|before| before.get_item(pyo3::intern!(py, "created_at")).ok().flatten());
    file.set_item(pyo3::intern!(py, "created_at"), created.unwrap_or_else(|| now.clone().into_any()))?;
    file.set_item(pyo3::intern!(py, "modified_at"), now)?;
    if is_base64 {
        file.set_item(pyo3::intern!(py, "encoding"), BASE64)?;
    }
    files.set_item(path, file)
}

/// Returns the time in the format of `datetime.now(timezone.utc).isoformat()`, with microseconds.
fn now() -> String {
    let now = jiff::tz::Offset::UTC.to_datetime(jiff::Timestamp::now());
    let (date, time) = (now.date(), now.time());
    let year = date.year().unsigned_abs().into();
    let microsecond = time.subsec_nanosecond().unsigned_abs() / 1_000;
    let mut text = String::with_capacity(32);
    // Formatted by hand, because it takes a good part of writing a small file.
    for (separator, number, digits) in [
        ("", year, 4),
        ("-", date.month().unsigned_abs().into(), 2),
        ("-", date.day().unsigned_abs().into(), 2),
        ("T", time.hour().unsigned_abs().into(), 2),
        (":", time.minute().unsigned_abs().into(), 2),
        (":", time.second().unsigned_abs().into(), 2),
        (".", microsecond, 6),
    ] {
        text.push_str(separator);
        let digit = |place: u32| char::from_digit(number / 10_u32.pow(place) % 10, 10).unwrap_or('0');
        text.extend((0..digits).rev().map(digit));
    }
    text + "+00:00"
}
