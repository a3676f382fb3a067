//! `FileInfo`: listings and descriptions of files, as `find` prints them.

use bytes::Bytes;
use serde_json::{Value, json};
use workden_core::Timestamp;

use crate::{
    answer::{Answered, Refused, ok},
    call::Call,
    place::{Place, absolute},
};

/// Name, path, size, mode, type, time, owner and group, each with a NUL after it.
const FORMAT: &str = r"%f\0%p\0%s\0%m\0%y\0%T@\0%u\0%g\0";
const FIELDS: usize = 8;

pub(super) async fn list(place: &Place, call: &Call) -> Answered {
    let path = absolute(call.parameter("path").unwrap_or_default())?;
    let depth = match call.parameter("depth").map(str::parse::<u32>) {
        None => 1,
        Some(Ok(depth @ 1..)) => depth,
        Some(_) => return Err(Refused::invalid("invalid `depth`: use at least 1")),
    };
    // With a slash at the end a link to a directory is listed, and a file is an error.
    let script = format!(r#"find "$1" -mindepth 1 -maxdepth "$2" -printf '{FORMAT}'"#);
    let printed = place.ask(&script, &[&format!("{path}/"), &depth.to_string()], Bytes::new()).await?;
    let mut entries: Vec<Value> = parsed(&printed).collect();
    entries.sort_by_cached_key(|entry| entry["path"].as_str().map(str::to_owned));
    if depth == 1 {
        entries.iter_mut().filter_map(Value::as_object_mut).for_each(|entry| drop(entry.remove("path")));
    }
    ok(&entries)
}

pub(super) async fn info(place: &Place, path: &str) -> Answered {
    // The daemon follows a link at the end.
    let script = format!(r#"[ -e "$1" ] || set -- "$1/."; find -L "$1" -maxdepth 0 -printf '{FORMAT}'"#);
    let printed = place.ask(&script, &[path], Bytes::new()).await?;
    let mut entry = parsed(&printed).next().ok_or_else(|| Refused::not_found(format!("{path} not found")))?;
    if let Some(entry) = entry.as_object_mut() {
        entry.remove("path");
    }
    ok(&entry)
}

fn parsed(printed: &[u8]) -> impl Iterator<Item = Value> {
    let text = String::from_utf8_lossy(printed).into_owned();
    let fields: Vec<String> = text.split('\0').map(str::to_owned).collect();
    let rows: Vec<Value> = fields.chunks_exact(FIELDS).map(file_info).collect();
    rows.into_iter()
}

fn file_info(fields: &[String]) -> Value {
    let field = |at: usize| fields.get(at).map(String::as_str).unwrap_or_default();
    let mode = u32::from_str_radix(field(3), 8).unwrap_or_default();
    let modified = time(field(5)).to_string();
    json!({
        "name": field(0),
        "path": field(1).replace("//", "/"),
        "size": field(2).parse::<u64>().unwrap_or_default(),
        "mode": shown_mode(mode, field(4)),
        "permissions": format!("{:04o}", mode & 0o777),
        "isDir": field(4) == "d",
        "modTime": modified.replace('T', " ").replace("+00:00", " +0000 UTC"),
        "modifiedAt": modified,
        "owner": field(6),
        "group": field(7),
    })
}

/// Returns the mode as Go prints it.
fn shown_mode(mode: u32, kind: &str) -> String {
    let kind = match kind {
        "d" => "d",
        "l" => "L",
        "p" => "p",
        "s" => "S",
        "c" => "Dc",
        "b" => "D",
        _ => "-",
    };
    let letters = "rwxrwxrwx".chars().enumerate();
    let bits = letters.map(|(at, letter)| if mode & (0o400 >> at) == 0 { '-' } else { letter });
    kind.chars().chain(bits).collect()
}

/// Parses seconds with a fraction.
fn time(text: &str) -> Timestamp {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let nanos = |text: &str| text.parse::<i128>().unwrap_or_default();
    Timestamp::from_nanos(nanos(seconds) * 1_000_000_000 + nanos(&fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_find_is_a_file_info() {
        let row = b"a.txt\0/home/daytona//a.txt\x005\x00640\0f\x001700000000.5000000000\0ada\0staff\0";
        let info = parsed(row).next().unwrap();
        assert_eq!(
            info,
            json!({
                "name": "a.txt", "path": "/home/daytona/a.txt", "size": 5, "mode": "-rw-r-----", "permissions": "0640",
                "isDir": false, "owner": "ada", "group": "staff",
                "modTime": "2023-11-14 22:13:20.500000 +0000 UTC", "modifiedAt": "2023-11-14T22:13:20.500000+00:00",
            })
        );
        assert_eq!(shown_mode(0o1755, "d"), "drwxr-xr-x");
    }
}
