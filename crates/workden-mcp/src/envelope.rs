//! What a message says about itself, read without the rest: also of one that cannot be decoded, as far as
//! it was read.

use std::fmt;

use rmcp::model::RequestId;
use serde::{
    Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};

/// The outside of a message.
#[derive(Debug, Default)]
pub(crate) struct Envelope {
    pub(crate) id: Option<RequestId>,
    /// Whether there is an id, of whatever kind.
    pub(crate) has_id: bool,
    pub(crate) has_method: bool,
    /// Whether it begins a session; of several methods any counts.
    pub(crate) begins: bool,
}

impl Envelope {
    pub(crate) fn of(message: &[u8]) -> Self {
        let mut envelope = Self::default();
        // What fails has been read so far.
        let _ = serde_json::Deserializer::from_slice(message).deserialize_map(Reading(&mut envelope));
        envelope
    }

    /// Whether somebody waits for an answer to it.
    pub(crate) fn is_request(&self) -> bool {
        self.has_id && self.has_method
    }
}

struct Reading<'envelope>(&'envelope mut Envelope);

impl<'de> Visitor<'de> for Reading<'_> {
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
                    self.0.begins |= map.next_value::<serde_json::Value>()? == "initialize";
                }
                // Not decoded, so that nothing in it can fail, and nothing of it is kept.
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
    fn the_outside_is_read_of_what_cannot_be_decoded() {
        let deep = format!(r#"{{"method":"m","params":{},"id":3}}"#, "[".repeat(100_000) + &"]".repeat(100_000));
        for (message, id) in [
            (br#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"path":"\ud800"}}"#.as_slice(), Some(1)),
            (b"{\"params\":\"\xff\",\"id\":2,\"method\":\"m\"}", Some(2)),
            (deep.as_bytes(), Some(3)),
            (br#"{"id":4,"method":"m","params":{"#, Some(4)),
            (br#"{"id":{},"method":"m"}"#, None),
        ] {
            let envelope = Envelope::of(message);
            assert_eq!(envelope.id, id.map(RequestId::Number));
            assert!(envelope.is_request());
        }
        for message in [&b"garbage"[..], b"[]", br#"{"id":1}"#, br#"{"method":"m"}"#, br#"{"id":"\ud800","#] {
            assert!(!Envelope::of(message).is_request());
        }
        assert!(Envelope::of(br#"{"method":"initialize","method":"ping"}"#).begins);
    }
}
