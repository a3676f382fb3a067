//! Edits: search and replace on a `String`, in whatever encoding the file is.

use proptest::prelude::*;
use workden_core::{
    Error, ErrorKind,
    text::{Encoding, Occurrences, Replacement, edit},
};

use crate::{
    slow::edit::{Outcome, replace},
    virtual_path,
};

/// Short texts that often contain each other, with every kind of line ending.
fn text(most: usize) -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[ab]{1,2}",
        Just("\n".to_owned()),
        Just("\r\n".to_owned()),
        Just("é".to_owned()),
        Just(" ".to_owned())
    ];
    prop::collection::vec(part, 0..most).prop_map(|parts| parts.concat())
}

/// A file of CRLF lines, which edits keep as one.
fn crlf_text() -> impl Strategy<Value = String> {
    prop::collection::vec("[ab]{0,2}", 1..8).prop_map(|lines| lines.join("\r\n"))
}

fn replacement() -> impl Strategy<Value = Replacement> {
    (text(4), text(4), any::<bool>())
        .prop_map(|(old, new, all)| if all { Replacement::all(old, new) } else { Replacement::once(old, new) })
}

/// The ways in which a text can be a file; those with a mark come back as they are.
fn encodings() -> impl Strategy<Value = Encoding> {
    prop_oneof![Just(Encoding::Utf8), Just(Encoding::Utf8Bom), Just(Encoding::Utf16Le), Just(Encoding::Utf16Be),]
}

fn expected(text: &str, replacements: &[Replacement]) -> Result<(String, u64), ErrorKind> {
    replacements.iter().try_fold((text.to_owned(), 0), |(text, count), Replacement { old, new, occurrences }| {
        match replace(&text, old, new, *occurrences == Occurrences::All) {
            Outcome::Edited(after, more) => Ok((after, count + more)),
            Outcome::NoMatch => Err(ErrorKind::NoMatch),
            Outcome::Ambiguous => Err(ErrorKind::Ambiguous),
            Outcome::Empty => Err(ErrorKind::InvalidArgument),
        }
    })
}

fn edited(content: &[u8], replacements: &[Replacement]) -> Result<(Vec<u8>, u64), Error> {
    let plan = edit::plan(&virtual_path("/f"), content, replacements)?;
    Ok((plan.apply(content)?, plan.replaced))
}

fn check(encoding: Encoding, text: &str, replacements: &[Replacement]) -> Result<(), TestCaseError> {
    let content = encoding.encode(text).unwrap();
    let outcome = edited(&content, replacements).map_err(|error| error.kind());
    let expected = expected(text, replacements).map(|(text, count)| (encoding.encode(&text).unwrap(), count));
    prop_assert_eq!(outcome, expected);
    Ok(())
}

proptest! {
    #![proptest_config(crate::cases(1_500))]

    #[test]
    fn one_edit_is_search_and_replace(encoding in encodings(), text in text(12), replacement in replacement()) {
        check(encoding, &text, &[replacement])?;
    }

    #[test]
    fn an_edit_of_a_crlf_file_is_search_and_replace(encoding in encodings(), text in crlf_text(), replacement in replacement()) {
        check(encoding, &text, &[replacement])?;
    }

    #[test]
    fn several_edits_are_one_after_the_other(
        encoding in encodings(),
        text in text(12),
        replacements in prop::collection::vec(replacement(), 1..4),
    ) {
        check(encoding, &text, &replacements)?;
    }

    #[test]
    fn a_latin_1_file_keeps_its_bytes(before in "[a-zé ü\r\n]{0,20}", after in "[a-zé ü\r\n]{0,20}", new in "[a-zß]{0,5}") {
        // Enough French around the place that the guess is beyond doubt.
        let latin = |text: &str| -> Vec<u8> { text.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect() };
        let [head, tail] = [format!("déjà vu, le café était fermé {before}"), format!("{after} où l'été à la forêt")];
        let content = [latin(&head), b"NEEDLE".to_vec(), latin(&tail)].concat();
        match edited(&content, &[Replacement::once("NEEDLE", new.as_str())]) {
            Ok((edited, 1)) => prop_assert_eq!(edited, [latin(&head), latin(&new), latin(&tail)].concat()),
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn any_bytes_are_edited_outside_nothing_or_refused(content in any::<Vec<u8>>(), old in "[a-z\u{0}-\u{ff}]{1,2}", new in any::<String>()) {
        let Ok(plan) = edit::plan(&virtual_path("/f"), &content, &[Replacement::all(old.as_str(), new.as_str())]) else { return Ok(()) };
        let encoding = Encoding::detect(&content).unwrap();
        let before = encoding.decode(&content).unwrap();
        let after = encoding.decode(&plan.apply(&content).unwrap()).unwrap();
        prop_assert_eq!(expected(&before, &[Replacement::all(old, new)]), Ok((after, plan.replaced)));
    }
}
