//! Lines of JSON: those that a kernel sends, which are hostile, and those that clients read.
//!
//! A line costs a few times its size at most: nothing in it becomes a tree.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::BytesMut;
use serde::{Deserialize, Serialize};
use serde_json::{json, value::RawValue};

/// The longest line of a kernel, which itself sends no more than 4 MiB.
pub(super) const MOST_BYTES: usize = (4 << 20) + (64 << 10);
/// A line that is longer needs a share of the budget before all of it is read.
pub(super) const LONG: usize = 256 << 10;
/// The name of the errors that are not of the code.
const KERNEL_ERROR: &str = "KernelError";

/// What a kernel says to the code that runs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// It is of other code.
    Stray,
    /// The code starts; a line for the client.
    Started(String),
    /// A line for the client.
    Line(String),
    Done,
}

/// What is read first of a line.
#[derive(Deserialize)]
struct Label {
    of: u64,
    kind: Kind,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Started,
    Stdout,
    Stderr,
    Result,
    Error,
    Done,
}

/// What lines have, each kind its own.
#[derive(Deserialize)]
struct Fields {
    text: Option<String>,
    formats: Option<Formats>,
    is_main: Option<bool>,
    name: Option<String>,
    value: Option<String>,
    traceback: Option<String>,
}

/// A line of what the code prints.
#[derive(Serialize)]
struct Print<'a> {
    r#type: &'a str,
    text: &'a str,
    timestamp: u64,
}

#[derive(Serialize)]
struct Failure<'a> {
    r#type: &'a str,
    name: &'a str,
    value: &'a str,
    traceback: &'a str,
}

/// A result in all its formats; a kernel cannot add others.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct Formats {
    #[serde(skip_deserializing)]
    r#type: &'static str,
    #[serde(skip_deserializing)]
    is_main_result: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    markdown: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    svg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    png: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jpeg: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pdf: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    json: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    javascript: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<Box<RawValue>>,
}

/// Reads a line while the code of a number runs; `None` if it is not one of a kernel.
pub(super) fn read(line: &[u8], number: u64) -> Option<Said> {
    let label: Label = serde_json::from_slice(line).ok()?;
    if label.of != number {
        return Some(Said::Stray);
    }
    let r#type = match label.kind {
        Kind::Started => {
            let shown = json!({ "type": "number_of_executions", "execution_count": number });
            return Some(Said::Started(text(&shown)));
        }
        Kind::Done => return Some(Said::Done),
        Kind::Stdout => "stdout",
        Kind::Stderr => "stderr",
        Kind::Result => "result",
        Kind::Error => "error",
    };
    let fields: Fields = serde_json::from_slice(line).ok()?;
    let shown = match label.kind {
        Kind::Result => {
            let formats = fields.formats?;
            if formats.extra.as_ref().is_some_and(|extra| !extra.get().starts_with('{')) {
                return None;
            }
            text(&Formats { r#type, is_main_result: fields.is_main?, ..formats })
        }
        Kind::Error => {
            let (name, value, traceback) = (fields.name?, fields.value?, fields.traceback?);
            text(&Failure { r#type, name: &name, value: &value, traceback: &traceback })
        }
        _ => text(&Print { r#type, text: &fields.text?, timestamp: nanoseconds() }),
    };
    Some(Said::Line(shown))
}

/// Returns the line that tells a client why its code did not run to its end.
pub(super) fn failure_line(sentence: &str) -> String {
    let traceback = format!("{KERNEL_ERROR}: {sentence}\n");
    text(&Failure { r#type: "error", name: KERNEL_ERROR, value: sentence, traceback: &traceback })
}

fn nanoseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns a value as a line. Its strings are text, and its keys too, so that it has a form.
fn text(value: &impl Serialize) -> String {
    let mut line = serde_json::to_string(value).unwrap_or_default();
    line.push('\n');
    line.shrink_to_fit();
    line
}

/// The output of a kernel, which comes in any pieces.
#[derive(Debug, Default)]
pub(super) struct Lines {
    buffer: BytesMut,
    /// How much of it has no end of a line.
    searched: usize,
}

/// A line is longer than a kernel's can be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Lines {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// How much waits for the end of its line.
    pub(super) fn begun(&self) -> usize {
        self.buffer.len()
    }

    /// Takes the next whole line, without its end.
    pub(super) fn take(&mut self) -> Result<Option<BytesMut>, TooLong> {
        match self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
            Some(at) => {
                let mut line = self.buffer.split_to(self.searched + at + 1);
                line.truncate(line.len() - 1);
                self.searched = 0;
                if at > LONG {
                    // The room of a long line goes with it.
                    self.buffer = BytesMut::from(&self.buffer[..]);
                }
                Ok(Some(line))
            }
            None if self.buffer.len() > MOST_BYTES => Err(TooLong),
            None => {
                self.searched = self.buffer.len();
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn lines_come_in_any_pieces_and_are_bounded() {
        let mut lines = Lines::default();
        let mut taken = Vec::new();
        for byte in b"one\n\ntwo\nrest" {
            lines.push(&[*byte]);
            taken.extend(lines.take().unwrap().map(|line| line.to_vec()));
        }
        assert_eq!(taken, [&b"one"[..], b"", b"two"]);
        lines.push(&vec![b'x'; MOST_BYTES]);
        assert_eq!(lines.take(), Err(TooLong));
    }

    #[test]
    fn a_kernel_can_say_only_what_clients_understand() {
        let shown = |line: &str| match read(line.as_bytes(), 3) {
            Some(Said::Started(line) | Said::Line(line)) => serde_json::from_str::<Value>(&line).unwrap(),
            other => panic!("{other:?}"),
        };
        let result = r#"{"kind":"result","of":3,"is_main":true,"formats":
            {"text":"a","json":[1, {"é":null}],"extra":{"a/b":1},"type":"error","is_main_result":5,"x":1}}"#;
        assert_eq!(
            shown(result),
            json!({
                "type": "result", "is_main_result": true, "text": "a", "json": [1, {"é": null}], "extra": {"a/b": 1}
            })
        );
        assert_eq!(
            shown(r#"{"kind":"started","of":3}"#),
            json!({"type": "number_of_executions", "execution_count": 3})
        );
        assert_eq!(shown(r#"{"kind":"stderr","of":3,"text":"é\n"}"#)["text"], "é\n");
        assert_eq!(read(br#"{"kind":"done","of":3}"#, 3), Some(Said::Done));
        assert_eq!(read(br#"{"kind":"stdout","of":2,"text":1}"#, 3), Some(Said::Stray));
        for wrong in [
            "",
            "[]",
            "{}",
            r#"{"kind":"done"}"#,
            r#"{"kind":"done","of":-1}"#,
            r#"{"kind":"stdout","of":3}"#,
            r#"{"kind":"other","of":3}"#,
            r#"{"kind":"error","of":3,"name":"a","value":"b"}"#,
            r#"{"kind":"result","of":3,"is_main":true}"#,
            r#"{"kind":"result","of":3,"is_main":true,"formats":{"text":1}}"#,
            r#"{"kind":"result","of":3,"is_main":true,"formats":{"extra":[]}}"#,
            r#"{"kind":"result","of":3,"is_main":true,"formats":{"json":[}}"#,
            "\u{1}{\"kind\":\"done\",\"of\":3}",
        ] {
            assert_eq!(read(wrong.as_bytes(), 3), None, "{wrong}");
        }
        let deep = format!(r#"{{"kind":"stdout","of":3,"text":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(read(deep.as_bytes(), 3), None);
    }
}
