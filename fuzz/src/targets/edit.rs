//! Exact edits of any content.

use workden_core::{
    ErrorKind, VirtualPath,
    text::{Encoding, Occurrences, Replacement, edit as engine},
};

use crate::{
    assert_short,
    draw::Draw,
    in_time,
    slow::edit::{Outcome, replace},
};

pub(crate) const SEEDS: &[&[u8]] = &[
    b"\x00b\x1FB\x1Fa\nb\nc",
    b"\x01x\x1Fyy\x1Fx\r\nx\r\n",
    b"\x00a\nb\x1Fx\ny\x1Fa\r\nb\r\n",
    b"\x02one\x1Ftwo\x1F\x00two three\x1Ffour\x1Fone three",
    b"\x00hello\x1Fbye\x1F\xEF\xBB\xBFhello",
    b"\x00a\x1F\xC3\xA9\x1F\xFF\xFEa\0\r\0\n\0b\0",
    b"\x00b\x1F\xF0\x9F\x98\x80\x1F\xFE\xFF\0a\0b",
    b"\x01na\xC3\xAFve\x1F\xC3\xBCber\x1Fcaf\xE9 na\xEFve",
    b"\x00\xE6\x97\xA5\x1F\xE6\x9C\xAC\x1F\x93\xFA\x96\x7B\x8C\xEA\x82\xC5\x82\xB7\x81B\n\x93\xFA\x96\x7B",
    b"\x00\x1Fnew\x1F\xEF\xBB\xBF",
    b"\x00     1\tone\x1F\x1Fone\n",
    b"\x00abc\x1Fd\x1F\x1B$B$3$l\x1B(Babc",
];

/// Compares an edit with search and replace on a `String`, in any encoding.
pub fn edit(data: &[u8]) {
    in_time(|| {
        let mut draw = Draw::new(data);
        let mut replacements = Vec::new();
        loop {
            let flags = draw.byte();
            let occurrences = if flags & 1 == 1 { Occurrences::All } else { Occurrences::One };
            replacements.push(Replacement { old: draw.text(), new: draw.text(), occurrences });
            if flags & 2 == 0 || replacements.len() > 3 {
                break;
            }
        }
        check(draw.rest(), &replacements);
    });
}

fn check(content: &[u8], replacements: &[Replacement]) {
    let plan = engine::plan(&VirtualPath::root().child_unchecked("f"), content, replacements);
    let encoding = Encoding::detect(content);
    let text = encoding.and_then(|encoding| encoding.decode(content));
    let decodes = text.is_some();
    let plan = match plan {
        Ok(plan) => plan,
        Err(error) => {
            assert_short(&error);
            if let (Some(text), ErrorKind::NoMatch | ErrorKind::Ambiguous | ErrorKind::InvalidArgument) =
                (text, error.kind())
            {
                let expected = expected(&text, replacements).expect_err("the engine refuses a valid edit");
                assert_eq!(error.kind(), expected, "{error}");
            }
            // Unicode holds every character, so nothing can be lost.
            let unicode =
                matches!(encoding, Some(Encoding::Utf8 | Encoding::Utf8Bom | Encoding::Utf16Le | Encoding::Utf16Be));
            assert!(error.kind() != ErrorKind::NotText || !unicode || !decodes, "{error}");
            return;
        }
    };
    let edited = plan.apply(content).expect("a plan fits the content it was made for");
    let (encoding, text) = encoding.zip(text).expect("only text is edited");
    let (expected, replaced) = expected(&text, replacements).expect("the engine accepts an invalid edit");
    assert_eq!(encoding.decode(&edited).as_deref(), Some(expected.as_str()), "{}", encoding.label());
    assert_eq!(plan.replaced, replaced);
    // The bytes before the first and after the last replacement are unchanged.
    let first = plan.splices.first().map_or(0, |splice| splice.start) as usize;
    let last = plan.splices.last().map_or(0, |splice| splice.end) as usize;
    assert!(edited.starts_with(&content[..first]) && edited.ends_with(&content[last..]));
}

fn expected(text: &str, replacements: &[Replacement]) -> Result<(String, u64), ErrorKind> {
    let mut text = text.to_owned();
    let mut replaced = 0;
    for Replacement { old, new, occurrences } in replacements {
        match replace(&text, old, new, *occurrences == Occurrences::All) {
            Outcome::Edited(after, count) => {
                text = after;
                replaced += count;
            }
            Outcome::NoMatch => return Err(ErrorKind::NoMatch),
            Outcome::Ambiguous => return Err(ErrorKind::Ambiguous),
            Outcome::Empty => return Err(ErrorKind::InvalidArgument),
        }
    }
    Ok((text, replaced))
}
