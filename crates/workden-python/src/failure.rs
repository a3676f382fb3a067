//! `Failure`: an error of ours as a Python exception, with all that it knows as attributes.
//!
//! Python code turns it into what the library at hand says: a string, a result with an error, an exception
//! of its own.

use pyo3::{create_exception, exceptions::PyException, prelude::*};
use workden_core::{Error, ErrorKind, Refusal};

create_exception!(
    workden._native,
    Failure,
    PyException,
    "What could not be done. `kind` is for code, `sentence` and `hint` are for readers, `refusal` is why a policy said no."
);

/// The exception for an error.
pub(crate) fn raised(error: Error) -> PyErr {
    Python::attach(|py| {
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

/// A kind as it is written in JSON.
pub(crate) fn kind_name(kind: ErrorKind) -> String {
    match serde_json::to_value(kind) {
        Ok(serde_json::Value::String(name)) => name,
        _ => "io".to_owned(),
    }
}

/// An argument that cannot be read, as an error of ours.
pub(crate) fn invalid(what: &str, why: impl std::fmt::Display) -> Error {
    let why = why.to_string();
    // Where in the JSON that is says nothing to whoever wrote Python.
    let why = why.split_once(" at line ").map_or(why.as_str(), |(why, _)| why);
    Error::new(ErrorKind::InvalidArgument, format!("{what}: {why}"))
}
