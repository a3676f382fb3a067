//! The entries of an archive that arrives in pieces, one by one, on a thread where reading may block.
//!
//! Invariant: an archive may come from a hostile sandbox. What is read of it is bounded, as a whole and for each header,
//! and the thread ends with its caller.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};
use tokio_util::{
    io::{StreamReader, SyncIoBridge},
    sync::CancellationToken,
};
use workden::{Error, ErrorKind, Result};

/// The most bytes of what stands before the content of an entry: its name, the target of a link, attributes.
const HEADER: u64 = 256 << 10;

/// Whether to look at more entries.
pub(super) enum Flow {
    Next,
    Enough,
}

/// An entry, whose content is read from the archive.
pub(super) type ArchiveEntry<'a> = tar::Entry<'a, Limited>;

/// Calls `look` with each named entry of an archive. Returns the state, and whether the archive was longer than `most`
/// bytes.
pub(super) async fn each<S: Send + 'static>(
    archive: impl Stream<Item = Result<Bytes>> + Send + 'static,
    most: u64,
    mut state: S,
    mut look: impl FnMut(&mut S, String, &mut ArchiveEntry<'_>) -> io::Result<Flow> + Send + 'static,
) -> Result<(S, bool)> {
    let gone = CancellationToken::new();
    let _ends = gone.clone().drop_guard();
    let archive = futures_util::StreamExt::take_until(archive, gone.clone().cancelled_owned());
    let reader = StreamReader::new(Box::pin(archive.map_err(io::Error::other)));
    let limits = Arc::new(Limits { left: AtomicU64::new(most), ..Limits::default() });
    let limited = Limited { inner: Box::new(SyncIoBridge::new(reader)), limits: Arc::clone(&limits) };
    let read = tokio::task::spawn_blocking(move || {
        let read = read_all(limited, &limits, &mut state, &mut look);
        let is_cut = limits.is_cut.load(Ordering::Relaxed);
        match read {
            Err(error) if !is_cut => Err(error),
            _ => Ok((state, is_cut)),
        }
    });
    let cannot = || Error::new(ErrorKind::Io, "cannot read the files of the session");
    let failed = |error: io::Error| match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(inner) => inner.clone(),
        None => cannot().with_source(error),
    };
    read.await.map_err(|_| cannot())?.map_err(failed)
}

fn read_all<S>(
    archive: Limited,
    limits: &Limits,
    state: &mut S,
    look: &mut impl FnMut(&mut S, String, &mut ArchiveEntry<'_>) -> io::Result<Flow>,
) -> io::Result<()> {
    let mut archive = tar::Archive::new(archive);
    let mut entries = archive.entries()?;
    loop {
        limits.begin_header();
        let Some(entry) = entries.next() else { break };
        let mut entry = entry?;
        limits.end_header();
        let name = plain_name(&entry.path_bytes());
        let flow = name.map_or(Ok(Flow::Next), |name| look(state, name, &mut entry))?;
        if matches!(flow, Flow::Enough) {
            return Ok(());
        }
        // Here, where it does not count as a header.
        io::copy(&mut entry, &mut io::sink())?;
    }
    limits.end_header();
    // What failed comes after the last entry.
    io::copy(&mut archive.into_inner(), &mut io::sink()).map(drop)
}

/// What may still be read.
#[derive(Default)]
struct Limits {
    left: AtomicU64,
    /// Of the header that is being read; 0 for no header.
    header: AtomicU64,
    is_header: AtomicBool,
    is_cut: AtomicBool,
}

impl Limits {
    fn begin_header(&self) {
        self.header.store(HEADER, Ordering::Relaxed);
        self.is_header.store(true, Ordering::Relaxed);
    }

    fn end_header(&self) {
        self.is_header.store(false, Ordering::Relaxed);
    }

    /// Counts bytes that were read.
    fn count(&self, read: u64) -> io::Result<()> {
        let left = self.left.load(Ordering::Relaxed);
        if read > left {
            self.is_cut.store(true, Ordering::Relaxed);
            return Err(io::Error::other("the archive is too long"));
        }
        self.left.store(left - read, Ordering::Relaxed);
        if self.is_header.load(Ordering::Relaxed) {
            let header = self.header.load(Ordering::Relaxed);
            if read > header {
                return Err(io::Error::other("a header of the archive is too long"));
            }
            self.header.store(header - read, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Reads within limits.
pub(super) struct Limited {
    inner: Box<dyn Read + Send>,
    limits: Arc<Limits>,
}

impl Read for Limited {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(to)?;
        self.limits.count(read as u64)?;
        Ok(read)
    }
}

/// Returns a name without `./` before it; `None` for the directory itself and for a name that is not UTF-8.
pub(super) fn plain_name(name: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(name).ok()?;
    let name = name.strip_prefix("./").unwrap_or(name).trim_end_matches('/');
    (!name.is_empty() && name != ".").then(|| name.to_owned())
}

/// What an archive has under a name.
pub(super) enum Found {
    Nothing,
    Content(Bytes),
    /// A file that is larger than what was asked for.
    TooLarge,
    /// Another name of the file with this one.
    SameAs(String),
}

/// Returns what an archive has under a name. The last entry of a name counts.
pub(super) async fn find(
    archive: impl Stream<Item = Result<Bytes>> + Send + 'static,
    wanted: String,
    largest: u64,
) -> Result<Found> {
    let look = move |found: &mut Found, name: String, entry: &mut ArchiveEntry<'_>| {
        if name == wanted {
            *found = match entry.header().entry_type() {
                tar::EntryType::Link => {
                    entry.link_name_bytes().as_deref().and_then(plain_name).map_or(Found::Nothing, Found::SameAs)
                }
                kind if kind.is_file() && entry.size() > largest => Found::TooLarge,
                kind if kind.is_file() => {
                    let mut content = Vec::new();
                    entry.read_to_end(&mut content)?;
                    Found::Content(content.into())
                }
                _ => Found::Nothing,
            };
        }
        Ok(Flow::Next)
    };
    Ok(each(archive, u64::MAX, Found::Nothing, look).await?.0)
}

/// Returns the content of some files of an archive, as far as each has at most `largest` bytes and all have at most
/// `most` together.
pub(super) async fn contents(
    archive: impl Stream<Item = Result<Bytes>> + Send + 'static,
    names: BTreeSet<String>,
    largest: u64,
    most: u64,
) -> Result<BTreeMap<String, Bytes>> {
    // A second name of a file is an entry that leads to the first, which need not be asked for.
    let state = Contents { names, found: BTreeMap::new(), links: Vec::new(), left: most };
    let (mut state, _) = each(archive, u64::MAX, state, move |state, name, entry| {
        match entry.header().entry_type() {
            tar::EntryType::Link if state.names.contains(&name) => {
                if let Some(target) = entry.link_name_bytes().as_deref().and_then(plain_name) {
                    state.links.push((name, target));
                }
            }
            kind if kind.is_file() && state.names.contains(&name) => {
                let size = entry.size();
                if size <= largest && size <= state.left {
                    let mut content = Vec::new();
                    entry.read_to_end(&mut content)?;
                    state.left -= size;
                    state.found.insert(name, Bytes::from(content));
                }
            }
            _ => {}
        }
        Ok(Flow::Next)
    })
    .await?;
    for (name, target) in state.links {
        if let Some(content) = state.found.get(&target).cloned() {
            state.found.insert(name, content);
        }
    }
    Ok(state.found)
}

struct Contents {
    names: BTreeSet<String>,
    found: BTreeMap<String, Bytes>,
    links: Vec<(String, String)>,
    left: u64,
}
