//! The standard input of a command after its redirections.

use crate::{
    analysis::StandardInput,
    expansion,
    syntax::{CommandNode, Compound, RawWord, Redirect, RedirectSource, RedirectTarget, WordPart},
    values::Scope,
};

/// The standard input after redirections.
#[derive(Default)]
pub(super) struct Feed {
    pub(super) input: Option<StandardInput>,
    /// The text, if it is known.
    pub(super) text: Option<String>,
}

impl Feed {
    /// Applies these redirections; the last one counts.
    pub(super) fn of(redirects: &[Redirect], scope: Scope<'_>) -> Self {
        let mut feed = Self::default();
        for redirect in redirects {
            let is_input = match &redirect.from {
                RedirectSource::Usual => true,
                RedirectSource::Number(number) => number.trim_start_matches('0').is_empty(),
                RedirectSource::Variable(_) => false,
            };
            let text = match &redirect.to {
                RedirectTarget::Write(_) | RedirectTarget::DuplicateOutput => continue,
                // `<&3` may be any file that was opened earlier.
                RedirectTarget::Read(_) | RedirectTarget::ReadWrite(_) | RedirectTarget::DuplicateInput => None,
                RedirectTarget::HereString(word) => expansion::text(&word.parts, scope),
                RedirectTarget::HereDocument(document) => {
                    document.get().and_then(|document| expansion::text(&document.parts, scope))
                }
            };
            let input = match &redirect.to {
                RedirectTarget::Read(word) if !matches!(word.parts.as_slice(), [WordPart::Process(_)]) => {
                    StandardInput::File
                }
                _ => StandardInput::Fed,
            };
            if is_input {
                feed = Self { input: Some(input), text };
            }
        }
        feed
    }
}

/// Whether this is a loop that reads its input line by line: `while read -r f; do ...`.
pub(super) fn reads_lines(compound: &Compound) -> bool {
    let Compound::Loop { condition, .. } = compound else { return false };
    let [item] = condition.items.as_slice() else { return false };
    match item.first.commands.as_slice() {
        [CommandNode::Simple(simple)] if item.rest.is_empty() => {
            simple.words.first().and_then(RawWord::plain) == Some("read") && simple.redirects.is_empty()
        }
        _ => false,
    }
}
