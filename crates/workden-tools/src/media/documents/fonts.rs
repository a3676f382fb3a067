//! What the codes of a font stand for, with a look at its table before it is built: a line of it can name
//! four billion codes, and each becomes an entry.

use std::collections::BTreeMap;

use lopdf::{Dictionary, Document, Encoding, Object};

use super::lexing::find;

/// Bytes that the table of one font may have.
const TABLE_BYTES: usize = 1024 * 1024;
/// Codes that the tables of the fonts of one page may name, each as often as it has characters.
const MOST_CODES: u64 = 300_000;

/// The fonts of a page, each of which is looked at when it is used first.
pub(super) struct Fonts<'a> {
    document: &'a Document,
    named: BTreeMap<Vec<u8>, &'a Dictionary>,
    read: BTreeMap<Vec<u8>, Option<Encoding<'a>>>,
    codes_left: u64,
}

impl<'a> Fonts<'a> {
    pub(super) fn of(document: &'a Document, named: BTreeMap<Vec<u8>, &'a Dictionary>) -> Self {
        Self { document, named, read: BTreeMap::new(), codes_left: MOST_CODES }
    }

    /// What the codes of this font stand for, when that can be said.
    pub(super) fn encoding(&mut self, name: &[u8]) -> Option<&Encoding<'a>> {
        if !self.read.contains_key(name) {
            let font = *self.named.get(name)?;
            let encoding = self.look_at(font);
            self.read.insert(name.to_vec(), encoding);
        }
        self.read.get(name)?.as_ref()
    }

    fn look_at(&mut self, font: &'a Dictionary) -> Option<Encoding<'a>> {
        if let Ok(table) = font.get_deref(b"ToUnicode", self.document).and_then(Object::as_stream) {
            let table = table.get_plain_content_with_limit(TABLE_BYTES).ok()?;
            self.codes_left = self.codes_left.checked_sub(codes_in(&table))?;
        }
        font.get_font_encoding_with_limit(self.document, TABLE_BYTES).ok()
    }
}

/// How many codes a table names.
fn codes_in(table: &[u8]) -> u64 {
    let table = without_comments(table);
    // Each line of the other kind names one, and is longer than this.
    let mut codes = table.len() as u64 / 8;
    let mut at = 0;
    while let Some(start) = find(&table, at, b"beginbfrange") {
        let end = find(&table, start, b"endbfrange").unwrap_or(table.len());
        codes = codes.saturating_add(codes_in_ranges(&table[start..end]));
        at = end;
    }
    codes
}

/// The same for lines of a first code, a last code, and what they stand for.
fn codes_in_ranges(lines: &[u8]) -> u64 {
    let mut codes = 0_u64;
    let mut ends = Vec::with_capacity(2);
    let mut at = 0;
    while let Some(next) = lines[at..].iter().position(|byte| matches!(byte, b'<' | b'[')) {
        let start = at + next;
        let close = if lines[start] == b'<' { b'>' } else { b']' };
        let Some(length) = lines[start..].iter().position(|byte| *byte == close) else { break };
        let inner = &lines[start + 1..start + length];
        at = start + length;
        if ends.len() < 2 {
            ends.push(code(inner));
            continue;
        }
        let span = ends[1].saturating_sub(ends[0]).saturating_add(1);
        let characters = if close == b'>' { inner.len() as u64 / 4 } else { 1 };
        codes = codes.saturating_add(span.saturating_mul(characters.max(1)));
        ends.clear();
    }
    codes
}

fn code(digits: &[u8]) -> u64 {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(u64::from);
    digits.iter().filter_map(digit).fold(0_u64, |code, digit| code.saturating_mul(16).saturating_add(digit))
}

fn without_comments(table: &[u8]) -> Vec<u8> {
    let mut in_comment = false;
    let keep = |byte: &u8| {
        in_comment = (in_comment || *byte == b'%') && !matches!(byte, b'\n' | b'\r');
        !in_comment
    };
    table.iter().copied().filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_counted_as_often_as_they_become_entries() {
        for (table, least) in [
            ("1 beginbfrange\n<00000000> <ffffffff> <0041>\nendbfrange", 1 << 32),
            ("1 beginbfrange %\n<0000>%<01>\n<ffff><0041>\nendbfrange", 1 << 16),
            ("1 beginbfrange <00> <ff> <00410041004100410041> endbfrange", 256 * 5),
            ("1 beginbfrange <00> <01> [<0041> <0042>] <02> <ff> [<0041>] endbfrange", 256),
        ] {
            assert!(codes_in(table.as_bytes()) >= least, "{table}");
        }
        let usual =
            "2 beginbfrange\n<0000> <005E> <0020>\n<005F> <0061> [<00660066> <00660069> <0066006C>]\nendbfrange";
        assert!(codes_in(usual.as_bytes()) < 150);
    }
}
