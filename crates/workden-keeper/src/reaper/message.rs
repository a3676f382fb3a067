//! What a keeper and a reaper say to each other: an order is a byte, a report is eight.

use rustix::{io::Errno, process::Signal};

/// Bytes of a report.
pub(crate) const REPORT_BYTES: usize = 8;

/// What a keeper wants of a reaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReaperOrder {
    /// `TERM` to all descendants, and `KILL` to what is left after a while.
    Terminate,
    /// `KILL` to all descendants.
    Kill,
    /// A signal to the group of the command.
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

/// What a reaper reporting its keeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReaperReport {
    /// The command's process is there. Told by itself, to who wants to know.
    Started(i32),
    /// There is no command, and why. Told by the child that would have been it.
    Failed(StartStage, Errno),
    /// The command's process has ended, with this status of `wait`.
    Ended(i32),
    /// It has ended so, and left nothing. One report: between two, a caller would see processes of a
    /// command that has none. The last report.
    EndedWhole(i32),
    /// No descendant is left. The last report.
    Empty,
}

/// How far the start of a command came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartStage {
    /// No process could be made.
    Fork,
    /// Something that every command gets could not be given to it.
    Prepare,
    /// Its directory could not be entered.
    Directory,
    /// The program could not be run.
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
