//! What a file holds, by its bytes.

/// What a file holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// Text.
    Text(&'a str),
    /// Something else, of this media type.
    Bytes(&'static str),
}

/// Media types by how their files begin.
const BEGINNINGS: [(&[u8], &str); 6] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
];

/// What the bytes are.
pub(super) fn kind(bytes: &[u8]) -> Kind<'_> {
    if let Some((_, media_type)) = BEGINNINGS.iter().find(|(start, _)| bytes.starts_with(start)) {
        return Kind::Bytes(media_type);
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return Kind::Bytes("image/webp");
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Kind::Text(text),
        _ => Kind::Bytes("application/octet-stream"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_say_what_they_are() {
        assert_eq!(kind(b"# notes\n"), Kind::Text("# notes\n"));
        assert_eq!(kind(b""), Kind::Text(""));
        assert_eq!(kind(b"\x89PNG\r\n\x1a\nrest"), Kind::Bytes("image/png"));
        assert_eq!(kind(b"RIFF\0\0\0\0WEBPVP8 "), Kind::Bytes("image/webp"));
        assert_eq!(kind(b"a\0b"), Kind::Bytes("application/octet-stream"));
        assert_eq!(kind(b"caf\xe9"), Kind::Bytes("application/octet-stream"));
    }
}
