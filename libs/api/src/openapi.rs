//! What the descriptions of all routes share: the refusals, and the document's
//! frame.
//!
//! A route names its refusals by their types:
//!
//! ```text
//! #[utoipa::path(get, path = "/api/v1/posts/{post}", tag = POSTS, operation_id = "post.show",
//!     responses((status = 200, body = PostView), Refused, Missing), security(("token" = [])))]
//! ```

use std::collections::BTreeMap;

use serde_json::{Value, json};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{
    Components, ContentBuilder, InfoBuilder, LicenseBuilder, OpenApi, OpenApiBuilder, Ref, RefOr, Response,
    ResponseBuilder, ServerBuilder, Tag,
};
use utoipa::{IntoResponses, PartialSchema, ToSchema};

use crate::error::ErrorBody;

/// The whole document as it is served. It is what [`describe`] makes of every
/// function, kept as a file so that every change to it is seen.
pub const DOCUMENT: &str = include_str!("../openapi.json");

/// Tag of the device flow.
pub const AUTHENTICATION: &str = "Authentication";
/// Tag of the user.
pub const USER: &str = "User";
/// Tag of connections.
pub const CONNECTIONS: &str = "Connections";
/// Tag of posts.
pub const POSTS: &str = "Posts";
/// Tag of media.
pub const MEDIA: &str = "Media";
/// Tag of webhooks.
pub const WEBHOOKS: &str = "Webhooks";

type Responses = BTreeMap<String, RefOr<Response>>;

/// 401, 403, 429, 500, 503: what a route with a token can always answer.
#[derive(Clone, Copy, Debug)]
pub struct Refused;

/// 429, 500, 503: what a route without a token can always answer.
#[derive(Clone, Copy, Debug)]
pub struct Limited;

/// 404: not there, or somebody else's.
#[derive(Clone, Copy, Debug)]
pub struct Missing;

/// 412: a route that takes `If-Match`.
#[derive(Clone, Copy, Debug)]
pub struct Stale;

/// 422 `{message, errors}`: a route with parameters of a query.
#[derive(Clone, Copy, Debug)]
pub struct Invalid;

/// 400, 413, 415, 422: a route with a body.
#[derive(Clone, Copy, Debug)]
pub struct BadBody;

/// 400, 413, 415 without 422, for a route that describes its 422 itself.
#[derive(Clone, Copy, Debug)]
pub struct Unreadable;

impl IntoResponses for Refused {
    fn responses() -> Responses {
        let mut responses = Limited::responses();
        responses.extend([
            message("401", "The token is missing or not valid", "Send a valid token: Authorization: Bearer <token>"),
            message("403", "Not permitted", "The token lacks the scope posts:write. Ask for a token that has it."),
        ]);
        responses
    }
}

impl IntoResponses for Limited {
    fn responses() -> Responses {
        Responses::from([
            message("429", "Too many requests this minute, or at a time", "Too many requests. Try again in 17 s"),
            message(
                "500",
                "A failure of the service",
                "Something failed on our side. If it happens again, report request 5f0c",
            ),
            message("503", "The store is not available", "The service is not available for a moment. Try again soon"),
        ])
    }
}

impl IntoResponses for Missing {
    fn responses() -> Responses {
        Responses::from([message("404", "Not there, or somebody else's", "Not found")])
    }
}

impl IntoResponses for Stale {
    fn responses() -> Responses {
        Responses::from([message(
            "412",
            "Changed since, so that `If-Match` does not hold; nothing was changed",
            "If-Match does not match the current revision: the post was changed. Read it again, then repeat the request.",
        )])
    }
}

impl IntoResponses for Invalid {
    fn responses() -> Responses {
        let example = json!({
            "message": "content is required",
            "errors": { "content": ["content is required"] },
        });
        Responses::from([response("422", "Not valid", example)])
    }
}

impl IntoResponses for Unreadable {
    fn responses() -> Responses {
        Responses::from([
            message("400", "The body is not JSON", "The body is not valid JSON: see line 1, column 2"),
            message("413", "The body is too large", "The body is larger than 256 KiB"),
            message("415", "The body is of another type", "Send the body as content-type: application/json"),
        ])
    }
}

impl IntoResponses for BadBody {
    fn responses() -> Responses {
        let mut responses = Unreadable::responses();
        responses.extend(Invalid::responses());
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

/// The whole document: the frame, and the routes of every function in it.
pub fn describe(functions: impl IntoIterator<Item = OpenApi>) -> OpenApi {
    let mut document = frame();
    for function in functions {
        document.merge(function);
    }
    document
}

fn frame() -> OpenApi {
    let token = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("An access token of the device flow: see Authentication."))
        .build();
    let mut components = Components::new();
    components.add_security_scheme("token", SecurityScheme::Http(token));
    components.schemas.extend([schema::<ErrorBody>()]);
    let info = InfoBuilder::new()
        .title("Social Publishing Service API")
        .version("1.0")
        .description(Some(
            "Create, schedule and publish posts to connected accounts. Get a token by the device flow, connect an \
             account, upload media, create a post. Times are RFC 3339; those in answers are UTC. Every answer carries \
             x-request-id, x-ratelimit-limit, x-ratelimit-remaining and x-ratelimit-reset.",
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
            tag(AUTHENTICATION, "How a client obtains an access token: the device flow."),
            tag(USER, "Who the token belongs to."),
            tag(CONNECTIONS, "Accounts on platforms, and how they are connected."),
            tag(POSTS, "Posts: drafts, scheduled and published."),
            tag(MEDIA, "Pictures and videos for posts."),
            tag(WEBHOOKS, "Endpoints of yours that are told what happened, as Standard Webhooks wants it."),
        ]))
        .components(Some(components))
        .build()
}

fn schema<T: ToSchema + PartialSchema>() -> (String, RefOr<utoipa::openapi::schema::Schema>) {
    (T::name().into_owned(), T::schema())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_refers_to_a_schema_that_is_there() {
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
