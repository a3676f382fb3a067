//! Events of the libraries as lines: text for a reader, or a JSON object for a program that collects logs.

use std::{fmt::Write as _, io::Write};

use serde_json::{Map, Value};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use super::Level;
use crate::failure::Failure;

/// How lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// `workden: request method=GET status=200`.
    Text,
    /// `{"at": "...", "level": "info", "message": "request", "method": "GET", "status": 200}`.
    Json,
}

impl Format {
    /// Reads `WORKDEN_LOG_FORMAT`.
    pub(super) fn from_environment() -> Result<Self, Failure> {
        let said = std::env::var_os("WORKDEN_LOG_FORMAT").unwrap_or_default();
        match said.to_str().unwrap_or("?").to_ascii_lowercase().as_str() {
            "" | "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => {
                let sentence = format!("invalid WORKDEN_LOG_FORMAT `{}`: use text or json", said.display());
                Err(Failure::Request(sentence))
            }
        }
    }
}

/// Writes a line for each event of the library, and nothing for spans.
#[derive(Debug)]
pub(super) struct EventLog {
    level: tracing::Level,
    format: Format,
}

impl EventLog {
    /// Starts to write lines up to a level, for the whole process.
    pub(super) fn start(level: Level, format: Format) {
        let level = match level {
            Level::Off => return,
            Level::Warn => tracing::Level::WARN,
            Level::Info => tracing::Level::INFO,
            Level::Debug => tracing::Level::DEBUG,
        };
        // Fails only if a subscriber is already set, which then keeps writing.
        let _ = tracing::subscriber::set_global_default(Self { level, format });
    }
}

impl Subscriber for EventLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.target().starts_with("workden") && *metadata.level() <= self.level
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = EventFields::default();
        event.record(&mut fields);
        let line = match self.format {
            Format::Text => fields.text(),
            Format::Json => {
                let (level, target) = (event.metadata().level().as_str(), event.metadata().target());
                fields.json(&level.to_ascii_lowercase(), target, jiff::Timestamp::now())
            }
        };
        // One write, so that lines of other threads do not interleave.
        let _ = std::io::stderr().lock().write_all(format!("{line}\n").as_bytes());
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// The fields of an event, in order.
#[derive(Default)]
struct EventFields {
    message: String,
    fields: Vec<(&'static str, Value)>,
}

impl EventFields {
    fn text(&self) -> String {
        let mut line = format!("workden: {}", self.message);
        for (name, value) in &self.fields {
            let shown = match value {
                Value::String(text) => format!("{text:?}"),
                value => value.to_string(),
            };
            let _ = write!(line, " {name}={shown}");
        }
        line.replace('\n', "\\n")
    }

    fn json(self, level: &str, target: &str, at: jiff::Timestamp) -> String {
        let head = [
            ("at", at.to_string()),
            ("level", level.to_owned()),
            ("target", target.to_owned()),
            ("message", self.message),
        ];
        let head = head.into_iter().map(|(name, text)| (name.to_owned(), Value::from(text)));
        let fields = self.fields.into_iter().map(|(name, value)| (name.to_owned(), value));
        Value::from(head.chain(fields).collect::<Map<_, _>>()).to_string()
    }

    fn add(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(text)) => self.message = text,
            (name, value) => self.fields.push((name, value)),
        }
    }
}

impl Visit for EventFields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value.into());
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.add(field, u64::try_from(value).unwrap_or(u64::MAX).into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.into());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.add(field, value.to_string().into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.add(field, format!("{value:?}").into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_is_in_it() {
        let fields = || EventFields {
            message: "request".to_owned(),
            fields: vec![("path", "/a\nb\u{1b}[2J".into()), ("status", 200.into())],
        };
        assert_eq!(fields().text(), "workden: request path=\"/a\\nb\\u{1b}[2J\" status=200");
        let at = "2025-11-18T21:06:40Z".parse().unwrap();
        assert_eq!(
            fields().json("info", "workden_server", at),
            r#"{"at":"2025-11-18T21:06:40Z","level":"info","target":"workden_server","message":"request","path":"/a\nb\u001b[2J","status":200}"#
        );
    }
}
