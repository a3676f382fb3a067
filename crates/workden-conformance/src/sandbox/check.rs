//! `SandboxCheck`: one sentence of the contract of sandboxes and the function that tests it.

use std::{fmt, time::Duration};

use futures_util::future::{Either, select};
use workden_core::sandbox::Sandbox;

use crate::{CheckFuture, Failure, Outcome, check::caught};

/// The longest that a check may take on any machine; a check that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(240);

/// One sentence of the contract of sandboxes.
#[derive(Clone, Copy)]
pub struct SandboxCheck {
    /// The module of the check, like `jobs`.
    pub theme: &'static str,
    /// The sentence: the name of its function.
    pub name: &'static str,
    pub(super) function: for<'a> fn(&'a dyn Sandbox) -> CheckFuture<'a>,
}

impl SandboxCheck {
    /// Runs the check on a new sandbox. A panic or a timeout counts as a failure.
    ///
    /// # Errors
    ///
    /// Returns `Failure` if the sandbox does not behave as the contract says.
    pub async fn run(&self, sandbox: &dyn Sandbox) -> Outcome {
        let outcome = Box::pin(caught((self.function)(sandbox)));
        match select(outcome, futures_timer::Delay::new(PATIENCE)).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(_) => Err(Failure::new(format!("it was not over after {} s", PATIENCE.as_secs()))),
        }
    }
}

impl fmt::Display for SandboxCheck {
    /// Writes the check as `jobs::a_job_outlives_the_call`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.theme, self.name)
    }
}

impl fmt::Debug for SandboxCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SandboxCheck({self})")
    }
}

/// Lists the checks of a module from its theme and its functions.
macro_rules! list_sandbox_checks {
    ($theme:ident: $($name:ident),+ $(,)?) => {
        /// The checks of this module.
        pub const CHECKS: &[$crate::SandboxCheck] = &[$($crate::SandboxCheck {
            theme: stringify!($theme),
            name: stringify!($name),
            function: |sandbox| Box::pin($name(sandbox)),
        }),+];
    };
}
pub(super) use list_sandbox_checks;
