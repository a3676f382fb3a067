//! Changes to files in place: planned on the current content, and made only if that content is what the caller expects.

use workden_core::{
    Backend, BackendExt, ErrorKind, Expect, Refusal, Version, limits,
    text::{
        Change, HashlineEdit, Outcome as Effect, Replacement,
        hashline::{Placement, line_hash},
    },
};

use crate::{
    Outcome,
    check::list_checks,
    typed::{at, holds, is_unchanged, path, put, tree},
    verdict::{equal, refused},
};

list_checks! { changing:
    the_parts_that_are_named_change_and_the_rest_is_kept,
    a_change_says_where_it_was_and_what_it_did,
    a_change_to_the_same_is_a_change,
    a_change_of_the_expected_version_is_made,
    a_change_of_another_version_is_a_conflict,
    of_two_changes_of_one_version_the_second_is_a_conflict,
    what_is_to_be_absent_is_not_changed,
    a_change_makes_no_file,
    what_is_expected_is_looked_at_first,
    a_change_that_cannot_be_planned_changes_nothing,
    a_change_beyond_its_ceiling_is_too_large,
}

fn replace(old: &str, new: &str) -> Change {
    Change::Replace(vec![Replacement::once(old, new)])
}

fn line(start_line: u64, was: &str, new_content: &str) -> HashlineEdit {
    HashlineEdit::new(start_line, line_hash(was), new_content)
}

fn version(content: &str) -> Expect {
    Expect::Version(Version::of(content.as_bytes()))
}

/// Changes by text and by line reach the start, the middle and the end of a long file.
pub async fn the_parts_that_are_named_change_and_the_rest_is_kept(files: &dyn Backend) -> Outcome {
    let mut lines: Vec<String> = (0..20_000).map(|number| format!("line {number:05} \u{e9}t\u{e9}\r")).collect();
    lines[10_001] = "one ending that differs".to_owned();
    put(files, "/f", lines.join("\n")).await?;
    let file = path("/f")?;
    let parts = [("line 00000", "the start"), ("line 10000", ""), ("line 19999", "a longer end")];
    let change = Change::Replace(parts.iter().map(|(old, new)| Replacement::once(*old, *new)).collect());
    files.change_path(&file, &change, Expect::Anything).await?;
    for (number, (old, new)) in [0, 10_000, 19_999].into_iter().zip(parts) {
        lines[number] = lines[number].replace(old, new);
    }
    holds(files, "/f", lines.join("\n")).await?;
    let change = Change::Hashline(line(10_002, &lines[10_001], "by line"));
    files.change_path(&file, &change, Expect::Anything).await?;
    lines[10_001] = "by line".to_owned();
    holds(files, "/f", lines.join("\n")).await?;
    let change = Change::Replace(vec![Replacement::all("\u{e9}t\u{e9}", "summer")]);
    files.change_path(&file, &change, Expect::Anything).await?;
    holds(files, "/f", lines.join("\n").replace("\u{e9}t\u{e9}", "summer")).await
}

/// A change returns the path, the new version, and the number of replaced places or a summary of the changed lines.
pub async fn a_change_says_where_it_was_and_what_it_did(files: &dyn Backend) -> Outcome {
    let inserted = line(1, "one", "new").placement(Placement::InsertAfter);
    for (change, after, effect) in [
        (replace("one", "1"), "1\ntwo\ntwo\n", Effect::Replaced(1)),
        (Change::Replace(vec![Replacement::all("two", "2")]), "one\n2\n2\n", Effect::Replaced(2)),
        (Change::Hashline(line(1, "one", "1")), "1\ntwo\ntwo\n", Effect::Lines("Replaced 1 line(s) at line 1".into())),
        (Change::Hashline(inserted), "one\nnew\ntwo\ntwo\n", Effect::Lines("Inserted 1 line(s) after line 1".into())),
    ] {
        put(files, "/d/f", "one\ntwo\ntwo\n").await?;
        let changed = files.change(&at(files, "/d/f").await?, &change, Expect::Anything, limits::EDIT_BYTES).await?;
        equal("the path", changed.path.as_str(), "/d/f")?;
        equal("the version", changed.version, Version::of(after.as_bytes()))?;
        equal("what it did", changed.outcome, effect)?;
        holds(files, "/d/f", after).await?;
    }
    Ok(())
}

/// A replacement by the same text counts its places and keeps the version.
pub async fn a_change_to_the_same_is_a_change(files: &dyn Backend) -> Outcome {
    put(files, "/f", "one\n").await?;
    let here = at(files, "/f").await?;
    let changed = files.change(&here, &replace("one", "one"), version("one\n"), limits::EDIT_BYTES).await?;
    equal("the version", changed.version, Version::of(b"one\n"))?;
    equal("what it did", changed.outcome, Effect::Replaced(1))?;
    holds(files, "/f", "one\n").await
}

/// A change of the expected version returns the version to expect next.
pub async fn a_change_of_the_expected_version_is_made(files: &dyn Backend) -> Outcome {
    let mut expected = put(files, "/f", "a\nb\n").await?.version;
    let here = at(files, "/f").await?;
    for (change, after) in [
        (replace("a", "A"), "A\nb\n"),
        (Change::Hashline(line(2, "b", "B")), "A\nB\n"),
        (replace("A\nB\n", ""), ""),
        (replace("", "new"), "new"),
    ] {
        expected = files.change(&here, &change, Expect::Version(expected), limits::EDIT_BYTES).await?.version;
        holds(files, "/f", after).await?;
    }
    // A write accepts the version that a change returned.
    files.write(&here, "written".into(), Expect::Version(expected)).await?;
    holds(files, "/f", "written").await
}

/// A stale version is `Conflict` even if the change would fit the current content.
pub async fn a_change_of_another_version_is_a_conflict(files: &dyn Backend) -> Outcome {
    put(files, "/f", "one").await?;
    let here = at(files, "/f").await?;
    for change in [replace("one", "1"), Change::Hashline(line(1, "one", "1"))] {
        for stale in ["two", "", "one\n"] {
            let answer = files.change(&here, &change, version(stale), limits::EDIT_BYTES).await;
            refused(format!("change a version of {stale:?}"), answer, ErrorKind::Conflict)?;
            holds(files, "/f", "one").await?;
        }
    }
    Ok(())
}

/// The second writer gets `Conflict`; so does a writer that expects a version which was replaced.
pub async fn of_two_changes_of_one_version_the_second_is_a_conflict(files: &dyn Backend) -> Outcome {
    put(files, "/f", "one two").await?;
    let here = at(files, "/f").await?;
    files.change(&here, &replace("one", "1"), version("one two"), limits::EDIT_BYTES).await?;
    let second = files.change(&here, &replace("two", "2"), version("one two"), limits::EDIT_BYTES).await;
    refused("change a second time", second, ErrorKind::Conflict)?;
    holds(files, "/f", "1 two").await?;
    put(files, "/f", "two").await?;
    let stale = files.change(&here, &replace("two", "2"), version("1 two"), limits::EDIT_BYTES).await;
    refused("change what was written since", stale, ErrorKind::Conflict)?;
    holds(files, "/f", "two").await
}

/// `Expect::Absent` for a file that exists is `AlreadyExists`.
pub async fn what_is_to_be_absent_is_not_changed(files: &dyn Backend) -> Outcome {
    for (content, change) in [("one", replace("one", "1")), ("", replace("", "1"))] {
        put(files, "/f", content).await?;
        let answer = files.change(&at(files, "/f").await?, &change, Expect::Absent, limits::EDIT_BYTES).await;
        refused("change what is to be absent", answer, ErrorKind::AlreadyExists)?;
        holds(files, "/f", content).await?;
    }
    Ok(())
}

/// A change of a missing file is `NotFound`, whatever the caller expects, and makes no directory.
pub async fn a_change_makes_no_file(files: &dyn Backend) -> Outcome {
    put(files, "/d/g", "x").await?;
    let before = tree(files).await?;
    for typed in ["/f", "/d/f", "/new/deep/f"] {
        for expect in [Expect::Anything, Expect::Absent, version("")] {
            for change in [replace("", "new"), replace("x", "y"), Change::Hashline(line(1, "", "new"))] {
                let answer = files.change(&at(files, typed).await?, &change, expect, limits::EDIT_BYTES).await;
                refused(format!("change `{typed}`, {expect:?} expected"), answer, ErrorKind::NotFound)?;
            }
        }
    }
    is_unchanged(files, &before).await
}

/// The expectation is checked before the change: a caller with a stale version must read again, even if its change does
/// not fit.
pub async fn what_is_expected_is_looked_at_first(files: &dyn Backend) -> Outcome {
    put(files, "/f", "one").await?;
    put(files, "/binary", "a\0b").await?;
    let stale_line = Change::Hashline(line(9, "stale", "X"));
    for (typed, change) in [
        ("/f", replace("two", "2")),
        ("/f", stale_line),
        ("/f", Change::Replace(vec![])),
        ("/binary", replace("a", "")),
    ] {
        let here = at(files, typed).await?;
        let answer = files.change(&here, &change, version("two"), limits::EDIT_BYTES).await;
        refused(format!("{change:?} of another version"), answer, ErrorKind::Conflict)?;
        let answer = files.change(&here, &change, Expect::Absent, limits::EDIT_BYTES).await;
        refused(format!("{change:?} of what is to be absent"), answer, ErrorKind::AlreadyExists)?;
    }
    Ok(())
}

/// A failed change leaves no new file, directory or temporary name behind, even if a part of the change would fit.
pub async fn a_change_that_cannot_be_planned_changes_nothing(files: &dyn Backend) -> Outcome {
    put(files, "/d/f", "one\ntwo\ntwo\n").await?;
    put(files, "/d/binary", "a\0one").await?;
    let before = tree(files).await?;
    let series = |second| Change::Replace(vec![Replacement::once("one", "1"), second]);
    for (typed, change, kind) in [
        ("/d/f", replace("three", "3"), ErrorKind::NoMatch),
        ("/d/f", series(Replacement::once("three", "3")), ErrorKind::NoMatch),
        ("/d/f", series(Replacement::all("three", "3")), ErrorKind::NoMatch),
        ("/d/f", series(Replacement::once("two", "2")), ErrorKind::Ambiguous),
        ("/d/f", series(Replacement::once("", "2")), ErrorKind::InvalidArgument),
        ("/d/f", Change::Replace(vec![]), ErrorKind::InvalidArgument),
        ("/d/f", Change::Hashline(line(2, "stale", "2")), ErrorKind::Conflict),
        ("/d/f", Change::Hashline(line(4, "", "4")), ErrorKind::OutOfRange),
        ("/d/binary", replace("one", "1"), ErrorKind::NotText),
        ("/d/binary", Change::Hashline(line(1, "a\0one", "1")), ErrorKind::NotText),
    ] {
        let answer = files.change(&at(files, typed).await?, &change, Expect::Anything, limits::EDIT_BYTES).await;
        refused(format!("change `{typed}` by {change:?}"), answer, kind)?;
        is_unchanged(files, &before).await?;
    }
    Ok(())
}

/// The ceiling holds for the content before and after the change, for either kind of change; nothing is written.
pub async fn a_change_beyond_its_ceiling_is_too_large(files: &dyn Backend) -> Outcome {
    put(files, "/f", "one two\n").await?;
    let here = at(files, "/f").await?;
    let longer = Change::Hashline(HashlineEdit::new(1, line_hash("one two"), "one two three"));
    for (change, most, size) in
        [(replace("one", "seven"), 9, 10), (longer, 13, 14), (replace("one", "1"), 7, 8), (replace("one", ""), 0, 8)]
    {
        match files.change(&here, &change, Expect::Anything, most).await {
            Ok(changed) => return Err(crate::Failure::new(format!("beyond {most} bytes it answered {changed:?}"))),
            Err(error) => {
                equal("the kind of error", error.kind(), ErrorKind::TooLarge)?;
                let expected = Refusal::TooLarge { path: path("/f")?, size, limit: most };
                equal("the refusal as data", error.refusal(), Some(&expected))?;
            }
        }
        holds(files, "/f", "one two\n").await?;
    }
    files.change(&here, &replace("one", "seven"), Expect::Anything, 10).await?;
    holds(files, "/f", "seven two\n").await
}
