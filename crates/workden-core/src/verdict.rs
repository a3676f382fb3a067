//! `Verdict`: the decision of a policy about a call, ordered by strictness and combined by the strictest; and
//! `Judgement`: the verdict of one gate, with the commands that an approval would cover.

use crate::Error;

/// The decision of a gate about an [`Op`](crate::Op). `Allow` is weaker than `Ask`, and `Ask` is weaker than `Deny`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// The call may proceed.
    #[default]
    Allow,
    /// The call needs approval; the error is the answer without approval.
    Ask(Error),
    /// The call is denied; the error has the reason and what is allowed instead.
    Deny(Error),
}

impl Verdict {
    /// Returns the stricter verdict; `self` if both are equally strict, because it came first.
    #[must_use]
    pub fn strictest(self, other: Self) -> Self {
        if other.strictness() > self.strictness() { other } else { self }
    }

    /// Whether the call may proceed without approval.
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

/// The verdict of one gate, and the commands that an approval would cover.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judgement {
    /// The decision about the call.
    pub verdict: Verdict,
    /// The program and arguments of each command that needs approval, so that an approval can cover a kind of command.
    /// `None` if something else needs approval as well, or the gate does not parse commands.
    pub commands: Option<Vec<Vec<String>>>,
}

impl Judgement {
    /// Sets the commands that need approval.
    #[must_use]
    pub fn for_commands(mut self, commands: Option<Vec<Vec<String>>>) -> Self {
        self.commands = commands;
        self
    }

    /// Combines two judgements: the strictest verdict, and the commands of all gates that do not allow the call; `None`
    /// if one of those gates names no commands.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let commands = match (self.verdict.is_allow(), other.verdict.is_allow()) {
            (true, _) => other.commands,
            (false, true) => self.commands,
            (false, false) => self.commands.zip(other.commands).map(|(mut all, more)| {
                all.extend(more);
                all
            }),
        };
        Self { verdict: self.verdict.strictest(other.verdict), commands }
    }
}

impl From<Verdict> for Judgement {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, commands: None }
    }
}
