//! The entries of an archive that arrives in pieces, one by one, on a thread where reading may block.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read},
};

use bytes::Bytes;
use futures_util::{Stream, TryStreamExt};
use tokio_util::io::{StreamReader, SyncIoBridge};
use workden::{Error, ErrorKind, Result};

/// Whether to look at more entries.
pub(super) enum Flow {
    Next,
    Enough,
}

/// An entry, whose content is read from the archive.
pub(super) type ArchiveEntry<'a> = tar::Entry<'a, Box<dyn Read>>;

/// Calls `look` with each named entry of an archive, on a thread where it may block. Returns the state, and whether the
/// archive was longer than `most` bytes.
pub(super) async fn each<S: Send + 'static>(
    archive: impl Stream<Item = Result<Bytes>> + Send + 'static,
    most: u64,
    mut state: S,
    mut look: impl FnMut(&mut S, String, &mut ArchiveEntry<'_>) -> io::Result<Flow> + Send + 'static,
) -> Result<(S, bool)> {
    let reader = StreamReader::new(Box::pin(archive.map_err(io::Error::other)));
    let bridge = SyncIoBridge::new(reader);
    let read = tokio::task::spawn_blocking(move || {
        let reader: Box<dyn Read> = Box::new(bridge);
        let mut archive = tar::Archive::new(reader);
        let mut is_cut = false;
        for entry in archive.entries()? {
            let mut entry = entry?;
            if entry.raw_file_position() > most {
                is_cut = true;
                break;
            }
            let Some(name) = plain_name(&entry.path_bytes()) else { continue };
            if let Flow::Enough = look(&mut state, name, &mut entry)? {
                break;
            }
        }
        Ok((state, is_cut))
    });
    let failed = |error: io::Error| match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(inner) => inner.clone(),
        None => Error::new(ErrorKind::Io, "cannot read the files of the session").with_source(error),
    };
    let read = read.await.map_err(|_| Error::new(ErrorKind::Io, "cannot read the files of the session"))?;
    read.map_err(failed)
}

/// Returns a name without `./` before it; `None` for the directory itself and for a name that is not UTF-8.
pub(super) fn plain_name(name: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(name).ok()?;
    let name = name.strip_prefix("./").unwrap_or(name).trim_end_matches('/');
    (!name.is_empty() && name != ".").then(|| name.to_owned())
}

/// Returns the content of some files and the targets of some links of an archive, as far as they have at most `largest`
/// bytes.
pub(super) async fn contents(
    archive: impl Stream<Item = Result<Bytes>> + Send + 'static,
    names: BTreeSet<String>,
    largest: u64,
) -> Result<BTreeMap<String, Bytes>> {
    // A hard link has the content of another name.
    let state = (BTreeMap::new(), names);
    let ((found, _), _) = each(archive, u64::MAX, state, move |(found, names), name, entry| {
        let header = entry.header();
        match header.entry_type() {
            tar::EntryType::Symlink if names.contains(&name) => {
                let target = entry.link_name_bytes().unwrap_or_default().into_owned();
                found.insert(name, Bytes::from(target));
            }
            tar::EntryType::Link if names.contains(&name) => {
                let target = entry.link_name_bytes().as_deref().and_then(plain_name);
                if let Some(content) = target.and_then(|target| found.get(&target).cloned()) {
                    found.insert(name, content);
                }
            }
            kind if kind.is_file() && names.contains(&name) && entry.size() <= largest => {
                let mut content = Vec::new();
                entry.read_to_end(&mut content)?;
                found.insert(name, Bytes::from(content));
            }
            _ => {}
        }
        Ok(Flow::Next)
    })
    .await?;
    Ok(found)
}
