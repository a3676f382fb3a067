//! What a record tells of the result of a call: numbers, and never content.

use crate::{
    Attributes, Changed, Entry, Slice, Written,
    backend::Opened,
    sandbox::{Executed, FileEvents, Job, Process},
    search::{Globbed, Grepped, Listing},
    text::Excerpt,
};

/// A result with numbers for its record.
pub(super) trait Measured {
    /// Returns the exit code of a command that has ended.
    fn exit_code(&self) -> Option<i32> {
        None
    }

    /// Returns the bytes that were read, or printed.
    fn bytes(&self) -> Option<u64> {
        None
    }
}

impl Measured for Executed {
    fn exit_code(&self) -> Option<i32> {
        Some(Self::exit_code(self))
    }

    fn bytes(&self) -> Option<u64> {
        let left_out = self.output.left_out.as_ref().map_or(0, |part| part.bytes);
        Some((self.output.head.len() + self.output.tail.len()) as u64 + left_out)
    }
}

impl Measured for Slice {
    fn bytes(&self) -> Option<u64> {
        Some(self.bytes.len() as u64)
    }
}

macro_rules! without_numbers {
    ($($result:ty),+ $(,)?) => {
        $(impl Measured for $result {})+
    };
}

without_numbers!(
    (),
    Attributes,
    Changed,
    Entry,
    Excerpt,
    FileEvents,
    Globbed,
    Grepped,
    Job,
    Listing,
    Opened,
    Process,
    Written
);
