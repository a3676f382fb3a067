//! Routes of files: folders, moves, deletions, permissions. Other modules have listings, searches and transfers.

use bytes::Bytes;
use hyper::StatusCode;

use super::{entries, search, transfer};
use crate::{
    answer::{Answered, Refused, empty},
    call::Call,
    place::{Place, absolute},
};

/// Makes a directory with its parents; an existing one is not an error.
const FOLDER: &str = r#"if [ -e "$1" ] && [ ! -d "$1" ]; then echo "$1: Not a directory" >&2; exit 1; fi
[ -d "$1" ] || mkdir -p -m "$2" -- "$1""#;
const MOVE: &str = r#"mv -fT -- "$1" "$2""#;
/// 3 is a directory that was not to be removed with its content.
const DELETE: &str = r#"if [ ! -e "$1" ] && [ ! -L "$1" ]; then echo "$1: No such file or directory" >&2; exit 1; fi
if [ -d "$1" ] && [ ! -L "$1" ] && [ "$2" != true ]; then echo "$1: directories require recursive" >&2; exit 3; fi
rm -rf -- "$1""#;
const PERMISSIONS: &str = r#"{ [ -z "$2" ] || chmod -- "$2" "$1"; } &&
{ [ -z "$3" ] || chown -- "$3" "$1"; } && { [ -z "$4" ] || chgrp -- "$4" "$1"; }"#;

pub(super) async fn route(place: &Place, rest: &[&str], call: Call) -> Answered {
    let path = |name: &str| call.required(name).and_then(absolute);
    match (call.method().as_str(), rest) {
        ("GET", []) => entries::list(place, &call).await,
        ("GET", ["info"]) => entries::info(place, &path("path")?).await,
        ("GET", ["download"]) => transfer::download(place, &path("path")?).await,
        ("POST", ["bulk-download"]) => transfer::download_many(place, call).await,
        ("POST", ["upload" | "upload-v2"]) => transfer::upload(place, call).await,
        ("POST", ["bulk-upload"]) => transfer::upload_many(place, call).await,
        ("GET", ["find"]) => search::find(place, &path("path")?, call.required("pattern")?).await,
        ("GET", ["search"]) => search::search(place, &path("path")?, call.required("pattern")?).await,
        ("POST", ["replace"]) => search::replace(place, call).await,
        ("POST", ["folder"]) => {
            let mode = mode(call.parameter("mode").unwrap_or("0755"))?;
            done(place, FOLDER, &[&path("path")?, mode], StatusCode::CREATED).await
        }
        ("POST", ["move"]) => done(place, MOVE, &[&path("source")?, &path("destination")?], StatusCode::OK).await,
        ("DELETE", []) => {
            let recursive = call.parameter("recursive").unwrap_or("false");
            done(place, DELETE, &[&path("path")?, recursive], StatusCode::NO_CONTENT).await
        }
        ("POST", ["permissions"]) => {
            let mode = call.parameter("mode").map(mode).transpose()?.unwrap_or_default();
            let (owner, group) = (call.parameter("owner"), call.parameter("group"));
            let arguments = [&path("path")?, mode, owner.unwrap_or_default(), group.unwrap_or_default()];
            done(place, PERMISSIONS, &arguments, StatusCode::OK).await
        }
        _ => Err(Refused::not_found("route not found").code("NOT_FOUND")),
    }
}

fn mode(text: &str) -> Result<&str, Refused> {
    match u32::from_str_radix(text, 8) {
        Ok(..=0o7777) => Ok(text),
        _ => Err(Refused::invalid(format!("invalid mode `{text}`: use octal digits"))),
    }
}

async fn done(place: &Place, script: &str, arguments: &[&str], status: StatusCode) -> Answered {
    place.ask(script, arguments, Bytes::new()).await?;
    empty(status)
}
