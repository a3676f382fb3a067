//! Unpacking an archive while it arrives.

use std::sync::Arc;

use tokio::sync::Mutex;
use workden_core::{
    Backend, BackendExt, Content, ContentStream, Error, ErrorKind, Expect, Resolved, Result, Symlink, VirtualPath,
};

use super::{
    TreeReport,
    record::{Kind, Record},
    source::{Source, cut_off},
};
use crate::limits::TREE_PIECE_BYTES;

/// Creates the files and directories of an archive below a directory. Existing files are replaced, each of them
/// completely or not at all.
///
/// # Errors
///
/// - `Escapes` if an entry would be outside the directory, by its name or through a link.
/// - `InvalidArgument` if the content is not an archive, or ends early.
/// - `TooLarge` if the tree exceeds the limits, and the errors of the writes.
///
/// Files before the error stay written.
pub async fn unpack(files: &dyn Backend, at: &VirtualPath, archive: ContentStream) -> Result<TreeReport> {
    files.make_dir_path(at).await?;
    let base = files.resolve(at, Symlink::Follow).await?;
    let source = Arc::new(Mutex::new(Source::new(archive)));
    let mut report = TreeReport::default();
    loop {
        let Some(record) = Record::read(&mut *source.lock().await).await? else { break };
        match record.kind {
            Kind::Link => report.skipped_links += 1,
            Kind::Special => report.skipped_special += 1,
            Kind::Directory => match place(files, at, &base, &record.name).await? {
                Some(place) if place.real == base.real => {}
                Some(place) => {
                    report.add_directory()?;
                    files.make_dir(&place).await?;
                }
                None => report.skipped_names += 1,
            },
            Kind::File => match place(files, at, &base, &record.name).await? {
                Some(place) => {
                    report.add_file(&place.typed, record.size)?;
                    write(files, &place, &source, record.size).await?;
                }
                None => {
                    report.skipped_names += 1;
                    source.lock().await.skip(record.size).await?;
                }
            },
        }
        report.within_entries()?;
        source.lock().await.skip(record.filling()).await?;
    }
    drain(&mut *source.lock().await).await?;
    Ok(report)
}

/// Returns the destination of an entry; `None` if its name is not UTF-8.
async fn place(files: &dyn Backend, at: &VirtualPath, base: &Resolved, name: &[u8]) -> Result<Option<Resolved>> {
    let Ok(name) = std::str::from_utf8(name) else { return Ok(None) };
    let escapes = || {
        Error::new(ErrorKind::Escapes, format!("cannot unpack `{}`: it would be outside `{at}`", name.escape_debug()))
            .hint("names in an archive must be relative, without `..`, and lead through no link")
    };
    if name.starts_with('/') || name.split('/').any(|part| part == "..") {
        return Err(escapes());
    }
    let place = files.resolve(&VirtualPath::parse_from(at, name)?, Symlink::Follow).await?;
    if place.real.strip_prefix(&base.real).is_none() {
        return Err(escapes());
    }
    Ok(Some(place))
}

async fn write(files: &dyn Backend, place: &Resolved, source: &Arc<Mutex<Source>>, size: u64) -> Result<()> {
    if size <= TREE_PIECE_BYTES {
        let bytes = source.lock().await.exactly(size as usize).await?;
        return files.write(place, Content::Whole(bytes), Expect::Anything).await.map(drop);
    }
    // The backend reads a part of the archive, and returns it by dropping the stream.
    let content = futures_util::stream::try_unfold((Arc::clone(source), size), |(source, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let piece = source.lock().await.some(left).await?.ok_or_else(cut_off)?;
        let left = left - piece.len() as u64;
        Ok(Some((piece, (source, left))))
    });
    files.write(place, Content::Stream(Box::pin(content)), Expect::Anything).await.map(drop)
}

/// Reads the padding after the end of the archive, up to a limit; further data is ignored.
async fn drain(source: &mut Source) -> Result<()> {
    let mut left = TREE_PIECE_BYTES;
    while left > 0 {
        match source.some(left).await? {
            Some(piece) => left -= piece.len() as u64,
            None => break,
        }
    }
    Ok(())
}
