//! Runtimes, as JSON: the built-in ones, and how their images are built.

use pyo3::prelude::*;
use workden::sandboxes::runtimes::{BUILTIN_RUNTIMES, BuiltinRuntime, RuntimeConfig};
use workden_core::Result;

use crate::failure;

/// Returns the built-in runtimes, in order.
#[pyfunction]
fn builtin_runtimes() -> PyResult<String> {
    let all: Vec<RuntimeConfig> = BUILTIN_RUNTIMES.iter().map(BuiltinRuntime::config).collect();
    serde_json::to_string(&all).map_err(|error| failure::raised(failure::invalid("the runtimes", error)))
}

/// Raises a `Failure` if a runtime is invalid.
#[pyfunction]
fn check_runtime(runtime: &str) -> PyResult<()> {
    read(runtime).and_then(|runtime| runtime.check()).map_err(failure::raised)
}

/// Returns the Dockerfile of its image; `None` for a runtime with a ready image.
#[pyfunction]
fn runtime_dockerfile(runtime: &str) -> PyResult<Option<String>> {
    read(runtime).and_then(|runtime| runtime.dockerfile()).map_err(failure::raised)
}

/// Returns the tag of its image; `None` for a runtime with a ready image.
#[pyfunction]
fn runtime_tag(runtime: &str) -> PyResult<Option<String>> {
    let tag = read(runtime).and_then(|runtime| runtime.tag()).map_err(failure::raised)?;
    Ok(tag.map(|tag| tag.to_string()))
}

fn read(runtime: &str) -> Result<RuntimeConfig> {
    serde_json::from_str(runtime).map_err(|error| failure::invalid("a runtime", error))
}

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(builtin_runtimes, module)?)?;
    module.add_function(wrap_pyfunction!(check_runtime, module)?)?;
    module.add_function(wrap_pyfunction!(runtime_dockerfile, module)?)?;
    module.add_function(wrap_pyfunction!(runtime_tag, module)?)
}
