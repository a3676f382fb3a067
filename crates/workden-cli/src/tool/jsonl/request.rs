//! Parses a line as a request. An invalid line keeps its id, if one was found, so that the answer can carry it.

use std::{cell::RefCell, fmt};

use serde::{
    Deserializer,
    de::{self, MapAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

/// The longest id, in bytes. The id is only sent back.
const ID_BYTES: usize = 1024;

/// One call.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) id: Option<Box<RawValue>>,
    pub(super) tool: String,
    pub(super) args: Value,
}

/// An invalid line.
#[derive(Debug)]
pub(super) struct NoRequest {
    pub(super) id: Option<Box<RawValue>>,
    pub(super) why: String,
}

/// Parses a line.
pub(super) fn parse(line: &[u8]) -> Result<Request, NoRequest> {
    let id = RefCell::new(None);
    let mut reader = serde_json::Deserializer::from_slice(line);
    let read = reader.deserialize_map(Fields { id: &id }).and_then(|read| reader.end().map(|()| read));
    match read {
        Ok((tool, args)) => Ok(Request { id: id.into_inner(), tool, args }),
        Err(error) => Err(NoRequest { id: id.into_inner(), why: error.to_string() }),
    }
}

/// Finds the id in the start of a line.
pub(super) fn id_of(beginning: &[u8]) -> Option<Box<RawValue>> {
    parse(beginning).map_or_else(|no_request| no_request.id, |request| request.id)
}

struct Fields<'a> {
    /// Outside the result, because an error after the id must not lose it.
    id: &'a RefCell<Option<Box<RawValue>>>,
}

impl<'de> Visitor<'de> for Fields<'_> {
    type Value = (String, Value);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object like {\"id\": 1, \"tool\": \"ls\", \"args\": {}}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut tool, mut args) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            let twice = || de::Error::custom(format_args!("duplicate `{key}`"));
            match key.as_str() {
                "id" => {
                    let id: Box<RawValue> = map.next_value()?;
                    if id.get().starts_with(['{', '[']) || id.get().len() > ID_BYTES {
                        return Err(de::Error::custom("`id` must be a number or a short text"));
                    }
                    if self.id.replace(Some(id)).is_some() {
                        return Err(twice());
                    }
                }
                "tool" => {
                    if tool.replace(map.next_value::<String>()?).is_some() {
                        return Err(twice());
                    }
                }
                "args" => {
                    if args.replace(map.next_value::<Value>()?).is_some() {
                        return Err(twice());
                    }
                }
                _ => {
                    // The id may follow.
                    map.next_value::<de::IgnoredAny>()?;
                    let error = format!("unknown field `{}`: a request has `id`, `tool` and `args`", shown(&key));
                    while let Some(key) = map.next_key::<String>()? {
                        match key.as_str() {
                            "id" => {
                                let id: Box<RawValue> = map.next_value()?;
                                if !id.get().starts_with(['{', '[']) && id.get().len() <= ID_BYTES {
                                    self.id.borrow_mut().get_or_insert(id);
                                }
                            }
                            _ => {
                                map.next_value::<de::IgnoredAny>()?;
                            }
                        }
                    }
                    return Err(de::Error::custom(error));
                }
            }
        }
        let tool = tool.ok_or_else(|| de::Error::custom("a request needs a `tool`"))?;
        Ok((tool, args.unwrap_or(Value::Null)))
    }
}

fn shown(key: &str) -> String {
    key.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(line: &str) -> Option<String> {
        id_of(line.as_bytes()).map(|id| id.get().to_owned())
    }

    #[test]
    fn a_request_has_a_tool_and_may_have_an_id_and_arguments() {
        let request = parse(br#" {"args": {"path": "a"}, "tool": "ls", "id": "x\u0041"} "#).unwrap();
        assert_eq!((request.tool.as_str(), request.args["path"].as_str()), ("ls", Some("a")));
        // Byte for byte as written.
        assert_eq!(request.id.unwrap().get(), r#""x\u0041""#);
        let request = parse(br#"{"tool": "ls"}"#).unwrap();
        assert!(request.id.is_none() && request.args.is_null());
        let request = parse(br#"{"id": 123456789012345678901234567890, "tool": "ls"}"#).unwrap();
        assert_eq!(request.id.unwrap().get(), "123456789012345678901234567890");
    }

    #[test]
    fn what_is_wrong_is_said_and_the_id_is_kept_where_there_is_one() {
        for (line, expected, why) in [
            ("nonsense", None, "expected"),
            ("[1]", None, "an object like"),
            (r#"{"id": 1}"#, Some("1"), "needs a `tool`"),
            (r#"{"id": 1, "tool": 5}"#, Some("1"), "invalid type"),
            (r#"{"id": 1, "tool": "ls", "args": {"#, Some("1"), "EOF"),
            (r#"{"id": 1, "tool": "ls"} {"id": 2}"#, Some("1"), "trailing"),
            (r#"{"id": 1, "id": 2, "tool": "ls"}"#, Some("2"), "duplicate `id`"),
            (r#"{"id": 1, "arguments": {}, "tool": "ls"}"#, Some("1"), "unknown field `arguments`"),
            (r#"{"arguments": {}, "tool": "ls", "id": 7}"#, Some("7"), "unknown field `arguments`"),
            (r#"{"id": {}, "tool": "ls"}"#, None, "a number or a short text"),
            (r#"{"tool": "ls", "id": 3, "args": nope}"#, Some("3"), "expected"),
        ] {
            let error = parse(line.as_bytes()).unwrap_err();
            assert!(error.why.contains(why), "{line}: {}", error.why);
            assert_eq!(id(line).as_deref(), expected, "{line}");
        }
        let invalid = parse(b"{\"id\": 9, \"tool\": \"\xff\"}").unwrap_err();
        assert_eq!(invalid.id.unwrap().get(), "9");
        let deep = format!(r#"{{"id": 4, "tool": "ls", "args": {}"#, "[".repeat(100_000));
        assert_eq!(id(&deep).as_deref(), Some("4"));
    }
}
