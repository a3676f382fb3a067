//! Grep: the same lines as looking at them one by one.

use std::sync::Arc;

use futures_executor::block_on;
use proptest::prelude::*;
use workden_core::{
    BackendExt, Expect, SteppingClock, VirtualPath,
    search::{Context, Detail, GrepRequest, LineRole, Pattern},
};
use workden_files::StateBackend;

use crate::{slow::lines, virtual_path};

type Line = (String, u64, String, bool);

fn content() -> impl Strategy<Value = String> {
    prop::collection::vec(("[abcé.]{0,4}", prop_oneof![4 => Just("\n"), 1 => Just("\r\n")]), 0..8).prop_flat_map(
        |lines| {
            let text: String = lines.iter().map(|(line, ending)| format!("{line}{ending}")).collect();
            "[ab]{0,2}".prop_map(move |last| text.clone() + &last)
        },
    )
}

fn pattern() -> impl Strategy<Value = Pattern> {
    let regex = prop::sample::select(vec![
        "a", "ab", "é", "[ab][.]", "(a|b)+c?", "^[ab]", "[abc]$", "[^a]b", r"\bab?", ".{3}", "a*", "^$", r"a\r", r"\s",
    ]);
    prop_oneof![regex.prop_map(Pattern::regex), "[abcé.]{1,2}".prop_map(Pattern::literal)]
}

/// The lines that a grep is to find, from every file in order.
fn expected(files: &[(VirtualPath, String)], pattern: &Pattern, context: Context) -> Vec<Line> {
    let source = match pattern.syntax {
        workden_core::search::Syntax::Literal => regex::escape(&pattern.text),
        workden_core::search::Syntax::Regex => pattern.text.clone(),
    };
    let regex = regex::Regex::new(&format!("(?m){source}")).unwrap();
    let mut found = Vec::new();
    for (path, content) in files {
        let all = lines::with_endings(content);
        let without_newline = |line: &String| line.strip_suffix('\n').unwrap_or(line).to_owned();
        let matching: Vec<bool> = all.iter().map(|line| regex.is_match(&without_newline(line))).collect();
        for (at, is_match) in lines::around(&matching, context.before, context.after) {
            let text = without_newline(&all[at]);
            let text = text.strip_suffix('\r').unwrap_or(&text).to_owned();
            found.push((path.to_string(), at as u64 + 1, text, is_match));
        }
    }
    found
}

proptest! {
    #![proptest_config(crate::cases(1_500))]

    #[test]
    fn a_grep_finds_what_looking_line_by_line_finds(
        contents in prop::collection::vec(content(), 1..4),
        pattern in pattern(),
        before in 0_usize..3,
        after in 0_usize..3,
        keep in prop_oneof![Just(usize::MAX), 0_usize..6],
    ) {
        let backend = StateBackend::new(Arc::new(SteppingClock::default()));
        let files: Vec<(VirtualPath, String)> =
            contents.into_iter().enumerate().map(|(nth, content)| (virtual_path(&format!("/d{nth}/f")), content)).collect();
        for (path, content) in &files {
            block_on(backend.write_path(path, content.clone().into(), Expect::Absent)).unwrap();
        }
        let context = Context::new(before, after);
        let request = GrepRequest::new(pattern.clone()).context(context).keep(keep);
        let found = block_on(backend.grep_path(&VirtualPath::root(), &request)).unwrap();
        let expected = expected(&files, &pattern, context);

        let shown: Vec<Line> = found
            .files
            .iter()
            .flat_map(|file| file.lines.iter().map(|line| (file.path.to_string(), line.number, line.text.to_owned(), line.role == LineRole::Match)))
            .collect();
        let matches = expected.iter().filter(|line| line.3).count() as u64;
        prop_assert_eq!(&shown[..], &expected[..expected.len().min(keep)]);
        prop_assert_eq!(found.matches, matches);
        prop_assert_eq!(found.files_searched, files.len() as u64);
        prop_assert_eq!(found.left_out() + shown.iter().filter(|line| line.3).count() as u64, matches);

        let counts = GrepRequest::new(pattern.clone()).detail(Detail::Counts);
        let counted = block_on(backend.grep_path(&VirtualPath::root(), &counts)).unwrap();
        prop_assert_eq!((counted.matches, counted.files_matched), (found.matches, found.files_matched));
        let paths = GrepRequest::new(pattern).detail(Detail::Paths);
        let listed = block_on(backend.grep_path(&VirtualPath::root(), &paths)).unwrap();
        prop_assert_eq!(listed.files.len() as u64, found.files_matched);
    }

    #[test]
    fn a_file_is_searched_up_to_its_count(content in content(), pattern in pattern(), most in 1_u64..4) {
        let backend = StateBackend::new(Arc::new(SteppingClock::default()));
        let path = virtual_path("/f");
        block_on(backend.write_path(&path, content.clone().into(), Expect::Absent)).unwrap();
        let request = GrepRequest::new(pattern.clone()).max_count(most);
        let found = block_on(backend.grep_path(&path, &request)).unwrap();
        let all = expected(&[(path, content)], &pattern, Context::default()).len() as u64;
        prop_assert_eq!(found.matches, all.min(most));
    }
}
