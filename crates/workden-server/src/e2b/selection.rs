//! Which sandboxes a list shows, from E2B's query.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use serde::Deserialize;

use super::{failure::E2bFailure, views::SandboxView};
use crate::clock::Moment;

/// The most sandboxes in one page.
const PAGE: i64 = 1000;

/// The query of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SandboxQuery {
    /// A query string of its own, encoded once more.
    metadata: Option<String>,
    /// `running`, `paused`, or both with a comma.
    state: Option<String>,
    started_after: Option<Moment>,
    template: Option<String>,
    limit: Option<i64>,
    pub(super) next_token: Option<String>,
}

impl SandboxQuery {
    pub(super) fn limit(&self) -> i64 {
        self.limit.unwrap_or(100).clamp(1, PAGE)
    }

    /// Returns the metadata that sandboxes must have.
    pub(super) fn metadata(&self) -> Result<BTreeMap<String, String>, E2bFailure> {
        let pairs = self.metadata.as_deref().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        pairs
            .map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                Some((decoded(key)?, decoded(value)?))
            })
            .collect::<Option<_>>()
            .ok_or_else(|| E2bFailure::invalid("invalid `metadata`: not UTF-8"))
    }

    /// Whether a sandbox is shown. One that is about to end is neither running nor paused.
    pub(super) fn shows(&self, sandbox: &SandboxView, metadata: &BTreeMap<String, String>) -> bool {
        let states = self.state.as_deref().unwrap_or("running,paused");
        states.split(',').any(|state| state.trim() == sandbox.state)
            && self.started_after.is_none_or(|moment| sandbox.started_at > moment)
            && self.template.as_ref().is_none_or(|template| *template == sandbox.template_id)
            && metadata.iter().all(|(key, value)| sandbox.metadata.get(key) == Some(value))
    }
}

/// Keys and values are encoded as in a form, and were percent-encoded before.
fn decoded(text: &str) -> Option<String> {
    let of_form = text.replace('+', " ");
    let once = percent_decode_str(&of_form).decode_utf8().ok()?;
    percent_decode_str(&once).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_a_form_of_encoded_texts() {
        let metadata = |text: &str| {
            let query = SandboxQuery { metadata: Some(text.to_owned()), ..SandboxQuery::default() };
            query.metadata().map(|pairs| pairs.into_iter().collect::<Vec<_>>()).map_err(|failure| failure.message)
        };
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(metadata("a=b&c=d%2520e"), Ok(vec![pair("a", "b"), pair("c", "d e")]));
        assert_eq!(metadata("a%253D=%2526"), Ok(vec![pair("a=", "&")]));
        assert_eq!(metadata(""), Ok(vec![]));
        assert!(metadata("a=%FF").is_err() && metadata("a=%25FF").is_err());
    }
}
