//! What the descriptions of all routes share: the refusals, and the document's
//! frame.
//!
//! A route names its refusals by their types:
//!
//! ```text
//! #[utoipa::path(get, path = "/api/v1/posts/{post}", tag = POSTS, operation_id = "post.show",
//!     responses((status = 200, body = contract::Post), Refused, Missing), security(("token" = [])))]
//! ```

use std::collections::BTreeMap;

use contract::ErrorBody;
use serde_json::{Value, json};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{
    Components, ContentBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, Response,
    ResponseBuilder, Schema, ServerBuilder, Tag,
};
use utoipa::{IntoResponses, PartialSchema, ToSchema};

use crate::error::{NOT_FOUND, PRECONDITION_FAILED, TOKEN_MISSING, TOO_LARGE, UNAVAILABLE, WRONG_TYPE};

/// The document as it is served: the result of [`describe`] for every function, kept as a file so
/// that every change is reviewed.
pub const DOCUMENT: &str = include_str!("../openapi.json");

pub const AUTHENTICATION: &str = "Authentication";
pub const USER: &str = "User";
pub const CONNECTIONS: &str = "Connections";
pub const PROFILES: &str = "Profiles";
pub const POSTS: &str = "Posts";
pub const MEDIA: &str = "Media";
pub const WEBHOOKS: &str = "Webhooks";

type Responses = BTreeMap<String, RefOr<Response>>;

/// 401, 403, 429, 500 and 503: possible for every route with a token.
#[derive(Clone, Copy, Debug)]
pub struct Refused;

/// 429, 500 and 503: possible for every route without a token.
#[derive(Clone, Copy, Debug)]
pub struct Limited;

/// 404: the resource does not exist or belongs to another user.
#[derive(Clone, Copy, Debug)]
pub struct Missing;

/// 412: for a route with `If-Match`.
#[derive(Clone, Copy, Debug)]
pub struct Stale;

/// 422 `{message, errors}`: for a route with query parameters.
#[derive(Clone, Copy, Debug)]
pub struct Invalid;

/// 400, 413, 415 and 422: for a route with a body.
#[derive(Clone, Copy, Debug)]
pub struct BadBody;

/// 400, 413 and 415, for a route that describes its 422 itself.
#[derive(Clone, Copy, Debug)]
pub struct Unreadable;

impl IntoResponses for Refused {
    fn responses() -> Responses {
        let mut responses = Limited::responses();
        responses.extend([
            message("401", "The token is missing or invalid", TOKEN_MISSING),
            message(
                "403",
                "The token lacks the scope, or the plan does not allow it",
                "The token lacks the scope posts:write. Ask for a token that has it.",
            ),
        ]);
        responses
    }
}

impl IntoResponses for Limited {
    fn responses() -> Responses {
        Responses::from([
            message(
                "429",
                "Too many requests in this minute, or too many at once. Wait as long as `retry-after` says",
                "Too many requests. Try again in 17 s",
            ),
            message(
                "500",
                "The service failed",
                "Something failed on our side. If it happens again, report request 5f0c",
            ),
            message("503", "The service is temporarily unavailable", UNAVAILABLE),
        ])
    }
}

impl IntoResponses for Missing {
    fn responses() -> Responses {
        Responses::from([message("404", "There is no such resource, or it belongs to another user", NOT_FOUND)])
    }
}

impl IntoResponses for Stale {
    fn responses() -> Responses {
        Responses::from([message(
            "412",
            "`If-Match` does not match, because the post was changed; nothing was done",
            PRECONDITION_FAILED,
        )])
    }
}

impl IntoResponses for Invalid {
    fn responses() -> Responses {
        let text = "verbose is not a parameter; this operation has no parameters";
        let example = json!({ "message": text, "errors": { "verbose": [text] } });
        Responses::from([response("422", "A parameter is invalid or unknown", example)])
    }
}

impl IntoResponses for Unreadable {
    fn responses() -> Responses {
        Responses::from([
            message("400", "The body is not valid JSON", "The body is not valid JSON: correct it at line 1, column 2"),
            message("413", "The body is too large", TOO_LARGE),
            message("415", "The body is not declared as `application/json` in UTF-8", WRONG_TYPE),
        ])
    }
}

impl IntoResponses for BadBody {
    fn responses() -> Responses {
        let mut responses = Unreadable::responses();
        let example = json!({
            "message": "content is required",
            "errors": { "content": ["content is required"] },
        });
        responses.extend([response("422", "A field, header or parameter is invalid or unknown", example)]);
        responses
    }
}

fn message(status: &str, description: &str, text: &str) -> (String, RefOr<Response>) {
    response(status, description, json!({ "message": text }))
}

fn response(status: &str, description: &str, example: Value) -> (String, RefOr<Response>) {
    let content =
        ContentBuilder::new().schema(Some(Ref::from_schema_name(ErrorBody::name()))).example(Some(example)).build();
    let response = ResponseBuilder::new().description(description).content("application/json", content).build();
    (status.to_owned(), RefOr::T(response))
}

/// The whole document: the frame, and the routes of every function.
pub fn describe(functions: impl IntoIterator<Item = OpenApi>) -> OpenApi {
    let mut document = frame();
    for function in functions {
        document.merge(function);
    }
    describe_tags(&mut document);
    document
}

/// Describes the tag of each variant of a tagged enum: `utoipa` takes no description of it.
fn describe_tags(document: &mut OpenApi) {
    let schemas = document.components.iter_mut().flat_map(|it| it.schemas.values_mut());
    let variants = schemas.filter_map(|it| match it {
        RefOr::T(Schema::OneOf(one_of)) => Some(&mut one_of.items),
        _ => None,
    });
    for variant in variants.flatten() {
        let RefOr::T(Schema::Object(variant)) = variant else { continue };
        for property in variant.properties.values_mut() {
            let RefOr::T(Schema::Object(tag)) = property else { continue };
            if let (None, Some([Value::String(value)])) = (&tag.description, tag.enum_values.as_deref()) {
                tag.description = Some(format!("Always `{value}`."));
            }
        }
    }
}

fn frame() -> OpenApi {
    let token = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("An access token of the device flow or the authorization code flow: see Authentication."))
        .build();
    let mut components = Components::new();
    components.add_security_scheme("token", SecurityScheme::Http(token));
    components.schemas.extend([schema::<ErrorBody>()]);
    let info = InfoBuilder::new()
        .title("Social Publishing Service API")
        .version("1.0")
        .description(Some(
            "Create, schedule and publish posts on connected accounts. Get a token with the device flow, connect an \
             account, upload media, create a post. Times are RFC 3339; those in responses are UTC. Every response has the \
             headers x-request-id, x-ratelimit-limit, x-ratelimit-remaining and x-ratelimit-reset.",
        ))
        .license(Some(LicenseBuilder::new().name("MIT").build()))
        .build();
    let tag = |name: &str, description: &str| {
        let mut tag = Tag::new(name);
        tag.description = Some(description.to_owned());
        tag
    };
    OpenApiBuilder::new()
        .info(info)
        .servers(Some([ServerBuilder::new().url("/").build()]))
        .tags(Some([
            tag(
                AUTHENTICATION,
                "How a client gets an access token: the device flow, or the authorization code flow of OAuth 2.1.",
            ),
            tag(USER, "The user to whom the token belongs."),
            tag(CONNECTIONS, "Accounts on platforms, and how to connect them."),
            tag(PROFILES, "Your customers, if you publish for them: each groups its connections."),
            tag(POSTS, "Drafts, and scheduled, published and failed posts."),
            tag(MEDIA, "Images and videos for posts."),
            tag(WEBHOOKS, "Your URLs that receive events, as Standard Webhooks specifies."),
        ]))
        .components(Some(components))
        .build()
}

fn schema<T: ToSchema + PartialSchema>() -> (String, RefOr<Schema>) {
    (T::name().into_owned(), T::schema())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_response_has_an_existing_schema() {
        let document = serde_json::to_value(describe([])).unwrap();
        let schemas = &document["components"]["schemas"];
        for responses in [Refused::responses(), Missing::responses(), BadBody::responses()] {
            for (status, response) in responses {
                let response = serde_json::to_value(response).unwrap();
                let reference = response["content"]["application/json"]["schema"]["$ref"].as_str().unwrap();
                let name = reference.strip_prefix("#/components/schemas/").unwrap();
                assert!(schemas[name].is_object(), "{status}: {name}");
            }
        }
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    }
}
