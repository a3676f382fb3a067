//! Windows of text: numbered lines, characters, encodings and the ceilings.

use workden_core::{
    Backend, BackendExt, ErrorKind, Version, limits,
    text::{Cut, Excerpt, Extent, TextWindow},
};

use crate::{
    Failure, Outcome,
    check::list_checks,
    typed::{at, path, put},
    verdict::{ensure, equal, refused, says},
};

list_checks! { text_windows:
    lines_are_numbered_in_six_columns,
    a_footer_says_how_many_lines_are_left,
    an_empty_file_reads_as_empty,
    lines_past_the_end_are_out_of_range,
    a_window_of_lines_keeps_their_endings,
    a_read_ends_at_the_ceiling_and_says_how_to_go_on,
    a_line_beyond_the_ceiling_is_shown_in_part,
    a_ceiling_of_the_callers_ends_after_a_whole_line,
    a_window_of_characters_counts_characters,
    other_encodings_are_decoded,
    binary_content_is_not_read_as_text,
    a_window_has_the_version_of_the_whole,
}

async fn window(files: &dyn Backend, typed: &str, window: TextWindow) -> Result<Excerpt, Failure> {
    Ok(files.read_text(&at(files, typed).await?, window).await?)
}

/// A line shows its number right-aligned to six columns, a tab, and its text without the ending.
pub async fn lines_are_numbered_in_six_columns(files: &dyn Backend) -> Outcome {
    for (content, expected) in [
        ("a\nb\n", "     1\ta\n     2\tb"),
        ("a\nb", "     1\ta\n     2\tb"),
        ("a\r\nb\r\n", "     1\ta\n     2\tb"),
        ("\n\nx", "     1\t\n     2\t\n     3\tx"),
        ("\tä\u{2028}b\x0Cc", "     1\t\tä\u{2028}b\x0Cc"),
    ] {
        put(files, "/f", content).await?;
        let numbered = files.read_numbered(&path("/f")?, 0, 100).await?;
        equal(format!("{content:?} with numbers"), numbered.text, expected)?;
    }
    Ok(())
}

/// `x\ny\n` has two lines: after the first line, the footer counts one more.
pub async fn a_footer_says_how_many_lines_are_left(files: &dyn Backend) -> Outcome {
    put(files, "/f", "a\nb\nc\n").await?;
    for (offset, limit, expected) in [
        (0, 1, "     1\ta\n\n... (2 more lines)"),
        (1, 1, "     2\tb\n\n... (1 more lines)"),
        (1, 2, "     2\tb\n     3\tc"),
        (2, u64::MAX, "     3\tc"),
        (0, 0, "\n\n... (3 more lines)"),
    ] {
        let numbered = files.read_numbered(&path("/f")?, offset, limit).await?;
        equal(format!("{limit} lines after {offset}"), numbered.text.as_str(), expected)?;
        equal("how many lines there are", numbered.total, 3)?;
    }
    Ok(())
}

/// An empty file has no lines and no characters, and is not an error.
pub async fn an_empty_file_reads_as_empty(files: &dyn Backend) -> Outcome {
    put(files, "/f", "").await?;
    equal("an empty file with numbers", files.read_numbered(&path("/f")?, 0, 10).await?.text, "")?;
    let lines = window(files, "/f", TextWindow::lines(0, 10)).await?;
    equal("its lines", (lines.text.as_str(), lines.extent), ("", Extent::Lines { offset: 0, shown: 0, total: 0 }))?;
    let chars = window(files, "/f", TextWindow::chars(0, 10)).await?;
    equal("its characters", (chars.text.as_str(), chars.extent), ("", Extent::Chars { offset: 0, shown: 0, total: 0 }))
}

/// The error has the number of lines in the file.
pub async fn lines_past_the_end_are_out_of_range(files: &dyn Backend) -> Outcome {
    put(files, "/f", "x\ny\n").await?;
    put(files, "/empty", "").await?;
    for (typed, offset, lines) in [("/f", 2, 2), ("/f", 3, 2), ("/f", u64::MAX, 2), ("/empty", 1, 0)] {
        let answer = files.read_numbered(&path(typed)?, offset, 5).await;
        let error = refused(format!("read after {offset} lines"), answer, ErrorKind::OutOfRange)?;
        says(&error, &format!("Offset {offset} exceeds file length ({lines} lines)"))?;
    }
    Ok(())
}

/// A window is a slice of the text: CRLF stays, and a missing final newline stays missing.
pub async fn a_window_of_lines_keeps_their_endings(files: &dyn Backend) -> Outcome {
    put(files, "/f", "a\r\nb\nc\r\nd").await?;
    for (offset, limit, text, shown) in
        [(0, 2, "a\r\nb\n", 2), (2, 1, "c\r\n", 1), (3, 5, "d", 1), (0, 9, "a\r\nb\nc\r\nd", 4), (1, 0, "", 0)]
    {
        let excerpt = window(files, "/f", TextWindow::lines(offset, limit)).await?;
        equal(format!("{limit} lines after {offset}"), excerpt.text.as_str(), text)?;
        equal("the extent", excerpt.extent, Extent::Lines { offset, shown, total: 4 })?;
        equal("whether it was cut", excerpt.cut, Cut::No)?;
    }
    Ok(())
}

/// Continuing at the offset in the footer shows every line once.
pub async fn a_read_ends_at_the_ceiling_and_says_how_to_go_on(files: &dyn Backend) -> Outcome {
    let line = |number: u64| format!("{number:05} is a line of text");
    let content: String = (0..20_000).map(|number| line(number) + "\n").collect();
    put(files, "/f", content).await?;
    let mut next = 0;
    let mut reads = 0;
    while next < 20_000 {
        let numbered = files.read_numbered(&path("/f")?, next, u64::MAX).await?;
        let chars = numbered.text.chars().count() as u64;
        ensure(chars <= limits::READ_CHARS + 200, format!("one read returned {chars} characters"))?;
        ensure(numbered.shown > 0, "a read that shows no line leads nowhere")?;
        let first = format!("{:>6}\t{}", next + 1, line(next));
        equal("the first line of a read", numbered.text.lines().next(), Some(first.as_str()))?;
        next += numbered.shown;
        reads += 1;
        if next < 20_000 {
            let way_on = format!("continue with offset={next})");
            ensure(numbered.text.ends_with(&way_on), format!("the footer should end with `{way_on}`"))?;
            equal("how it was cut", numbered.cut, Cut::BetweenLines)?;
        }
    }
    ensure(reads >= 3, format!("540,000 characters came in {reads} reads"))
}

/// A single long line is cut inside; a window of characters reads the rest.
pub async fn a_line_beyond_the_ceiling_is_shown_in_part(files: &dyn Backend) -> Outcome {
    put(files, "/f", format!("{}end\nsecond\n", "ä".repeat(300_000))).await?;
    let excerpt = window(files, "/f", TextWindow::lines(0, 10)).await?;
    equal("its characters", excerpt.text.chars().count() as u64, limits::READ_CHARS)?;
    equal("how it was cut", excerpt.cut, Cut::InsideLine)?;
    let numbered = files.read_numbered(&path("/f")?, 0, 10).await?;
    ensure(numbered.text.contains("line 1 is longer than 200,000 characters"), "the footer should say so")?;
    equal("the rest", window(files, "/f", TextWindow::chars(300_000, 3)).await?.text, "end")
}

/// The window's `max_chars` is the caller's ceiling.
pub async fn a_ceiling_of_the_callers_ends_after_a_whole_line(files: &dyn Backend) -> Outcome {
    put(files, "/f", "äöü\nxyz\n").await?;
    for (max_chars, text, cut) in [
        (8, "äöü\nxyz\n", Cut::No),
        (7, "äöü\n", Cut::BetweenLines),
        (4, "äöü\n", Cut::BetweenLines),
        (2, "äö", Cut::InsideLine),
    ] {
        let excerpt = window(files, "/f", TextWindow::Lines { offset: 0, limit: 10, max_chars }).await?;
        equal(format!("at most {max_chars} characters"), (excerpt.text.as_str(), excerpt.cut), (text, cut))?;
    }
    Ok(())
}

/// Offsets count code points, not bytes; a window past the end is empty; the total is always known.
pub async fn a_window_of_characters_counts_characters(files: &dyn Backend) -> Outcome {
    put(files, "/f", "aé日😀z\r\n").await?;
    for (offset, limit, text) in
        [(0, 3, "aé日"), (3, 1, "😀"), (4, 100, "z\r\n"), (7, 5, ""), (u64::MAX, u64::MAX, ""), (2, 0, "")]
    {
        let excerpt = window(files, "/f", TextWindow::chars(offset, limit)).await?;
        let shown = text.chars().count() as u64;
        equal(format!("{limit} characters after {offset}"), excerpt.text.as_str(), text)?;
        equal("the extent", excerpt.extent, Extent::Chars { offset, shown, total: 7 })?;
    }
    put(files, "/long", "aé日😀z".repeat(50_000)).await?;
    let far = window(files, "/long", TextWindow::chars(199_998, 4)).await?;
    equal("a window across the inside of a long text", far.text, "😀zaé")
}

/// A byte-order mark selects UTF-16 or UTF-8 and is not part of the text; without a mark, content that is not UTF-8 is
/// read in a legacy encoding.
pub async fn other_encodings_are_decoded(files: &dyn Backend) -> Outcome {
    let contents: [(&[u8], &str, &str); 5] = [
        (b"\xEF\xBB\xBFh\xC3\xA9\n", "hé\n", "UTF-8 with BOM"),
        (b"\xFF\xFEh\0\xE9\0\n\0", "hé\n", "UTF-16LE"),
        (b"\xFE\xFF\0h\0\xE9\0\n", "hé\n", "UTF-16BE"),
        (b"h\xC3\xA9\n", "hé\n", "UTF-8"),
        (b"caf\xE9 au lait\n", "café au lait\n", "Latin-1 (windows-1252)"),
    ];
    for (content, text, encoding) in contents {
        put(files, "/f", content).await?;
        for window_of in [TextWindow::lines(0, 10), TextWindow::chars(0, 100)] {
            let excerpt = window(files, "/f", window_of).await?;
            equal(encoding, (excerpt.text.as_str(), excerpt.encoding.as_str()), (text, encoding))?;
        }
    }
    Ok(())
}

/// A NUL in content without a UTF-16 mark is `NotText`, for every kind of window.
pub async fn binary_content_is_not_read_as_text(files: &dyn Backend) -> Outcome {
    for content in [b"a\0b".to_vec(), vec![0; 300_000]] {
        put(files, "/f", content).await?;
        for window in [TextWindow::lines(0, 1), TextWindow::chars(0, 1)] {
            refused("read binary", files.read_window(&path("/f")?, window).await, ErrorKind::NotText)?;
        }
    }
    Ok(())
}

/// The version lets the reader of a part detect a changed file.
pub async fn a_window_has_the_version_of_the_whole(files: &dyn Backend) -> Outcome {
    let content = "one\ntwo\nthree\n".repeat(20_000);
    put(files, "/f", content.clone()).await?;
    for window_of in [TextWindow::lines(0, 1), TextWindow::lines(9_999, 2), TextWindow::chars(5, 5)] {
        let excerpt = window(files, "/f", window_of).await?;
        equal("the version", excerpt.version, Some(Version::of(content.as_bytes())))?;
    }
    Ok(())
}
