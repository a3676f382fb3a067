//! Metadata of files: it comes in the headers of an upload, and is kept in attributes of the file, `user.e2b.*`, which
//! commands can read and `mv` takes along.
//!
//! Invariant: an upload replaces all metadata of its file, so that one without metadata clears it.

use std::collections::BTreeMap;

use axum::http::HeaderMap;
use workden::{BackendExt, ErrorKind, Result};
use workden_core::{Attributes, Replaced, Resolved, Written, limits};

use super::failure::E2bFailure;

/// What the attributes with metadata start with.
pub(super) const PREFIX: &str = "e2b.";
/// What the headers with metadata start with.
const HEADERS: &str = "x-metadata-";

/// Metadata as clients see it.
pub(super) type Metadata = BTreeMap<String, String>;

/// Returns metadata as clients see it.
pub(super) fn shown(attributes: &Attributes) -> Metadata {
    attributes.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// Returns the metadata of an upload, whose keys are the ends of its headers, in lower case.
pub(super) fn of_upload(headers: &HeaderMap) -> Result<Attributes, E2bFailure> {
    let mut metadata = Metadata::new();
    for name in headers.keys() {
        let Some(key) = name.as_str().strip_prefix(HEADERS).filter(|key| !key.is_empty()) else { continue };
        let value = headers.get(name).map(|value| value.as_bytes()).unwrap_or_default();
        match std::str::from_utf8(value) {
            Ok(text) if value.iter().all(|byte| matches!(byte, b' '..=b'~')) => {
                metadata.insert(key.to_owned(), text.to_owned());
            }
            _ => return Err(invalid(&format!("the value of `{key}` is not printable ASCII"))),
        }
    }
    Attributes::new(PREFIX, metadata).map_err(|error| match error.kind() {
        ErrorKind::TooLarge => {
            invalid(&format!("keys and values have more than {} bytes together", limits::ATTRIBUTE_BYTES))
        }
        _ => invalid(error.sentence()),
    })
}

fn invalid(why: &str) -> E2bFailure {
    E2bFailure::invalid(format!("invalid metadata: {why}"))
}

/// Replaces the metadata of a file that was just written.
pub(super) async fn keep(
    files: &impl BackendExt,
    at: &Resolved,
    written: &Written,
    metadata: &Attributes,
) -> Result<()> {
    if metadata.is_empty() {
        // Most files have none, and to clear it would be a second write of the file for its policy.
        match (written.replaced, files.attributes(at, PREFIX).await) {
            (Replaced::Nothing, _) => return Ok(()),
            (Replaced::File, Ok(found)) if found.is_empty() => return Ok(()),
            // A write cannot take the attributes of a file along that it cannot read.
            (Replaced::File, Err(error)) if error.kind() == ErrorKind::PermissionDenied => return Ok(()),
            (Replaced::File, _) => {}
        }
    }
    files.set_attributes(at, metadata).await
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn sent(headers: &[(&str, &[u8])]) -> Result<Metadata, String> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, HeaderValue::from_bytes(value).unwrap());
        }
        of_upload(&map).map(|metadata| shown(&metadata)).map_err(|error| error.message)
    }

    #[test]
    fn headers_are_metadata_with_keys_in_lower_case() {
        let headers: &[(&str, &[u8])] = &[
            ("Content-Type", b"text/plain"),
            ("X-Metadata-Author", b"Ada L."),
            ("x-metadata-author", b"the first one counts"),
            ("X-METADATA-a.b!", b""),
            ("x-metadata-", b"ignored"),
        ];
        let expected = [("author", "Ada L."), ("a.b!", "")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(sent(headers), Ok(expected.into()));
        assert_eq!(sent(&[]), Ok(Metadata::new()));
    }

    #[test]
    fn other_values_and_too_many_are_refused() {
        let (large, long) = (vec![b'x'; 4096], format!("x-metadata-{}", "k".repeat(300)));
        for (name, value, why) in [
            ("x-metadata-a", "ä".as_bytes(), "the value of `a` is not printable ASCII"),
            ("x-metadata-a", b"\xff", "the value of `a` is not printable ASCII"),
            ("x-metadata-a", b"a\tb", "the value of `a` is not printable ASCII"),
            ("x-metadata-a", &large, "keys and values have more than 4096 bytes together"),
            (&long, b"x", "it has 300 bytes, and 246 is the most"),
        ] {
            let message = sent(&[(name, value)]).unwrap_err();
            assert!(message.starts_with("invalid metadata: ") && message.ends_with(why), "{message}");
        }
    }
}
