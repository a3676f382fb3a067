//! The messages between a keeper and a reaper: an order is one byte, a report is eight.

use rustix::{io::Errno, process::Signal};

/// Bytes of a report.
pub(crate) const REPORT_BYTES: usize = 8;

/// An order of the keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReaperOrder {
    /// `TERM` to all descendants, and `KILL` after a grace period.
    Terminate,
    /// `KILL` to all descendants.
    Kill,
    /// A signal to the process group of the command.
    Signal(Signal),
}

impl ReaperOrder {
    pub(crate) fn encode(self) -> u8 {
        match self {
            Self::Terminate => 0,
            Self::Kill => u8::MAX,
            Self::Signal(signal) => u8::try_from(signal.as_raw()).unwrap_or(0),
        }
    }

    pub(crate) fn decode(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Terminate),
            u8::MAX => Some(Self::Kill),
            number => Signal::from_named_raw(i32::from(number)).map(Self::Signal),
        }
    }
}

/// A report to the keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReaperReport {
    /// The command's process exists. Sent by that process, if the caller asked for it.
    Started(i32),
    /// The command did not start. Sent by its process.
    Failed(StartStage, Errno),
    /// The command's process has ended, with this `wait` status.
    Ended(i32),
    /// The command has ended with this status and left no process. One report: between two, a caller would see a
    /// process that is gone. The last report.
    EndedWhole(i32),
    /// No descendant is left. The last report.
    Empty,
}

/// The stage at which a start failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartStage {
    /// Creating the process.
    Fork,
    /// Preparing what every command gets.
    Prepare,
    /// Entering the directory.
    Directory,
    /// Executing the program.
    Exec,
}

impl ReaperReport {
    pub(crate) fn encode(self) -> [u8; REPORT_BYTES] {
        let (kind, stage, value) = match self {
            Self::Started(pid) => (1, 0, pid),
            Self::Failed(stage, why) => (2, stage as u8, why.raw_os_error()),
            Self::Ended(status) => (3, 0, status),
            Self::Empty => (4, 0, 0),
            Self::EndedWhole(status) => (5, 0, status),
        };
        let [a, b, c, d] = value.to_le_bytes();
        [kind, stage, 0, 0, a, b, c, d]
    }

    pub(crate) fn decode(bytes: [u8; REPORT_BYTES]) -> Option<Self> {
        let [kind, stage, _, _, a, b, c, d] = bytes;
        let value = i32::from_le_bytes([a, b, c, d]);
        let stage = match stage {
            0 => StartStage::Fork,
            1 => StartStage::Prepare,
            2 => StartStage::Directory,
            _ => StartStage::Exec,
        };
        match kind {
            1 => Some(Self::Started(value)),
            2 => Some(Self::Failed(stage, Errno::from_raw_os_error(value))),
            3 => Some(Self::Ended(value)),
            4 => Some(Self::Empty),
            5 => Some(Self::EndedWhole(value)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        for report in [
            ReaperReport::Started(7),
            ReaperReport::Failed(StartStage::Directory, Errno::NOENT),
            ReaperReport::Failed(StartStage::Exec, Errno::ACCESS),
            ReaperReport::Ended(0x8b00),
            ReaperReport::EndedWhole(15),
            ReaperReport::Empty,
        ] {
            assert_eq!(ReaperReport::decode(report.encode()), Some(report));
        }
        for order in [
            ReaperOrder::Terminate,
            ReaperOrder::Kill,
            ReaperOrder::Signal(Signal::INT),
            ReaperOrder::Signal(Signal::WINCH),
        ] {
            assert_eq!(ReaperOrder::decode(order.encode()), Some(order));
        }
    }
}
