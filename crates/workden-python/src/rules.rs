//! Rules as pydantic-ai-backend writes them, and what they are to us.

use workden_core::Result;
use workden_policy::{Ruleset, Surroundings};

use crate::failure;

/// Our rules for a ruleset in its JSON.
pub(crate) fn of_reference(json: &str, _: Surroundings) -> Result<Ruleset> {
    serde_json::from_str(json).map_err(|error| failure::invalid("a ruleset", error))
}
