//! The nursery: a small process without threads that makes minders for a program that is not made to be
//! forked, because it is large, has threads, or has children of its own. There is always a minder that waits,
//! one that is done waits again, and so a command costs one message and no fork but its own.
//!
//! ```text
//!   program (Engine) --- requests ---> nursery
//!        |                               +-- minder, waiting
//!        +--------- link ------------->  +-- minder -- command -- ...
//! ```
//!
//! Invariant: the nursery ends with its socket or its owner, and only after everything that it made and
//! everything that those left.

mod nursed;
mod process;

pub use nursed::Nursery;
pub(crate) use process::run;

/// What a nursery says first: of which kind its requests are.
const READY: &[u8] = b"workden minders 1";

/// Bytes of a request.
const REQUEST_BYTES: usize = 9;

/// What a program wants of its nursery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    /// A minder by this number, at the other end of the socket that is enclosed.
    Make(u64),
    /// The end of a minder, which does not do as it is told.
    Kill(u64),
    /// The end of all that dead minders left, also the one by this number, which is about to die. The socket that
    /// is enclosed is closed afterwards.
    Sweep(Option<u64>),
}

impl Request {
    fn encode(self) -> [u8; REQUEST_BYTES] {
        let (kind, number) = match self {
            Self::Make(number) => (1, number),
            Self::Kill(number) => (2, number),
            Self::Sweep(None) => (3, 0),
            Self::Sweep(Some(number)) => (4, number),
        };
        let mut bytes = [kind; REQUEST_BYTES];
        bytes[1..].copy_from_slice(&number.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (&kind, number) = bytes.split_first()?;
        let number = u64::from_le_bytes(number.try_into().ok()?);
        match kind {
            1 => Some(Self::Make(number)),
            2 => Some(Self::Kill(number)),
            3 => Some(Self::Sweep(None)),
            4 => Some(Self::Sweep(Some(number))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_understood() {
        for request in
            [Request::Make(0), Request::Make(u64::MAX), Request::Kill(7), Request::Sweep(None), Request::Sweep(Some(1))]
        {
            assert_eq!(Request::decode(&request.encode()), Some(request));
        }
        assert_eq!(Request::decode(b""), None);
        assert_eq!(Request::decode(b"\x01\x02"), None);
    }
}
