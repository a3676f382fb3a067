//! Mistakes in the shape of a `workden.toml` that the parser would report in its own terms.

use toml::de::{DeTable, DeValue};
use workden_core::{Error, ErrorKind, Result};

use super::locate::line_and_column;

/// Checks the tables of rules and the setup. A text that is not TOML passes: the parser reports it.
pub(super) fn check(text: &str) -> Result<()> {
    let Ok(table) = DeTable::parse(text) else { return Ok(()) };
    if let Some(setup) = table.get_ref().get("setup") {
        check_setup(text, setup)?;
    }
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

/// Checks that a setup is one table with lists of texts.
fn check_setup(text: &str, setup: &toml::Spanned<DeValue<'_>>) -> Result<()> {
    let place = |at: &toml::Spanned<DeValue<'_>>| line_and_column(text, at.span().start);
    let DeValue::Table(keys) = setup.get_ref() else {
        return Err(invalid(format!("{}`setup` is not a table", place(setup)))
            .hint("write one `[setup]` with `commands = [\"...\"]` below it"));
    };
    for key in ["commands", "cache_key"] {
        let is_text = |value: &toml::Spanned<DeValue<'_>>| matches!(value.get_ref(), DeValue::String(_));
        match keys.get(key) {
            None if key == "commands" => {
                return Err(invalid(format!("{}`setup` has no `commands`", place(setup)))
                    .hint("add the commands to run, like `commands = [\"npm ci\"]`"));
            }
            Some(value) if !matches!(value.get_ref(), DeValue::Array(all) if all.iter().all(is_text)) => {
                return Err(invalid(format!("{}`setup.{key}` is not a list of texts", place(value)))
                    .hint(format!("write it like `{key} = [\"...\"]`")));
            }
            _ => {}
        }
    }
    Ok(())
}

fn invalid(sentence: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, sentence)
}
