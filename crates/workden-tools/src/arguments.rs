//! Arguments: the schema for the model, and the conversion of its JSON to typed values. An error names the argument, its
//! value and the allowed values.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use workden_core::ErrorKind;

use crate::ToolFailure;

/// Characters of an invalid value that an error shows.
const SHOWN_CHARS: usize = 60;

/// Generates the schema of a tool's arguments in the plain form that every model provider accepts: no references, no
/// titles, no formats, and one type for an optional argument.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = plain_schema_of::<T>(SchemaSettings::draft2020_12());
    if let Some(object) = schema.as_object_mut() {
        object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

/// Generates the schema of a tool's answers as data, in the same form. A field that may be absent is never null.
pub(crate) fn output_schema_of<T: JsonSchema>() -> Value {
    plain_schema_of::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn plain_schema_of<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    if let Some(object) = schema.as_object_mut() {
        object.remove("description");
    }
    schema
}

fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            // A property may be called `title`; the keyword of that name has a string as its value.
            for keyword in ["title", "format"] {
                if object.get(keyword).is_some_and(Value::is_string) {
                    object.remove(keyword);
                }
            }
            if let Some(Value::Array(types)) = object.get("type")
                && let [Value::String(only), Value::String(null)] = types.as_slice()
                && null == "null"
            {
                let only = Value::String(only.clone());
                object.insert("type".to_owned(), only);
            }
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            object.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// Checks the arguments of a call, and returns them as its schema has them: without nulls, numbers as numbers.
pub(crate) fn checked(tool: &str, schema: &Value, given: Value) -> Result<Value, ToolFailure> {
    let mut given = match given {
        Value::Null => Map::new(),
        Value::Object(given) => given,
        other => {
            return Err(refused(format!(
                "the arguments of {tool} must be an object, got {}\nhint: {}",
                shown(&other),
                allowed(schema)
            )));
        }
    };
    let nothing = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&nothing);
    let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    // Models send null for an argument that they leave out.
    given.retain(|name, value| !value.is_null() || required(name) || !properties.contains_key(name));
    for (name, value) in &mut given {
        let Some(property) = properties.get(name) else {
            let near = properties.keys().find(|known| strsim::jaro_winkler(known, name) > 0.85);
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(refused(format!("{tool} has no argument `{name}`{near}\nhint: {}", allowed(schema))));
        };
        check(name, property, value).map_err(|why| refused(format!("{why} (in a call of {tool})")))?;
    }
    if let Some(missing) = properties.keys().find(|name| required(name) && !given.contains_key(*name)) {
        return Err(refused(format!("{tool} needs the argument `{missing}`\nhint: {}", allowed(schema))));
    }
    Ok(Value::Object(given))
}

/// Converts checked arguments to typed values.
pub(crate) fn parse<T: DeserializeOwned>(tool: &str, schema: &Value, checked: &Value) -> Result<T, ToolFailure> {
    T::deserialize(checked)
        .map_err(|error| refused(format!("invalid arguments of {tool}: {error}\nhint: {}", allowed(schema))))
}

fn refused(why: String) -> ToolFailure {
    ToolFailure::new(ErrorKind::InvalidArgument, format!("Error: {why}"))
}

/// Checks one value, and converts an equivalent one of another type: `"10"` or `10.0` for 10.
fn check(name: &str, property: &Value, value: &mut Value) -> Result<(), String> {
    if let Some(choices) = property["enum"].as_array().filter(|choices| !choices.contains(value)) {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        return Err(format!("argument `{name}` must be one of {}, got {}", choices.join(", "), shown(value)));
    }
    let wanted = property["type"].as_str().unwrap_or_default();
    let least = property["minimum"].as_i64();
    match wanted {
        "integer" => {
            if let Some(whole) = as_integer(value) {
                *value = whole.into();
            }
            let fits = value.as_i64().is_some_and(|number| least.is_none_or(|least| number >= least));
            let most = property["maximum"].as_i64();
            let fits = fits && most.is_none_or(|most| value.as_i64().is_some_and(|number| number <= most));
            if !fits {
                let range = match (least, most) {
                    (Some(least), Some(most)) => format!(" from {least} to {most}"),
                    (Some(least), None) => format!(" of at least {least}"),
                    (None, Some(most)) => format!(" of at most {most}"),
                    (None, None) => String::new(),
                };
                return Err(format!("argument `{name}` must be an integer{range}, got {}", shown(value)));
            }
        }
        "boolean" => match value {
            Value::Bool(_) => {}
            Value::String(word) if word.eq_ignore_ascii_case("true") => *value = Value::Bool(true),
            Value::String(word) if word.eq_ignore_ascii_case("false") => *value = Value::Bool(false),
            _ => return Err(format!("argument `{name}` must be true or false, got {}", shown(value))),
        },
        "string" if !value.is_string() => {
            return Err(format!("argument `{name}` must be a string, got {}", shown(value)));
        }
        "array" => {
            let Some(items) = value.as_array_mut() else {
                return Err(format!("argument `{name}` must be an array, got {}", shown(value)));
            };
            let kind = &property["items"];
            for (index, item) in items.iter_mut().enumerate() {
                let name = format!("{name}[{index}]");
                match kind["type"].as_str() {
                    Some("object") => check_object(&name, kind, item)?,
                    _ => check(&name, kind, item)?,
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// Checks an object in a list.
fn check_object(name: &str, kind: &Value, value: &mut Value) -> Result<(), String> {
    let Some(given) = value.as_object_mut() else {
        return Err(format!("argument `{name}` must be an object with {}, got {}", names(kind), shown(value)));
    };
    for (inner, value) in given.iter_mut() {
        match kind["properties"].get(inner) {
            Some(property) => check(&format!("{name}.{inner}"), property, value)?,
            None => return Err(format!("argument `{name}` has no `{inner}`; its properties: {}", names(kind))),
        }
    }
    let missing = kind["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    match missing.into_iter().find(|wanted| !given.contains_key(*wanted)) {
        Some(missing) => Err(format!("argument `{name}` needs `{missing}`")),
        None => Ok(()),
    }
}

fn as_integer(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => match number.as_f64() {
            // Integers up to this size are exact as floating-point numbers.
            Some(float) if number.as_i64().is_none() && float.fract() == 0.0 && float.abs() < 9e15 =>
            {
                #[expect(clippy::cast_possible_truncation, reason = "checked: an integer in range")]
                Some(float as i64)
            }
            _ => None,
        },
        Value::String(digits) => digits.trim().parse().ok(),
        _ => None,
    }
}

/// Lists the arguments of a tool for an error.
fn allowed(schema: &Value) -> String {
    match schema["properties"].as_object().is_none_or(Map::is_empty) {
        true => "the tool takes no arguments".to_owned(),
        false => format!("arguments: {}", names(schema)),
    }
}

/// Lists the properties of an object, and marks the optional ones.
fn names(schema: &Value) -> String {
    let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let properties = schema["properties"].as_object().into_iter().flat_map(Map::keys);
    let (needed, optional): (Vec<&String>, Vec<&String>) = properties.partition(|name| required(name));
    let needed = needed.iter().map(|name| format!("`{name}`"));
    let optional = optional.iter().map(|name| format!("`{name}` (optional)"));
    needed.chain(optional).collect::<Vec<_>>().join(", ")
}

/// Shortens a value for an error.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Input {
        /// A path.
        path: String,
        /// Lines.
        #[serde(default = "ten")]
        limit: u64,
        /// Maybe.
        #[serde(default)]
        deep: bool,
        #[serde(default)]
        end: Option<u64>,
        #[serde(default)]
        pairs: Vec<Pair>,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Pair {
        old: String,
        #[serde(default)]
        new: String,
    }

    fn ten() -> u64 {
        10
    }

    fn parsed(given: Value) -> Result<Input, String> {
        let schema = schema_of::<Input>();
        checked("look", &schema, given).and_then(|given| parse("look", &schema, &given)).map_err(|failure| failure.text)
    }

    #[test]
    fn schemas_are_plain() {
        assert_eq!(
            schema_of::<Input>(),
            json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["path"],
                "properties": {
                    "path": { "type": "string", "description": "A path." },
                    "limit": { "type": "integer", "minimum": 0, "default": 10, "description": "Lines." },
                    "deep": { "type": "boolean", "default": false, "description": "Maybe." },
                    "end": { "type": "integer", "minimum": 0 },
                    "pairs": {
                        "type": "array",
                        "items": {
                            "type": "object", "additionalProperties": false, "required": ["old"],
                            "properties": { "old": { "type": "string" }, "new": { "type": "string", "default": "" } },
                        },
                    },
                },
            })
        );
    }

    #[test]
    fn equivalent_values_are_converted() {
        let plain = || Input { path: "a".into(), limit: 10, deep: false, end: None, pairs: Vec::new() };
        assert_eq!(parsed(json!({ "path": "a" })).unwrap(), plain());
        assert_eq!(parsed(json!({ "path": "a", "limit": null, "end": null })).unwrap(), plain());
        let given = json!({ "path": "a", "limit": "10", "deep": "False", "end": 3.0 });
        assert_eq!(parsed(given).unwrap(), Input { end: Some(3), ..plain() });
    }

    #[test]
    fn errors_name_the_argument_and_what_is_allowed() {
        let hint =
            "hint: arguments: `path`, `limit` (optional), `deep` (optional), `end` (optional), `pairs` (optional)";
        for (given, expected) in [
            (json!([1]), format!("the arguments of look must be an object, got [1]\n{hint}")),
            (json!({}), format!("look needs the argument `path`\n{hint}")),
            (json!({ "path": null }), "argument `path` must be a string, got null (in a call of look)".to_owned()),
            (
                json!({ "path": "a", "limits": 1 }),
                format!("look has no argument `limits`; did you mean `limit`?\n{hint}"),
            ),
            (json!({ "path": "a", "x": 1 }), format!("look has no argument `x`\n{hint}")),
            (
                json!({ "path": "a", "limit": -1 }),
                "argument `limit` must be an integer of at least 0, got -1 (in a call of look)".to_owned(),
            ),
            (
                json!({ "path": "a", "limit": 1.5 }),
                "argument `limit` must be an integer of at least 0, got 1.5 (in a call of look)".to_owned(),
            ),
            (
                json!({ "path": "a", "deep": 1 }),
                "argument `deep` must be true or false, got 1 (in a call of look)".to_owned(),
            ),
            (
                json!({ "path": "a", "pairs": [{ "new": "x" }] }),
                "argument `pairs[0]` needs `old` (in a call of look)".to_owned(),
            ),
            (
                json!({ "path": "a", "pairs": [{ "old": 1 }] }),
                "argument `pairs[0].old` must be a string, got 1 (in a call of look)".to_owned(),
            ),
            (
                json!({ "path": "a", "pairs": ["x"] }),
                "argument `pairs[0]` must be an object with `old`, `new` (optional), got \"x\" (in a call of look)"
                    .to_owned(),
            ),
        ] {
            assert_eq!(parsed(given).unwrap_err(), format!("Error: {expected}"));
        }
    }

    #[test]
    fn a_long_wrong_value_is_shown_in_part() {
        let error = parsed(json!({ "path": ["é".repeat(1000)] })).unwrap_err();
        assert!(error.len() < 250, "{error}");
    }
}
