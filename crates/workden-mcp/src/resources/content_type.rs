//! The content type of a file, by its bytes.

/// The content type of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ContentType<'a> {
    Text(&'a str),
    /// Bytes of this media type.
    Bytes(&'static str),
}

/// Media types by their first bytes.
const SIGNATURES: [(&[u8], &str); 6] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
];

/// Detects the content type.
pub(super) fn detect(bytes: &[u8]) -> ContentType<'_> {
    if let Some((_, media_type)) = SIGNATURES.iter().find(|(start, _)| bytes.starts_with(start)) {
        return ContentType::Bytes(media_type);
    }
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return ContentType::Bytes("image/webp");
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => ContentType::Text(text),
        _ => ContentType::Bytes("application/octet-stream"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_decide() {
        assert_eq!(detect(b"# notes\n"), ContentType::Text("# notes\n"));
        assert_eq!(detect(b""), ContentType::Text(""));
        assert_eq!(detect(b"\x89PNG\r\n\x1a\nrest"), ContentType::Bytes("image/png"));
        assert_eq!(detect(b"RIFF\0\0\0\0WEBPVP8 "), ContentType::Bytes("image/webp"));
        assert_eq!(detect(b"a\0b"), ContentType::Bytes("application/octet-stream"));
        assert_eq!(detect(b"caf\xe9"), ContentType::Bytes("application/octet-stream"));
    }
}
