//! The patterns of a grep, and how it shows the matches.

use workden_core::{
    Backend, BackendExt, ErrorKind,
    search::{Context, GrepRequest, Grepped, LetterCase, LineMatch, Pattern, Span},
};

use crate::{
    Failure, Outcome,
    check::list_checks,
    typed::{lines_of, path, put},
    verdict::{ensure, equal, refused, says},
};

list_checks! { grep_patterns:
    lines_come_with_their_numbers_and_without_their_endings,
    a_literal_is_taken_as_it_stands,
    letter_case_counts_as_asked,
    lines_around_a_match_are_shown_when_asked_for,
    a_match_goes_over_lines_only_when_asked_to,
    a_file_gives_no_more_matches_than_asked_for,
    a_long_line_is_shown_in_part,
    text_in_other_encodings_is_searched,
    a_pattern_made_to_backtrack_is_answered,
    an_invalid_expression_is_shown_where_and_what_instead,
    an_empty_pattern_is_refused,
}

async fn grep(files: &dyn Backend, request: &GrepRequest) -> Result<Grepped, Failure> {
    Ok(files.grep_path(&path("/")?, request).await?)
}

async fn finds(files: &dyn Backend, request: &GrepRequest, expected: &[&str]) -> Outcome {
    let found = grep(files, request).await?;
    equal(format!("the lines with {:?}", request.pattern.text), lines_of(&found), expected)
}

/// Lines may end in CRLF, in LF, or at the end of the file.
pub async fn lines_come_with_their_numbers_and_without_their_endings(files: &dyn Backend) -> Outcome {
    put(files, "/f", "one\ntwo\r\n\nthree two\nfour\ntwo").await?;
    finds(files, &GrepRequest::regex("two"), &["/f:2:two", "/f:4:three two", "/f:6:two"]).await?;
    finds(files, &GrepRequest::regex("^t.o$"), &["/f:6:two"]).await?;
    finds(files, &GrepRequest::regex("o(ne|ur)$|fo+ur"), &["/f:1:one", "/f:5:four"]).await?;
    let found = grep(files, &GrepRequest::regex("two")).await?;
    equal("how many lines match", (found.matches, found.files_matched, found.files_searched), (3, 1, 1))?;
    let counts: Vec<u64> = found.files.iter().map(|file| file.count).collect();
    equal("how many match in each file", counts, [3])?;
    finds(files, &GrepRequest::regex("nowhere"), &[]).await
}

/// No character of a literal has a special meaning.
pub async fn a_literal_is_taken_as_it_stands(files: &dyn Backend) -> Outcome {
    put(files, "/f", "a.b\naxb\nf(x[\n\\d+\n42\n").await?;
    finds(files, &GrepRequest::literal("a.b"), &["/f:1:a.b"]).await?;
    finds(files, &GrepRequest::regex("a.b"), &["/f:1:a.b", "/f:2:axb"]).await?;
    finds(files, &GrepRequest::literal("(x["), &["/f:3:f(x["]).await?;
    finds(files, &GrepRequest::literal("\\d+"), &["/f:4:\\d+"]).await?;
    finds(files, &GrepRequest::regex("^\\d+$"), &["/f:5:42"]).await
}

/// Letter case counts by default; `Smart` ignores it for patterns in lower case.
pub async fn letter_case_counts_as_asked(files: &dyn Backend) -> Outcome {
    put(files, "/f", "word\nWord\nWORD\nÄ\nä\n").await?;
    let cased = |text: &str, case| GrepRequest::new(Pattern { case, ..Pattern::regex(text) });
    finds(files, &GrepRequest::regex("word"), &["/f:1:word"]).await?;
    let all = ["/f:1:word", "/f:2:Word", "/f:3:WORD"];
    finds(files, &cased("wOrd", LetterCase::Insensitive), &all).await?;
    finds(files, &cased("word", LetterCase::Smart), &all).await?;
    finds(files, &cased("Word", LetterCase::Smart), &all[1..2]).await?;
    finds(files, &cased("ä", LetterCase::Insensitive), &["/f:4:Ä", "/f:5:ä"]).await
}

/// Each line is shown once, however close the matches are, and marked as a match or as context.
pub async fn lines_around_a_match_are_shown_when_asked_for(files: &dyn Backend) -> Outcome {
    put(files, "/f", "1\n2\nx3\n4\nx5\n6\n7\n8\n").await?;
    let around = |before, after| GrepRequest::regex("x").context(Context::new(before, after));
    finds(files, &around(0, 0), &["/f:3:x3", "/f:5:x5"]).await?;
    finds(files, &around(1, 0), &["/f-2-2", "/f:3:x3", "/f-4-4", "/f:5:x5"]).await?;
    finds(files, &around(0, 2), &["/f:3:x3", "/f-4-4", "/f:5:x5", "/f-6-6", "/f-7-7"]).await?;
    finds(files, &around(9, 1), &["/f-1-1", "/f-2-2", "/f:3:x3", "/f-4-4", "/f:5:x5", "/f-6-6"]).await?;
    equal("what counts as a match", grep(files, &around(9, 9)).await?.matches, 2)
}

/// A newline in a single-line pattern is refused, with a hint at multi-line search.
pub async fn a_match_goes_over_lines_only_when_asked_to(files: &dyn Backend) -> Outcome {
    put(files, "/f", "a\nb\nc\n").await?;
    let across = |text: &str| GrepRequest::new(Pattern { span: Span::MultiLine, ..Pattern::regex(text) });
    finds(files, &across("b\\nc"), &["/f:2:b", "/f:3:c"]).await?;
    finds(files, &across("(?s)a.*c"), &["/f:1:a", "/f:2:b", "/f:3:c"]).await?;
    finds(files, &GrepRequest::regex("(?s)a.*c"), &[]).await?;
    let answer = files.grep_path(&path("/")?, &GrepRequest::regex("b\\nc")).await;
    says(&refused("a newline in a pattern of one line", answer, ErrorKind::InvalidPattern)?, "multi-line")
}

/// The first matches of each file are kept.
pub async fn a_file_gives_no_more_matches_than_asked_for(files: &dyn Backend) -> Outcome {
    put(files, "/f", "x1\nx2\nx3\n").await?;
    put(files, "/g", "x4\nx5\n").await?;
    let most = |most| GrepRequest::regex("x").max_count(most);
    finds(files, &most(1), &["/f:1:x1", "/g:1:x4"]).await?;
    finds(files, &most(2), &["/f:1:x1", "/f:2:x2", "/g:1:x4", "/g:2:x5"]).await?;
    equal("how many are counted", grep(files, &most(2)).await?.matches, 4)?;
    equal("how many are counted", grep(files, &most(9)).await?.matches, 5)
}

/// A long line is shown up to a whole character, with the number of omitted bytes.
pub async fn a_long_line_is_shown_in_part(files: &dyn Backend) -> Outcome {
    put(files, "/f", format!("needle é{}\n", "a".repeat(100_000))).await?;
    for (line_bytes, text, left_out) in [(6, "needle", 100_003), (8, "needle ", 100_002), (9, "needle é", 100_000)] {
        let found = grep(files, &GrepRequest::regex("needle").line_bytes(line_bytes)).await?;
        let lines: Vec<_> = all_lines(&found).map(|line| (line.text, line.left_out)).collect();
        equal(format!("{line_bytes} bytes of each line"), lines, [(text, left_out)])?;
    }
    let usual = grep(files, &GrepRequest::regex("needle")).await?;
    let longest = all_lines(&usual).map(|line| line.text.len()).max();
    equal("how much is shown unless told otherwise", longest, Some(workden_core::limits::GREP_LINE_BYTES))
}

fn all_lines(found: &Grepped) -> impl Iterator<Item = LineMatch<'_>> {
    found.files.iter().flat_map(|file| &file.lines)
}

/// UTF-16 is recognised by its byte-order mark; bytes that are not text are shown as such.
pub async fn text_in_other_encodings_is_searched(files: &dyn Backend) -> Outcome {
    let utf16: Vec<u8> = "\u{FEFF}häy\nnéedle\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    put(files, "/f", utf16).await?;
    put(files, "/g", &b"caf\xE9 needle\n"[..]).await?;
    put(files, "/h", &b"\xEF\xBB\xBFneedle\n"[..]).await?;
    finds(files, &GrepRequest::regex("n(é|e)edle"), &["/f:2:néedle", "/g:1:caf\u{FFFD} needle", "/h:1:needle"]).await?;
    finds(files, &GrepRequest::regex("^needle"), &["/h:1:needle"]).await
}

/// Matching takes linear time, so no pattern can hang a search, not even `(a+)+$`.
pub async fn a_pattern_made_to_backtrack_is_answered(files: &dyn Backend) -> Outcome {
    let many = "a".repeat(10_000);
    put(files, "/f", format!("{many}b\n{many}\n")).await?;
    let found = grep(files, &GrepRequest::regex("(a+)+$").line_bytes(1)).await?;
    equal("the line that ends in a", lines_of(&found), ["/f:2:a"])
}

/// Look-around and backreferences are invalid as well; the error has a hint.
pub async fn an_invalid_expression_is_shown_where_and_what_instead(files: &dyn Backend) -> Outcome {
    put(files, "/f", "foobar\n").await?;
    for (text, words) in [
        ("foo(?=bar)", "look-around"),
        ("foo(?!bar)", "look-around"),
        ("(?<=foo)bar", "look-around"),
        ("(o)\\1", "backreferences"),
        ("a(b", "    a(b\n     ^"),
        ("[z-a]", "    [z-a]"),
        ("*", "    *\n    ^"),
        ("((a{1000}){1000}){1000}", "too large"),
    ] {
        let answer = files.grep_path(&path("/")?, &GrepRequest::regex(text)).await;
        let error = refused(format!("grep {text:?}"), answer, ErrorKind::InvalidPattern)?;
        says(&error, words)?;
        ensure(error.hint_text().is_some(), format!("an error should have a hint: {error:?}"))?;
    }
    finds(files, &GrepRequest::literal("foo(?=bar)"), &[]).await
}

/// An empty pattern would match every line.
pub async fn an_empty_pattern_is_refused(files: &dyn Backend) -> Outcome {
    put(files, "/f", "x\n").await?;
    for request in [GrepRequest::regex(""), GrepRequest::literal("")] {
        refused("an empty pattern", files.grep_path(&path("/")?, &request).await, ErrorKind::InvalidPattern)?;
    }
    Ok(())
}
