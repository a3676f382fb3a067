//! The mark of a command: a variable with a random value in its environment. By it the processes of the command are
//! found where the kernel has no child subreapers, as in gVisor before 2023.

use rustix::rand::{GetRandomFlags, getrandom};
use workden_core::Result;

use super::failure::broken;

/// The name of the variable.
pub(super) const NAME: &str = "WORKDEN_COMMAND";

/// How the processes of a command are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FoundBy {
    /// They descend from its reaper, whatever they do.
    Descent,
    /// They have its mark.
    Mark,
}

impl FoundBy {
    /// Returns what this kernel allows.
    pub(super) fn kernel() -> Self {
        match rustix::process::child_subreaper() {
            Ok(_) => Self::Descent,
            Err(_) => Self::Mark,
        }
    }
}

/// The mark of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandMark(String);

impl CommandMark {
    /// Returns a new mark.
    pub(super) fn random() -> Result<Self> {
        let mut random = [0; 16];
        getrandom(&mut random, GetRandomFlags::empty()).map_err(|why| broken("get random bytes", why))?;
        Ok(Self(format!("{NAME}={:032x}", u128::from_ne_bytes(random))))
    }

    /// Returns the variable, `NAME=value`.
    pub(super) fn variable(&self) -> &str {
        &self.0
    }

    /// Returns the value of the variable.
    pub(super) fn value(&self) -> &str {
        self.0.split_once('=').map_or("", |(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_differ_and_the_variable_has_the_value() {
        let (one, other) = (CommandMark::random().unwrap(), CommandMark::random().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.variable(), format!("{NAME}={}", one.value()));
    }
}
