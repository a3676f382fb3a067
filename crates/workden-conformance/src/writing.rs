//! Writing whole files: new or replaced, and only if the current content is what the writer expects.

use workden_core::{Backend, ErrorKind, Expect, Replaced, Version};

use crate::{
    Outcome,
    check::list_checks,
    typed::{at, content, holds, is_absent, is_directory, is_unchanged, listed, make, put, tree},
    verdict::{equal, refused},
};

list_checks! { writing:
    a_file_is_made_with_the_directories_above_it,
    a_file_is_replaced_as_a_whole,
    a_write_says_what_was_there_and_what_is_now,
    a_version_is_that_of_the_content,
    absent_means_that_nothing_may_be_there,
    a_version_means_that_very_content,
    a_version_of_nothing_is_not_found,
    a_refused_write_leaves_nothing_behind,
}

/// All missing parent directories are made.
pub async fn a_file_is_made_with_the_directories_above_it(files: &dyn Backend) -> Outcome {
    put(files, "/a/b/c/f", "x").await?;
    holds(files, "/a/b/c/f", "x").await?;
    for typed in ["/a", "/a/b", "/a/b/c"] {
        is_directory(files, typed).await?;
    }
    put(files, "/a/b/g", "y").await?;
    holds(files, "/a/b/c/f", "x").await
}

/// A shorter content leaves nothing of the longer one behind.
pub async fn a_file_is_replaced_as_a_whole(files: &dyn Backend) -> Outcome {
    for content in ["a longer content\n", "short", "", "longer again"] {
        put(files, "/f", content).await?;
        holds(files, "/f", content).await?;
    }
    equal("the files there are", listed(files, "/").await?, ["/f"])
}

/// A write returns the path, the version, and whether it replaced a file.
pub async fn a_write_says_what_was_there_and_what_is_now(files: &dyn Backend) -> Outcome {
    let first = put(files, "/d/f", "one").await?;
    equal("the path of a first write", first.path.as_str(), "/d/f")?;
    equal("what was there before it", first.replaced, Replaced::Nothing)?;
    equal("its version", first.version, Version::of(b"one"))?;
    let second = put(files, "/d/f", "two").await?;
    equal("what was there before the second", second.replaced, Replaced::File)?;
    equal("the version of the second", second.version, Version::of(b"two"))?;
    let same = put(files, "/d/f", "two").await?;
    equal("what was there before the same again", same.replaced, Replaced::File)
}

/// The version depends only on the bytes, not on the path or the time.
pub async fn a_version_is_that_of_the_content(files: &dyn Backend) -> Outcome {
    for (typed, text) in [("/a", ""), ("/b", "x"), ("/c", "x"), ("/b", "y"), ("/b", "x")] {
        let written = put(files, typed, text).await?;
        equal("the version", written.version, Version::of(&content(files, typed).await?))?;
        equal("the version", written.version, Version::of(text.as_bytes()))?;
    }
    // A file whose earlier content was restored has its earlier version again.
    let over = Expect::Version(Version::of(b"x"));
    files.write(&at(files, "/b").await?, "z".into(), over).await?;
    holds(files, "/b", "z").await
}

/// An existing file is `AlreadyExists` and stays as it is.
pub async fn absent_means_that_nothing_may_be_there(files: &dyn Backend) -> Outcome {
    let here = at(files, "/d/f").await?;
    let written = files.write(&here, "one".into(), Expect::Absent).await?;
    equal("what was there", written.replaced, Replaced::Nothing)?;
    for content in ["two", "one", ""] {
        let answer = files.write(&here, content.into(), Expect::Absent).await;
        refused("write where something is", answer, ErrorKind::AlreadyExists)?;
        holds(files, "/d/f", "one").await?;
    }
    Ok(())
}

/// A file with any other content is `Conflict` and stays as it is.
pub async fn a_version_means_that_very_content(files: &dyn Backend) -> Outcome {
    put(files, "/f", "one").await?;
    let here = at(files, "/f").await?;
    for stale in [&b"two"[..], b"", b"one\n"] {
        let answer = files.write(&here, "new".into(), Expect::Version(Version::of(stale))).await;
        refused("write over another version", answer, ErrorKind::Conflict)?;
        holds(files, "/f", "one").await?;
    }
    for (before, after) in [("one", "two"), ("two", ""), ("", "three")] {
        let expect = Expect::Version(Version::of(before.as_bytes()));
        let written = files.write(&here, after.into(), expect).await?;
        equal("what was there", written.replaced, Replaced::File)?;
        holds(files, "/f", after).await?;
    }
    Ok(())
}

/// A version for a missing file is `NotFound`, even the version of empty content, and no directory is made.
pub async fn a_version_of_nothing_is_not_found(files: &dyn Backend) -> Outcome {
    for typed in ["/f", "/new/f"] {
        let answer = files.write(&at(files, typed).await?, "x".into(), Expect::Version(Version::of(b""))).await;
        refused(format!("write over a version of `{typed}`"), answer, ErrorKind::NotFound)?;
        is_absent(files, typed).await?;
    }
    is_absent(files, "/new").await
}

/// A refused write leaves no new file, directory or temporary name.
pub async fn a_refused_write_leaves_nothing_behind(files: &dyn Backend) -> Outcome {
    make(files, "/d/sub").await?;
    put(files, "/d/f", "one").await?;
    let before = tree(files).await?;
    let (file, directory) = (at(files, "/d/f").await?, at(files, "/d/sub").await?);
    refused("absent", files.write(&file, "x".into(), Expect::Absent).await, ErrorKind::AlreadyExists)?;
    let stale = Expect::Version(Version::of(b"other"));
    refused("stale", files.write(&file, "x".into(), stale).await, ErrorKind::Conflict)?;
    refused("a directory", files.write(&directory, "x".into(), Expect::Anything).await, ErrorKind::IsDirectory)?;
    is_unchanged(files, &before).await
}
