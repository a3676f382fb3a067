//! Short forms, by typed path, of the calls that many checks make.

use bytes::Bytes;
use workden_core::{
    Backend, BackendExt, EntryKind, ErrorKind, Expect, Resolved, Symlink, VirtualPath, Written,
    search::{Globbed, Grepped, LineRole, ListRequest, Listing},
};

use crate::{
    Failure, Outcome,
    verdict::{ensure, equal},
};

/// Parses the path that a check names.
pub(crate) fn path(typed: &str) -> Result<VirtualPath, Failure> {
    Ok(VirtualPath::parse(typed)?)
}

/// Resolves a typed path.
pub(crate) async fn at(files: &dyn Backend, typed: &str) -> Result<Resolved, Failure> {
    Ok(files.resolve(&path(typed)?, Symlink::Follow).await?)
}

/// Resolves a typed path without following a link at its end, as for removing and renaming.
pub(crate) async fn at_itself(files: &dyn Backend, typed: &str) -> Result<Resolved, Failure> {
    Ok(files.resolve(&path(typed)?, Symlink::NoFollow).await?)
}

/// Writes a file and replaces an existing one.
pub(crate) async fn put(
    files: &dyn Backend,
    typed: &str,
    content: impl Into<Bytes> + Send,
) -> Result<Written, Failure> {
    Ok(files.write_path(&path(typed)?, content.into(), Expect::Anything).await?)
}

/// Writes files in the given order.
pub(crate) async fn put_all(files: &dyn Backend, contents: &[(&str, &'static str)]) -> Outcome {
    for (typed, content) in contents {
        put(files, typed, *content).await?;
    }
    Ok(())
}

/// Makes a directory.
pub(crate) async fn make(files: &dyn Backend, typed: &str) -> Outcome {
    Ok(files.make_dir_path(&path(typed)?).await?)
}

/// Returns the content of a file.
pub(crate) async fn content(files: &dyn Backend, typed: &str) -> Result<Bytes, Failure> {
    Ok(files.read_bytes(&path(typed)?).await?)
}

/// Holds when the file exists and has this content.
pub(crate) async fn holds(files: &dyn Backend, typed: &str, expected: impl AsRef<[u8]> + Send) -> Outcome {
    let seen = content(files, typed).await?;
    let expected = Bytes::copy_from_slice(expected.as_ref());
    equal(format!("the content of `{typed}`"), seen, expected)
}

/// Returns the kind of the entry; `None` if the path is missing.
pub(crate) async fn kind(files: &dyn Backend, typed: &str) -> Result<Option<EntryKind>, Failure> {
    match files.entry(&path(typed)?).await {
        Ok(entry) => Ok(Some(entry.kind)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Holds when the path is missing.
pub(crate) async fn is_absent(files: &dyn Backend, typed: &str) -> Outcome {
    equal(format!("what is at `{typed}`"), kind(files, typed).await?, None::<EntryKind>)
}

/// Holds when the path is a directory.
pub(crate) async fn is_directory(files: &dyn Backend, typed: &str) -> Outcome {
    equal(format!("what is at `{typed}`"), kind(files, typed).await?, Some(EntryKind::Directory))
}

/// Returns a whole listing.
pub(crate) async fn listing(files: &dyn Backend, typed: &str) -> Result<Listing, Failure> {
    Ok(files.list_path(&path(typed)?, &ListRequest::default()).await?)
}

/// Returns the paths of a listing, in its order.
pub(crate) async fn listed(files: &dyn Backend, typed: &str) -> Result<Vec<String>, Failure> {
    Ok(listing(files, typed).await?.entries.iter().map(|entry| entry.path.to_string()).collect())
}

/// Returns the paths of a glob, sorted by path, since other checks cover the order by time.
pub(crate) fn paths_of(found: &Globbed) -> Vec<String> {
    let mut paths: Vec<_> = found.entries.iter().map(|entry| entry.path.clone()).collect();
    paths.sort();
    paths.iter().map(ToString::to_string).collect()
}

/// Returns the paths of the files that a grep found, in its order.
pub(crate) fn files_of(found: &Grepped) -> Vec<&str> {
    found.files.iter().map(|file| file.path.as_str()).collect()
}

/// Formats the lines of a grep as `path:number:text`, with `-` for context.
pub(crate) fn lines_of(found: &Grepped) -> Vec<String> {
    let shown = found.files.iter().flat_map(|file| {
        file.lines.iter().map(|line| {
            let mark = if line.role == LineRole::Match { ':' } else { '-' };
            format!("{}{mark}{}{mark}{}", file.path, line.number, line.text)
        })
    });
    shown.collect()
}

/// Returns every file and directory with its content, for a later comparison.
pub(crate) async fn tree(files: &dyn Backend) -> Result<Vec<(String, Option<Bytes>)>, Failure> {
    let mut seen = Vec::new();
    let mut open = vec!["/".to_owned()];
    while let Some(directory) = open.pop() {
        for entry in listing(files, &directory).await?.entries {
            let typed = entry.path.to_string();
            match entry.kind {
                EntryKind::Directory => {
                    seen.push((typed.clone(), None));
                    open.push(typed);
                }
                _ => {
                    let bytes = content(files, &typed).await?;
                    seen.push((typed, Some(bytes)));
                }
            }
            ensure(seen.len() < 10_000, "listings go on without end")?;
        }
    }
    seen.sort();
    Ok(seen)
}

/// Holds when every file and directory is the same as in `before`, taken with [`tree`].
pub(crate) async fn is_unchanged(files: &dyn Backend, before: &[(String, Option<Bytes>)]) -> Outcome {
    equal("all files after a call that should change nothing", tree(files).await?, before.to_vec())
}
