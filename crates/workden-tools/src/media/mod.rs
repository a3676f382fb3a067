//! What a file that is no text is, by its bytes, and how a model gets to see it.

mod attachments;
#[cfg(feature = "images")]
mod decode_thread;
#[cfg(feature = "images")]
mod images;
mod page_range;
mod pdf_text;

/// How many bytes tell what a file is.
pub(crate) const SNIFFED_BYTES: u64 = 1024;

/// A kind of file that a model can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Png,
    Jpeg,
    Gif,
    Webp,
    Pdf,
}

impl Media {
    /// What these first bytes of a file say that it is.
    pub(crate) fn sniff(head: &[u8]) -> Option<Self> {
        match head {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(Self::Png),
            [0xFF, 0xD8, 0xFF, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            // Readers take a header that something stands before.
            _ if head.windows(5).any(|five| five == b"%PDF-") => Some(Self::Pdf),
            _ => None,
        }
    }

    /// Whether a name is one that such files have.
    pub(crate) fn is_named(name: &str) -> bool {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        ending.is_some_and(|ending| ["png", "jpg", "jpeg", "gif", "webp", "pdf"].contains(&ending.as_str()))
    }

    /// Whether a text begins as such a file does that has no NUL to give it away.
    pub(crate) fn begins(text: &str) -> bool {
        ["%PDF-", "GIF87a", "GIF89a", "ÿØÿ"].iter().any(|start| text.starts_with(start))
    }

    /// What it is called on the wire.
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
    fn bytes_say_what_a_file_is() {
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
    fn names_only_make_one_look() {
        assert!(Media::is_named("a.PNG") && Media::is_named(".pdf"));
        assert!(!Media::is_named("png") && !Media::is_named("a.png.txt"));
    }
}
