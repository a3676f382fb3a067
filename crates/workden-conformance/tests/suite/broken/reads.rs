//! Looking and reading, spoiled.

use bytes::Bytes;
use workden_core::{
    Backend, BackendExt, ByteRange, Entry, EntryKind, Error, ErrorKind, Opened, Resolved, Result, Slice, Timestamp,
    Version,
    text::{Excerpt, Extent, TextWindow, scan},
};

use super::{Broken, Spoil, pause};

impl Broken {
    pub(super) async fn spoiled_stat(&self, at: &Resolved) -> Result<Entry> {
        let mut entry = self.inner.stat(at).await?;
        match self.spoil {
            Spoil::StatAddsToSizes => entry.size = entry.size.map(|size| size + 1),
            Spoil::StatGivesDirectoriesASize if entry.is_dir() => entry.size = Some(4096),
            Spoil::StatTakesDirectoriesForFiles => entry.kind = EntryKind::File,
            Spoil::StatPanics => panic!("stat is broken"),
            Spoil::StatGoesBackInTime => {
                entry.modified = entry.modified.map(|time| Timestamp::from_nanos(-i128::from(time.as_nanos())));
            }
            _ => {}
        }
        Ok(entry)
    }

    pub(super) async fn spoiled_read(&self, at: &Resolved, range: ByteRange) -> Result<Slice> {
        let range = match (self.spoil, range) {
            (Spoil::ReadDisregardsOffsets, ByteRange::Part { length, .. }) => ByteRange::Part { offset: 0, length },
            (Spoil::ReadHasNoCeiling, ByteRange::Whole { .. }) => ByteRange::Whole { most: u64::MAX },
            (_, range) => range,
        };
        let mut slice = self.inner.read(at, range).await?;
        match (self.spoil, range) {
            (Spoil::ReadDropsCarriageReturns, _) => {
                slice.bytes = slice.bytes.iter().copied().filter(|byte| *byte != b'\r').collect();
            }
            (Spoil::ReadDropsFinalNewlines, _) if slice.bytes.ends_with(b"\n") => {
                slice.bytes.truncate(slice.bytes.len() - 1);
            }
            (Spoil::ReadStopsAt64KiB, _) => slice.bytes.truncate(64 * 1024),
            (Spoil::ReadSaysTheSizeOfThePart, _) => slice.size = slice.bytes.len() as u64,
            (Spoil::ReadRefusesPartsPastTheEnd, ByteRange::Part { offset, .. }) if offset > slice.size => {
                return Err(Error::new(ErrorKind::OutOfRange, "there is nothing so far behind"));
            }
            // What a reader has seen is only ever stale when a writer came in between.
            (Spoil::Nothing, _) => pause().await,
            _ => {}
        }
        Ok(slice)
    }

    pub(super) async fn spoiled_open(&self, at: &Resolved, most: u64) -> Result<Opened> {
        let null = std::fs::File::open("/dev/null");
        match (self.spoil, null) {
            (Spoil::OpensAnotherFile, Ok(file)) => Ok(Opened::File { file, size: 0 }),
            _ => self.inner.open(at, most).await,
        }
    }

    pub(super) async fn spoiled_read_text(&self, at: &Resolved, window: TextWindow) -> Result<Excerpt> {
        let window = match (self.spoil, window) {
            (Spoil::TextSkipsALine, TextWindow::Lines { offset, limit, max_chars }) => {
                TextWindow::Lines { offset: offset.saturating_add(1), limit, max_chars }
            }
            (Spoil::TextDisregardsTheLimit, TextWindow::Lines { offset, max_chars, .. }) => {
                TextWindow::Lines { offset, limit: u64::MAX, max_chars }
            }
            (Spoil::TextHasNoCeiling, TextWindow::Lines { offset, limit, .. }) => {
                TextWindow::Lines { offset, limit, max_chars: u64::MAX }
            }
            (_, window) => window,
        };
        let mut excerpt = match self.spoil {
            Spoil::TextIsTakenForUtf8 => {
                let bytes: Bytes = self.inner.read(at, ByteRange::whole()).await?.bytes;
                let text = String::from_utf8_lossy(&bytes).replace('\0', "");
                scan::excerpt(&at.real, &text.as_bytes(), window)?
            }
            _ => self.inner.read_text(at, window).await?,
        };
        match (self.spoil, &mut excerpt.extent) {
            (Spoil::TextDropsCarriageReturns, _) => excerpt.text = excerpt.text.replace('\r', ""),
            (Spoil::TextHasTheVersionOfTheWindow, _) => excerpt.version = Some(Version::of(excerpt.text.as_bytes())),
            (Spoil::TextCountsBytes, Extent::Chars { shown, .. }) => *shown = excerpt.text.len() as u64,
            (Spoil::TextOfNothingIsAnError, Extent::Lines { total: 0, .. } | Extent::Chars { total: 0, .. }) => {
                return Err(Error::new(ErrorKind::OutOfRange, "the file is empty"));
            }
            _ => {}
        }
        Ok(excerpt)
    }
}
