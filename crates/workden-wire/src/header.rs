//! JSON in a header: the arguments of a call whose body is content, and the description of content in a response.
//! Headers hold visible ASCII, so all other characters are escaped.

use std::io;

use http::{HeaderMap, HeaderValue};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::ser::Formatter;
use workden_core::{Error, ErrorKind, Result};

use crate::limits;

/// The arguments of a call whose body is content.
pub(crate) const ARGUMENTS: &str = "workden-arguments";
/// The header with the description of the content in a response; as a trailer, the result after the content.
pub(crate) const ANSWER: &str = "workden-answer";
/// The trailer with the error that ended the content.
pub(crate) const FAILURE: &str = "workden-error";

/// Encodes a value as a header. Large values are refused, not cut.
pub(crate) fn to_header(value: &impl Serialize) -> Result<HeaderValue> {
    let mut text = Vec::with_capacity(256);
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, Ascii);
    let written = value.serialize(&mut serializer);
    let too_long = || Error::new(ErrorKind::InvalidArgument, "the arguments of this call are too long for the wire");
    if written.is_err() || text.len() > limits::ARGUMENT_BYTES {
        return Err(too_long());
    }
    let mut header = HeaderValue::try_from(text).map_err(|_| too_long())?;
    // The header differs in every call, so the compression need not remember it.
    header.set_sensitive(true);
    Ok(header)
}

/// Decodes a value from a header.
pub(crate) fn from_header<T: DeserializeOwned>(headers: &HeaderMap, name: &str) -> Result<T> {
    let refused =
        |why: String| Error::new(ErrorKind::InvalidArgument, format!("cannot read the header `{name}`: {why}"));
    let header = headers.get(name).ok_or_else(|| refused("it is missing".to_owned()))?;
    serde_json::from_slice(header.as_bytes()).map_err(|error| refused(error.to_string()))
}

/// Writes JSON in visible ASCII.
struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut units = [0; 2];
        for character in fragment.chars() {
            if matches!(character, ' '..='~') {
                writer.write_all(&[character as u8])?;
            } else {
                for unit in character.encode_utf16(&mut units) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_comes_through_a_header() {
        for text in ["", "plain", "a b\"c\\d", "\n\r\t\u{7f}\u{0}\u{1b}", "ümläut 日本語 🦀 \u{fffd}", "%41%00"]
        {
            let header = to_header(&text).unwrap();
            assert!(header.to_str().is_ok(), "{header:?}");
            let headers = HeaderMap::from_iter([(http::HeaderName::from_static(ARGUMENTS), header)]);
            assert_eq!(from_header::<String>(&headers, ARGUMENTS).unwrap(), text);
        }
    }

    #[test]
    fn what_is_no_header_is_refused_with_a_reason() {
        assert_eq!(to_header(&"x".repeat(limits::ARGUMENT_BYTES)).unwrap_err().kind(), ErrorKind::InvalidArgument);
        let none = from_header::<String>(&HeaderMap::new(), ARGUMENTS).unwrap_err();
        assert_eq!(none.sentence(), "cannot read the header `workden-arguments`: it is missing");
        let odd = HeaderMap::from_iter([(http::HeaderName::from_static(ARGUMENTS), HeaderValue::from_static("{"))]);
        assert_eq!(from_header::<String>(&odd, ARGUMENTS).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}
