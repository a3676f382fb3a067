//! The description of the API, as OpenAPI. What many calls have in common is said once: the scheme of keys, the form of
//! bodies, and the refusals that every call of a kind may be answered with.

use utoipa::{
    Modify, OpenApi, PartialSchema, ToSchema,
    openapi::{
        ContentBuilder, KnownFormat, ObjectBuilder, Ref, RefOr, ResponseBuilder, Schema, SchemaFormat,
        path::Operation,
        schema::Type,
        security::{HttpAuthScheme, HttpBuilder, SecurityScheme},
    },
};

#[derive(OpenApi)]
#[openapi(
    info(title = "workden", description = "Files and sandboxed commands for AI agents, under a policy"),
    modifiers(&KeyScheme),
    security(("key" = []))
)]
pub(super) struct Description;

/// The scheme of API keys.
struct KeyScheme;

impl Modify for KeyScheme {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
        openapi.components.get_or_insert_default().add_security_scheme("key", scheme);
    }
}

/// Bytes, as the body of a request or of an answer.
pub(super) struct RawBytes;

impl PartialSchema for RawBytes {
    fn schema() -> RefOr<Schema> {
        let format = SchemaFormat::KnownFormat(KnownFormat::Binary);
        ObjectBuilder::new().schema_type(Type::String).format(Some(format)).into()
    }
}

impl ToSchema for RawBytes {}

/// A server-sent event.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it only describes what `axum` writes")]
pub(super) struct ServerEvent {
    /// Its name.
    event: String,
    /// JSON.
    data: String,
    /// Its number, where a client can resume after it.
    id: Option<String>,
}

/// A refusal that many calls may be answered with.
struct Refusal {
    status: &'static str,
    name: &'static str,
    description: &'static str,
    /// Whether a call at a path may be answered with it.
    applies: fn(&str, &Operation) -> bool,
}

const REFUSALS: [Refusal; 15] = [
    Refusal {
        status: "400",
        name: "Invalid",
        description: "A parameter, or what the body asks for, is invalid",
        applies: |_, call| call.parameters.is_some() || call.request_body.is_some(),
    },
    Refusal {
        status: "401",
        name: "Unauthenticated",
        description: "The key is missing or invalid",
        applies: |_, _| true,
    },
    Refusal {
        status: "403",
        name: "Denied",
        description: "The policy, or the role of the key, denies it",
        applies: |_, _| true,
    },
    Refusal {
        status: "404",
        name: "NotFound",
        description: "There is none that you may use",
        applies: |path, _| path.contains('{'),
    },
    Refusal {
        status: "408",
        name: "BodyTooSlow",
        description: "The body stopped arriving",
        applies: |_, call| call.request_body.is_some(),
    },
    Refusal {
        status: "409",
        name: "Conflict",
        description: "The session is paused, or what is there does not permit it",
        applies: |path, _| path.contains("/sessions/{id}"),
    },
    Refusal {
        status: "410",
        name: "Gone",
        description: "The session, or its sandbox, has ended",
        applies: |path, _| path.contains("/sessions/{id}"),
    },
    Refusal {
        status: "413",
        name: "TooLarge",
        description: "The body, or what is asked for, is too large",
        applies: |path, call| call.request_body.is_some() || path.contains("/files"),
    },
    Refusal {
        status: "415",
        name: "NotJson",
        description: "The body is not announced as JSON",
        applies: |_, call| takes_json(call),
    },
    Refusal {
        status: "422",
        name: "InvalidBody",
        description: "The body is JSON, and not what this call takes",
        applies: |_, call| takes_json(call),
    },
    Refusal {
        status: "429",
        name: "Busy",
        description: "Too many calls or sessions; retry later",
        applies: |_, _| true,
    },
    Refusal {
        status: "500",
        name: "Failed",
        description: "The service failed; its log says why",
        applies: |_, _| true,
    },
    Refusal {
        status: "503",
        name: "Unavailable",
        description: "The database, or the machine of the session, is not reached; retry after `Retry-After`",
        applies: |_, _| true,
    },
    Refusal { status: "504", name: "TimedOut", description: "The call took too long", applies: |_, _| true },
    Refusal {
        status: "507",
        name: "NoSpace",
        description: "No space is left for a file, or for the record of the call",
        applies: |path, call| call.request_body.is_some() || path.contains("/files"),
    },
];

fn takes_json(call: &Operation) -> bool {
    matches!(&call.request_body, Some(RefOr::T(body)) if body.content.contains_key("application/json"))
}

/// Adds the refusals to the calls whose own description has no better words for them.
pub(super) fn with_refusals(mut api: utoipa::openapi::OpenApi) -> utoipa::openapi::OpenApi {
    for (path, item) in &mut api.paths.paths {
        for call in [&mut item.get, &mut item.put, &mut item.post, &mut item.delete].into_iter().flatten() {
            for refusal in REFUSALS.iter().filter(|refusal| (refusal.applies)(path, call)).collect::<Vec<_>>() {
                let shared = || RefOr::Ref(Ref::from_response_name(refusal.name));
                call.responses.responses.entry(refusal.status.to_owned()).or_insert_with(shared);
            }
        }
    }
    let components = api.components.get_or_insert_default();
    for refusal in REFUSALS {
        let body = ContentBuilder::new().schema(Some(Ref::from_schema_name("ApiErrorBody"))).build();
        let response = ResponseBuilder::new().description(refusal.description).content("application/json", body);
        components.responses.insert(refusal.name.to_owned(), response.build().into());
    }
    api
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    #[test]
    fn every_call_has_a_name_of_its_own_and_says_how_it_is_refused() {
        let api = serde_json::to_value(crate::v1::routes().1).unwrap();
        let mut names = BTreeSet::new();
        for (path, item) in api["paths"].as_object().unwrap() {
            for (method, call) in item.as_object().unwrap() {
                let name = call["operationId"].as_str().unwrap();
                assert!(names.insert(name.to_owned()), "{method} {path}: `{name}` names another call, too");
                for (status, answer) in call["responses"].as_object().unwrap() {
                    let answer = answer["$ref"].as_str().map_or(answer, |at| api.pointer(&at[1..]).unwrap());
                    let schema = &answer["content"]["application/json"]["schema"]["$ref"];
                    let is_error = matches!(status.as_bytes()[0], b'4' | b'5');
                    assert_eq!(is_error, *schema == "#/components/schemas/ApiErrorBody", "{path} {status}");
                }
                assert!(call["responses"]["401"].is_object(), "{method} {path}");
            }
        }
        assert!(names.len() > 60, "{names:?}");
    }
}
