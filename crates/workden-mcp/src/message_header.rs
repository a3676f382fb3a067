//! The header of a JSON-RPC message, read without its parameters; also of a message that cannot be decoded, as far
//! as it was read.

use std::fmt;

use rmcp::model::RequestId;
use serde::{
    Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};

/// The id and the method of a message.
#[derive(Debug, Default)]
pub(crate) struct MessageHeader {
    pub(crate) id: Option<RequestId>,
    /// Whether the message has an id, also an invalid one.
    pub(crate) has_id: bool,
    pub(crate) has_method: bool,
    /// Whether one of its methods is `initialize`.
    pub(crate) is_initialize: bool,
}

impl MessageHeader {
    pub(crate) fn of(message: &[u8]) -> Self {
        let mut header = Self::default();
        // On an error, the fields before it are set.
        let _ = serde_json::Deserializer::from_slice(message).deserialize_map(HeaderVisitor(&mut header));
        header
    }

    /// Whether the message expects an answer.
    pub(crate) fn is_request(&self) -> bool {
        self.has_id && self.has_method
    }
}

struct HeaderVisitor<'header>(&'header mut MessageHeader);

impl<'de> Visitor<'de> for HeaderVisitor<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<(), M::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "id" => {
                    self.0.has_id = true;
                    self.0.id = serde_json::from_value(map.next_value()?).ok();
                }
                "method" => {
                    self.0.has_method = true;
                    self.0.is_initialize |= map.next_value::<serde_json::Value>()? == "initialize";
                }
                // Not decoded: nothing in it can fail, and nothing of it is kept.
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_of_an_invalid_message_is_read() {
        let deep = format!(r#"{{"method":"m","params":{},"id":3}}"#, "[".repeat(100_000) + &"]".repeat(100_000));
        for (message, id) in [
            (br#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"path":"\ud800"}}"#.as_slice(), Some(1)),
            (b"{\"params\":\"\xff\",\"id\":2,\"method\":\"m\"}", Some(2)),
            (deep.as_bytes(), Some(3)),
            (br#"{"id":4,"method":"m","params":{"#, Some(4)),
            (br#"{"id":{},"method":"m"}"#, None),
        ] {
            let header = MessageHeader::of(message);
            assert_eq!(header.id, id.map(RequestId::Number));
            assert!(header.is_request());
        }
        for message in [&b"garbage"[..], b"[]", br#"{"id":1}"#, br#"{"method":"m"}"#, br#"{"id":"\ud800","#] {
            assert!(!MessageHeader::of(message).is_request());
        }
        assert!(MessageHeader::of(br#"{"method":"initialize","method":"ping"}"#).is_initialize);
    }
}
