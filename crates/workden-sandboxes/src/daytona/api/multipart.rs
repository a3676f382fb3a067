//! Uploads and downloads of files as `multipart/form-data`.
//!
//! Invariant: a download counts only when its last boundary has come. The service may send anything.

use bytes::{Bytes, BytesMut};
use workden_core::{Error, ErrorKind, Result};

use super::http::Payload;
use crate::token;

/// Returns the upload of one file.
pub(super) fn upload(path: &str, content: &[u8]) -> Result<Payload> {
    let boundary = format!("workden-{}", token::random_digits(16)?);
    let mut body = BytesMut::with_capacity(content.len() + path.len() + 512);
    let part =
        |name: &str, more: &str| format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"{more}\r\n");
    body.extend_from_slice(part("files[0].path", "\r\n").as_bytes());
    body.extend_from_slice(path.as_bytes());
    body.extend_from_slice(b"\r\n");
    let file = "; filename=\"file\"\r\nContent-Type: application/octet-stream\r\n";
    body.extend_from_slice(part("files[0].file", file).as_bytes());
    body.extend_from_slice(content);
    body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
    let content_type = Some(format!("multipart/form-data; boundary={boundary}"));
    Ok(Payload { content_type, bytes: body.freeze(), is_secret: false })
}

/// One part of a download.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The content of the file.
    File(Bytes),
    /// Why there is none, in JSON.
    Refusal(Bytes),
}

/// Returns the one part of the download of one file.
pub(super) fn download(content_type: &str, body: &Bytes) -> Result<Part> {
    let boundary = boundary(content_type).ok_or_else(|| invalid("no boundary"))?;
    let first = format!("--{boundary}\r\n");
    let start = find(body, first.as_bytes()).ok_or_else(|| invalid("no part"))? + first.len();
    let head = find(&body[start..], b"\r\n\r\n").ok_or_else(|| invalid("a part without an end of its head"))?;
    let headers = String::from_utf8_lossy(&body[start..start + head]).to_lowercase();
    let start = start + head + 4;
    let last = format!("\r\n--{boundary}--");
    let length = match header(&headers, "content-length").and_then(|length| length.parse::<usize>().ok()) {
        // With a length the content may contain anything, the boundary too.
        Some(length) if body[start..].get(length..).is_some_and(|rest| rest.starts_with(last.as_bytes())) => length,
        _ => find(&body[start..], last.as_bytes()).ok_or_else(|| invalid("it is truncated"))?,
    };
    let content = body.slice(start..start + length);
    let disposition = header(&headers, "content-disposition").unwrap_or_default();
    match () {
        () if disposition.contains("name=\"file\"") => Ok(Part::File(content)),
        () if disposition.contains("name=\"error\"") => Ok(Part::Refusal(content)),
        () => Err(invalid("a part of an unknown name")),
    }
}

fn boundary(content_type: &str) -> Option<&str> {
    let (_, boundary) = content_type.split_once("boundary=")?;
    let boundary = boundary.split(';').next()?.trim().trim_matches('"');
    (!boundary.is_empty()).then_some(boundary)
}

fn header<'a>(headers: &'a str, name: &str) -> Option<&'a str> {
    headers.split("\r\n").find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim()))
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fn invalid(why: &str) -> Error {
    Error::new(ErrorKind::Io, format!("invalid download from Daytona: {why}")).hint("try again")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: &str = "multipart/form-data; boundary=DAYTONA-FILE-BOUNDARY";

    fn body(name: &str, more: &str, content: &str, end: &str) -> Bytes {
        let head = format!("Content-Disposition: form-data; name=\"{name}\"; filename=\"/a\"\r\n{more}");
        format!("--DAYTONA-FILE-BOUNDARY\r\n{head}\r\n{content}{end}").into()
    }

    #[test]
    fn a_file_or_the_reason_comes_out_of_a_download() {
        let end = "\r\n--DAYTONA-FILE-BOUNDARY--\r\n";
        assert_eq!(download(KIND, &body("file", "", "hi\r\n", end)).unwrap(), Part::File("hi\r\n".into()));
        assert_eq!(download(KIND, &body("error", "", "{}", end)).unwrap(), Part::Refusal("{}".into()));
        let tricky = format!("a{end}b");
        let sized = body("file", &format!("Content-Length: {}\r\n", tricky.len()), &tricky, end);
        assert_eq!(download(KIND, &sized).unwrap(), Part::File(tricky.into()));
    }

    #[test]
    fn a_truncated_or_foreign_download_is_refused() {
        let end = "\r\n--DAYTONA-FILE-BOUNDARY--\r\n";
        for (kind, body) in [
            (KIND, body("file", "", "hi", "")),
            (KIND, body("file", "Content-Length: 9\r\n", "hi", "")),
            (KIND, body("file", "", "hi", "\r\n--DAYTONA-FILE-BOUNDARY")),
            (KIND, body("other", "", "hi", end)),
            (KIND, Bytes::new()),
            (KIND, "--DAYTONA-FILE-BOUNDARY\r\n".into()),
            ("application/json", body("file", "", "hi", end)),
            ("multipart/form-data; boundary=", body("file", "", "hi", end)),
        ] {
            assert_eq!(download(kind, &body).unwrap_err().kind(), ErrorKind::Io, "{kind} {body:?}");
        }
    }

    #[test]
    fn an_upload_has_the_path_before_the_file() {
        let upload = upload("/a b", b"x\0y").unwrap();
        let text = String::from_utf8_lossy(&upload.bytes).into_owned();
        let (path, file) = (text.find("files[0].path").unwrap(), text.find("files[0].file").unwrap());
        assert!(path < file && text.contains("\r\n\r\n/a b\r\n") && text.contains("\r\n\r\nx\0y\r\n--"), "{text}");
    }
}
