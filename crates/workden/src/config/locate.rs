//! Finds the line and column of a value in a TOML text, as editors count them.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};
use workden_core::{Error, ErrorKind, nearest};

/// One step on the path to a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'a> {
    /// A key of a table.
    Key(&'a str),
    /// An element of an array.
    Nth(usize),
}

/// An error at a byte offset.
pub(super) fn at_offset(text: &str, offset: usize, message: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, format!("{}{}", line_and_column(text, offset), message.trim_end()))
        .hint(meant(message).unwrap_or_else(|| "`workden policy schema` prints a JSON Schema for editors".to_owned()))
}

/// Returns a hint with the known name that is closest to the unknown one of the parser's message.
fn meant(message: &str) -> Option<String> {
    let unknown = ["unknown variant `", "unknown field `"];
    let (_, after) = unknown.iter().find_map(|words| message.split_once(words))?;
    let (typed, known) = after.split_once('`')?;
    // The names are between backquotes.
    nearest(typed, known.split('`').skip(1).step_by(2)).map(|name| format!("did you mean `{name}`?"))
}

/// `line 3, column 5: `, or nothing when it is not found.
pub(super) fn position(text: &str, path: &[Step<'_>]) -> String {
    let Ok(table) = DeTable::parse(text) else { return String::new() };
    offset_of(&table, path).map_or_else(String::new, |offset| line_and_column(text, offset))
}

fn offset_of(table: &Spanned<DeTable<'_>>, path: &[Step<'_>]) -> Option<usize> {
    let (first, rest) = path.split_first()?;
    let Step::Key(key) = first else { return None };
    let mut value = table.get_ref().get(*key)?;
    for step in rest {
        value = match (step, value.get_ref()) {
            (Step::Key(key), DeValue::Table(table)) => table.get(*key)?,
            (Step::Nth(nth), DeValue::Array(array)) => array.get(*nth)?,
            _ => return None,
        };
    }
    Some(value.span().start)
}

pub(super) fn line_and_column(text: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    format!("line {line}, column {column}: ")
}
