//! Copies files and directories from one backend to another.
//!
//! Invariant: nothing is written outside the destination, whatever the source claims. A listed name is used only if it
//! is one component below the listed directory; links are neither followed nor made; and a path of the destination that
//! leads through a link is refused.

use workden_core::{
    Backend, BackendExt, Content, Entry, EntryKind, Error, ErrorKind, Expect, Link, NameForm, Presence, Resolved,
    Result, Symlink, VirtualPath, escape::spell, search::ListRequest, show_size,
};

/// The most entries of one copy.
const MOST_ENTRIES: usize = 100_000;
/// The most bytes of one copy.
const MOST_BYTES: u64 = 16 << 30;

/// The source of a copy.
#[derive(Clone, Copy)]
pub(super) struct From<'b>(pub(super) &'b dyn Backend, pub(super) &'b VirtualPath);

/// The destination of a copy.
#[derive(Clone, Copy)]
pub(super) struct To<'b>(pub(super) &'b dyn Backend, pub(super) &'b VirtualPath);

/// Copies a file, or a directory with its content. Returns the paths that were left out: links, special files, and names
/// that are not UTF-8.
pub(super) async fn copy(from: From<'_>, to: To<'_>) -> Result<Vec<String>> {
    let mut copying = Copying { from: from.0, to: to.0, entries: 0, bytes: 0, left_out: Vec::new() };
    if from.0.entry(from.1).await?.is_dir() {
        copying.directories(from.1, to.1).await?;
    } else {
        copying.file(from.1, to.1).await?;
    }
    Ok(copying.left_out)
}

struct Copying<'b> {
    from: &'b dyn Backend,
    to: &'b dyn Backend,
    entries: usize,
    bytes: u64,
    left_out: Vec<String>,
}

impl Copying<'_> {
    async fn directories(&mut self, source: &VirtualPath, destination: &VirtualPath) -> Result<()> {
        let mut waiting = vec![(source.clone(), destination.clone())];
        while let Some((source, destination)) = waiting.pop() {
            let at = without_links(self.to, &destination).await?;
            self.to.make_dir(&at).await?;
            let room = MOST_ENTRIES - self.entries;
            let listing = self.from.list_path(&source, &ListRequest::default().keep(room)).await?;
            self.entries += listing.entries.len();
            if listing.left_out > 0 || self.entries > MOST_ENTRIES {
                return Err(too_large(&format!("{MOST_ENTRIES} entries")));
            }
            for entry in &listing.entries {
                let Some(name) = name_in(&source, entry) else {
                    self.left_out.push(shown(&entry.path));
                    continue;
                };
                let (source, destination) = (source.child(name)?, destination.child(name)?);
                match entry.kind {
                    EntryKind::Directory => waiting.push((source, destination)),
                    _ => self.file(&source, &destination).await?,
                }
            }
        }
        Ok(())
    }

    async fn file(&mut self, source: &VirtualPath, destination: &VirtualPath) -> Result<()> {
        let content = self.from.read_bytes(source).await?;
        self.bytes += content.len() as u64;
        if self.bytes > MOST_BYTES {
            return Err(too_large(&show_size(MOST_BYTES)));
        }
        let at = without_links(self.to, destination).await?;
        self.to.write(&at, Content::Whole(content), Expect::Anything).await.map(drop)
    }
}

/// Returns the name of an entry of this directory that can be copied.
fn name_in<'e>(directory: &VirtualPath, entry: &'e Entry) -> Option<&'e str> {
    let is_copied = matches!(entry.kind, EntryKind::File | EntryKind::Directory)
        && entry.link == Link::Direct
        && entry.name == NameForm::Exact;
    entry.path.name().filter(|_| is_copied && entry.path.parent().as_ref() == Some(directory))
}

/// Resolves a path of the destination, and refuses one that leads through a link: what it leads to is not the
/// destination.
async fn without_links(to: &dyn Backend, path: &VirtualPath) -> Result<Resolved> {
    let at = to.resolve(path, Symlink::Follow).await?;
    if at.real == *path {
        return Ok(at);
    }
    let sentence = format!("`{}` leads through a link, and is not written", shown(path));
    Err(Error::new(ErrorKind::InvalidPath, sentence).hint("remove the link, or use another destination"))
}

/// Whether the user named a directory as the destination, with a `/` at its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    Directory,
    FileOrDirectory,
}

/// Returns where a source of this name goes: into the destination if that is a directory, otherwise to it.
pub(super) async fn place(to: To<'_>, named: Named, name: Option<&str>) -> Result<VirtualPath> {
    let at = without_links(to.0, to.1).await?;
    let is_directory = match at.presence() {
        Presence::Present(entry) => entry.is_dir(),
        Presence::Absent => false,
        Presence::Unknown => to.0.stat(&at).await.is_ok_and(|entry| entry.is_dir()),
    };
    match (is_directory || named == Named::Directory, name) {
        (true, Some(name)) => to.1.child(name),
        _ => Ok(to.1.clone()),
    }
}

fn too_large(most: &str) -> Error {
    Error::new(ErrorKind::TooLarge, format!("the copy was stopped: it has more than {most}"))
        .hint("copy a part of it, or pack it in the session first")
}

/// Escapes a path: commands of the session choose the names.
pub(super) fn shown(path: &VirtualPath) -> String {
    let mut text = String::new();
    path.as_str().chars().for_each(|character| spell(&mut text, character));
    text
}

#[cfg(test)]
mod tests {
    use workden::files::{LocalBackend, memory};

    use super::*;

    fn path(text: &str) -> VirtualPath {
        VirtualPath::parse(text).unwrap()
    }

    fn in_runtime<T>(task: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(task)
    }

    #[test]
    fn a_name_counts_only_below_the_listed_directory() {
        let directory = path("/workspace/a");
        let entry = |at: &str| Entry::new(path(at), EntryKind::File);
        assert_eq!(name_in(&directory, &entry("/workspace/a/x")), Some("x"));
        for elsewhere in ["/workspace/x", "/workspace/a/b/x", "/", "/etc/passwd", "/workspace/a"] {
            assert_eq!(name_in(&directory, &entry(elsewhere)), None, "{elsewhere}");
        }
        for odd in [
            entry("/workspace/a/x").link(Link::Symbolic),
            entry("/workspace/a/x").name(NameForm::NotUtf8),
            Entry::new(path("/workspace/a/x"), EntryKind::Special),
            Entry::new(path("/workspace/a/x"), EntryKind::BrokenLink),
        ] {
            assert_eq!(name_in(&directory, &odd), None, "{odd:?}");
        }
    }

    #[test]
    fn links_at_the_destination_are_not_written_through() {
        in_runtime(async {
            let (outside, inside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            std::fs::create_dir(inside.path().join("kept")).unwrap();
            std::os::unix::fs::symlink(outside.path(), inside.path().join("out")).unwrap();
            std::os::unix::fs::symlink("kept", inside.path().join("near")).unwrap();
            std::os::unix::fs::symlink("kept/file", inside.path().join("file")).unwrap();
            let source = memory();
            source.write_path(&path("/d/file"), "new".into(), Expect::Anything).await.unwrap();
            let to = LocalBackend::open(inside.path()).unwrap();
            for (from, place) in
                [("/d", "/out"), ("/d", "/near"), ("/d", "/out/x"), ("/d/file", "/file"), ("/d/file", "/near/x")]
            {
                let copied = copy(From(&source, &path(from)), To(&to, &path(place))).await;
                assert!(copied.is_err(), "{place}");
            }
            assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
            assert_eq!(std::fs::read_dir(inside.path().join("kept")).unwrap().count(), 0);
            copy(From(&source, &path("/d")), To(&to, &path("/kept/d"))).await.unwrap();
            assert_eq!(std::fs::read_to_string(inside.path().join("kept/d/file")).unwrap(), "new");
        });
    }
}
