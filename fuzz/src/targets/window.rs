//! Windows into any content: lines and characters.

use std::io;

use workden_core::{
    ErrorKind, VirtualPath,
    text::{Cut, Encoding, Excerpt, Extent, TextSource, TextWindow, scan::excerpt},
};

use crate::{assert_short, draw::Draw, in_time, slow::lines};

pub(crate) const SEEDS: &[&[u8]] = &[
    b"\x00\x05\x05\x00a\nb\r\nc",
    b"\x01\x02\x04\x03\xC3\xA9\xE6\x97\xA5\xF0\x9F\x98\x80\n",
    b"\xF6\xF6\xF6\x01a\n",
    b"\x00\x03\x00\x02abc\ndef\n",
    b"\x00\x03\x05\x02\xFF\xFEa\0\n\0=\xD8\0\xDE",
    b"\x00\x03\x05\x02\xFF\xFEa\0\n",
    b"\x00\x03\x05\x02caf\xE9\ncaf\xE9\n",
    b"\x01\x03\x05\x02\xEF\xBB\xBFa\xEF\xBB\xBFb\xE9",
    b"\x00\x03\x05\x02\x93\xFA\x96\x7B\n\xB0\xA1\xB3\xAA\n\xC4\xE3\xBA\xC3\n",
    b"\x00\x03\x05\x02\xE6\x97",
];

/// A source that returns few bytes at a time, so that characters are split between reads.
struct Trickle<'a>(&'a [u8], usize);

impl TextSource for Trickle<'_> {
    fn open(&self) -> io::Result<Box<dyn io::Read + '_>> {
        Ok(Box::new(TrickleReader(self.0, self.1)))
    }
}

struct TrickleReader<'a>(&'a [u8], usize);

impl io::Read for TrickleReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.1);
        io::Read::read(&mut self.0, &mut buffer[..most])
    }
}

/// Compares windows with the whole text, split at once.
pub fn window(data: &[u8]) {
    in_time(|| {
        let mut draw = Draw::new(data);
        let (offset, limit, max_chars) = (draw.number(), draw.number(), draw.number());
        let step = usize::from(draw.byte() % 8) + 1;
        let content = draw.rest();
        let path = VirtualPath::root().child_unchecked("f");
        let read = |window| {
            let at_once = excerpt(&path, &content, window);
            assert_eq!(excerpt(&path, &Trickle(content, step), window), at_once, "in pieces of {step}");
            if let Err(error) = &at_once {
                assert_short(error);
                assert!(matches!(error.kind(), ErrorKind::NotText | ErrorKind::OutOfRange), "{error}");
            }
            at_once.ok()
        };
        let whole = read(TextWindow::Chars { offset: 0, limit: u64::MAX });
        let lines = read(TextWindow::Lines { offset, limit, max_chars });
        let chars = read(TextWindow::Chars { offset, limit });
        let all_lines = read(TextWindow::Lines { offset: 0, limit: u64::MAX, max_chars: u64::MAX });
        let Some(whole) = whole else { return };
        check_chars(&whole.text, chars, offset, limit);
        if let Some(all) = all_lines {
            assert_eq!(all.text, whole.text, "lines and characters of {} and {}", all.encoding, whole.encoding);
            check_lines(&whole.text, lines, offset, limit, max_chars);
        }
        if let Some(text) = Encoding::detect(content).and_then(|encoding| encoding.decode(content)) {
            assert_eq!(whole.text, text, "a read and an edit see different texts");
        }
    });
}

fn check_chars(whole: &str, window: Option<Excerpt>, offset: u64, limit: u64) {
    let window = window.expect("a window of a text is text");
    let expected: String = whole.chars().skip(to_usize(offset)).take(to_usize(limit)).collect();
    assert_eq!(window.text, expected);
    let (shown, total) = (expected.chars().count() as u64, whole.chars().count() as u64);
    assert_eq!(window.extent, Extent::Chars { offset, shown, total });
}

fn check_lines(whole: &str, window: Option<Excerpt>, offset: u64, limit: u64, max_chars: u64) {
    let total = lines::with_endings(whole).len() as u64;
    let Some(window) = window else {
        return assert!(offset > 0 && offset >= total, "refused, with {total} lines and offset {offset}");
    };
    let (text, cut) = lines::window(whole, offset, limit, max_chars);
    let shown = lines::with_endings(&text).len() as u64;
    let cut = match cut {
        None => Cut::No,
        Some(true) => Cut::BetweenLines,
        Some(false) => Cut::InsideLine,
    };
    assert_eq!((window.text.as_str(), window.cut), (text.as_str(), cut));
    assert_eq!(window.extent, Extent::Lines { offset, shown, total });
}

fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
