//! `Places`: where the text of an edit occurs, and the error if that is more than once.

use memchr::{memchr_iter, memmem};

use super::near_miss;
use crate::{Error, ErrorKind, VirtualPath};

/// How many occurrences an `Ambiguous` error looks at.
const MOST_PLACES: usize = 1_000;
/// How many line numbers an `Ambiguous` error shows.
const SHOWN_PLACES: usize = 10;

/// The occurrences of a text that is to be replaced once: all of them, including overlapping ones, because two ways to
/// read an edit are two matches.
pub(super) struct Places<'t> {
    finder: memmem::Finder<'t>,
    starts: Vec<usize>,
    next: usize,
}

impl<'t> Places<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { finder: memmem::Finder::new(text), starts: Vec::new(), next: 0 }
    }

    /// Continues the search up to `end`.
    pub(super) fn look(&mut self, content: &[u8], end: usize) {
        while self.starts.len() <= MOST_PLACES
            && let Some(found) = content.get(self.next..end).and_then(|part| self.finder.find(part))
        {
            self.starts.push(self.next + found);
            self.next += found + 1;
        }
        // An occurrence that starts before the end may end after it.
        let length = self.finder.needle().len();
        self.next = self.next.max((end + 1).saturating_sub(length));
    }

    pub(super) fn in_all_of(mut self, content: &[u8]) -> Vec<usize> {
        self.look(content, content.len());
        self.starts
    }
}

/// Returns the error for a text that occurs more than once, with the numbers of its lines.
pub(super) fn ambiguous(path: &VirtualPath, content: &[u8], old: &str, starts: &[usize]) -> Error {
    let count = if starts.len() > MOST_PLACES { format!("more than {MOST_PLACES}") } else { starts.len().to_string() };
    let mut line = 1;
    let mut at = 0;
    let mut numbers: Vec<String> = starts
        .iter()
        .take(SHOWN_PLACES)
        .map(|start| {
            line += memchr_iter(b'\n', &content[at..*start]).count();
            at = *start;
            line.to_string()
        })
        .collect();
    numbers.dedup();
    if starts.len() > SHOWN_PLACES {
        numbers.push("...".to_owned());
    }
    Error::new(
        ErrorKind::Ambiguous,
        format!(
            "cannot edit `{path}`: {} found {count} times, at lines {}",
            near_miss::quoted(old),
            numbers.join(", ")
        ),
    )
    .hint("give more of the lines around the place you mean, or replace all")
    .refused_for(near_miss::as_data(path, starts.len() as u64, old))
}
