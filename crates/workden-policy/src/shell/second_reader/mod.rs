//! A second reader of every script, by the grammar of `brush-parser`: both must see the same.
//!
//! Invariant: it only reads what our own parser accepted, which is within the caps and closed, so
//! that it stays fast and shallow. Where it sees other commands, words or files, or does not accept
//! the text, or gives up, there is a doubt. The texts of `$(...)`, `<(...)` and backticks are read as
//! scripts of their own; what is inside of `((...))` and `${...}` is not compared beyond that,
//! and neither are the texts of here-documents: where one ends elsewhere, the commands differ.

mod effort;
mod ours;
mod seen;
#[cfg(test)]
mod tests;
mod theirs;

use super::{
    guard::{Refused, syntax},
    syntax::Script,
};
use seen::Seen;

/// Reads the text once more and compares.
pub(super) fn agrees(text: &str, script: &Script) -> Result<(), Refused> {
    let ours = ours::seen(script);
    compared(text, &ours.seen)?;
    ours.nested.iter().try_for_each(|nested| match &nested.text {
        // Thousands of empty backticks fit into a script, and there is nothing to be read in them.
        Some(text) if text.trim_matches([' ', '\t', '\n']).is_empty() => Ok(()),
        Some(text) => agrees(text, nested),
        None => Err(disagreement()),
    })
}

/// Whether the second reader sees just this in the text.
fn compared(text: &str, ours: &[Seen<'_>]) -> Result<(), Refused> {
    effort::few_lines(text)?;
    // It is not known to panic on what it is given here; if it does, that is a doubt and no more.
    let same = std::panic::catch_unwind(|| {
        let program = theirs::parsed(text)?;
        Ok(theirs::seen(&program).is_some_and(|theirs| theirs == ours))
    });
    match same {
        Ok(Ok(true)) => Ok(()),
        Ok(Err(refused)) => Err(refused),
        Ok(Ok(false)) | Err(_) => Err(disagreement()),
    }
}

fn disagreement() -> Refused {
    syntax("two readers understand it differently")
}
