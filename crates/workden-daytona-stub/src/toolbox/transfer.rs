//! Uploads and downloads, one file or many. A write is in place and not atomic, as the daemon's is.

use std::collections::BTreeMap;

use bytes::Bytes;
use hyper::{StatusCode, header::CONTENT_TYPE};
use serde::Deserialize;
use serde_json::json;

use crate::{
    answer::{Answered, Refused, bytes_answer, json_answer, ok},
    call::Call,
    multipart::{self, Part},
    place::{Place, absolute},
};

const BOUNDARY: &str = "DAYTONA-FILE-BOUNDARY";
const BOUNDARY_TYPE: &str = "multipart/form-data; boundary=DAYTONA-FILE-BOUNDARY";
const READ: &str = r#"if [ -d "$1" ]; then echo "$1: Is a directory" >&2; exit 1; fi; cat -- "$1""#;
const WRITE: &str = r#"mkdir -p -- "${1%/*}/" && cat >"$1""#;

#[derive(Deserialize)]
struct Paths {
    paths: Vec<String>,
}

pub(super) async fn read(place: &Place, path: &str) -> Result<Bytes, Refused> {
    place.ask(READ, &[path], Bytes::new()).await
}

pub(super) async fn write(place: &Place, path: &str, content: Bytes) -> Result<(), Refused> {
    place.ask(WRITE, &[path], content).await.map(drop)
}

pub(super) async fn download(place: &Place, path: &str) -> Answered {
    Ok(bytes_answer(StatusCode::OK, "application/octet-stream", read(place, path).await?))
}

/// Answers one part per path, in order: the file, or why it cannot be read.
pub(super) async fn download_many(place: &Place, mut call: Call) -> Answered {
    let Paths { paths } = call.json().await?;
    if paths.is_empty() {
        return Err(Refused::invalid("`paths` is empty"));
    }
    let mut writer = multipart::Writer::new(BOUNDARY);
    for path in &paths {
        let content = match absolute(path) {
            Ok(absolute) => read(place, &absolute).await,
            Err(refused) => Err(refused),
        };
        match content {
            Ok(content) => writer.add("file", path, "application/octet-stream", &content),
            Err(refused) => {
                let why = refused.body("POST", "/files/bulk-download").to_string();
                writer.add("error", path, "application/json", why.as_bytes());
            }
        }
    }
    Ok(bytes_answer(StatusCode::OK, BOUNDARY_TYPE, writer.finish()))
}

pub(super) async fn upload(place: &Place, mut call: Call) -> Answered {
    let path = call.required("path").and_then(absolute)?;
    let is_multipart = call.header(CONTENT_TYPE.as_str()).is_some_and(|kind| kind.starts_with("multipart/"));
    let content = match is_multipart {
        true => parts(&mut call).await?.into_iter().next().map(|part| part.content).unwrap_or_default(),
        false => call.bytes().await?,
    };
    write(place, &path, content).await?;
    ok(&json!({ "path": path }))
}

/// Writes each `files[i].file` to its `files[i].path`, which comes somewhere before it.
pub(super) async fn upload_many(place: &Place, mut call: Call) -> Answered {
    let (mut written, mut errors) = (Vec::new(), Vec::new());
    let mut targets = BTreeMap::new();
    for part in parts(&mut call).await? {
        let Some((index, field)) = part.name.split_once('.') else { continue };
        if field == "path" {
            targets.insert(index.to_owned(), String::from_utf8_lossy(&part.content).into_owned());
            continue;
        }
        let Some(path) = targets.remove(index) else {
            errors.push(format!("{}: no path before the file", part.name));
            continue;
        };
        let result = match absolute(&path) {
            Ok(absolute) => write(place, &absolute, part.content).await,
            Err(refused) => Err(refused),
        };
        match result {
            Ok(()) => written.push(json!({ "path": path })),
            Err(refused) => errors.push(format!("{path}: {}", refused.message)),
        }
    }
    let status = if errors.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    Ok(json_answer(status, &json!({ "files": written, "errors": errors })))
}

async fn parts(call: &mut Call) -> Result<Vec<Part>, Refused> {
    let kind = call.header(CONTENT_TYPE.as_str()).unwrap_or_default();
    let boundary = multipart::boundary(kind).ok_or_else(|| Refused::invalid("the body is not multipart/form-data"))?;
    multipart::parse(&call.bytes().await?, &boundary)
}
