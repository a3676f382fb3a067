//! Splices: spans of a content and their replacements, in order and not overlapping. The content outside the spans is
//! kept by construction.

use crate::{Error, ErrorKind, Result};

/// A span of the original content and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// The start of the span, in bytes.
    pub start: u64,
    /// The end of the span, in bytes.
    pub end: u64,
    /// The replacement.
    pub bytes: Vec<u8>,
}

/// Applies splices to a content.
///
/// # Errors
///
/// Returns `InvalidArgument` if the splices overlap, are out of order, or reach past the end.
pub fn apply_splices(content: &[u8], splices: &[Splice]) -> Result<Vec<u8>> {
    let grown: usize = splices.iter().map(|splice| splice.bytes.len()).sum();
    let mut result = Vec::with_capacity(content.len() + grown);
    let mut at = 0;
    for (start, end, bytes) in checked_splices(content.len() as u64, splices)? {
        result.extend_from_slice(&content[at..start]);
        result.extend_from_slice(bytes);
        at = end;
    }
    result.extend_from_slice(&content[at..]);
    Ok(result)
}

/// Returns the splices as indices into a content of `size` bytes.
///
/// # Errors
///
/// Returns `InvalidArgument` if the splices overlap, are out of order, or reach past the end.
pub fn checked_splices(size: u64, splices: &[Splice]) -> Result<Vec<(usize, usize, &[u8])>> {
    let mut at = 0;
    splices
        .iter()
        .map(|splice| match (usize::try_from(splice.start), usize::try_from(splice.end)) {
            (Ok(start), Ok(end)) if at <= splice.start && start <= end && splice.end <= size => {
                at = splice.end;
                Ok((start, end, splice.bytes.as_slice()))
            }
            _ => Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("bytes {} to {} cannot be replaced in a file of {size} bytes", splice.start, splice.end),
            )),
        })
        .collect()
}

/// Returns the one splice between the common start and the common end of two contents.
pub(crate) fn difference(before: &[u8], after: &[u8]) -> Splice {
    let start = before.iter().zip(after).take_while(|(b, a)| b == a).count();
    let tail = before[start..].iter().rev().zip(after[start..].iter().rev()).take_while(|(b, a)| b == a).count();
    Splice { start: start as u64, end: (before.len() - tail) as u64, bytes: after[start..after.len() - tail].to_vec() }
}
