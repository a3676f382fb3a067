//! Rust extension of the Python package `workden`: workspaces as Python objects.
//!
//! This is a face: it converts and decides nothing. Python programs call `python/workden`, which has the interfaces of
//! the reference libraries; this module, `workden._native`, is the shared implementation underneath. Every call that
//! takes time exists in a blocking and an async version, and releases the interpreter lock meanwhile.

mod asking;
mod calls;
mod convert;
mod crossing;
mod failure;
mod foreign;
mod hashline;
mod keepers;
mod native_workspace;
mod per_process;
mod rules;
mod runtime;
mod runtimes;
mod sessions;
mod state;
mod tools;

use pyo3::prelude::*;

/// The module `workden._native`.
#[pymodule]
#[pyo3(name = "_native")]
fn native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    crossing::ends_with_the_program(module)?;
    per_process::hear_of_forks(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Failure", module.py().get_type::<failure::Failure>())?;
    module.add_class::<native_workspace::NativeWorkspace>()?;
    module.add_class::<native_workspace::DaytonaStatus>()?;
    module.add_class::<tools::Tools>()?;
    module.add_class::<rules::Rules>()?;
    module.add_function(wrap_pyfunction!(rules::native_ruleset, module)?)?;
    module.add_function(wrap_pyfunction!(hashline::line_hash, module)?)?;
    module.add_function(wrap_pyfunction!(hashline::format_hashlines, module)?)?;
    module.add_function(wrap_pyfunction!(hashline::apply_hashline, module)?)?;
    rules::publish(module)?;
    runtimes::add_to(module)?;
    sessions::add_to(module)
}
