//! The encoding of a text, and lossless decoding and encoding.
//!
//! Invariant: `encode` of an unchanged text returns the bytes that it was decoded from. If it does not (a wrong guess,
//! a stateful encoding), editing is refused.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::{Error, ErrorKind, Result, VirtualPath};

/// A NUL within this many bytes makes a file binary.
pub const BINARY_SNIFF_BYTES: usize = 64 * 1024;

pub(super) const UTF8_BOM: &[u8] = b"\xEF\xBB\xBF";

/// The encoding of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, no byte order mark.
    Utf8,
    /// UTF-8 that starts with a byte order mark.
    Utf8Bom,
    /// UTF-16, little endian, with its byte order mark.
    Utf16Le,
    /// UTF-16, big endian, with its byte order mark.
    Utf16Be,
    /// A legacy encoding, guessed from the bytes.
    Legacy(&'static encoding_rs::Encoding),
}

impl Encoding {
    /// Returns the encoding of a byte order mark.
    #[must_use]
    pub fn from_bom(head: &[u8]) -> Option<Self> {
        match encoding_rs::Encoding::for_bom(head) {
            Some((encoding, _)) if encoding == UTF_16LE => Some(Self::Utf16Le),
            Some((encoding, _)) if encoding == UTF_16BE => Some(Self::Utf16Be),
            Some(_) => Some(Self::Utf8Bom),
            None => None,
        }
    }

    /// Returns the encoding of a whole text; `None` if it is binary.
    #[must_use]
    pub fn detect(content: &[u8]) -> Option<Self> {
        Self::detect_beside(content, |_| {})
    }

    /// Like [`Encoding::detect`], but reports to `seen` how far a possible UTF-8 text without a mark was checked, while
    /// that part is still in the processor's cache.
    pub(crate) fn detect_beside(content: &[u8], seen: impl FnMut(usize)) -> Option<Self> {
        match Self::from_bom(content) {
            Some(Self::Utf8Bom) if simdutf8::basic::from_utf8(content).is_err() => Some(Self::guess(content)),
            Some(announced) => Some(announced),
            None if is_binary(content) => None,
            None if is_utf8(content, seen) => Some(Self::Utf8),
            None => Some(Self::guess(content)),
        }
    }

    /// Guesses a legacy encoding for bytes that are not UTF-8.
    #[must_use]
    pub fn guess(content: &[u8]) -> Self {
        let mut guess = Guess::default();
        guess.take(content);
        guess.finish()
    }

    /// Decodes a whole text, without its byte order mark.
    ///
    /// # Errors
    ///
    /// Returns `None` if the bytes are invalid in this encoding, so that decoding would lose some.
    #[must_use]
    pub fn decode(self, content: &[u8]) -> Option<String> {
        match self {
            Self::Utf8 => String::from_utf8(content.to_vec()).ok(),
            Self::Utf8Bom => String::from_utf8(content.strip_prefix(UTF8_BOM).unwrap_or(content).to_vec()).ok(),
            Self::Utf16Le => decode_utf16(content, u16::from_le_bytes),
            Self::Utf16Be => decode_utf16(content, u16::from_be_bytes),
            Self::Legacy(encoding) => {
                encoding.decode_without_bom_handling_and_without_replacement(content).map(|text| text.into_owned())
            }
        }
    }

    /// Decodes a piece of a text, with U+FFFD for invalid bytes.
    #[must_use]
    pub fn decode_lossy(self, piece: &[u8]) -> String {
        match self {
            Self::Utf8 | Self::Utf8Bom => String::from_utf8_lossy(piece).into_owned(),
            Self::Utf16Le => UTF_16LE.decode_without_bom_handling(piece).0.into_owned(),
            Self::Utf16Be => UTF_16BE.decode_without_bom_handling(piece).0.into_owned(),
            Self::Legacy(encoding) => encoding.decode_without_bom_handling(piece).0.into_owned(),
        }
    }

    /// Encodes a whole text with its byte order mark; `None` if the encoding lacks a character.
    #[must_use]
    pub fn encode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Utf8 => Some(text.as_bytes().to_vec()),
            Self::Utf8Bom => Some([UTF8_BOM, text.as_bytes()].concat()),
            Self::Utf16Le => Some(encode_utf16(text, u16::to_le_bytes)),
            Self::Utf16Be => Some(encode_utf16(text, u16::to_be_bytes)),
            Self::Legacy(encoding) => {
                let (bytes, used, unmappable) = encoding.encode(text);
                (!unmappable && used == encoding).then(|| bytes.into_owned())
            }
        }
    }

    /// Returns the name of the encoding.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf8Bom => "UTF-8 with BOM",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Legacy(encoding) if encoding == WINDOWS_1252 => "Latin-1 (windows-1252)",
            Self::Legacy(encoding) => encoding.name(),
        }
    }

    pub(crate) fn to_encoding_rs(self) -> &'static encoding_rs::Encoding {
        match self {
            Self::Utf8 | Self::Utf8Bom => encoding_rs::UTF_8,
            Self::Utf16Le => UTF_16LE,
            Self::Utf16Be => UTF_16BE,
            Self::Legacy(encoding) => encoding,
        }
    }
}

/// Guesses an encoding from content in pieces.
///
/// The guess depends on a stretch from the first byte that is not ASCII, however the content is split: so a window, a
/// whole text and an edit of one file are read in the same encoding.
pub(crate) struct Guess {
    detector: EncodingDetector,
    room: usize,
}

impl Default for Guess {
    fn default() -> Self {
        Self { detector: EncodingDetector::new(Iso2022JpDetection::Deny), room: GUESSED_BYTES }
    }
}

impl Guess {
    /// Adds the next piece.
    pub(crate) fn take(&mut self, piece: &[u8]) {
        let start = match self.room {
            GUESSED_BYTES => piece.iter().position(|byte| !byte.is_ascii()).unwrap_or(piece.len()),
            _ => 0,
        };
        let fed = &piece[start..];
        let fed = &fed[..fed.len().min(self.room)];
        self.detector.feed(fed, false);
        self.room -= fed.len();
    }

    /// Returns the guess.
    pub(crate) fn finish(mut self) -> Encoding {
        if self.room > 0 {
            self.detector.feed(&[], true);
        }
        Encoding::Legacy(self.detector.guess(None, Utf8Detection::Deny))
    }
}

/// How many bytes a guess is made from.
const GUESSED_BYTES: usize = 1024 * 1024;

/// Bytes that are checked at a time: they fit in the cache of one processor.
const BLOCK_BYTES: usize = 256 * 1024;

/// Whether content is UTF-8, checked in blocks that end with a line, because no character contains a line ending.
fn is_utf8(content: &[u8], mut seen: impl FnMut(usize)) -> bool {
    let mut at = 0;
    while at < content.len() {
        let full = content.len().min(at + BLOCK_BYTES);
        let end = memchr::memrchr(b'\n', &content[at..full]).map_or(content.len(), |newline| at + newline + 1);
        let end = if full == content.len() { full } else { end };
        if simdutf8::basic::from_utf8(&content[at..end]).is_err() {
            return false;
        }
        seen(end);
        at = end;
    }
    true
}

/// Whether content counts as binary: a NUL in its first 64 KiB, and no UTF-16 mark.
#[must_use]
pub fn is_binary(content: &[u8]) -> bool {
    let head = &content[..content.len().min(BINARY_SNIFF_BYTES)];
    memchr::memchr(0, head).is_some()
        && !matches!(Encoding::from_bom(head), Some(Encoding::Utf16Le | Encoding::Utf16Be))
}

/// Returns the error for content that is not text.
pub(crate) fn not_text(verb: &str, path: &VirtualPath) -> Error {
    Error::new(ErrorKind::NotText, format!("cannot {verb} `{path}` as text: it is a binary file"))
        .hint(if verb == "edit" { "write the whole file instead" } else { "read it as bytes instead" })
}

fn decode_utf16(content: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = content.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    let units = pairs.iter().map(|pair| unit(*pair)).skip(1);
    char::decode_utf16(units).collect::<std::result::Result<String, _>>().ok()
}

fn encode_utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(bytes).collect()
}

/// Returns the decoded text of `content`, if encoding it again restores the same bytes.
pub(crate) fn decode_losslessly(verb: &str, path: &VirtualPath, content: &[u8]) -> Result<(Encoding, String)> {
    let encoding = Encoding::detect(content).ok_or_else(|| not_text(verb, path))?;
    let lossless = encoding.decode(content).filter(|text| encoding.encode(text).is_some_and(|back| back == content));
    match lossless {
        Some(text) => Ok((encoding, text)),
        None => Err(Error::new(
            ErrorKind::NotText,
            format!(
                "cannot {verb} `{path}` without loss: it looks like {}, but does not decode and encode back to the same bytes",
                encoding.label()
            ),
        )
        .hint("write the whole file instead, or convert it to UTF-8 first")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(content: &[u8], expected: Encoding, text: &str) {
        let encoding = Encoding::detect(content).unwrap();
        assert_eq!(encoding, expected);
        assert_eq!(encoding.decode(content).unwrap(), text);
        assert_eq!(encoding.encode(text).unwrap(), content);
    }

    #[test]
    fn each_encoding_goes_there_and_back() {
        round_trip("héllo".as_bytes(), Encoding::Utf8, "héllo");
        round_trip(b"\xEF\xBB\xBFhi", Encoding::Utf8Bom, "hi");
        round_trip(b"\xFF\xFEh\0i\0", Encoding::Utf16Le, "hi");
        round_trip(b"\xFE\xFF\0h\0i", Encoding::Utf16Be, "hi");
        round_trip(b"caf\xE9 au lait", Encoding::Legacy(WINDOWS_1252), "café au lait");
    }

    #[test]
    fn a_nul_makes_it_binary_unless_a_mark_explains_it() {
        assert_eq!(Encoding::detect(b"a\0b"), None);
        assert!(is_binary(b"a\0b"));
        assert!(!is_binary(b"\xFF\xFEa\0"));
        assert!(!is_binary(b""));
    }

    #[test]
    fn what_would_lose_a_character_is_not_encoded() {
        assert_eq!(Encoding::Legacy(WINDOWS_1252).encode("日本"), None);
        assert_eq!(Encoding::Utf16Le.decode(b"\xFF\xFEa\0b"), None, "half a unit");
        assert_eq!(Encoding::Utf16Le.decode(b"\xFF\xFE\x00\xD8"), None, "a lone surrogate");
    }
}
