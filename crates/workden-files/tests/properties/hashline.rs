//! Hashline edits: the same as taking lines out of a list and putting others in.

use std::sync::Arc;

use futures_executor::block_on;
use proptest::prelude::*;
use workden_core::{
    BackendExt, ErrorKind, Expect, SteppingClock,
    text::{
        HashlineEdit,
        hashline::{self, Placement, line_hash},
    },
};
use workden_files::StateBackend;

use crate::{
    slow::hashline::{Edit, Outcome, apply, lines},
    virtual_path,
};

fn text() -> impl Strategy<Value = String> {
    let ending = prop_oneof![4 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\r")];
    let line = ("[abé]{0,2}", ending).prop_map(|(line, ending)| line + ending);
    let mixed = (prop::collection::vec(line, 0..6), "[ab]{0,2}").prop_map(|(lines, last)| lines.concat() + &last);
    let crlf = prop::collection::vec("[ab]{0,2}", 1..6).prop_map(|lines| lines.join("\r\n"));
    prop_oneof![3 => mixed, 1 => crlf]
}

proptest! {
    #![proptest_config(crate::cases(3_000))]

    #[test]
    fn an_edit_is_what_it_is_on_a_list_of_lines(
        text in text(),
        start in 0_u64..8,
        end in prop::option::of(0_u64..9),
        insert in any::<bool>(),
        fits in prop::bool::weighted(0.9),
        new in "[ab\r\n]{0,4}",
    ) {
        let line = start.checked_sub(1).and_then(|at| lines(&text).into_iter().nth(at as usize));
        let hash = line.filter(|_| fits).map_or("??".to_owned(), |line| line_hash(&line));
        let placement = if insert { Placement::InsertAfter } else { Placement::Replace };
        let edit = HashlineEdit::new(start, hash.clone(), new.clone()).end_line(end).placement(placement);
        let outcome = hashline::apply(&virtual_path("/f"), &text, &edit);
        let outcome = outcome.map(|outcome| outcome.text).map_err(|error| error.kind());
        let expected = match apply(&text, &Edit { start, start_fits: &|line| line_hash(line) == hash, end, insert, new: &new }) {
            Outcome::Edited(after) => Ok(after),
            Outcome::OutOfRange => Err(ErrorKind::OutOfRange),
            Outcome::Contradiction => Err(ErrorKind::InvalidArgument),
            Outcome::WrongHash => Err(ErrorKind::Conflict),
        };
        prop_assert_eq!(outcome, expected);
    }

    #[test]
    fn what_a_read_shows_an_edit_accepts(content in prop_oneof![any::<Vec<u8>>(), text().prop_map(String::into_bytes)], line in 0_u64..4) {
        let files = StateBackend::new(Arc::new(SteppingClock::default()));
        let path = virtual_path("/f");
        block_on(files.write_path(&path, content.clone().into(), Expect::Absent)).unwrap();
        let Ok(shown) = block_on(files.read_hashlines(&path, line, 1)) else { return Ok(()) };
        let (number, rest) = shown.text.split_once(':').unwrap();
        let edit = HashlineEdit::new(number.parse().unwrap(), rest.chars().take(2).collect::<String>(), "x");
        if let Err(error) = block_on(files.hashline_edit(&path, &edit)) {
            prop_assert_eq!(error.kind(), ErrorKind::NotText, "{}", error);
            prop_assert_eq!(&block_on(files.read_bytes(&path)).unwrap()[..], &content[..]);
        }
    }
}
