//! Mistakes in the shape of a `workden.toml` that the parser would report in its own terms.

use toml::de::{DeTable, DeValue};
use workden_core::{Error, ErrorKind, Result};

use super::locate::line_and_column;

/// Checks the tables of rules. A text that is not TOML passes: the parser reports it.
pub(super) fn check(text: &str) -> Result<()> {
    let Ok(table) = DeTable::parse(text) else { return Ok(()) };
    let Some(DeValue::Table(rules)) = table.get_ref().get("rules").map(toml::Spanned::get_ref) else { return Ok(()) };
    for (operation, of) in rules {
        let name = operation.get_ref();
        match of.get_ref() {
            DeValue::Array(_) => {
                let place = line_and_column(text, of.span().start);
                return Err(invalid(format!("{place}`rules.{name}` is a list"))
                    .hint(format!("write `[[rules.{name}.rules]]` for one rule")));
            }
            DeValue::Table(of) => {
                let Some(DeValue::Array(list)) = of.get("rules").map(toml::Spanned::get_ref) else { continue };
                for (nth, rule) in list.iter().enumerate() {
                    let DeValue::Table(keys) = rule.get_ref() else { continue };
                    if let Some(missing) = ["pattern", "action"].iter().find(|key| !keys.contains_key(**key)) {
                        let place = line_and_column(text, rule.span().start);
                        let sentence = format!("{place}rule {} of `{name}` has no `{missing}`", nth + 1);
                        return Err(
                            invalid(sentence).hint("a rule is like `{ pattern = \"src/**\", action = \"deny\" }`")
                        );
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn invalid(sentence: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, sentence)
}
