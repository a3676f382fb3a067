//! URIs of files: `workden:///src/main.rs`. Not `file:`, which would name files of the host.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use workden::{Error, ErrorKind, VirtualPath};

/// The start of every URI; the path follows, without its first slash.
pub(super) const PREFIX: &str = "workden:///";

/// The characters of a path that are percent-encoded.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Returns the URI of a path.
pub(super) fn uri_of(path: &VirtualPath) -> String {
    format!("{PREFIX}{}", utf8_percent_encode(path.relative(), ENCODED))
}

/// Returns the path of a URI.
pub(super) fn path_at(uri: &str) -> Result<VirtualPath, Error> {
    let wrong = |why: &str| {
        Error::new(ErrorKind::InvalidArgument, format!("invalid resource URI `{}`: {why}", uri.escape_debug()))
            .hint("use a URI like workden:///src/main.rs")
    };
    let rest = uri.strip_prefix(PREFIX).ok_or_else(|| wrong("it does not start with `workden:///`"))?;
    if rest.contains(['?', '#']) {
        return Err(wrong("write `?` and `#` in names as `%3F` and `%23`"));
    }
    let path = percent_decode_str(rest).decode_utf8().map_err(|_| wrong("it is not UTF-8"))?;
    VirtualPath::parse(&format!("/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_survives_its_uri() {
        for path in ["/a", "/src/main.rs", "/a b/ü/100%/?#[x].md", "/%41", "/.hidden", "/a:b@c"] {
            let path = VirtualPath::parse(path).unwrap();
            assert_eq!(path_at(&uri_of(&path)).unwrap(), path);
        }
        assert_eq!(uri_of(&VirtualPath::parse("/a b/c.md").unwrap()), "workden:///a%20b/c.md");
    }

    #[test]
    fn other_uris_are_refused() {
        for (uri, kind) in [
            ("file:///etc/passwd", ErrorKind::InvalidArgument),
            ("/etc/passwd", ErrorKind::InvalidArgument),
            ("workden://host/a", ErrorKind::InvalidArgument),
            ("workden:///a?b", ErrorKind::InvalidArgument),
            ("workden:///%ff", ErrorKind::InvalidArgument),
            ("workden:///../etc/passwd", ErrorKind::Escapes),
            ("workden:///%2e%2e%2fetc/passwd", ErrorKind::Escapes),
            ("workden:///a%00b", ErrorKind::InvalidPath),
        ] {
            assert_eq!(path_at(uri).unwrap_err().kind(), kind, "{uri}");
        }
        assert_eq!(path_at("workden:///a//./b").unwrap().as_str(), "/a/b");
    }
}
