//! Descriptions of calls, in a sentence that a person understands. Names are escaped so that no part of a name can pass
//! for workden's words.

use super::{Execution, Op, execution::ExecutionInput, page::counted};
use crate::{
    Resolved, VirtualPath, escape,
    text::{Change, Occurrences, Replacement, hashline::Placement},
};

/// The content that a call would write.
#[derive(Clone, Copy)]
pub(super) enum NewContent<'a> {
    /// The call writes no content.
    None,
    /// Content of this many bytes.
    Bytes(usize),
    /// Content in pieces, of unknown size.
    Pieces,
    /// This many attributes in place of the current ones; the content stays.
    Attributes(usize),
    /// A change of the current content.
    Change(&'a Change),
}

/// Returns the description; `below` is the number of entries in a directory that are affected with it.
pub(super) fn describe(op: Op<'_>, content: NewContent<'_>, below: usize) -> String {
    let with_all = match below {
        0 => String::new(),
        1 => " and the one thing in it".to_owned(),
        below => format!(" and the {below} things in it"),
    };
    match op {
        Op::Stat(at) => format!("Look at {}", quoted(at)),
        Op::List(at) => format!("List {}", quoted(at)),
        Op::Read(at) => format!("Read {}", quoted(at)),
        Op::Write(at) => match content {
            NewContent::Bytes(count) => format!("Write {} to {}", counted(count, "byte"), quoted(at)),
            NewContent::Attributes(0) => format!("Remove the attributes of {}", quoted(at)),
            NewContent::Attributes(count) => format!("Set {} of {}", counted(count, "attribute"), quoted(at)),
            NewContent::Pieces | NewContent::Change(_) | NewContent::None => format!("Write {}", quoted(at)),
        },
        Op::Change(at) => match content {
            NewContent::Change(change) => format!("Edit {}: {}", quoted(at), describe_change(change)),
            NewContent::Bytes(_) | NewContent::Pieces | NewContent::Attributes(_) | NewContent::None => {
                format!("Edit {}", quoted(at))
            }
        },
        Op::MakeDir(at) => format!("Make the directory {}", quoted(at)),
        Op::Remove(at) => format!("Delete {}{with_all}", quoted(at)),
        Op::Rename { from, to } => format!("Move {}{with_all} to {}", quoted(from), quoted(to)),
        Op::Copy { from, to } => format!("Copy {} to {}", quoted(from), quoted(to)),
        Op::Glob(at) => format!("Look for names below {}", quoted(at)),
        Op::Grep(at) => format!("Search below {}", quoted(at)),
        Op::Execute(execution) => describe_execution(execution),
    }
}

/// How much of a command the description quotes; the question has all of it.
const SHOWN_CHARS: usize = 500;

fn describe_execution(execution: &Execution) -> String {
    let script = execution.whole_script();
    let mut shown: String = script.chars().take(SHOWN_CHARS).collect();
    if script.chars().nth(SHOWN_CHARS).is_some() {
        shown.push_str("...");
    }
    let input = match execution.input {
        ExecutionInput::Nothing => "",
        ExecutionInput::Later => ", with input that comes later",
    };
    format!("Run `{}` in {}{input}", escape::line(&shown), quoted(&execution.directory))
}

fn describe_change(change: &Change) -> String {
    match change {
        Change::Replace(replacements) => match replacements.as_slice() {
            [one] => describe_replacement(one),
            several => format!("replace {} of text", counted(several.len(), "piece")),
        },
        Change::Hashline(edit) => {
            let lines = match edit.end_line {
                Some(end) if end != edit.start_line => format!("lines {} to {end}", edit.start_line),
                _ => format!("line {}", edit.start_line),
            };
            match edit.placement {
                Placement::Replace if edit.new_content.is_empty() => format!("remove {lines}"),
                Placement::Replace => format!("replace {lines}"),
                Placement::InsertAfter => format!("add lines after line {}", edit.start_line),
            }
        }
    }
}

fn describe_replacement(one: &Replacement) -> String {
    let (old, new) = (one.old.chars().count(), one.new.chars().count());
    let every = if one.occurrences == Occurrences::All { ", in every place" } else { "" };
    match new {
        0 => format!("remove {}{every}", counted(old, "character")),
        new => format!("replace {} with {new}{every}", counted(old, "character")),
    }
}

/// Returns a path as typed, with its real path if that differs.
fn quoted(at: &Resolved) -> String {
    match at.typed == at.real {
        true => named(&at.typed),
        false => format!("{} (which is {})", named(&at.typed), named(&at.real)),
    }
}

/// Quotes a name; backquotes in the name are escaped.
fn named(path: &VirtualPath) -> String {
    format!("`{}`", escape::line(path.as_str()).replace('`', "\\`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::HashlineEdit;

    fn at(typed: &str) -> Resolved {
        Resolved::literal(VirtualPath::parse(typed).unwrap())
    }

    #[test]
    fn a_person_understands_what_would_be_done() {
        let (a, b) = (at("/a"), at("/out/b.md"));
        let link = Resolved::new(a.typed.clone(), b.real.clone());
        let odd = at("/x`\nDelete \u{202e}y");
        let once = Change::Replace(vec![Replacement::once("abc", "12345")]);
        let gone = Change::Replace(vec![Replacement::once("a", "")]);
        let all = Change::Replace(vec![Replacement::all("ab", "é")]);
        let several = Change::Replace(vec![Replacement::once("a", "b"); 3]);
        let lines = Change::Hashline(HashlineEdit::new(3, "00", "x").end_line(5));
        for (op, new, below, expected) in [
            (Op::Write(&b), NewContent::Bytes(120), 0, "Write 120 bytes to `/out/b.md`"),
            (Op::Change(&a), NewContent::Change(&once), 0, "Edit `/a`: replace 3 characters with 5"),
            (Op::Change(&a), NewContent::Change(&gone), 0, "Edit `/a`: remove 1 character"),
            (Op::Change(&a), NewContent::Change(&all), 0, "Edit `/a`: replace 2 characters with 1, in every place"),
            (Op::Change(&a), NewContent::Change(&several), 0, "Edit `/a`: replace 3 pieces of text"),
            (Op::Change(&a), NewContent::Change(&lines), 0, "Edit `/a`: replace lines 3 to 5"),
            (Op::Remove(&a), NewContent::None, 0, "Delete `/a`"),
            (Op::Remove(&a), NewContent::None, 12, "Delete `/a` and the 12 things in it"),
            (Op::Rename { from: &a, to: &b }, NewContent::None, 0, "Move `/a` to `/out/b.md`"),
            (Op::Grep(&a), NewContent::None, 0, "Search below `/a`"),
            (Op::Read(&link), NewContent::None, 0, "Read `/a` (which is `/out/b.md`)"),
            (Op::Read(&odd), NewContent::None, 0, "Read `/x\\`\\nDelete \\u{202e}y`"),
        ] {
            assert_eq!(describe(op, new, below), expected);
        }
    }
}
