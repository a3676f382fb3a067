//! `Verdict`: what a policy says of a call, ordered by strictness and combined by the strictest; and
//! `Judgement`: the verdict of one gate, with the commands that an approval would be for.

use crate::Error;

/// What a gate says of an [`Op`](crate::Op). `Allow` is weaker than `Ask`, `Ask` than `Deny`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Go ahead.
    #[default]
    Allow,
    /// It has to be approved; the error is the answer without approval.
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

    /// Whether the call may go ahead without a question.
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

/// The verdict of one gate, and what an approval of a command would be for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judgement {
    /// Whether the call may go ahead.
    pub verdict: Verdict,
    /// The commands of a line that have to be approved, and nothing but these: program and arguments
    /// of each, so that an approval can be for a kind of command. `None` when something else has to be
    /// approved, too, or the gate does not look into commands.
    pub commands: Option<Vec<Vec<String>>>,
}

impl Judgement {
    /// Adds the commands that have to be approved.
    #[must_use]
    pub fn for_commands(mut self, commands: Option<Vec<Vec<String>>>) -> Self {
        self.commands = commands;
        self
    }

    /// Both at once: the strictest verdict, and the commands of all gates that do not allow the call;
    /// `None` when one of those names none.
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
