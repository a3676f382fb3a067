//! Sizes in a `workden.toml`: a number of bytes, or a text like `"10MB"`.

use serde::{Deserialize, Deserializer, de};
use workden_core::parse_size;

/// A size as people write it.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "a number of bytes, or a size like \"10MB\"")]
pub(super) enum Size {
    /// Bytes.
    Bytes(u64),
    /// A number with a unit.
    Text(String),
}

pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    match Size::deserialize(deserializer)? {
        Size::Bytes(bytes) => Ok(Some(bytes)),
        Size::Text(text) => parse_size(&text).map(Some).map_err(|error| de::Error::custom(error.sentence())),
    }
}
