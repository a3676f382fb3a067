//! Grep patterns, and the lines they find.

use workden_core::{
    ErrorKind,
    search::{Context, Detail, GrepRequest, LetterCase, LineRole, Pattern, Span, Syntax},
};
use workden_files::toolkit::{FileSearch, LineSearch};

use crate::{assert_short, draw::Draw, in_time, slow::lines};

pub(crate) const SEEDS: &[&[u8]] = &[
    b"\x00\x01\x01\x00b+\x1Fa\nbb\nc\nb",
    b"\x01\x00\x00\x00a.\x1Fab\na.\r\n",
    b"\x02\x00\x02\x01(?i)\\w{3}$\x1FABC\nx\n",
    b"\x08\x00\x00\x00b\\nc\x1Fa\nb\nc\n",
    b"\x00\x00\x00\x00(a+)+$\x1Faaaaaaaaaaaaaaaaaaaaaaab\n",
    b"\x00\x00\x00\x00(?=a)\x1Fa",
    b"\x00\x00\x00\x00[[:alpha:]&&[^b-d]]\\pL\\b\x1Fa\xC3\xA9\n",
    b"\x00\x00\x00\x00needle\x1F\xFF\xFEn\0e\0e\0d\0l\0e\0\n\0",
    b"\x00\x00\x00\x00^x\x1F\xEF\xBB\xBFx\ny\n",
    b"\x00\xF6\xF6\x00x\x1Fx\ny\n",
    b"\x00\x00\x00\x00(a{100}){100}{9}\x1Fa",
    b"\x00\x00\x00\x00x*\x1F\n\na",
];

/// Compares a search in memory with one in pieces, and a search for a text with a line-by-line search.
pub fn grep(data: &[u8]) {
    in_time(|| {
        let mut draw = Draw::new(data);
        let flags = draw.byte();
        let (before, after) = (draw.number() as usize, draw.number() as usize);
        let limits = draw.byte();
        let pattern = Pattern {
            text: draw.text(),
            syntax: if flags & 1 != 0 { Syntax::Literal } else { Syntax::Regex },
            case: [LetterCase::Sensitive, LetterCase::Insensitive, LetterCase::Smart][usize::from(flags >> 1) % 3],
            span: if flags & 8 != 0 { Span::MultiLine } else { Span::Line },
        };
        let request = GrepRequest::new(pattern)
            .context(Context::new(before, after))
            .detail(if limits & 4 != 0 { Detail::Counts } else { Detail::Lines })
            .max_count((limits & 2 != 0).then_some(u64::from(limits >> 4)))
            .line_bytes(if limits & 8 != 0 { usize::from(limits >> 4) } else { 2_000 });
        match LineSearch::new(&request) {
            Ok(search) => check(&request, &search, draw.rest()),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::InvalidPattern);
                assert_short(&error);
            }
        }
    });
}

fn check(request: &GrepRequest, search: &LineSearch, content: &[u8]) {
    let found = search.worker().search_bytes(content);
    for cut in [0, content.len() / 2, content.len()] {
        let (head, rest) = content.split_at(cut);
        // The caller decides how many bytes are read to detect binary content.
        if !content.contains(&0) {
            assert_eq!(search.worker().search_reader(head, rest), found, "in memory and in pieces");
        }
    }
    let FileSearch::Matched { count, lines } = &found else { return check_plain(request, content, &found) };
    assert!(*count > 0);
    assert!(lines.iter().is_sorted_by_key(|line| line.number));
    assert!(lines.iter().is_sorted_by(|one, next| one.number < next.number), "a line twice");
    if request.detail == Detail::Lines {
        assert_eq!(lines.iter().filter(|line| line.role == LineRole::Match).count() as u64, *count);
    }
    for line in lines {
        assert!(!line.text.ends_with('\n'));
        assert!(line.number >= 1);
        assert!(line.text.len() <= request.line_bytes.max(1) * 3, "a line of {} bytes", line.text.len());
    }
    check_plain(request, content, &found);
}

/// A plain text can be searched line by line in content that is UTF-8 without a byte order mark.
fn check_plain(request: &GrepRequest, content: &[u8], found: &FileSearch) {
    let pattern = &request.pattern;
    let plain = pattern.syntax == Syntax::Literal
        && pattern.case == LetterCase::Sensitive
        && pattern.span == Span::Line
        && request.max_count.is_none()
        && request.line_bytes >= 2_000
        && request.detail == Detail::Lines;
    let Ok(text) = std::str::from_utf8(content) else { return };
    if !plain || text.contains('\0') || text.starts_with('\u{feff}') {
        return;
    }
    let all = lines::with_endings(text);
    let body = |line: &String| line.strip_suffix('\n').unwrap_or(line).to_owned();
    let matching: Vec<bool> = all.iter().map(|line| body(line).contains(&pattern.text)).collect();
    let expected: Vec<(u64, bool)> = lines::around(&matching, request.context.before, request.context.after)
        .into_iter()
        .map(|(at, is_match)| (at as u64 + 1, is_match))
        .collect();
    let found: Vec<(u64, bool)> = match found {
        FileSearch::Matched { lines, .. } => {
            lines.iter().map(|line| (line.number, line.role == LineRole::Match)).collect()
        }
        _ => Vec::new(),
    };
    assert_eq!(found, expected, "{:?} in {text:?}", pattern.text);
}
