//! `Failure`: an error as a Python exception, with its fields as attributes.
//!
//! Python code turns it into the form of the library at hand: a string, a result with an error, or its own exception.

use pyo3::{create_exception, exceptions::PyException, prelude::*};
use workden_core::{Error, ErrorKind, Refusal};

create_exception!(
    workden._native,
    Failure,
    PyException,
    "An operation failed. `kind` is for code, `sentence` and `hint` for readers, `refusal` has the fields of a refusal."
);

/// Wraps an exception of Python code that a native call has run; [`raised`] raises it again.
pub(crate) fn of_python(raised: PyErr) -> Error {
    Error::new(ErrorKind::Io, raised.to_string()).with_source(raised)
}

/// Converts an error into the exception.
pub(crate) fn raised(error: Error) -> PyErr {
    Python::attach(|py| {
        if let Some(of_python) = std::error::Error::source(&error).and_then(|source| source.downcast_ref::<PyErr>()) {
            return of_python.clone_ref(py);
        }
        let raised = Failure::new_err(error.to_string());
        match told(raised.value(py), &error) {
            Ok(()) => raised,
            Err(instead) => instead,
        }
    })
}

fn told(exception: &Bound<'_, PyAny>, error: &Error) -> PyResult<()> {
    exception.setattr("kind", kind_name(error.kind()))?;
    exception.setattr("sentence", error.sentence())?;
    exception.setattr("hint", error.hint_text())?;
    let refusal = error.refusal().and_then(|refusal: &Refusal| serde_json::to_string(refusal).ok());
    exception.setattr("refusal", refusal)
}

/// Returns the name of a kind in JSON.
pub(crate) fn kind_name(kind: ErrorKind) -> String {
    match serde_json::to_value(kind) {
        Ok(serde_json::Value::String(name)) => name,
        _ => "io".to_owned(),
    }
}

/// Returns the error for an argument that cannot be parsed.
pub(crate) fn invalid(what: &str, why: impl std::fmt::Display) -> Error {
    let why = why.to_string();
    // The position in the JSON means nothing to a Python caller.
    let why = why.split_once(" at line ").map_or(why.as_str(), |(why, _)| why);
    Error::new(ErrorKind::InvalidArgument, format!("{what}: {why}"))
}
