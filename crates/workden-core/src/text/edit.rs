//! Exact edits: a text is replaced where it occurs, by default exactly once.
//!
//! Invariant: bytes outside the replaced spans are kept. An edit is planned as splices of the original bytes, so a
//! UTF-8 file keeps its line endings, its byte-order mark and its missing final newline by construction; other
//! encodings are decoded, edited, encoded and compared outside the spans.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memmem};
use serde::{Deserialize, Serialize};

use super::{
    encoding::{Encoding, UTF8_BOM, decode_losslessly, not_text},
    near_miss,
    places::{Places, ambiguous},
    splice::{Splice, apply_splices, difference},
};
use crate::{Error, ErrorKind, Result, VirtualPath, limits};

/// One text to replace by another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replacement {
    /// The text to replace, as it occurs in the file.
    pub old: String,
    /// The replacement.
    pub new: String,
    /// How often the text may occur.
    #[serde(default)]
    pub occurrences: Occurrences,
}

impl Replacement {
    /// Replaces the only occurrence of `old`.
    pub fn once(old: impl Into<String>, new: impl Into<String>) -> Self {
        Self { old: old.into(), new: new.into(), occurrences: Occurrences::One }
    }

    /// Replaces every occurrence of `old`.
    pub fn all(old: impl Into<String>, new: impl Into<String>) -> Self {
        Self { old: old.into(), new: new.into(), occurrences: Occurrences::All }
    }
}

/// How many occurrences an edit changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Occurrences {
    /// Exactly one; a text with more occurrences is refused.
    #[default]
    One,
    /// All occurrences, at least one.
    All,
}

/// The effect of an edit on a content: splices in order, not overlapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditPlan {
    /// The changes to the original bytes.
    pub splices: Vec<Splice>,
    /// How many places were replaced, over all replacements.
    pub replaced: u64,
}

impl EditPlan {
    /// Returns the content after the edit.
    ///
    /// # Errors
    ///
    /// Returns `InvalidArgument` if the splices do not fit the content.
    pub fn apply(&self, content: &[u8]) -> Result<Vec<u8>> {
        apply_splices(content, &self.splices)
    }
}

/// Plans several replacements, each on the result of the previous one; all or none apply.
///
/// # Errors
///
/// - `NoMatch`: `old` does not occur; the message shows the nearest lines and how they differ.
/// - `Ambiguous`: `old` occurs more than once; the message has the line numbers.
/// - `NotText`: the content is binary, or text that cannot be changed without loss.
/// - `InvalidArgument`: `old` is empty, or the list of replacements is.
/// - `TooLarge`: the result would be larger than a file that can be edited.
pub fn plan(path: &VirtualPath, content: &[u8], replacements: &[Replacement]) -> Result<EditPlan> {
    // The search for the text runs along with the check for UTF-8: one pass through memory.
    let mut places = match replacements {
        [Replacement { old, occurrences: Occurrences::One, .. }] if !old.is_empty() => Some(Places::of(old)),
        _ => None,
    };
    let encoding = Encoding::detect_beside(content, |end| {
        if let Some(places) = &mut places {
            places.look(content, end);
        }
    });
    match encoding {
        None => Err(not_text("edit", path)),
        Some(Encoding::Utf8) => plan_utf8(path, content, replacements, places),
        Some(Encoding::Utf8Bom) => {
            // The byte-order mark is not part of the text, as in every other encoding that has one.
            let mut plan = plan_utf8(path, content.get(UTF8_BOM.len()..).unwrap_or_default(), replacements, None)?;
            for splice in &mut plan.splices {
                splice.start += UTF8_BOM.len() as u64;
                splice.end += UTF8_BOM.len() as u64;
            }
            Ok(plan)
        }
        Some(_) => plan_transcoded(path, content, replacements),
    }
}

/// Plans edits of a text; `places` are the occurrences for a single edit, if they are already known.
fn plan_utf8(
    path: &VirtualPath,
    content: &[u8],
    replacements: &[Replacement],
    places: Option<Places<'_>>,
) -> Result<EditPlan> {
    match replacements {
        [] => Err(Error::new(ErrorKind::InvalidArgument, format!("cannot edit `{path}`: no replacement was given"))
            .hint("give at least one text to replace, and what to put there")),
        [only] => plan_one(path, content, only, places),
        several => {
            let mut current = content.to_vec();
            let mut replaced = 0;
            for (nth, replacement) in several.iter().enumerate() {
                let step = plan_one(path, &current, replacement, None)
                    .map_err(|error| in_series(error, nth, several.len()))?;
                replaced += step.replaced;
                current = step.apply(&current)?;
            }
            Ok(EditPlan { splices: vec![difference(content, &current)], replaced })
        }
    }
}

fn in_series(error: Error, nth: usize, of: usize) -> Error {
    let numbered =
        Error::new(error.kind(), format!("edit {} of {of} (none was applied): {}", nth + 1, error.sentence()));
    let numbered = match error.refusal() {
        Some(refusal) => numbered.refused_for(refusal.clone()),
        None => numbered,
    };
    match error.hint_text() {
        Some(hint) => numbered.hint(hint),
        None => numbered,
    }
}

fn plan_one(
    path: &VirtualPath,
    content: &[u8],
    replacement: &Replacement,
    places: Option<Places<'_>>,
) -> Result<EditPlan> {
    let Replacement { old, new, occurrences } = replacement;
    if old.is_empty() {
        return match content {
            [] => Ok(EditPlan {
                splices: vec![Splice { start: 0, end: 0, bytes: new.clone().into_bytes() }],
                replaced: 1,
            }),
            _ => Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("cannot edit `{path}`: the text to replace is empty"),
            )
            .hint("give the lines around the place, and put them into the new text as well")),
        };
    }
    // A model sees lines without their endings, so in a file with only CRLF endings a plain newline means CRLF, in the
    // old text and in the new one.
    let crlf = (old.contains('\n') || new.contains('\n')) && has_only_crlf(content);
    let new = if crlf { Cow::Owned(with_crlf(new)) } else { Cow::Borrowed(new.as_str()) };
    if crlf && memmem::find(content, old.as_bytes()).is_none() {
        replace(path, content, old, &with_crlf(old), &new, *occurrences, None)
    } else {
        replace(path, content, old, old, &new, *occurrences, places)
    }
}

/// Plans to replace `found` by `new`; errors quote it as `typed`.
fn replace(
    path: &VirtualPath,
    content: &[u8],
    typed: &str,
    found: &str,
    new: &str,
    occurrences: Occurrences,
    places: Option<Places<'_>>,
) -> Result<EditPlan> {
    match occurrences {
        Occurrences::All => replace_all(path, content, typed, found, new),
        Occurrences::One => match places.unwrap_or_else(|| Places::of(found)).in_all_of(content).as_slice() {
            [] => Err(near_miss::not_found(path, content, typed)),
            [start] => {
                check_size(path, content, (1, found), new)?;
                Ok(EditPlan { splices: vec![splice(*start, start + found.len(), new.into())], replaced: 1 })
            }
            starts => Err(ambiguous(path, content, typed, starts)),
        },
    }
}

fn replace_all(path: &VirtualPath, content: &[u8], typed: &str, found: &str, new: &str) -> Result<EditPlan> {
    let finder = memmem::Finder::new(found.as_bytes());
    let count = finder.find_iter(content).count();
    if count == 0 {
        return Err(near_miss::not_found(path, content, typed));
    }
    check_size(path, content, (count, found), new)?;
    let starts = finder.find_iter(content);
    if count <= SEPARATE_SPLICES {
        let splices = starts.map(|start| splice(start, start + found.len(), new.into())).collect();
        return Ok(EditPlan { splices, replaced: count as u64 });
    }
    let mut bytes = Vec::new();
    let mut span: Option<(usize, usize)> = None;
    for start in starts {
        bytes.extend_from_slice(span.map_or(&[][..], |(_, end)| &content[end..start]));
        bytes.extend_from_slice(new.as_bytes());
        span = Some((span.map_or(start, |(first, _)| first), start + found.len()));
    }
    let splices = span.map(|(first, end)| splice(first, end, bytes)).into_iter().collect();
    Ok(EditPlan { splices, replaced: count as u64 })
}

fn splice(start: usize, end: usize, bytes: Vec<u8>) -> Splice {
    Splice { start: start as u64, end: end as u64, bytes }
}

/// Checks the size of the result: a short text with many occurrences and a long replacement can make it arbitrarily
/// large.
fn check_size(path: &VirtualPath, content: &[u8], (count, found): (usize, &str), new: &str) -> Result<()> {
    let size = (content.len() - count * found.len()) as u64;
    let size = size.saturating_add((count as u64).saturating_mul(new.len() as u64));
    if size <= limits::EDIT_BYTES.max(content.len() as u64) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::TooLarge,
        format!("cannot edit `{path}`: it would have {size} bytes, and {} is the most", limits::EDIT_BYTES),
    )
    .hint("replace fewer places, or put less there"))
}

/// More occurrences than this become one splice over all of them: a splice for each byte would cost many times the
/// content.
const SEPARATE_SPLICES: usize = 1_000;

/// Whether a content has line endings, and all of them are CRLF.
pub(super) fn has_only_crlf(content: &[u8]) -> bool {
    memchr(b'\n', content).is_some() && memchr_iter(b'\n', content).all(|at| at > 0 && content[at - 1] == b'\r')
}

/// Turns every line ending into CRLF.
pub(super) fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn plan_transcoded(path: &VirtualPath, content: &[u8], replacements: &[Replacement]) -> Result<EditPlan> {
    let (encoding, text) = decode_losslessly("edit", path, content)?;
    let EditPlan { splices, replaced } = plan_utf8(path, text.as_bytes(), replacements, None)?;
    let edited = apply_splices(text.as_bytes(), &splices)?;
    // Splices replace text by text, so the result is text again.
    let edited = String::from_utf8(edited).map_err(|_| not_text("edit", path))?;
    let encoded = encoding.encode(&edited).ok_or_else(|| {
        Error::new(
            ErrorKind::NotText,
            format!("cannot edit `{path}`: the new text has a character that {} cannot hold", encoding.label()),
        )
        .hint("use characters of that encoding, or convert the file to UTF-8 first")
    })?;
    let splice = outside_kept(content, &encoded, &text, &splices, encoding).ok_or_else(|| {
        Error::new(
            ErrorKind::NotText,
            format!("cannot edit `{path}` without changing bytes outside the edit ({})", encoding.label()),
        )
        .hint("convert the file to UTF-8 first")
    })?;
    Ok(EditPlan { splices: vec![splice], replaced })
}

/// Returns the splice from the first to the last edited place; `None` if encoding the edited text changed a byte
/// outside it.
fn outside_kept(content: &[u8], encoded: &[u8], text: &str, edits: &[Splice], encoding: Encoding) -> Option<Splice> {
    // A splice between the common parts of two texts may start or end inside a character.
    let mut first = usize::try_from(edits.first()?.start).ok()?;
    let mut last = usize::try_from(edits.last()?.end).ok()?;
    while !text.is_char_boundary(first) {
        first -= 1;
    }
    while !text.is_char_boundary(last) {
        last += 1;
    }
    let start = encoding.encode(text.get(..first)?)?.len();
    let end = encoding.encode(text.get(..last)?)?.len();
    let bytes = encoded.strip_prefix(content.get(..start)?)?.strip_suffix(content.get(end..)?)?;
    Some(Splice { start: start as u64, end: end as u64, bytes: bytes.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(content: &[u8], replacements: &[Replacement]) -> Result<(Vec<u8>, u64)> {
        let plan = plan(&VirtualPath::parse("/f").unwrap(), content, replacements)?;
        Ok((plan.apply(content)?, plan.replaced))
    }

    fn check(content: &[u8], old: &str, new: &str, expected: &[u8]) {
        let (edited, replaced) = edit(content, &[Replacement::once(old, new)]).unwrap();
        assert_eq!(edited.escape_ascii().to_string(), expected.escape_ascii().to_string());
        assert_eq!(replaced, 1);
    }

    fn refused(content: &[u8], replacement: Replacement) -> Error {
        edit(content, &[replacement]).unwrap_err()
    }

    #[test]
    fn bytes_outside_the_edit_are_kept() {
        check(b"a\nb\nc", "b", "B", b"a\nB\nc");
        check(b"a\r\nb\r\nc\r\n", "b", "B", b"a\r\nB\r\nc\r\n");
        check(b"a\r\nb\nc\rd", "b", "B", b"a\r\nB\nc\rd");
        check(b"\xEF\xBB\xBFhello", "hello", "bye", b"\xEF\xBB\xBFbye");
        check(b"caf\xE9 na\xEFve", "na\u{ef}ve", "\u{fc}ber", b"caf\xE9 \xFCber");
        check(b"\xFF\xFEa\0\r\0\n\0b\0", "a", "x", b"\xFF\xFEx\0\r\0\n\0b\0");
        check(b"\xFE\xFF\0a\0b", "b", "\u{e9}", b"\xFE\xFF\0a\0\xE9");
        check(b"abc", "b", "", b"ac");
        check(b"", "", "new", b"new");
    }

    #[test]
    fn an_edit_between_bytes_that_repeat_is_not_taken_for_one_beside_it() {
        check(b"\xFE\xFF\0\r\0\n\0a", "\n", "", b"\xFE\xFF\0\r\0a");
        let (edited, replaced) = edit(b"\xFE\xFF\0 \0 \0a", &[Replacement::all(" ", "")]).unwrap();
        assert_eq!((edited.as_slice(), replaced), (&b"\xFE\xFF\0a"[..], 2));
        let series = [Replacement::once("\u{e9}", "\u{e8}"), Replacement::once("b", "c")];
        assert_eq!(edit(b"\xFF\xFE\xE9\0b\0", &series).unwrap().0, b"\xFF\xFE\xE8\0c\0");
    }

    #[test]
    fn a_mark_is_no_part_of_the_text() {
        check(b"\xEF\xBB\xBF", "", "new", b"\xEF\xBB\xBFnew");
        check(b"\xFF\xFE", "", "n", b"\xFF\xFEn\0");
        assert_eq!(refused(b"\xEF\xBB\xBFa", Replacement::once("\u{feff}a", "b")).kind(), ErrorKind::NoMatch);
        assert_eq!(refused(b"\xFF\xFEa\0", Replacement::once("\u{feff}a", "b")).kind(), ErrorKind::NoMatch);
    }

    #[test]
    fn a_file_of_crlf_lines_stays_one() {
        check(b"a\r\nb\r\nc\r\n", "a\nb", "x\ny", b"x\r\ny\r\nc\r\n");
        check(b"a\r\nb\r\n", "b", "b1\nb2", b"a\r\nb1\r\nb2\r\n");
        check(b"a\r\nb\r\n", "a\r\nb", "c", b"c\r\n");
    }

    #[test]
    fn in_a_mixed_file_line_endings_are_exact() {
        let error = refused(b"a\r\nb\nc\n", Replacement::once("a\nb", "x"));
        assert_eq!(error.kind(), ErrorKind::NoMatch);
        assert!(error.to_string().contains("CRLF"), "{error}");
    }

    #[test]
    fn a_text_that_stands_twice_is_refused_with_its_lines() {
        let error = refused(b"x\ny\nx\n", Replacement::once("x", "z"));
        assert_eq!(error.kind(), ErrorKind::Ambiguous);
        assert!(error.to_string().contains("found 2 times, at lines 1, 3"), "{error}");
        assert_eq!(refused(b"aaa", Replacement::once("aa", "b")).kind(), ErrorKind::Ambiguous, "overlapping");
        let (edited, replaced) = edit(b"x\ny\nx\n", &[Replacement::all("x", "z")]).unwrap();
        assert_eq!((edited.as_slice(), replaced), (&b"z\ny\nz\n"[..], 2));
    }

    #[test]
    fn a_text_over_the_border_of_two_blocks_is_found_once() {
        for before in [262_135, 262_140, 262_144, 524_290] {
            for lines in ["", "\n"] {
                let filler = "x".repeat(99) + if lines.is_empty() { "x" } else { "\n" };
                let head = filler.repeat(before / 100) + &"y".repeat(before % 100);
                let content = format!("{head}needle\nand more{}", filler.repeat(3_000));
                let edited = edit(content.as_bytes(), &[Replacement::once("needle\nand", "thread")]).unwrap().0;
                assert_eq!(edited, content.replace("needle\nand", "thread").into_bytes(), "{before}");
                let twice = format!("{content}needle\nand");
                let error = refused(twice.as_bytes(), Replacement::once("needle\nand", "x"));
                assert_eq!(error.kind(), ErrorKind::Ambiguous);
            }
        }
    }

    #[test]
    fn several_edits_are_one_and_all_or_nothing() {
        let series = [Replacement::once("one", "two"), Replacement::once("two three", "four")];
        assert_eq!(edit(b"one three", &series).unwrap(), (b"four".to_vec(), 2));
        let error = edit(b"one three", &[Replacement::once("one", "1"), Replacement::once("nope", "x")]).unwrap_err();
        assert!(error.to_string().starts_with("edit 2 of 2 (none was applied)"), "{error}");
        let message = |error: &Error| error.refusal().unwrap().message(crate::Spelling::Bare);
        assert!(message(&error).ends_with("text not found in file.\nSearched for: 'nope'"), "{}", message(&error));
        let error = refused(b"a a a", Replacement::once("a", "b"));
        assert!(message(&error).contains("text found 3 times (must be unique)."), "{}", message(&error));
    }

    #[test]
    fn what_cannot_be_edited_without_loss_is_refused() {
        assert_eq!(refused(b"a\0b", Replacement::once("a", "b")).kind(), ErrorKind::NotText);
        assert_eq!(refused(b"caf\xE9", Replacement::once("caf", "日")).kind(), ErrorKind::NotText);
        assert_eq!(refused(b"\xFF\xFEa\0b", Replacement::once("a", "b")).kind(), ErrorKind::NotText);
        assert_eq!(refused(b"abc", Replacement::once("", "b")).kind(), ErrorKind::InvalidArgument);
        assert_eq!(edit(b"abc", &[]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }

    #[test]
    fn an_edit_cannot_ask_for_any_amount_of_memory() {
        let content = "a".repeat(1_000_000);
        let error = refused(content.as_bytes(), Replacement::all("a", "b".repeat(1_000_000)));
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        let growing: Vec<_> = (0..60).map(|_| Replacement::all("a", "a".repeat(1_000))).collect();
        assert_eq!(edit(b"a", &growing).unwrap_err().kind(), ErrorKind::TooLarge);
    }

    #[test]
    fn many_places_are_one_splice() {
        let content = "-a".repeat(100_000) + "-";
        let plan =
            plan(&VirtualPath::parse("/f").unwrap(), content.as_bytes(), &[Replacement::all("a", "bc")]).unwrap();
        assert_eq!((plan.splices.len(), plan.replaced), (1, 100_000));
        assert_eq!(plan.apply(content.as_bytes()).unwrap(), ("-bc".repeat(100_000) + "-").as_bytes());
    }

    #[test]
    fn splices_that_do_not_fit_are_refused() {
        let splice = |start, end| Splice { start, end, bytes: vec![] };
        for bad in
            [vec![splice(0, 4)], vec![splice(2, 1)], vec![splice(1, 2), splice(0, 1)], vec![splice(0, 2), splice(1, 3)]]
        {
            assert_eq!(apply_splices(b"abc", &bad).unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
        assert_eq!(apply_splices(b"abc", &[splice(0, 1), splice(1, 2)]).unwrap(), b"c");
    }
}
