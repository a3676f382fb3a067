//! Missing paths, a directory in place of a file, and a file in place of a directory: every call returns the error kind
//! that the contract names, and changes nothing.

use workden_core::{
    Backend, BackendExt, ByteRange, ErrorKind, Expect, IfExists, Removal, Result, Symlink, Version, limits,
    search::{GlobRequest, GrepRequest, ListRequest},
    text::{Change, Replacement, TextWindow},
};

use crate::{
    Failure, Outcome,
    check::list_checks,
    typed::{at, at_itself, is_unchanged, make, path, put, tree},
    verdict::{equal, refused, says},
};

list_checks! { confusions:
    every_call_on_something_missing_says_so,
    every_call_through_a_file_says_that_it_is_no_directory,
    nothing_is_created_below_a_file,
    every_call_that_wants_a_file_refuses_a_directory,
    every_call_that_wants_a_directory_refuses_a_file,
    an_error_names_the_path,
}

/// Returns the error kind of every call that needs an existing path. If the backend refuses to resolve the path, that
/// error stands for all of them.
async fn answers(files: &dyn Backend, typed: &str) -> Result<Vec<(&'static str, Option<ErrorKind>)>, Failure> {
    let (here, itself) = match (
        files.resolve(&path(typed)?, Symlink::Follow).await,
        files.resolve(&path(typed)?, Symlink::NoFollow).await,
    ) {
        (Ok(here), Ok(itself)) => (here, itself),
        (Err(error), _) | (_, Err(error)) => return Ok(vec![("resolve", Some(error.kind()))]),
    };
    let target = at_itself(files, "/target").await?;
    let version = Version::of(b"x");
    let change = Change::Replace(vec![Replacement::once("x", "y")]);
    let kind = |error: workden_core::Error| error.kind();
    Ok(vec![
        ("stat", files.stat(&here).await.err().map(kind)),
        ("list", files.list(&here, &ListRequest::default()).await.err().map(kind)),
        ("read", files.read(&here, ByteRange::whole()).await.err().map(kind)),
        ("read a part", files.read(&here, ByteRange::Part { offset: 0, length: 0 }).await.err().map(kind)),
        ("read lines", files.read_text(&here, TextWindow::lines(0, 1)).await.err().map(kind)),
        ("read characters", files.read_text(&here, TextWindow::chars(0, 1)).await.err().map(kind)),
        ("write over a version", files.write(&here, "y".into(), Expect::Version(version)).await.err().map(kind)),
        ("change", files.change(&here, &change, Expect::Anything, limits::EDIT_BYTES).await.err().map(kind)),
        (
            "change a version",
            files.change(&here, &change, Expect::Version(version), limits::EDIT_BYTES).await.err().map(kind),
        ),
        (
            "change what is absent",
            files.change(&here, &change, Expect::Absent, limits::EDIT_BYTES).await.err().map(kind),
        ),
        ("edit", files.edit(&here.typed, &[Replacement::once("x", "y")]).await.err().map(kind)),
        ("remove", files.remove(&itself, Removal::One).await.err().map(kind)),
        ("remove a tree", files.remove(&itself, Removal::Tree).await.err().map(kind)),
        ("rename", files.rename(&itself, &target, IfExists::Refuse).await.err().map(kind)),
        ("copy", files.copy(&here, &target, IfExists::Refuse).await.err().map(kind)),
        ("glob", files.glob(&here, &GlobRequest::new("*")).await.err().map(kind)),
        ("grep", files.grep(&here, &GrepRequest::regex("x")).await.err().map(kind)),
    ])
}

async fn all_answer(files: &dyn Backend, typed: &str, kind: ErrorKind) -> Outcome {
    for (call, answer) in answers(files, typed).await? {
        equal(format!("the answer of {call} at `{typed}`"), answer, Some(kind))?;
    }
    Ok(())
}

/// Every call is `NotFound`, whether the name or its parent directory is missing.
pub async fn every_call_on_something_missing_says_so(files: &dyn Backend) -> Outcome {
    put(files, "/d/f", "x").await?;
    let before = tree(files).await?;
    for typed in ["/missing", "/d/missing", "/missing/deep/er"] {
        all_answer(files, typed, ErrorKind::NotFound).await?;
    }
    is_unchanged(files, &before).await
}

/// Every call on `/f/x`, where `/f` is a file, is `NotDirectory`.
pub async fn every_call_through_a_file_says_that_it_is_no_directory(files: &dyn Backend) -> Outcome {
    put(files, "/f", "x").await?;
    let before = tree(files).await?;
    for typed in ["/f/x", "/f/x/y"] {
        all_answer(files, typed, ErrorKind::NotDirectory).await?;
    }
    is_unchanged(files, &before).await
}

/// Writing, making, moving and copying to a place below a file are `NotDirectory`.
pub async fn nothing_is_created_below_a_file(files: &dyn Backend) -> Outcome {
    put(files, "/f", "x").await?;
    put(files, "/g", "y").await?;
    let before = tree(files).await?;
    let from = path("/g")?;
    for typed in ["/f/x", "/f/x/y"] {
        let to = path(typed)?;
        for expect in [Expect::Anything, Expect::Absent] {
            let answer = files.write_path(&to, "z".into(), expect).await;
            refused(format!("write `{typed}`"), answer, ErrorKind::NotDirectory)?;
        }
        refused(format!("make `{typed}`"), files.make_dir_path(&to).await, ErrorKind::NotDirectory)?;
        let moved = files.move_path(&from, &to, IfExists::Refuse).await;
        refused(format!("move to `{typed}`"), moved, ErrorKind::NotDirectory)?;
        let copied = files.copy_path(&from, &to, IfExists::Refuse).await;
        refused(format!("copy to `{typed}`"), copied, ErrorKind::NotDirectory)?;
    }
    is_unchanged(files, &before).await
}

/// Reading, writing, changing and copying a directory, the root included, are `IsDirectory`.
pub async fn every_call_that_wants_a_file_refuses_a_directory(files: &dyn Backend) -> Outcome {
    make(files, "/d").await?;
    put(files, "/f", "x").await?;
    let before = tree(files).await?;
    let kind = ErrorKind::IsDirectory;
    let change = Change::Replace(vec![Replacement::once("x", "y")]);
    for typed in ["/d", "/"] {
        let (here, file) = (at(files, typed).await?, at(files, "/f").await?);
        let what = |call| format!("{call} `{typed}`");
        refused(what("read"), files.read(&here, ByteRange::whole()).await, kind)?;
        refused(what("read a part of"), files.read(&here, ByteRange::Part { offset: 0, length: 1 }).await, kind)?;
        refused(what("read text of"), files.read_text(&here, TextWindow::lines(0, 1)).await, kind)?;
        for expect in [Expect::Anything, Expect::Absent, Expect::Version(Version::of(b""))] {
            refused(what("write"), files.write(&here, "y".into(), expect).await, kind)?;
            refused(what("change"), files.change(&here, &change, expect, limits::EDIT_BYTES).await, kind)?;
        }
        refused(what("edit"), files.edit(&here.typed, &[Replacement::once("x", "y")]).await, kind)?;
        for if_exists in [IfExists::Refuse, IfExists::Replace] {
            let target = at(files, "/target").await?;
            refused(what("copy"), files.copy(&here, &target, if_exists).await, kind)?;
            refused(what("copy to"), files.copy(&file, &here, if_exists).await, kind)?;
        }
    }
    is_unchanged(files, &before).await
}

/// Listing and globbing a file are `NotDirectory`; making a directory of it is `AlreadyExists`.
pub async fn every_call_that_wants_a_directory_refuses_a_file(files: &dyn Backend) -> Outcome {
    put(files, "/f", "x").await?;
    let before = tree(files).await?;
    let here = at(files, "/f").await?;
    refused("list a file", files.list(&here, &ListRequest::default()).await, ErrorKind::NotDirectory)?;
    refused("glob in a file", files.glob(&here, &GlobRequest::new("**")).await, ErrorKind::NotDirectory)?;
    refused("make a directory of a file", files.make_dir(&here).await, ErrorKind::AlreadyExists)?;
    is_unchanged(files, &before).await
}

/// An error names the path as the agent knows it.
pub async fn an_error_names_the_path(files: &dyn Backend) -> Outcome {
    put(files, "/d/f", "x").await?;
    let missing = path("/d/mis sing")?;
    says(&refused("stat", files.entry(&missing).await, ErrorKind::NotFound)?, "`/d/mis sing`")?;
    says(&refused("read", files.read_bytes(&missing).await, ErrorKind::NotFound)?, "`/d/mis sing`")?;
    let written = files.write_path(&path("/d")?, "y".into(), Expect::Anything).await;
    says(&refused("write", written, ErrorKind::IsDirectory)?, "`/d`")?;
    let written = files.write_path(&path("/d/f")?, "y".into(), Expect::Absent).await;
    says(&refused("write", written, ErrorKind::AlreadyExists)?, "`/d/f`")?;
    let removed = files.remove_path(&path("/d")?, Removal::One).await;
    says(&refused("remove", removed, ErrorKind::NotEmpty)?, "`/d`").map(drop)
}
