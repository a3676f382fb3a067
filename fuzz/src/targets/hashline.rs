//! Hashline edits: an edit accepts what a hashline read shows.

use std::sync::Arc;

use futures_executor::block_on;
use workden_core::{
    BackendExt, ErrorKind, Expect, SteppingClock, VirtualPath,
    text::{
        HashlineEdit,
        hashline::{self as engine, Placement, line_hash},
    },
};
use workden_files::StateBackend;

use crate::{
    assert_short,
    draw::Draw,
    in_time,
    slow::hashline::{Edit, Outcome, apply, lines},
};

pub(crate) const SEEDS: &[&[u8]] = &[
    b"\x02\x00\x00B\x1Fa\nb\nc\n",
    b"\x01\x04\x03x\ny\x1Fa\r\nb\r\nc",
    b"\x02\x00\x00\x1Fa\r\nb",
    b"\x01\x01\x00new\x1F",
    b"\x01\x00\xF6x\x1Fa",
    b"\xF6\x08\xF6x\x1Fa\n",
    b"\x01\x00\x00x\x1F\xEF\xBB\xBFcaf\xE9\ncaf\xE9\n",
    b"\x02\x00\x00x\x1Fcaf\xE9\n\x93\xFA\x96\x7B\n\xCF\xF0\xE8\xE2\xE5\xF2",
    b"\x01\x00\x00x\x1F\xFF\xFEa\0\n\0b\0",
];

/// Compares an edit with the same edit on a list of lines.
pub fn hashline(data: &[u8]) {
    in_time(|| {
        let mut draw = Draw::new(data);
        let start = draw.number();
        let flags = draw.byte();
        let end = draw.number();
        let end = (flags & 4 != 0).then_some(end);
        let insert = flags & 1 != 0;
        let new = draw.text();
        let content = draw.rest();
        if let Ok(text) = std::str::from_utf8(content) {
            check(text, start, end, insert, flags & 8 == 0, &new);
        }
        check_round(content, start, &new);
    });
}

fn file() -> VirtualPath {
    VirtualPath::root().child_unchecked("f")
}

fn check(text: &str, start: u64, end: Option<u64>, insert: bool, right: bool, new: &str) {
    let line = |number: u64| number.checked_sub(1).and_then(|at| lines(text).into_iter().nth(at as usize));
    let hash = line(start).filter(|_| right).map_or("no".to_owned(), |line| line_hash(&line));
    let placement = if insert { Placement::InsertAfter } else { Placement::Replace };
    let edit = HashlineEdit::new(start, hash.clone(), new).end_line(end).placement(placement);
    let expected = apply(text, &Edit { start, start_fits: &|line| line_hash(line) == hash, end, insert, new });
    match (engine::apply(&file(), text, &edit), expected) {
        (Ok(outcome), Outcome::Edited(after)) => assert_eq!(outcome.text, after),
        (Err(error), expected) => {
            assert_short(&error);
            let kind = match expected {
                Outcome::OutOfRange => ErrorKind::OutOfRange,
                Outcome::Contradiction => ErrorKind::InvalidArgument,
                Outcome::WrongHash => ErrorKind::Conflict,
                Outcome::Edited(after) => unreachable!("refused: {error}, and not made: {after:?}"),
            };
            assert_eq!(error.kind(), kind, "{error}");
        }
        (Ok(outcome), refused) => unreachable!("{:?} instead of {refused:?}", outcome.text),
    }
}

/// Reads a line with its hash and edits it by that hash: accepted, or refused because the content is not text.
fn check_round(content: &[u8], start: u64, new: &str) {
    let files = StateBackend::new(Arc::new(SteppingClock::default()));
    block_on(files.write_path(&file(), content.to_vec().into(), Expect::Absent)).expect("a new file");
    let Ok(shown) = block_on(files.read_hashlines(&file(), start.saturating_sub(1), 1)) else { return };
    let Some((number, rest)) = shown.text.split_once(':') else { return };
    let edit = HashlineEdit::new(number.parse().expect("a line number"), rest.chars().take(2).collect::<String>(), new);
    if let Err(error) = block_on(files.hashline_edit(&file(), &edit)) {
        assert_short(&error);
        assert_eq!(error.kind(), ErrorKind::NotText, "what was shown ({:?}) is refused: {error}", shown.text);
        let after = block_on(files.read_bytes(&file())).expect("the file");
        assert_eq!(&after[..], content, "a refused edit changed something");
    }
}
