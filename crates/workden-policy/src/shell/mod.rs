//! What a command line would do, found out without running it.
//!
//! Invariant: what is not understood is said ([`Analysis::doubts`]), and nobody may allow a command
//! of which something was not understood. The analysis is manners, not the wall: isolation holds
//! even when it is wrong.

mod analysis;

pub use analysis::{Analysis, Assignment, Directories, Doubt, DoubtKind, Input, Invocation, Redirection, Use, Word};
