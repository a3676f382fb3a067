//! Parts of a file, replaced only in the content that the caller knows.

use workden_core::{Backend, Before, ErrorKind, Version, text::Splice};

use crate::{
    Outcome,
    check::list_checks,
    reading::noise,
    typed::{at, holds, put},
    verdict::{equal, refused},
};

list_checks! { patching:
    splices_replace_parts_and_keep_the_rest,
    a_patch_says_what_was_there_and_what_is_now,
    a_patch_of_another_version_is_a_conflict,
    splices_that_do_not_fit_change_nothing,
}

fn splice(start: u64, end: u64, bytes: &str) -> Splice {
    Splice { start, end, bytes: bytes.into() }
}

/// At the start, in the middle, at the end, several, none; binary content too.
pub async fn splices_replace_parts_and_keep_the_rest(files: &dyn Backend) -> Outcome {
    let here = at(files, "/f").await?;
    for (splices, after) in [
        (vec![splice(0, 1, "A")], "Abc\0def\r\n"),
        (vec![splice(2, 5, "-")], "ab-ef\r\n"),
        (vec![splice(9, 9, "end")], "abc\0def\r\nend"),
        (vec![splice(3, 4, "")], "abcdef\r\n"),
        (vec![splice(0, 0, "<"), splice(0, 2, "x"), splice(2, 3, "yy"), splice(8, 9, ">")], "<xyy\0def\r>"),
        (vec![splice(0, 9, "")], ""),
        (vec![], "abc\0def\r\n"),
    ] {
        put(files, "/f", "abc\0def\r\n").await?;
        files.patch(&here, Version::of(b"abc\0def\r\n"), &splices).await?;
        holds(files, "/f", after).await?;
    }
    let mut large = noise();
    put(files, "/f", large.clone()).await?;
    files.patch(&here, Version::of(&large), &[splice(500_000, 500_007, "patched")]).await?;
    large[500_000..500_007].copy_from_slice(b"patched");
    holds(files, "/f", large).await
}

/// As a write does.
pub async fn a_patch_says_what_was_there_and_what_is_now(files: &dyn Backend) -> Outcome {
    put(files, "/d/f", "one").await?;
    let here = at(files, "/d/f").await?;
    let written = files.patch(&here, Version::of(b"one"), &[splice(0, 1, "O")]).await?;
    equal("the path", written.path.as_str(), "/d/f")?;
    equal("what was there", written.before, Before::File)?;
    equal("the version", written.version, Version::of(b"One"))
}

/// Nothing is patched that the caller has not seen.
pub async fn a_patch_of_another_version_is_a_conflict(files: &dyn Backend) -> Outcome {
    put(files, "/f", "one").await?;
    let here = at(files, "/f").await?;
    for (base, splices) in [("two", vec![splice(0, 1, "X")]), ("", vec![]), ("two", vec![splice(0, 99, "X")])] {
        let answer = files.patch(&here, Version::of(base.as_bytes()), &splices).await;
        refused("patch another version", answer, ErrorKind::Conflict)?;
        holds(files, "/f", "one").await?;
    }
    // Of two who have read the same, the second learns that the first was there.
    let base = Version::of(b"one");
    files.patch(&here, base, &[splice(0, 0, "1")]).await?;
    refused("patch a second time", files.patch(&here, base, &[splice(0, 0, "2")]).await, ErrorKind::Conflict)?;
    holds(files, "/f", "1one").await
}

/// Overlapping, out of order, backwards or past the end: `InvalidArgument`.
pub async fn splices_that_do_not_fit_change_nothing(files: &dyn Backend) -> Outcome {
    put(files, "/f", "abc").await?;
    let here = at(files, "/f").await?;
    for splices in [
        vec![splice(0, 4, "X")],
        vec![splice(4, 4, "X")],
        vec![splice(2, 1, "X")],
        vec![splice(1, 2, "X"), splice(0, 1, "Y")],
        vec![splice(0, 2, "X"), splice(1, 3, "Y")],
        vec![splice(u64::MAX, u64::MAX, "X")],
        vec![splice(0, u64::MAX, "X")],
    ] {
        let answer = files.patch(&here, Version::of(b"abc"), &splices).await;
        refused(format!("patch with {splices:?}"), answer, ErrorKind::InvalidArgument)?;
        holds(files, "/f", "abc").await?;
    }
    Ok(())
}
