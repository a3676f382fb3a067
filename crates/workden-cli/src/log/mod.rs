//! `WORKDEN_LOG`: calls and events as lines on standard error. Without the variable only a service logs, its warnings.

mod events;

use std::{io::Write, path::Path};

use events::{EventLog, Format};
use workden_core::{Audit, AuditEvent, AuditOutcome, ErrorKind};

use crate::failure::Failure;

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Nothing.
    Off,
    /// What a service could not do.
    Warn,
    /// Every call on files and every command, with its outcome.
    Info,
    /// Also errors of a keeper.
    Debug,
}

impl Level {
    /// Reads `WORKDEN_LOG`.
    pub(crate) fn from_environment() -> Result<Self, Failure> {
        let said = std::env::var_os("WORKDEN_LOG").unwrap_or_default();
        match said.to_str().unwrap_or("?").to_ascii_lowercase().as_str() {
            "" | "off" | "0" => Ok(Self::Off),
            "warn" => Ok(Self::Warn),
            "info" | "1" => Ok(Self::Info),
            "debug" => Ok(Self::Debug),
            _ => {
                Err(Failure::Request(format!("invalid WORKDEN_LOG `{}`: use off, warn, info or debug", said.display())))
            }
        }
    }

    /// Returns the file to which a keeper writes its errors.
    pub(crate) fn keeper_log(self) -> Option<&'static Path> {
        (self == Self::Debug).then_some(Path::new("/proc/self/fd/2"))
    }
}

/// Turns on the level of `WORKDEN_LOG` for the whole process.
/// Commands that open a workspace report an invalid value.
pub(crate) fn set_up() {
    if let Ok(level @ (Level::Warn | Level::Info | Level::Debug)) = Level::from_environment() {
        // A service reports an invalid format.
        EventLog::start(level, Format::from_environment().unwrap_or(Format::Text));
    }
}

/// Turns on the log of a service, which tells what it could not do unless `WORKDEN_LOG` says otherwise.
#[cfg(feature = "server")]
pub(crate) fn set_up_service() -> Result<(), Failure> {
    let format = Format::from_environment()?;
    if Level::from_environment()? == Level::Off && std::env::var_os("WORKDEN_LOG").is_none() {
        EventLog::start(Level::Warn, format);
    }
    Ok(())
}

/// Writes a line for each call.
#[derive(Debug)]
pub(crate) struct CallLog;

impl Audit for CallLog {
    fn record(&self, event: &AuditEvent) {
        // One write, so that lines of other processes do not interleave.
        let _ = std::io::stderr().lock().write_all(line(event).as_bytes());
    }
}

fn line(event: &AuditEvent) -> String {
    let kind = |kind: ErrorKind| serde_json::to_value(kind).unwrap_or_default();
    let outcome = match event.outcome {
        AuditOutcome::Allowed => "allowed".to_owned(),
        AuditOutcome::Approved => "approved".to_owned(),
        AuditOutcome::Refused(why) => format!("refused ({})", kind(why).as_str().unwrap_or_default()),
        AuditOutcome::Failed(why) => format!("failed ({})", kind(why).as_str().unwrap_or_default()),
        AuditOutcome::Abandoned => "abandoned".to_owned(),
    };
    let tool = event.tool.as_deref().map_or(String::new(), |tool| format!("{tool}: "));
    let what = match &event.command {
        Some(command) => format!("{command:?}"),
        None => event.paths.iter().map(|path| format!("{:?}", path.typed.as_str())).collect::<Vec<_>>().join(" to "),
    };
    format!("workden: {tool}{} {what}: {outcome}\n", event.call)
}

#[cfg(test)]
mod tests {
    use workden_core::{Resolved, VirtualPath};

    use super::*;

    #[test]
    fn a_call_is_one_line_whatever_is_in_it() {
        let mut event = AuditEvent::new("execute", AuditOutcome::Refused(ErrorKind::ApprovalNeeded))
            .paths(vec![Resolved::literal(VirtualPath::root())])
            .command("echo a\necho b\u{1b}[31m".to_owned())
            .tool("execute".to_owned());
        assert_eq!(
            line(&event),
            "workden: execute: execute \"echo a\\necho b\\u{1b}[31m\": refused (approval_needed)\n"
        );
        event.command = None;
        event.tool = None;
        event.outcome = AuditOutcome::Allowed;
        assert_eq!(line(&event), "workden: execute \"/\": allowed\n");
    }
}
