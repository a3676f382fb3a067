//! `Verdict`: what a policy says of a call. Ordered by strictness, and combined by the strictest.

use crate::Error;

/// What a gate says of an [`Op`](crate::Op). `Allow` is weaker than `Ask`, `Ask` than `Deny`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Go ahead.
    #[default]
    Allow,
    /// Somebody has to approve; the error is what the caller hears when nobody does.
    Ask(Error),
    /// No; the error says why, and what is allowed instead.
    Deny(Error),
}

impl Verdict {
    /// The stricter of two; the first where they are equally strict, since it was said first.
    #[must_use]
    pub fn strictest(self, other: Self) -> Self {
        if other.strictness() > self.strictness() { other } else { self }
    }

    /// Whether the call may go ahead without asking anybody.
    #[must_use]
    pub fn is_allow(&self) -> bool {
        *self == Self::Allow
    }

    fn strictness(&self) -> u8 {
        match self {
            Self::Allow => 0,
            Self::Ask(_) => 1,
            Self::Deny(_) => 2,
        }
    }
}
