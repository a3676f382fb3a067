//! Reports the progress of an image to Python's logger `workden`: a build takes minutes.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

use pyo3::prelude::*;
use workden::sandboxes::docker::{BuildProgress, DockerSandboxBuilder};

use crate::crossing;

/// Logs the progress of the image of this container.
pub(super) fn with_progress_log(plan: DockerSandboxBuilder) -> DockerSandboxBuilder {
    let pulled = Mutex::new(HashSet::new());
    plan.on_progress(move |progress| {
        if let Some((level, line)) = line(&progress, &pulled) {
            // A failing logger does not fail the build.
            let log = || Python::attach(|py| logger(py)?.call_method1(level, ("%s", line)).map(drop));
            let _ = crossing::cross(log);
        }
    })
}

fn logger(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("logging")?.call_method1("getLogger", ("workden",))
}

/// Returns the level and the message. A pull reports every layer many times: the image is named once.
fn line(progress: &BuildProgress, pulled: &Mutex<HashSet<String>>) -> Option<(&'static str, String)> {
    match progress {
        BuildProgress::Step { nth, of, what } => Some(("info", format!("step {nth}/{of}: {what}"))),
        BuildProgress::Output(line) => Some(("debug", line.clone())),
        BuildProgress::Pulling { image, .. } => {
            let is_new = pulled.lock().unwrap_or_else(PoisonError::into_inner).insert(image.clone());
            is_new.then(|| ("info", format!("pulling {image}")))
        }
        _ => None,
    }
}
