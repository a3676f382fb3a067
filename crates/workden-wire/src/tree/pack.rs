//! Packing a tree into an archive, piece by piece.

use std::sync::Arc;

use bytes::Bytes;
use tar::{EntryType, Header};
use workden_core::{
    Backend, ByteRange, Entry, EntryKind, Error, ErrorKind, Link, NameForm, Resolved, Result, Symlink, VirtualPath,
    search::ListRequest,
};

use super::TreeReport;
use crate::limits::TREE_PIECE_BYTES;

const BLOCK: u64 = 512;
/// Bytes of a name that fit in the first block of an entry.
const SHORT_NAME: usize = 100;

/// Packs a directory or a file into an archive. Names in the archive are relative to the directory.
///
/// Links are followed on the way to the requested path, and never below it: a directory that becomes a link meanwhile
/// is an error.
pub struct Packer {
    files: Arc<dyn Backend>,
    base: VirtualPath,
    /// The entries still to pack, the next one last.
    to_do: Vec<Waiting>,
    open: Option<OpenFile>,
    report: TreeReport,
    /// What may not be read; `None` if that is an error.
    refused: Option<u64>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Going,
    Over,
}

/// An entry to pack, and its name.
struct Waiting {
    at: Resolved,
    name: String,
    entry: Entry,
}

/// A partly packed file.
struct OpenFile {
    at: Resolved,
    done: u64,
    size: u64,
}

impl Packer {
    /// Creates a packer; it reads nothing yet.
    pub fn new(files: Arc<dyn Backend>, at: VirtualPath) -> Self {
        let (to_do, report) = (Vec::new(), TreeReport::default());
        Self { files, base: at, to_do, open: None, report, refused: None, state: State::New }
    }

    /// Skips and counts what may not be read, which is an error otherwise.
    #[must_use]
    pub fn skip_refused(mut self) -> Self {
        self.refused = Some(0);
        self
    }

    /// Returns how many names were skipped so far: links, special files, names that are not UTF-8, and what may not be
    /// read.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        let TreeReport { skipped_links, skipped_special, skipped_names, .. } = self.report;
        skipped_links + skipped_special + skipped_names + self.refused.unwrap_or(0)
    }

    /// Returns the report so far; it is complete after the last piece.
    #[must_use]
    pub fn report(&self) -> TreeReport {
        self.report
    }

    /// Returns the next piece of the archive; `None` after the last.
    ///
    /// # Errors
    ///
    /// Returns the errors of the calls that find and read files, `TooLarge` if the tree exceeds the limits, and
    /// `Conflict` if a file became shorter while it was read. The archive is then incomplete.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            if let Some(open) = self.open.take() {
                return self.go_on(open).await.map(Some);
            }
            match (self.state, self.to_do.pop()) {
                (State::New, _) => self.start().await?,
                (State::Going, Some(waiting)) => match self.pack(waiting).await {
                    Ok(Some(piece)) => return Ok(Some(piece)),
                    Ok(None) => {}
                    // The entry was removed after its directory was listed.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => match (&mut self.refused, error.kind()) {
                        (
                            Some(refused),
                            ErrorKind::Denied | ErrorKind::ApprovalNeeded | ErrorKind::PermissionDenied,
                        ) => {
                            *refused += 1;
                        }
                        _ => return Err(error),
                    },
                },
                (State::Going, None) => {
                    self.state = State::Over;
                    return Ok(Some(Bytes::from_static(&[0; 2 * BLOCK as usize])));
                }
                (State::Over, _) => return Ok(None),
            }
        }
    }

    async fn start(&mut self) -> Result<()> {
        let at = self.files.resolve(&self.base, Symlink::Follow).await?;
        let entry = self.files.stat(&at).await?;
        if entry.is_dir() {
            self.queue(&at, "").await?;
        } else if entry.is_file() {
            let name = self.base.components().next_back().unwrap_or_default().to_owned();
            self.to_do.push(Waiting { at, name, entry });
        } else {
            let at = &self.base;
            return Err(Error::new(
                ErrorKind::NotRegular,
                format!("cannot pack `{at}`: it is not a file or a directory"),
            ));
        }
        self.state = State::Going;
        Ok(())
    }

    /// Queues the entries of a directory, under names with this prefix.
    async fn queue(&mut self, at: &Resolved, prefix: &str) -> Result<()> {
        let listing = self.files.list(at, &ListRequest::default()).await?;
        if listing.left_out > 0 {
            let error = format!("cannot pack `{}`: it holds more than a listing shows", at.typed);
            return Err(Error::new(ErrorKind::TooLarge, error).hint("take parts of it"));
        }
        for entry in listing.entries.into_iter().rev() {
            let last = entry.path.components().next_back().unwrap_or_default();
            let typed = VirtualPath::parse_from(&at.typed, last)?;
            let real = VirtualPath::parse_from(&at.real, last)?;
            self.to_do.push(Waiting { at: Resolved::new(typed, real), name: format!("{prefix}{last}"), entry });
        }
        Ok(())
    }

    async fn pack(&mut self, Waiting { at, name, entry }: Waiting) -> Result<Option<Bytes>> {
        let passed_over = match (entry.name, entry.link, entry.kind) {
            (NameForm::NotUtf8, ..) => &mut self.report.skipped_names,
            (_, Link::Symbolic, _) | (.., EntryKind::BrokenLink) => &mut self.report.skipped_links,
            (.., EntryKind::Special) => &mut self.report.skipped_special,
            (.., EntryKind::File) => return self.begin(at, &name).await.map(Some),
            (.., EntryKind::Directory) => {
                let name = format!("{name}/");
                self.queue(&at, &name).await?;
                self.report.add_directory()?;
                return Ok(Some(head(&name, EntryType::Directory, 0)?.into()));
            }
        };
        *passed_over += 1;
        self.report.within_entries().map(|()| None)
    }

    /// Returns the head of a file and the start of its content.
    async fn begin(&mut self, at: Resolved, name: &str) -> Result<Bytes> {
        let part = self.files.read(&at, ByteRange::Part { offset: 0, length: TREE_PIECE_BYTES }).await?;
        self.report.add_file(&at.typed, part.size)?;
        let mut piece = head(name, EntryType::Regular, part.size)?;
        piece.extend_from_slice(&part.bytes);
        let open = OpenFile { at, done: part.bytes.len() as u64, size: part.size };
        self.close_or_keep(open, &mut piece);
        Ok(piece.into())
    }

    /// Returns the next part of a file's content.
    async fn go_on(&mut self, mut open: OpenFile) -> Result<Bytes> {
        let length = (open.size - open.done).min(TREE_PIECE_BYTES);
        let part = self.files.read(&open.at, ByteRange::Part { offset: open.done, length }).await?;
        if part.bytes.is_empty() {
            return Err(Error::conflict("pack", &open.at.typed));
        }
        open.done += part.bytes.len() as u64;
        if open.done < open.size || open.size.is_multiple_of(BLOCK) {
            self.close_or_keep(open, &mut Vec::new());
            return Ok(part.bytes);
        }
        let mut piece = part.bytes.to_vec();
        self.close_or_keep(open, &mut piece);
        Ok(piece.into())
    }

    /// Pads the last block of a finished file.
    fn close_or_keep(&mut self, open: OpenFile, piece: &mut Vec<u8>) {
        if open.done < open.size {
            self.open = Some(open);
            return;
        }
        let filling = (BLOCK - open.size % BLOCK) % BLOCK;
        piece.resize(piece.len() + filling as usize, 0);
    }
}

/// Returns the blocks before the content of an entry; a long name has additional blocks.
fn head(name: &str, kind: EntryType, size: u64) -> Result<Vec<u8>> {
    let mut blocks = Vec::new();
    if name.len() > SHORT_NAME {
        let long = name.len() as u64 + 1;
        blocks.extend_from_slice(block("././@LongLink", EntryType::GNULongName, long)?.as_bytes());
        blocks.extend_from_slice(name.as_bytes());
        blocks.resize(blocks.len() + 1 + ((BLOCK - long % BLOCK) % BLOCK) as usize, 0);
    }
    let mut end = name.len().min(SHORT_NAME);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    blocks.extend_from_slice(block(&name[..end], kind, size)?.as_bytes());
    Ok(blocks)
}

fn block(name: &str, kind: EntryType, size: u64) -> Result<Header> {
    let mut header = Header::new_gnu();
    let Some(gnu) = header.as_gnu_mut() else {
        return Err(Error::new(ErrorKind::Io, "an archive of the wrong kind"));
    };
    // Not `set_path`, which rejects names that are legal here.
    gnu.name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_size(size);
    header.set_entry_type(kind);
    header.set_mode(if kind == EntryType::Directory { 0o755 } else { 0o644 });
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_cksum();
    Ok(header)
}
