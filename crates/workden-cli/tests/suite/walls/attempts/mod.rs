//! The corpus: the attempts of an attacker inside, as data. A script prints `held` or `escaped`; any other output is a
//! broken attempt and also fails.
//!
//! Every attempt is harmless if it succeeds: it looks, sends signal 0, rewrites the same content, or makes a system
//! call with arguments that the kernel refuses next.

mod abuse;
mod files;
mod kernel;
pub(crate) mod landlock;
mod network;
mod processes;

/// One attempt to escape, or to do damage from inside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// What is tried, in words.
    pub(crate) name: &'static str,
    /// A script for `sh`, run in the workspace.
    pub(crate) script: &'static str,
    /// Further options for `workden run`.
    pub(crate) options: &'static [&'static str],
    /// Whether the same script succeeds without a sandbox.
    pub(crate) unconfined: Unconfined,
}

/// The outcome of an attempt without a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unconfined {
    /// It succeeds, which shows that the attempt is real.
    Escapes,
    /// Not tried: it depends on the machine, or would do harm.
    NotTried,
}

const fn attempt(name: &'static str, script: &'static str) -> Attempt {
    Attempt { name, script, options: &[], unconfined: Unconfined::NotTried }
}

impl Attempt {
    const fn escapes_unconfined(mut self) -> Self {
        self.unconfined = Unconfined::Escapes;
        self
    }

    const fn with(mut self, options: &'static [&'static str]) -> Self {
        self.options = options;
        self
    }
}

/// Returns all attempts.
pub(crate) fn all() -> impl Iterator<Item = &'static Attempt> {
    [files::ATTEMPTS, processes::ATTEMPTS, kernel::ATTEMPTS, network::ATTEMPTS, abuse::ATTEMPTS].into_iter().flatten()
}
