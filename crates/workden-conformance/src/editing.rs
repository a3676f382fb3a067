//! Exact edits: one place, all places, or several edits at once, with every other byte kept.

use workden_core::{Backend, BackendExt, Error, ErrorKind, text::Replacement};

use crate::{
    Failure, Outcome,
    check::list_checks,
    typed::{holds, path, put},
    verdict::{equal, refused, says},
};

list_checks! { editing:
    a_text_that_stands_once_is_replaced,
    a_text_that_stands_more_often_is_ambiguous,
    every_place_is_replaced_when_all_are_meant,
    a_text_that_is_not_there_is_answered_with_the_nearest_lines,
    several_edits_are_applied_together_or_not_at_all,
    an_edit_keeps_every_byte_outside_it,
    a_file_of_crlf_lines_stays_one,
    what_cannot_be_edited_without_loss_is_refused,
    an_edit_must_say_what_to_replace,
}

/// Holds when an edit of `before` is refused and the file stays as it is.
async fn refuses(
    files: &dyn Backend,
    before: &'static [u8],
    edits: &[Replacement],
    kind: ErrorKind,
) -> Result<Error, Failure> {
    put(files, "/f", before).await?;
    let answer = files.edit(&path("/f")?, edits).await;
    let error = refused(format!("edit {:?} with {edits:?}", before.escape_ascii().to_string()), answer, kind)?;
    holds(files, "/f", before).await?;
    Ok(error)
}

/// The edit returns the number of replaced places.
pub async fn a_text_that_stands_once_is_replaced(files: &dyn Backend) -> Outcome {
    put(files, "/d/f", "one two three").await?;
    let replaced = files.edit(&path("/d/f")?, &[Replacement::once("two", "2")]).await?;
    holds(files, "/d/f", "one 2 three").await?;
    equal("how many places", replaced, 1)?;
    files.edit(&path("/d/f")?, &[Replacement::once(" 2", "")]).await?;
    holds(files, "/d/f", "one three").await
}

/// The error has the line numbers and a hint.
pub async fn a_text_that_stands_more_often_is_ambiguous(files: &dyn Backend) -> Outcome {
    let edit = [Replacement::once("x", "z")];
    let error = refuses(files, b"x\ny\nx\n", &edit, ErrorKind::Ambiguous).await?;
    says(&error, "found 2 times, at lines 1, 3")?;
    says(&error, "replace all")?;
    refuses(files, b"aaa", &[Replacement::once("aa", "b")], ErrorKind::Ambiguous).await.map(drop)
}

/// Matches are found from the start and do not overlap.
pub async fn every_place_is_replaced_when_all_are_meant(files: &dyn Backend) -> Outcome {
    put(files, "/f", "x\ny\nx\naaax").await?;
    equal("how many places", files.edit(&path("/f")?, &[Replacement::all("x", "xx")]).await?, 3)?;
    holds(files, "/f", "xx\ny\nxx\naaaxx").await?;
    files.edit(&path("/f")?, &[Replacement::all("aa", "b")]).await?;
    holds(files, "/f", "xx\ny\nxx\nbaxx").await?;
    refuses(files, b"abc", &[Replacement::all("x", "y")], ErrorKind::NoMatch).await.map(drop)
}

/// The error names the difference: indentation, trailing white space, quotes or line endings.
pub async fn a_text_that_is_not_there_is_answered_with_the_nearest_lines(files: &dyn Backend) -> Outcome {
    let contents: [(&[u8], &str, &str, &str); 5] = [
        (b"fn a() {\n    run();\n}\n", "fn a() {\n\trun();\n}", "     2\t    run();", "indentation"),
        (b"one  \ntwo\n", "one\ntwo", "     1\tone", "at the end of lines"),
        ("say \u{201c}hi\u{201d}\n".as_bytes(), "say \"hi\"", "line 1", "quotes"),
        (b"a\r\nb\nc\n", "a\nb", "lines 1 to 2", "CRLF"),
        (b"nothing here\n", "zzzzzzzzzz", "not found", "read the file again"),
    ];
    for (content, old, shown, why) in contents {
        let error = refuses(files, content, &[Replacement::once(old, "X")], ErrorKind::NoMatch).await?;
        says(&error, shown)?;
        says(&error, why)?;
    }
    Ok(())
}

/// Each edit works on the result of the previous one; the error names the failed edit.
pub async fn several_edits_are_applied_together_or_not_at_all(files: &dyn Backend) -> Outcome {
    let series = [Replacement::once("one", "two"), Replacement::once("two three", "four")];
    put(files, "/f", "one three\r\n").await?;
    equal("how many places", files.edit(&path("/f")?, &series).await?, 2)?;
    holds(files, "/f", "four\r\n").await?;
    let broken = [Replacement::once("one", "1"), Replacement::once("nope", "x")];
    says(&refuses(files, b"one three\r\n", &broken, ErrorKind::NoMatch).await?, "edit 2 of 2 (none was applied)")
}

/// Line endings, a byte-order mark, a missing final newline, Latin-1 and UTF-16 survive an edit.
pub async fn an_edit_keeps_every_byte_outside_it(files: &dyn Backend) -> Outcome {
    let contents: [(&[u8], &str, &str, &[u8]); 7] = [
        (b"a\r\nb\nc\rd", "b", "B", b"a\r\nB\nc\rd"),
        (b"a\nb\nc", "b", "", b"a\n\nc"),
        (b"\xEF\xBB\xBFhello", "hello", "bye", b"\xEF\xBB\xBFbye"),
        (b"caf\xE9 na\xEFve\r\n", "na\u{ef}ve", "\u{fc}ber", b"caf\xE9 \xFCber\r\n"),
        (b"\xFF\xFEa\0\r\0\n\0b\0", "a", "x", b"\xFF\xFEx\0\r\0\n\0b\0"),
        (b"\xFE\xFF\0a\0b", "b", "\u{e9}", b"\xFE\xFF\0a\0\xE9"),
        (b"", "", "new", b"new"),
    ];
    for (before, old, new, after) in contents {
        put(files, "/f", before).await?;
        files.edit(&path("/f")?, &[Replacement::once(old, new)]).await?;
        holds(files, "/f", after).await?;
    }
    Ok(())
}

/// A plain newline in an edit matches the line ending of the file.
pub async fn a_file_of_crlf_lines_stays_one(files: &dyn Backend) -> Outcome {
    for (old, new, after) in
        [("a\nb", "x\ny", "x\r\ny\r\nc\r\n"), ("b", "1\n2", "a\r\n1\r\n2\r\nc\r\n"), ("a\r\nb", "z", "z\r\nc\r\n")]
    {
        put(files, "/f", "a\r\nb\r\nc\r\n").await?;
        files.edit(&path("/f")?, &[Replacement::once(old, new)]).await?;
        holds(files, "/f", after).await?;
    }
    Ok(())
}

/// Binary content, half a UTF-16 unit, and characters missing from the file's encoding are refused.
pub async fn what_cannot_be_edited_without_loss_is_refused(files: &dyn Backend) -> Outcome {
    let contents: [(&[u8], &str); 3] = [(b"a\0b", "x"), (b"\xFF\xFEa\0b", "x"), (b"a caf\xE9", "\u{65e5}")];
    for (content, new) in contents {
        refuses(files, content, &[Replacement::once("a ", new)], ErrorKind::NotText).await?;
    }
    Ok(())
}

/// An empty old text in a non-empty file, and an empty list of edits, are refused.
pub async fn an_edit_must_say_what_to_replace(files: &dyn Backend) -> Outcome {
    refuses(files, b"abc", &[Replacement::once("", "x")], ErrorKind::InvalidArgument).await?;
    refuses(files, b"abc", &[], ErrorKind::InvalidArgument).await.map(drop)
}
