//! Bodies of type `multipart/form-data`: what clients upload, and what they download.

use bytes::{Bytes, BytesMut};
use memchr::memmem;

use crate::answer::Refused;

/// A part of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) content: Bytes,
}

/// Returns the boundary that a content type names.
pub(crate) fn boundary(content_type: &str) -> Option<String> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let named = parameters.split(';').find_map(|parameter| parameter.trim().strip_prefix("boundary="))?;
    Some(named.trim_matches('"').to_owned())
}

/// Splits a body into its parts, in order.
pub(crate) fn parse(body: &Bytes, boundary: &str) -> Result<Vec<Part>, Refused> {
    let incomplete = || Refused::invalid("invalid multipart body: it has no end boundary");
    let (first, between) = (format!("--{boundary}"), format!("\r\n--{boundary}"));
    let mut at = memmem::find(body, first.as_bytes()).ok_or_else(incomplete)? + first.len();
    let mut parts = Vec::new();
    loop {
        let rest = body.slice(at..);
        if rest.starts_with(b"--") {
            return Ok(parts);
        }
        let length = memmem::find(&rest, between.as_bytes()).ok_or_else(incomplete)?;
        parts.push(part(&rest.slice(..length))?);
        at += length + between.len();
    }
}

fn part(text: &Bytes) -> Result<Part, Refused> {
    let invalid = || Refused::invalid("invalid multipart body: a part has no name");
    let end = memmem::find(text, b"\r\n\r\n").ok_or_else(invalid)?;
    let headers = String::from_utf8_lossy(text.get(..end).unwrap_or_default()).into_owned();
    let disposition = headers.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-disposition").then(|| value.to_owned())
    });
    let name = disposition.as_deref().and_then(|value| quoted(value, " name=\"")).ok_or_else(invalid)?;
    Ok(Part { name, content: text.slice(end + 4..) })
}

fn quoted(text: &str, before: &str) -> Option<String> {
    let (_, after) = text.split_once(before)?;
    Some(after.split_once('"')?.0.to_owned())
}

/// A body that is being written.
#[derive(Debug)]
pub(crate) struct Writer {
    boundary: &'static str,
    bytes: BytesMut,
}

impl Writer {
    pub(crate) fn new(boundary: &'static str) -> Self {
        Self { boundary, bytes: BytesMut::new() }
    }

    pub(crate) fn add(&mut self, name: &str, file: &str, kind: &str, content: &[u8]) {
        let before = if self.bytes.is_empty() { "" } else { "\r\n" };
        let file = file.replace('\\', "\\\\").replace('"', "\\\"");
        let headers = format!(
            "{before}--{}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{file}\"\r\n\
             Content-Length: {}\r\nContent-Type: {kind}\r\n\r\n",
            self.boundary,
            content.len()
        );
        self.bytes.extend_from_slice(headers.as_bytes());
        self.bytes.extend_from_slice(content);
    }

    pub(crate) fn finish(mut self) -> Bytes {
        self.bytes.extend_from_slice(end(self.boundary).as_bytes());
        self.bytes.freeze()
    }
}

/// Returns the end of a body.
pub(crate) fn end(boundary: &str) -> String {
    format!("\r\n--{boundary}--\r\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut writer = Writer::new("BOUND");
        writer.add("file", "/a \"b\".txt", "application/octet-stream", b"one\r\n--BOUN\r\ntwo");
        writer.add("error", "/c", "application/json", b"");
        let parts = parse(&writer.finish(), "BOUND").unwrap();
        let names: Vec<_> = parts.iter().map(|part| (part.name.as_str(), &part.content[..])).collect();
        assert_eq!(names, [("file", &b"one\r\n--BOUN\r\ntwo"[..]), ("error", &b""[..])]);
    }

    #[test]
    fn a_body_without_its_end_is_refused() {
        let body = Bytes::from_static(b"--B\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\nabc");
        assert!(parse(&body, "B").unwrap_err().message.contains("no end boundary"));
        assert_eq!(boundary("multipart/form-data; boundary=\"a b\""), Some("a b".to_owned()));
        assert_eq!(boundary("application/json"), None);
    }
}
