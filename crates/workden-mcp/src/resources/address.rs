//! Addresses of files: `workden:///src/main.rs`. Not `file:`, which would name the host's files.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use workden::{Error, ErrorKind, VirtualPath};

/// What every address starts with; the path follows, without its first slash.
pub(super) const START: &str = "workden:///";

/// What stands for itself in a path.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The address of a path.
pub(super) fn address(path: &VirtualPath) -> String {
    format!("{START}{}", utf8_percent_encode(path.relative(), ENCODED))
}

/// The path at an address.
pub(super) fn path_at(uri: &str) -> Result<VirtualPath, Error> {
    let wrong = |why: &str| {
        Error::new(ErrorKind::InvalidArgument, format!("`{}` is no address of a file: {why}", uri.escape_debug()))
            .hint("addresses look like workden:///src/main.rs")
    };
    let rest = uri.strip_prefix(START).ok_or_else(|| wrong("it does not start with `workden:///`"))?;
    if rest.contains(['?', '#']) {
        return Err(wrong("`?` and `#` in names are written `%3F` and `%23`"));
    }
    let path = percent_decode_str(rest).decode_utf8().map_err(|_| wrong("it is not UTF-8"))?;
    VirtualPath::parse(&format!("/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_survives_its_address() {
        for path in ["/a", "/src/main.rs", "/a b/ü/100%/?#[x].md", "/%41", "/.hidden", "/a:b@c"] {
            let path = VirtualPath::parse(path).unwrap();
            assert_eq!(path_at(&address(&path)).unwrap(), path);
        }
        assert_eq!(address(&VirtualPath::parse("/a b/c.md").unwrap()), "workden:///a%20b/c.md");
    }

    #[test]
    fn odd_addresses_lead_nowhere_else() {
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
