//! `Check`: one sentence of the contract and the function that tests it.

use std::{fmt, panic::AssertUnwindSafe, pin::Pin};

use futures_util::FutureExt;
use workden_core::Backend;

use crate::{Failure, Outcome};

/// The future of a running check.
pub type CheckFuture<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

/// One sentence of the contract.
#[derive(Clone, Copy)]
pub struct Check {
    /// The module of the check, like `renaming`.
    pub theme: &'static str,
    /// The sentence: the name of its function.
    pub name: &'static str,
    pub(crate) function: for<'a> fn(&'a dyn Backend) -> CheckFuture<'a>,
}

impl Check {
    /// Runs the check on an empty backend. A panic counts as a failure.
    ///
    /// # Errors
    ///
    /// Returns `Failure` if the backend does not behave as the contract says.
    pub async fn run(&self, files: &dyn Backend) -> Outcome {
        caught((self.function)(files)).await
    }
}

/// Runs a check to its outcome and turns a panic into a failure.
pub(crate) async fn caught(check: CheckFuture<'_>) -> Outcome {
    match AssertUnwindSafe(check).catch_unwind().await {
        Ok(outcome) => outcome,
        Err(panic) => {
            let words = panic.downcast_ref::<String>().map(String::as_str);
            let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(Failure::new(format!("it panicked: {words}")))
        }
    }
}

impl fmt::Display for Check {
    /// Writes the check as `renaming::a_file_moves_with_its_content`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.theme, self.name)
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Check({self})")
    }
}

/// Lists the checks of a module from its theme and its functions.
macro_rules! list_checks {
    ($theme:ident: $($name:ident),+ $(,)?) => {
        /// The checks of this module.
        pub const CHECKS: &[$crate::Check] = &[$($crate::Check {
            theme: stringify!($theme),
            name: stringify!($name),
            function: |files| Box::pin($name(files)),
        }),+];
    };
}
pub(crate) use list_checks;
