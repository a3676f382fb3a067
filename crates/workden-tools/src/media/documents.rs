//! The text of a PDF, page by page.

use std::ops::RangeInclusive;

use lopdf::{Document, LoadOptions};

/// Bytes that one part of a document may have when it is unpacked.
const UNPACKED_BYTES: usize = 64 * 1024 * 1024;

/// Some pages as text.
#[derive(Debug)]
pub(super) struct Pages {
    /// The pages that were read, in order.
    pub(super) texts: Vec<String>,
    /// How many pages there are.
    pub(super) total: u32,
}

/// The text of these pages, as far as there are so many and up to about so many characters; `None` when
/// the document is damaged, encrypted, or unpacks to more than is held.
pub(super) fn text_of(bytes: &[u8], pages: RangeInclusive<u32>, most_chars: usize) -> Option<Pages> {
    let options = LoadOptions::with_max_decompressed_size(UNPACKED_BYTES);
    let document = Document::load_mem_with_options(bytes, options).ok()?;
    if document.is_encrypted() {
        return None;
    }
    let total = u32::try_from(document.get_pages().len()).ok()?;
    let mut texts = Vec::new();
    let mut chars = 0;
    for page in pages {
        if page > total || chars > most_chars {
            break;
        }
        let text = document.extract_text_with_limit(&[page], UNPACKED_BYTES).unwrap_or_default();
        let text = text.trim().to_owned();
        chars += text.chars().count();
        texts.push(text);
    }
    Some(Pages { texts, total })
}
