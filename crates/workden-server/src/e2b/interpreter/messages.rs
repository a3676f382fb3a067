//! Lines of JSON: those that a kernel sends, which are hostile, and those that clients read.
//!
//! Clients get ASCII only. One of them takes every line separator of Unicode for the end of a line, and another decodes
//! each piece of an answer by itself.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The longest line of a kernel, which itself sends no more than 8 MiB.
pub(super) const MOST_BYTES: usize = 9 << 20;
/// The name of the errors that are not of the code.
const KERNEL_ERROR: &str = "KernelError";

/// A line of a kernel, which says to which code it belongs.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(PartialEq))]
pub(super) struct KernelLine {
    pub(super) of: u64,
    #[serde(flatten)]
    pub(super) message: KernelMessage,
}

/// What a kernel says.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(PartialEq))]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum KernelMessage {
    Started,
    Stdout { text: String },
    Stderr { text: String },
    Result { formats: Box<Formats>, is_main: bool },
    Error { name: String, value: String, traceback: String },
    Done,
}

/// A result in all its formats; a kernel cannot add others.
#[derive(Debug, Default, Deserialize, Serialize)]
#[cfg_attr(test, derive(PartialEq))]
#[serde(default)]
pub(super) struct Formats {
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
    json: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    javascript: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<Map<String, Value>>,
}

impl KernelLine {
    /// Parses a line; `None` if it is not one of a kernel.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// Returns the line for the client; `None` at the end of the code.
    pub(super) fn for_client(self) -> Option<Bytes> {
        let value = match self.message {
            KernelMessage::Started => json!({ "type": "number_of_executions", "execution_count": self.of }),
            KernelMessage::Stdout { text } => json!({ "type": "stdout", "text": text, "timestamp": nanoseconds() }),
            KernelMessage::Stderr { text } => json!({ "type": "stderr", "text": text, "timestamp": nanoseconds() }),
            KernelMessage::Result { formats, is_main } => {
                let mut value = serde_json::to_value(formats).unwrap_or_default();
                value["type"] = json!("result");
                value["is_main_result"] = json!(is_main);
                value
            }
            KernelMessage::Error { name, value, traceback } => error(&name, &value, &traceback),
            KernelMessage::Done => return None,
        };
        Some(line(&value))
    }
}

/// Returns the line that tells a client why its code did not run to its end.
pub(super) fn failure_line(sentence: &str) -> Bytes {
    line(&error(KERNEL_ERROR, sentence, &format!("{KERNEL_ERROR}: {sentence}\n")))
}

fn error(name: &str, value: &str, traceback: &str) -> Value {
    json!({ "type": "error", "name": name, "value": value, "traceback": traceback })
}

fn nanoseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns a value as a line of ASCII. Characters beyond it stand in strings only, where they have an escape.
fn line(value: &Value) -> Bytes {
    let text = value.to_string();
    let mut line = String::with_capacity(text.len() + 1);
    for character in text.chars() {
        if character.is_ascii() {
            line.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            line.push_str("\\u");
            for shift in [12, 8, 4, 0] {
                line.push(char::from_digit(u32::from(*unit >> shift) & 15, 16).unwrap_or('0'));
            }
        }
    }
    line.push('\n');
    line.into()
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

    /// Takes the next whole line, without its end.
    pub(super) fn take(&mut self) -> Result<Option<BytesMut>, TooLong> {
        match self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
            Some(at) => {
                let mut line = self.buffer.split_to(self.searched + at + 1);
                line.truncate(line.len() - 1);
                self.searched = 0;
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
        let shown = |line: &str| {
            let line = KernelLine::parse(line.as_bytes()).unwrap().for_client().unwrap();
            serde_json::from_slice::<Value>(&line).unwrap()
        };
        let result =
            r#"{"kind":"result","of":3,"is_main":true,"formats":{"text":"a","json":[1],"type":"error","x":1}}"#;
        assert_eq!(shown(result), json!({"type": "result", "is_main_result": true, "text": "a", "json": [1]}));
        assert_eq!(
            shown(r#"{"kind":"started","of":3}"#),
            json!({"type": "number_of_executions", "execution_count": 3})
        );
        for wrong in [
            "",
            "[]",
            "{}",
            r#"{"kind":"done"}"#,
            r#"{"kind":"done","of":-1}"#,
            r#"{"kind":"stdout","of":1}"#,
            r#"{"kind":"other","of":1}"#,
            r#"{"kind":"result","of":1,"is_main":true,"formats":{"text":1}}"#,
            "\u{1}{\"kind\":\"done\",\"of\":1}",
        ] {
            assert_eq!(KernelLine::parse(wrong.as_bytes()), None, "{wrong}");
        }
        let deep = format!(r#"{{"kind":"stdout","of":1,"text":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(KernelLine::parse(deep.as_bytes()), None);
    }

    #[test]
    fn clients_read_ascii_only() {
        let text = "é \u{2028}\u{85}\u{b} \u{1f600} \n";
        let message = KernelMessage::Stdout { text: text.to_owned() };
        let line = KernelLine { of: 1, message }.for_client().unwrap();
        assert!(line.is_ascii() && line.iter().filter(|byte| **byte == b'\n').count() == 1);
        assert_eq!(serde_json::from_slice::<Value>(&line).unwrap()["text"], text);
    }
}
