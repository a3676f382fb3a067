//! Windows: the same as splitting the whole text at once.

use proptest::prelude::*;
use workden_core::{
    ErrorKind,
    text::{Cut, Encoding, Extent, TextWindow, scan::excerpt},
};

use crate::{slow::lines, virtual_path};

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop_oneof!["[ab]{1,3}", "[é日😀]", Just("\n".to_owned()), Just("\r\n".to_owned())], 0..20)
        .prop_map(|parts| parts.concat())
}

fn encodings() -> impl Strategy<Value = Encoding> {
    prop_oneof![Just(Encoding::Utf8), Just(Encoding::Utf8Bom), Just(Encoding::Utf16Le), Just(Encoding::Utf16Be)]
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0_u64..12, 1 => Just(u64::MAX), 1 => Just(u64::MAX / 4 + 1)]
}

proptest! {
    #![proptest_config(crate::cases(3_000))]

    #[test]
    fn a_window_of_lines_is_some_lines_of_the_text(
        encoding in encodings(),
        text in text(),
        offset in number(),
        limit in number(),
        max_chars in number(),
    ) {
        let content = encoding.encode(&text).unwrap();
        let window = TextWindow::Lines { offset, limit, max_chars };
        let total = lines::with_endings(&text).len() as u64;
        match excerpt(&virtual_path("/f"), &&content[..], window) {
            Ok(found) => {
                let (expected, cut) = lines::window(&text, offset, limit, max_chars);
                let shown = lines::with_endings(&expected).len() as u64;
                prop_assert_eq!(found.text, expected);
                prop_assert_eq!(found.extent, Extent::Lines { offset, shown, total });
                prop_assert_eq!(found.cut, cut.map_or(Cut::No, |between| if between { Cut::BetweenLines } else { Cut::InsideLine }));
                prop_assert!(offset == 0 || offset < total);
            }
            Err(error) => {
                prop_assert_eq!(error.kind(), ErrorKind::OutOfRange);
                prop_assert!(offset > 0 && offset >= total);
            }
        }
    }

    #[test]
    fn a_window_of_characters_is_some_of_the_text(encoding in encodings(), text in text(), offset in number(), limit in number()) {
        let content = encoding.encode(&text).unwrap();
        let found = excerpt(&virtual_path("/f"), &&content[..], TextWindow::Chars { offset, limit }).unwrap();
        let most = |number: u64| usize::try_from(number).unwrap();
        let expected: String = text.chars().skip(most(offset)).take(most(limit)).collect();
        let (shown, total) = (expected.chars().count() as u64, text.chars().count() as u64);
        prop_assert_eq!(found.text, expected);
        prop_assert_eq!(found.extent, Extent::Chars { offset, shown, total });
    }

    #[test]
    fn lines_characters_and_edits_see_one_text(content in any::<Vec<u8>>()) {
        let path = virtual_path("/f");
        let read = |window| excerpt(&path, &&content[..], window).ok().map(|excerpt| excerpt.text);
        let by_lines = read(TextWindow::lines(0, u64::MAX));
        let by_chars = read(TextWindow::chars(0, u64::MAX));
        prop_assert_eq!(&by_lines, &by_chars);
        let whole = Encoding::detect(&content).and_then(|encoding| encoding.decode(&content));
        if let (Some(read), Some(whole)) = (by_lines, whole) {
            prop_assert_eq!(read, whole);
        }
    }
}
