//! The text of a PDF, page by page.
//!
//! A small file can unpack to gigabytes, and what it unpacks to is a hundred times as large when it is
//! parsed. So everything has a ceiling that is looked at before anything is built: what is unpacked, the
//! parts of all objects, the codes of its fonts, its text.

mod content;
mod fonts;
mod lexing;
mod objects;

use std::ops::RangeInclusive;

use lopdf::{Document, Encoding, Object, ObjectId};

use self::{content::Operations, fonts::Fonts, objects::object};
use crate::off_thread::Abandoned;

/// Parts that all objects of a document may have: numbers, names, strings, brackets. Each takes up to 300
/// bytes.
const MOST_PARTS: usize = 1_200_000;
/// Parts that one list of strings on a page may have.
const LIST_PARTS: usize = 200_000;
/// Bytes that one page may have when it is unpacked.
const PAGE_BYTES: usize = 16 * 1024 * 1024;
/// The same for all pages that one call reads.
const ALL_PAGE_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of a string that become text at once.
const STRING_BYTES: usize = 4096;
/// Characters that a page has in an answer when it is empty.
const PAGE_CHARS: usize = 20;
/// In place of a page that is over its ceiling.
const TOO_COMPLEX: &str = "(this page is too complex to be read here)";

/// Some pages as text.
#[derive(Debug)]
pub(super) struct Pages {
    /// The pages that were read, in order.
    pub(super) texts: Vec<String>,
    /// How many pages there are.
    pub(super) total: u32,
}

/// The text of these pages, as far as there are so many and up to about so many characters; `None` when
/// the document is damaged, encrypted, or has more in it than is held, and when nobody waits any more.
pub(super) fn text_of(
    bytes: &[u8],
    pages: RangeInclusive<u32>,
    most_chars: usize,
    abandoned: &Abandoned,
) -> Option<Pages> {
    let document = objects::load(bytes, abandoned)?;
    abandoned.go_on()?;
    let ids: Vec<ObjectId> = document.page_iter().collect();
    let total = u32::try_from(ids.len()).ok()?;
    if total == 0 && document.catalog().is_err() {
        return None;
    }
    let mut texts = Vec::new();
    let (mut chars, mut bytes_left) = (0, ALL_PAGE_BYTES);
    for page in pages {
        let Some(id) = usize::try_from(page).ok().and_then(|page| ids.get(page.checked_sub(1)?)) else { break };
        // What is left over for another call is more of a help than pages that are said to be too complex.
        if chars > most_chars || bytes_left < PAGE_BYTES {
            break;
        }
        abandoned.go_on()?;
        let text = match document.get_page_content_with_limit(*id, PAGE_BYTES) {
            Ok(content) => {
                bytes_left -= content.len().min(bytes_left);
                text_in(&document, *id, &content, most_chars, abandoned)?
            }
            Err(_) => {
                bytes_left -= PAGE_BYTES;
                TOO_COMPLEX.to_owned()
            }
        };
        let text = text.trim().to_owned();
        chars += text.chars().count() + PAGE_CHARS;
        texts.push(text);
    }
    Some(Pages { texts, total })
}

/// The text of one page; `None` when nobody waits for it.
fn text_in(
    document: &Document,
    page: ObjectId,
    content: &[u8],
    most_chars: usize,
    abandoned: &Abandoned,
) -> Option<String> {
    let Ok(named) = document.get_page_fonts(page) else { return Some(String::new()) };
    let mut fonts = Fonts::of(document, named);
    let mut font = None;
    // Four bytes are the most that a character has.
    let mut text = Text { written: String::new(), most: most_chars.saturating_mul(4), abandoned };
    for (step, operation) in Operations::of(content).enumerate() {
        if step % 1024 == 0 {
            abandoned.go_on()?;
        }
        let operands = &operation.operands[..];
        let strings = match operation.operator {
            b"Tf" => {
                let name = operands.first().and_then(|(name, _)| object(&content[name.clone()]));
                font = name.and_then(|name| name.as_name().ok().map(<[u8]>::to_vec));
                continue;
            }
            b"T*" | b"ET" => {
                text.end_line();
                continue;
            }
            b"Tj" | b"TJ" => operands,
            b"'" => {
                text.end_line();
                operands
            }
            b"\"" => {
                text.end_line();
                operands.get(2..3).unwrap_or_default()
            }
            _ => continue,
        };
        let Some(encoding) = font.as_ref().and_then(|font| fonts.encoding(font)) else { continue };
        for (string, parts) in strings {
            if *parts > LIST_PARTS {
                return Some(TOO_COMPLEX.to_owned());
            }
            if let Some(string) = object(&content[string.clone()]) {
                text.add(encoding, &string)?;
            }
        }
        if text.is_full() {
            break;
        }
    }
    Some(text.written)
}

/// The text of a page as far as it is written.
struct Text<'a> {
    written: String,
    /// Bytes after which it is enough.
    most: usize,
    abandoned: &'a Abandoned,
}

impl Text<'_> {
    fn is_full(&self) -> bool {
        self.written.len() > self.most
    }

    fn end_line(&mut self) {
        if !self.written.ends_with('\n') {
            self.written.push('\n');
        }
    }

    /// Adds what an operand says; `None` when nobody waits for it.
    fn add(&mut self, encoding: &Encoding<'_>, operand: &Object) -> Option<()> {
        match operand {
            Object::String(codes, _) => {
                // One code may stand for many characters: it is a little at a time, so that the end is seen.
                for codes in codes.chunks(STRING_BYTES) {
                    self.abandoned.go_on()?;
                    if self.is_full() || encoding.write_to_string(codes, &mut self.written).is_err() {
                        break;
                    }
                }
            }
            Object::Array(operands) => {
                for operand in operands {
                    self.add(encoding, operand)?;
                }
                self.written.push(' ');
            }
            // So far to the right is another word.
            Object::Integer(moved) if *moved < -100 => self.written.push(' '),
            _ => {}
        }
        Some(())
    }
}
