//! The message of a one-shot sandbox's PID 1 to its owner, and the timeout by which both poll.

use std::{os::fd::BorrowedFd, time::Instant};

use rustix::{
    event::Timespec,
    net::{SendFlags, send},
};
use serde::{Deserialize, Serialize};
use workden_core::{
    Error,
    sandbox::{Ended, LimitHit},
};

/// A message of PID 1 to the owner.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum InitMessage {
    /// There is no sandbox, or no command.
    Refused(Error),
    Ended(Ended, Vec<LimitHit>),
}

pub(super) fn send_message(line: BorrowedFd<'_>, said: &InitMessage) {
    // Without the message the owner sees the channel close.
    let _ = send(line, &serde_json::to_vec(said).unwrap_or_default(), SendFlags::NOSIGNAL);
}

pub(super) fn left_until(deadline: Option<Instant>) -> Option<Timespec> {
    let left = deadline?.saturating_duration_since(Instant::now());
    Some(Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() })
}
