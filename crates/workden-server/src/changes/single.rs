//! An archive of one file of another archive: as it was, also if it was a second name of a file that has changed since.

use std::{
    io::{self, Write},
    str,
};

use bytes::Bytes;
use futures_util::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use tokio::sync::mpsc;
use workden::{Error, ErrorKind, Result};

use super::entries::{ArchiveEntry, Flow, each, plain_name};

/// Attributes of files, in the headers of GNU tar.
const ATTRIBUTE: &str = "SCHILY.xattr.";
/// Pieces that wait for their reader.
const WAITING: usize = 4;

/// Returns under which name an archive has the content of a file; `None` if it has no such file.
pub(super) async fn source(
    archive: impl Stream<Item = Result<Bytes>> + Send + 'static,
    name: &str,
) -> Result<Option<String>> {
    let wanted = name.to_owned();
    let find = move |found: &mut Option<String>, name: String, entry: &mut ArchiveEntry<'_>| {
        if name != wanted || entry.header().entry_type().is_dir() {
            return Ok(Flow::Next);
        }
        *found = match entry.header().entry_type() {
            tar::EntryType::Link => entry.link_name_bytes().as_deref().and_then(plain_name),
            _ => Some(name),
        };
        Ok(Flow::Enough)
    };
    Ok(each(archive, u64::MAX, None, find).await?.0)
}

/// Returns an archive with one file, whose content another archive has under the name `source`.
pub(super) fn archive(
    archive: BoxStream<'static, Result<Bytes>>,
    source: String,
    name: String,
) -> BoxStream<'static, Result<Bytes>> {
    let (sender, receiver) = mpsc::channel(WAITING);
    let failed = sender.clone();
    tokio::spawn(async move {
        let builder = tar::Builder::new(Pieces(sender));
        let copy = move |builder: &mut tar::Builder<Pieces>, found: String, entry: &mut ArchiveEntry<'_>| {
            if found != source {
                return Ok(Flow::Next);
            }
            append(builder, &name, entry)?;
            builder.finish()?;
            Ok(Flow::Enough)
        };
        if let Err(error) = each(archive, u64::MAX, builder, copy).await {
            drop(failed.send(Err(error)).await);
        }
    });
    stream::unfold(receiver, |mut receiver| async { receiver.recv().await.map(|piece| (piece, receiver)) }).boxed()
}

fn append(builder: &mut tar::Builder<Pieces>, name: &str, entry: &mut ArchiveEntry<'_>) -> io::Result<()> {
    let mut header = entry.header().clone();
    let mut attributes = Vec::new();
    for extension in entry.pax_extensions()?.into_iter().flatten() {
        let extension = extension?;
        let key = str::from_utf8(extension.key_bytes()).unwrap_or_default();
        if key.starts_with(ATTRIBUTE) {
            attributes.push((key.to_owned(), extension.value_bytes().to_vec()));
        }
    }
    builder.append_pax_extensions(attributes.iter().map(|(key, value)| (key.as_str(), value.as_slice())))?;
    match entry.link_name()?.map(std::borrow::Cow::into_owned) {
        Some(target) => builder.append_link(&mut header, name, target),
        None => builder.append_data(&mut header, name, entry),
    }
}

/// Sends what is written, on a thread where that may block.
struct Pieces(mpsc::Sender<Result<Bytes>>);

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.blocking_send(Ok(Bytes::copy_from_slice(bytes)));
        let gone = |_| io::Error::other(Error::new(ErrorKind::Gone, "the sandbox no longer reads"));
        sent.map(|()| bytes.len()).map_err(gone)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
