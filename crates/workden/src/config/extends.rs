//! The key `extends`: a preset by its name, `default` if absent, or `none`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use workden_policy::Preset;

/// A preset, or none.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(super) enum Extends {
    /// Reading is allowed; changes and commands are asked about.
    Default,
    /// Everything is allowed, except access to secrets and the system.
    Permissive,
    /// Reading is allowed; changes are denied.
    Readonly,
    /// Everything is asked about.
    Strict,
    /// No preset: only the rules of the file.
    None,
}

pub(super) fn serialize<S: Serializer>(extends: &Option<Preset>, serializer: S) -> Result<S::Ok, S::Error> {
    let extends = match extends {
        Some(Preset::Default) => Extends::Default,
        Some(Preset::Permissive) => Extends::Permissive,
        Some(Preset::Readonly) => Extends::Readonly,
        Some(Preset::Strict) => Extends::Strict,
        None => Extends::None,
    };
    extends.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Preset>, D::Error> {
    Ok(match Extends::deserialize(deserializer)? {
        Extends::Default => Some(Preset::Default),
        Extends::Permissive => Some(Preset::Permissive),
        Extends::Readonly => Some(Preset::Readonly),
        Extends::Strict => Some(Preset::Strict),
        Extends::None => None,
    })
}
