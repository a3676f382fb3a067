//! The corpus: what an attacker would try from inside, as data. A script prints `held` when the wall
//! stands and `escaped` when it does not; anything else is a broken attempt and fails, too.
//!
//! Every attempt is harmless when it succeeds: it looks, signals with 0, writes what was there, or
//! calls the kernel with arguments that it would refuse next.

mod abuse;
mod files;
mod kernel;
pub(crate) mod landlock;
mod network;
mod processes;

/// One attempt to get out, or to do damage from inside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// What is tried, in words.
    pub(crate) name: &'static str,
    /// A script for `sh`, run in the workspace.
    pub(crate) script: &'static str,
    /// Further options for `workden run`.
    pub(crate) options: &'static [&'static str],
    /// Whether the same script gets through without a sandbox.
    pub(crate) unconfined: Unconfined,
}

/// What comes of an attempt without a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unconfined {
    /// It gets through, which shows that the attempt is a real one.
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

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = &'static Attempt> {
    [files::ATTEMPTS, processes::ATTEMPTS, kernel::ATTEMPTS, network::ATTEMPTS, abuse::ATTEMPTS].into_iter().flatten()
}
