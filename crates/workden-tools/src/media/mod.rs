//! Images and documents: detected by their bytes, and attached to an answer or extracted as text.

mod attachments;
#[cfg(feature = "images")]
mod decode_thread;
#[cfg(feature = "images")]
mod images;
mod page_range;
mod pdf_text;

/// The number of bytes that are enough to detect the kind of a file.
pub(crate) const SNIFFED_BYTES: u64 = 1024;

/// A kind of file that can be attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Png,
    Jpeg,
    Gif,
    Webp,
    Pdf,
}

impl Media {
    /// Detects the kind of a file by its first bytes.
    pub(crate) fn sniff(head: &[u8]) -> Option<Self> {
        match head {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(Self::Png),
            [0xFF, 0xD8, 0xFF, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            // PDF readers accept bytes before the header.
            _ if head.windows(5).any(|five| five == b"%PDF-") => Some(Self::Pdf),
            _ => None,
        }
    }

    /// Whether a name has the ending of such a file.
    pub(crate) fn is_named(name: &str) -> bool {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        ending.is_some_and(|ending| ["png", "jpg", "jpeg", "gif", "webp", "pdf"].contains(&ending.as_str()))
    }

    /// Whether a text starts with the signature of such a file. Files with NUL bytes are not read as text.
    pub(crate) fn starts_like(text: &str) -> bool {
        ["%PDF-", "GIF87a", "GIF89a", "ÿØÿ"].iter().any(|start| text.starts_with(start))
    }

    /// The media type.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
            Self::Pdf => "application/pdf",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_decide() {
        for (head, expected) in [
            (&b"\x89PNG\r\n\x1A\n\0\0"[..], Some(Media::Png)),
            (b"\xFF\xD8\xFF\xE0", Some(Media::Jpeg)),
            (b"GIF89a\x01", Some(Media::Gif)),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Some(Media::Webp)),
            (b"RIFF\x10\0\0\0WAVEfmt ", None),
            (b"%PDF-1.7\n", Some(Media::Pdf)),
            (b"\r\n\r\n%PDF-1.4\n", Some(Media::Pdf)),
            (b"PNG", None),
            (b"", None),
        ] {
            assert_eq!(Media::sniff(head), expected, "{head:?}");
        }
    }

    #[test]
    fn only_the_ending_of_a_name_counts() {
        assert!(Media::is_named("a.PNG") && Media::is_named(".pdf"));
        assert!(!Media::is_named("png") && !Media::is_named("a.png.txt"));
    }
}
