//! `DaytonaStatus`: what becomes known of a sandbox when it starts, for a program that holds only its builder.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::DaytonaMode;

/// What is known of a sandbox. Empty before its first start; clones share it.
#[derive(Clone, Debug, Default)]
pub struct DaytonaStatus(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    id: Option<String>,
    name: Option<String>,
    mode: Option<DaytonaMode>,
}

impl DaytonaStatus {
    /// Returns Daytona's id of the sandbox.
    #[must_use]
    pub fn id(&self) -> Option<String> {
        self.known().id.clone()
    }

    /// Returns Daytona's name of the sandbox.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        self.known().name.clone()
    }

    /// Returns how files and commands are reached: by the keeper or by the toolbox.
    #[must_use]
    pub fn mode(&self) -> Option<DaytonaMode> {
        self.known().mode
    }

    pub(super) fn set_names(&self, id: &str, name: &str) {
        let mut known = self.known();
        (known.id, known.name) = (Some(id.to_owned()), Some(name.to_owned()));
    }

    pub(super) fn set_mode(&self, mode: DaytonaMode) {
        self.known().mode = Some(mode);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
