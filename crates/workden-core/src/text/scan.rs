//! Windows into a text of any size: some lines of it, or some characters.
//!
//! Invariant: memory is bounded by the window's limit, never by the text. The text is read once from start to end in
//! small blocks (the end is needed for the number of remaining lines); only a text in a legacy encoding is read again,
//! so that all of its windows are decoded in the same encoding.

use std::{
    cell::Cell,
    io::{self, Read},
};

use encoding_rs_io::DecodeReaderBytesBuilder;
use memchr::{memchr, memchr_iter, memrchr};

use super::{
    collect::{CharCollector, LineCollector, Utf8Check},
    encoding::{BINARY_SNIFF_BYTES, Encoding, Guess, UTF8_BOM, not_text},
    window::{Cut, Excerpt, Extent, TextWindow},
};
use crate::{Error, ErrorKind, Result, Version, VersionHasher, VirtualPath};

const BLOCK_BYTES: usize = 128 * 1024;
/// Most texts are smaller than this, and need no larger buffer.
const FIRST_BLOCK_BYTES: usize = 16 * 1024;

/// A text that can be read repeatedly from its start.
pub trait TextSource {
    /// Starts reading at the first byte.
    ///
    /// # Errors
    ///
    /// Returns the error of opening the text.
    fn open(&self) -> io::Result<Box<dyn Read + '_>>;
}

impl TextSource for &[u8] {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(*self))
    }
}

/// Reads a window of a text.
///
/// # Errors
///
/// Returns `NotText` if the content is binary, `OutOfRange` if the line offset is past the end, and `Io` if reading
/// fails.
pub fn excerpt(path: &VirtualPath, source: &dyn TextSource, window: TextWindow) -> Result<Excerpt> {
    let source = &Versioned { source, whole: Cell::new(None) };
    let excerpt = match window {
        TextWindow::Lines { offset, limit, max_chars } => lines(path, source, offset, limit, max_chars),
        TextWindow::Chars { offset, limit } => chars(path, source, offset, limit),
    };
    excerpt.map(|excerpt| {
        let (version, size) = source.whole.get().unzip();
        Excerpt { version, size, ..excerpt }
    })
}

/// A source that records the version and the size of the content, the first time it is read to its end.
struct Versioned<'a> {
    source: &'a dyn TextSource,
    whole: Cell<Option<(Version, u64)>>,
}

impl TextSource for Versioned<'_> {
    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        let reader = self.source.open()?;
        Ok(Box::new(VersionedReader { reader, hasher: VersionHasher::default(), size: 0, whole: &self.whole }))
    }
}

struct VersionedReader<'a> {
    reader: Box<dyn Read + 'a>,
    hasher: VersionHasher,
    size: u64,
    whole: &'a Cell<Option<(Version, u64)>>,
}

impl Read for VersionedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let filled = self.reader.read(buffer)?;
        if self.whole.get().is_none() {
            self.hasher.update(&buffer[..filled]);
            self.size += filled as u64;
            if filled == 0 && !buffer.is_empty() {
                self.whole.set(Some((self.hasher.finish(), self.size)));
            }
        }
        Ok(filled)
    }
}

/// Opens the source, transcoded to UTF-8 if a mark announces UTF-16. Another mark is not removed.
fn open_unicode<'a>(path: &VirtualPath, source: &'a dyn TextSource) -> Result<(Encoding, Box<dyn Read + 'a>)> {
    let mut head = Vec::with_capacity(BINARY_SNIFF_BYTES);
    let mut reader = open(path, source)?;
    reader.by_ref().take(BINARY_SNIFF_BYTES as u64).read_to_end(&mut head).map_err(|error| unreadable(path, &error))?;
    match Encoding::from_bom(&head) {
        Some(encoding @ (Encoding::Utf16Le | Encoding::Utf16Be)) => {
            // The decoder does not remove a mark with no text after it.
            let has_text = head.len() > 2;
            let reader = if has_text { open(path, source)? } else { Box::new(io::empty()) };
            Ok((encoding, Box::new(DecodeReaderBytesBuilder::new().bom_override(true).build(reader))))
        }
        _ if memchr(0, &head).is_some() => Err(not_text("read", path)),
        announced => Ok((announced.unwrap_or(Encoding::Utf8), Box::new(io::Cursor::new(head).chain(reader)))),
    }
}

/// Reads a text that is not UTF-8 from the start again, and guesses its encoding.
fn guess(path: &VirtualPath, source: &dyn TextSource) -> Result<Encoding> {
    let mut guess = Guess::default();
    for_each_block(path, &mut open(path, source)?, |block| guess.take(block))?;
    Ok(guess.finish())
}

fn open<'a>(path: &VirtualPath, source: &'a dyn TextSource) -> Result<Box<dyn Read + 'a>> {
    source.open().map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &VirtualPath, error: &io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot read `{path}`: {}", error.kind()))
}

fn lines(path: &VirtualPath, source: &dyn TextSource, offset: u64, limit: u64, max_chars: u64) -> Result<Excerpt> {
    let (encoding, mut reader) = open_unicode(path, source)?;
    let mut collector = LineCollector::new(offset, limit, max_chars);
    let mut utf8 = Utf8Check::default();
    for_each_block(path, &mut reader, |block| {
        utf8.take(block);
        collector.take(block);
    })?;
    // The mark is not part of the text, unless the text is not UTF-8 after all: then there is no mark.
    let is_utf8 = utf8.finish();
    let mark = if is_utf8 && encoding == Encoding::Utf8Bom { UTF8_BOM.len() } else { 0 };

    let total = if collector.bytes == mark as u64 { 0 } else { collector.total_lines() };
    if offset > 0 && offset >= total {
        return Err(Error::new(
            ErrorKind::OutOfRange,
            format!("cannot read `{path}`: Offset {offset} exceeds file length ({total} lines)"),
        )
        .hint(match total {
            0 => "the file is empty".to_owned(),
            total => format!("offset is the number of lines to skip; the last line is at offset {}", total - 1),
        }));
    }
    let LineCollector { mut kept, overflowed, .. } = collector;
    if offset == 0 {
        kept.drain(..mark.min(kept.len()));
    }
    if memchr(0, &kept).is_some() {
        return Err(not_text("read", path));
    }
    let (encoding, text) = match is_utf8 {
        true => (encoding, whole_characters(kept)),
        false => {
            let guess = guess(path, source)?;
            (guess, guess.decode_lossy(&kept))
        }
    };
    let (text, cut) = cut_to(text, max_chars, overflowed);
    let shown = count_lines(text.as_bytes());
    Ok(Excerpt { cut, ..Excerpt::new(text, encoding.label(), Extent::Lines { offset, shown, total }) })
}

/// Returns a piece of UTF-8 as text, without an incomplete character at its end.
fn whole_characters(piece: Vec<u8>) -> String {
    String::from_utf8(piece).unwrap_or_else(|error| {
        let whole = error.utf8_error().valid_up_to();
        let mut piece = error.into_bytes();
        piece.truncate(whole);
        String::from_utf8_lossy(&piece).into_owned()
    })
}

/// Cuts a text of lines to a limit of characters, after the last line that fits.
fn cut_to(mut text: String, max_chars: u64, overflowed: bool) -> (String, Cut) {
    let max_chars = usize::try_from(max_chars).unwrap_or(usize::MAX);
    // The text is almost always short enough in bytes, which saves the count.
    let end = if text.len() <= max_chars { None } else { text.char_indices().nth(max_chars).map(|(at, _)| at) };
    if end.is_none() && !overflowed {
        return (text, Cut::No);
    }
    text.truncate(end.unwrap_or(text.len()));
    match memrchr(b'\n', text.as_bytes()) {
        Some(last) => {
            text.truncate(last + 1);
            (text, Cut::BetweenLines)
        }
        None => (text, Cut::InsideLine),
    }
}

/// Returns the number of lines of a text; `x\ny\n` has two, and so has `x\ny`.
pub(crate) fn count_lines(text: &[u8]) -> u64 {
    let newlines = memchr_iter(b'\n', text).count() as u64;
    newlines + u64::from(text.last().is_some_and(|last| *last != b'\n'))
}

fn for_each_block(path: &VirtualPath, reader: &mut dyn Read, mut take: impl FnMut(&[u8])) -> Result<()> {
    let mut block = vec![0; FIRST_BLOCK_BYTES];
    loop {
        match reader.read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(filled) => {
                take(&block[..filled]);
                if filled == block.len() {
                    block.resize(BLOCK_BYTES, 0);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(path, &error)),
        }
    }
}

fn chars(path: &VirtualPath, source: &dyn TextSource, offset: u64, limit: u64) -> Result<Excerpt> {
    let (encoding, mut reader) = open_unicode(path, source)?;
    let mut collector = CharCollector::new(offset, limit);
    collector.skip = if encoding == Encoding::Utf8Bom { UTF8_BOM.len() } else { 0 };
    for_each_block(path, &mut reader, |block| collector.take(block))?;
    collector.finish();
    if collector.is_utf8 {
        return collector.into_excerpt(path, encoding);
    }
    // Not UTF-8 after all: count again in the guessed encoding.
    let guess = guess(path, source)?;
    let mut reader = DecodeReaderBytesBuilder::new().encoding(Some(guess.to_encoding_rs())).build(open(path, source)?);
    let mut collector = CharCollector::new(offset, limit);
    for_each_block(path, &mut reader, |block| collector.take(block))?;
    collector.finish();
    collector.into_excerpt(path, guess)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &[u8], window: TextWindow) -> Result<Excerpt> {
        excerpt(&VirtualPath::parse("/f").unwrap(), &content, window)
    }

    fn check_lines(content: &[u8], offset: u64, limit: u64, text: &str, shown: u64, total: u64) {
        let excerpt = read(content, TextWindow::lines(offset, limit)).unwrap();
        assert_eq!(excerpt.text, text);
        assert_eq!(excerpt.extent, Extent::Lines { offset, shown, total });
        assert_eq!(excerpt.cut, Cut::No);
    }

    #[test]
    fn a_window_has_the_version_of_the_whole() {
        let utf16 = |text: &str| Encoding::Utf16Le.encode(text).unwrap();
        let long = "a line\n".repeat(100_000);
        let contents: [&[u8]; 6] =
            [b"", b"a\nb\n", long.as_bytes(), &utf16(""), &utf16(&long), b"caf\xE9 au lait\nna\xEFve\n"];
        for content in contents {
            for window in [TextWindow::lines(0, 1), TextWindow::chars(0, 3), TextWindow::chars(1_000_000, 3)] {
                let excerpt = read(content, window).unwrap();
                assert_eq!(excerpt.version, Some(Version::of(content)), "{window:?} of {} bytes", content.len());
            }
        }
    }

    #[test]
    fn windows_of_lines() {
        check_lines(b"", 0, 10, "", 0, 0);
        check_lines(b"x\ny\n", 0, 10, "x\ny\n", 2, 2);
        check_lines(b"x\ny", 0, 10, "x\ny", 2, 2);
        check_lines(b"a\nb\nc\nd\n", 1, 2, "b\nc\n", 2, 4);
        check_lines(b"a\nb\nc\nd", 3, 1, "d", 1, 4);
        check_lines(b"a\nb\n", 0, 0, "", 0, 2);
        check_lines(b"a\r\nb\r\n", 1, 1, "b\r\n", 1, 2);
        check_lines(b"\n\n\n", 1, 1, "\n", 1, 3);
    }

    #[test]
    fn a_window_far_into_many_blocks() {
        let content: String = (0..200_000).map(|n| format!("line {n}\n")).collect();
        check_lines(content.as_bytes(), 123_456, 2, "line 123456\nline 123457\n", 2, 200_000);
    }

    #[test]
    fn past_the_end_is_an_error_that_says_how_long_the_file_is() {
        for offset in [2, 3, u64::MAX] {
            let error = read(b"x\ny\n", TextWindow::lines(offset, 1)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::OutOfRange);
            assert!(error.to_string().contains(&format!("Offset {offset} exceeds file length (2 lines)")), "{error}");
            assert!(error.hint_text().unwrap().ends_with("the last line is at offset 1"), "{error}");
        }
    }

    #[test]
    fn the_ceiling_ends_after_a_whole_line_if_it_can() {
        let window = |max_chars| TextWindow::Lines { offset: 0, limit: 10, max_chars };
        let between = read("äöü\nxyz\n".as_bytes(), window(6)).unwrap();
        assert_eq!((between.text.as_str(), between.cut), ("äöü\n", Cut::BetweenLines));
        let inside = read("äöüäöü\nxyz\n".as_bytes(), window(4)).unwrap();
        assert_eq!((inside.text.as_str(), inside.cut), ("äöüä", Cut::InsideLine));
        let exact = read("äöü\nxyz\n".as_bytes(), window(8)).unwrap();
        assert_eq!((exact.text.as_str(), exact.cut), ("äöü\nxyz\n", Cut::No));
    }

    #[test]
    fn one_endless_line_is_cut_not_held() {
        let content = vec![b'a'; 3_000_000];
        let excerpt = read(&content, TextWindow::lines(0, 1)).unwrap();
        assert_eq!(excerpt.text.len(), 200_000);
        assert_eq!(excerpt.cut, Cut::InsideLine);
    }

    #[test]
    fn other_encodings_are_decoded() {
        let utf16: Vec<u8> =
            [0xFEFFu16, u16::from(b'h'), 0xE9, 10].iter().flat_map(|unit| unit.to_le_bytes()).collect();
        check_lines(&utf16, 0, 5, "hé\n", 1, 1);
        check_lines(b"\xEF\xBB\xBFhi\n", 0, 5, "hi\n", 1, 1);
        check_lines(b"\xFF\xFE", 0, 5, "", 0, 0);
        check_lines(b"\xFE\xFF\xFE\xFF", 0, 5, "\u{feff}", 1, 1);
        check_lines(b"caf\xE9\n", 0, 5, "café\n", 1, 1);
        let chars = read(b"caf\xE9 au lait", TextWindow::chars(3, 3)).unwrap();
        assert_eq!(chars.text, "é a");
        assert_eq!(chars.extent, Extent::Chars { offset: 3, shown: 3, total: 12 });
    }

    #[test]
    fn every_window_of_a_text_is_in_the_encoding_of_the_whole() {
        // Each line alone would be detected as another encoding.
        let content = b"caf\xE9\n\x93\xFA\x96\x7B\n\xC3\xA9\n";
        let whole = Encoding::detect(content).unwrap().decode(content).unwrap();
        let lines: String = (0..3).map(|at| read(content, TextWindow::lines(at, 1)).unwrap().text).collect();
        assert_eq!(lines, whole);
        assert_eq!(read(content, TextWindow::chars(0, 100)).unwrap().text, whole);
    }

    #[test]
    fn a_mark_in_front_of_what_is_not_utf8_is_no_mark() {
        let content = b"\xEF\xBB\xBFcaf\xE9 au lait\n";
        let whole = Encoding::detect(content).unwrap().decode(content).unwrap();
        assert_eq!(read(content, TextWindow::lines(0, 1)).unwrap().text, whole);
        assert_eq!(read(content, TextWindow::chars(0, 100)).unwrap().text, whole);
        check_lines(b"\xEF\xBB\xBF", 0, 5, "", 0, 0);
        check_lines(b"\xEF\xBB\xBF\n", 0, 5, "\n", 1, 1);
    }

    #[test]
    fn binary_is_refused() {
        for content in [&b"a\0b"[..], &[0; 100_000]] {
            assert_eq!(read(content, TextWindow::lines(0, 1)).unwrap_err().kind(), ErrorKind::NotText);
            assert_eq!(read(content, TextWindow::chars(0, 1)).unwrap_err().kind(), ErrorKind::NotText);
        }
    }

    #[test]
    fn windows_of_characters() {
        let text = "aé日😀z".repeat(50_000);
        let excerpt = read(text.as_bytes(), TextWindow::chars(99_998, 4)).unwrap();
        assert_eq!(excerpt.text, "😀zaé");
        assert_eq!(excerpt.extent, Extent::Chars { offset: 99_998, shown: 4, total: 250_000 });
        let past = read(b"abc", TextWindow::chars(10, 4)).unwrap();
        assert_eq!(past.extent, Extent::Chars { offset: 10, shown: 0, total: 3 });
    }
}
