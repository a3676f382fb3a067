//! Lines named by number and hash: shown in that form, and edited only while the hash fits.

use workden_core::{
    Backend, BackendExt, ErrorKind,
    text::{
        HashlineEdit,
        hashline::{Placement, line_hash},
    },
};

use crate::{
    Outcome,
    check::list_checks,
    typed::{holds, path, put},
    verdict::{equal, refused, says},
};

list_checks! { hashlines:
    lines_are_shown_with_number_and_hash,
    lines_are_replaced_added_and_deleted_by_hash,
    a_hash_that_does_not_fit_changes_nothing,
    a_hashline_edit_keeps_encoding_and_line_endings,
}

fn edit(start_line: u64, was: &str, new_content: &str) -> HashlineEdit {
    HashlineEdit::new(start_line, line_hash(was), new_content)
}

/// Lines are shown as `number:hash|line`, with the footer of a numbered read; an empty file has one line to name.
pub async fn lines_are_shown_with_number_and_hash(files: &dyn Backend) -> Outcome {
    put(files, "/f", "a\n\nb\n").await?;
    put(files, "/empty", "").await?;
    equal("all lines", files.read_hashlines(&path("/f")?, 0, 10).await?.text, "1:0c|a\n2:d4|\n3:92|b")?;
    equal("one line", files.read_hashlines(&path("/f")?, 1, 1).await?.text, "2:d4|\n\n... (1 more lines)")?;
    equal("an empty file", files.read_hashlines(&path("/empty")?, 0, 10).await?.text, "1:d4|")?;
    refused("past the end", files.read_hashlines(&path("/f")?, 3, 1).await, ErrorKind::OutOfRange).map(drop)
}

/// The summary describes the change.
pub async fn lines_are_replaced_added_and_deleted_by_hash(files: &dyn Backend) -> Outcome {
    let range = edit(2, "b", "X").end_line(3).end_hash(line_hash("c"));
    let added = edit(1, "a", "X\nY").placement(Placement::InsertAfter);
    for (change, after, summary) in [
        (edit(2, "b", "X"), "a\nX\nc\n", "Replaced 1 line(s) at line 2"),
        (edit(2, "b", ""), "a\nc\n", "Deleted 1 line(s) at line 2"),
        (range, "a\nX\n", "Replaced 2 line(s) with 1 line(s) at line 2"),
        (added, "a\nX\nY\nb\nc\n", "Inserted 2 line(s) after line 1"),
    ] {
        put(files, "/f", "a\nb\nc\n").await?;
        equal("the summary", files.hashline_edit(&path("/f")?, &change).await?, summary)?;
        holds(files, "/f", after).await?;
    }
    Ok(())
}

/// A stale hash at the start, at the end or inside a range is `Conflict`; a missing line is `OutOfRange`.
pub async fn a_hash_that_does_not_fit_changes_nothing(files: &dyn Backend) -> Outcome {
    put(files, "/f", "a\nb\nc\n").await?;
    let stale_end = edit(1, "a", "X").end_line(3).end_hash(line_hash("z"));
    let hashes = ["a", "z", "c"].map(line_hash).to_vec();
    let stale_inside = edit(1, "a", "X").end_line(3).range_hashes(hashes);
    for (change, kind, words) in [
        (edit(2, "z", "X"), ErrorKind::Conflict, "Hash mismatch at line 2"),
        (stale_end, ErrorKind::Conflict, "Hash mismatch at line 3"),
        (stale_inside, ErrorKind::Conflict, "Hash mismatch at line 2"),
        (edit(4, "", "X"), ErrorKind::OutOfRange, "Line 4 out of range (file has 3 lines)"),
        (edit(0, "a", "X"), ErrorKind::OutOfRange, "Line 0 out of range"),
        (edit(2, "b", "X").end_line(1), ErrorKind::InvalidArgument, "end_line (1)"),
    ] {
        says(&refused(words, files.hashline_edit(&path("/f")?, &change).await, kind)?, words)?;
        holds(files, "/f", "a\nb\nc\n").await?;
    }
    Ok(())
}

/// New lines get the line endings and the encoding of the file.
pub async fn a_hashline_edit_keeps_encoding_and_line_endings(files: &dyn Backend) -> Outcome {
    let contents: [(&[u8], HashlineEdit, &[u8]); 4] = [
        (b"a\r\nb\r\n", edit(2, "b\r", "X\nY"), b"a\r\nX\r\nY\r\n"),
        (b"\xEF\xBB\xBFa\nb", edit(1, "a", "X"), b"\xEF\xBB\xBFX\nb"),
        (b"\xFF\xFEa\0\n\0b\0", edit(2, "b", "\u{e9}"), b"\xFF\xFEa\0\n\0\xE9\0"),
        (b"caf\xE9 au lait\nb", edit(2, "b", "th\u{e9}"), b"caf\xE9 au lait\nth\xE9"),
    ];
    for (before, change, after) in contents {
        put(files, "/f", before).await?;
        files.hashline_edit(&path("/f")?, &change).await?;
        holds(files, "/f", after).await?;
    }
    Ok(())
}
