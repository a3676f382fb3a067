//! Listings: by cursor, as current servers have them, and by page, as older ones had them.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::Record;
use crate::{
    answer::{Answered, Refused, ok},
    call::Call,
    shared::Shared,
};

const LIMIT: usize = 100;

pub(super) fn by_cursor(shared: &Shared, call: &Call) -> Answered {
    let found = matching(shared, call)?;
    let limit = number(call, "limit", LIMIT)?;
    // The cursor is the id of the last sandbox that was shown, so that a deletion moves nothing.
    let first = match call.parameter("cursor") {
        None => 0,
        Some(last) => match found.iter().position(|record| record.id == last) {
            Some(at) => at + 1,
            None => return Err(Refused::invalid("invalid cursor")),
        },
    };
    let page: Vec<_> = found.iter().skip(first).take(limit).collect();
    let is_last = first + page.len() >= found.len();
    let next = page.last().filter(|_| !is_last).map(|record| record.id.clone());
    let items: Vec<Value> = page.iter().map(|record| record.shown()).collect();
    ok(&json!({ "items": items, "nextCursor": next }))
}

pub(super) fn by_page(shared: &Shared, call: &Call) -> Answered {
    let found = matching(shared, call)?;
    let (page, limit) = (number(call, "page", 1)?, number(call, "limit", LIMIT)?);
    let items: Vec<Value> = found.iter().skip((page - 1) * limit).take(limit).map(|record| record.shown()).collect();
    let pages = found.len().div_ceil(limit);
    ok(&json!({ "items": items, "total": found.len(), "page": page, "totalPages": pages }))
}

fn number(call: &Call, name: &str, default: usize) -> Result<usize, Refused> {
    match call.parameter(name).map(str::parse) {
        None => Ok(default),
        Some(Ok(number @ 1..=200)) => Ok(number),
        Some(_) => Err(Refused::invalid(format!("invalid `{name}`: use a number from 1 to 200"))),
    }
}

/// Returns the sandboxes that the query names, oldest first.
fn matching(shared: &Shared, call: &Call) -> Result<Vec<Arc<Record>>, Refused> {
    let labels: BTreeMap<String, String> = match call.parameter("labels") {
        None => BTreeMap::new(),
        Some(text) => {
            serde_json::from_str(text).map_err(|_| Refused::invalid("invalid `labels`: use a JSON object"))?
        }
    };
    let states: Vec<&str> = call.parameters("states").flat_map(|states| states.split(',')).collect();
    let (id, name) = (call.parameter("id"), call.parameter("name"));
    let is_match = |record: &&Arc<Record>| {
        let own = record.field("labels");
        labels.iter().all(|(name, value)| own.get(name).and_then(Value::as_str) == Some(value))
            && (states.is_empty() || states.contains(&record.state().name()))
            && id.is_none_or(|prefix| record.id.starts_with(prefix))
            && name.is_none_or(|prefix| record.name.starts_with(prefix))
    };
    Ok(shared.records().iter().filter(is_match).cloned().collect())
}
