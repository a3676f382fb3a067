//! Searches: literal text in files, base names by glob, and replacements.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::transfer;
use crate::{
    answer::{Answered, Refused, ok},
    call::Call,
    place::{Place, absolute},
};

/// `grep` ends with 1 when it finds nothing.
const FIND: &str = r#"grep -rnIFZs -e "$2" -- "$1"; [ $? -le 1 ] || [ -e "$1" ] ||
{ echo "$1: No such file or directory" >&2; exit 1; }"#;
const SEARCH: &str = r#"find "$1" -name "$2" -print0"#;

pub(super) async fn find(place: &Place, path: &str, pattern: &str) -> Answered {
    if pattern.contains('\n') {
        return ok(&Vec::<Value>::new());
    }
    let printed = place.ask(FIND, &[path, pattern], Bytes::new()).await?;
    let printed = String::from_utf8_lossy(&printed);
    let matches: Vec<Value> = printed.lines().filter_map(match_of_line).collect();
    ok(&matches)
}

/// Parses `FILE NUL NUMBER : TEXT`.
fn match_of_line(line: &str) -> Option<Value> {
    let (file, rest) = line.split_once('\0')?;
    let (number, text) = rest.split_once(':')?;
    Some(json!({ "file": file, "line": number.parse::<u64>().ok()?, "content": text }))
}

pub(super) async fn search(place: &Place, path: &str, pattern: &str) -> Answered {
    let printed = place.ask(SEARCH, &[path, pattern], Bytes::new()).await?;
    let printed = String::from_utf8_lossy(&printed);
    let mut files: Vec<&str> = printed.split('\0').filter(|name| !name.is_empty()).collect();
    files.sort_unstable();
    ok(&json!({ "files": files }))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Replace {
    files: Vec<String>,
    pattern: String,
    new_value: String,
}

pub(super) async fn replace(place: &Place, mut call: Call) -> Answered {
    let request: Replace = call.json().await?;
    let mut results = Vec::new();
    for file in &request.files {
        results.push(match replace_in(place, file, &request).await {
            Ok(()) => json!({ "file": file, "success": true }),
            Err(refused) => json!({ "file": file, "success": false, "error": refused.message }),
        });
    }
    ok(&results)
}

async fn replace_in(place: &Place, file: &str, request: &Replace) -> Result<(), Refused> {
    let path = absolute(file)?;
    let content = transfer::read(place, &path).await?;
    let text = String::from_utf8_lossy(&content);
    if request.pattern.is_empty() || !text.contains(&request.pattern) {
        return Ok(());
    }
    transfer::write(place, &path, text.replace(&request.pattern, &request.new_value).into()).await
}
