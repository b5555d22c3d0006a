//! `POST /auth/device/code`: a device asks for access.

use api::openapi::{AUTHENTICATION, BadBody, Limited};
use api::{Api, ApiError, ApiResult, FieldValue, Fields, RequestBody, Visitor};
use axum::Json;
use axum::extract::State;
use chrono::TimeDelta;
use domain::name::ClientName;
use domain::scope::{Scope, Scopes};
use domain::token::{self, UserCode};
use http::StatusCode;
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use storage::{DeviceGrant, DeviceGrantState, WriteOutcome};
use utoipa::ToSchema;

/// How long the device code and the user code are valid.
const LIFETIME: TimeDelta = TimeDelta::seconds(900);

/// How long a client waits between two polls, in seconds.
const INTERVAL: u32 = 5;

/// The access that a client requests.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes the body, which is read field by field")]
pub(crate) struct DeviceCodeRequest {
    /// The scopes of the token. Absent, null or empty: all scopes.
    #[schema(nullable, max_items = 8, example = json!(["posts:read", "posts:write"]))]
    scopes: Option<Vec<ScopeName>>,
    /// The client's name, which the user sees on the consent page: at most 60 characters, not counting white space
    /// around the name.
    // As `domain::name::ClientName` reads it.
    #[schema(
        nullable,
        min_length = 1,
        pattern = r"^[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*[^\x00- \x7f-\xa0\u061c\u1680\u2000-\u200a\u200e\u200f\u2028-\u202f\u205f\u2066-\u2069\u3000]([^\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]{0,58}[^\x00- \x7f-\xa0\u061c\u1680\u2000-\u200a\u200e\u200f\u2028-\u202f\u205f\u2066-\u2069\u3000])?[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$",
        example = "Planner on my laptop"
    )]
    client_name: Option<String>,
}

/// One permission.
// The values are read by `domain::scope`; this describes them.
#[derive(Deserialize, ToSchema)]
#[schema(as = Scope)]
enum ScopeName {
    #[schema(rename = "user:read")]
    UserRead,
    #[schema(rename = "connections:read")]
    ConnectionsRead,
    #[schema(rename = "connections:write")]
    ConnectionsWrite,
    #[schema(rename = "posts:read")]
    PostsRead,
    #[schema(rename = "posts:write")]
    PostsWrite,
    #[schema(rename = "posts:draft")]
    PostsDraft,
    #[schema(rename = "media:write")]
    MediaWrite,
    #[schema(rename = "webhooks:write")]
    WebhooksWrite,
}

/// The codes of a device flow.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = DeviceAuthorization)]
pub(crate) struct DeviceAuthorization {
    /// Secret: keep it in the client, and exchange it for the token.
    #[schema(example = "vB8nQ2mXw0yJ4kT7rL5pS9dF1gH3cZ6aE0uI2oP4qWs")]
    device_code: String,
    /// The code that the user enters.
    #[schema(example = "WDJB-MJHT")]
    user_code: String,
    /// The page on which the user enters the code.
    #[schema(example = "https://social.example/device")]
    verification_uri: String,
    /// Like `verification_uri`, with the code filled in.
    #[schema(example = "https://social.example/device?user_code=WDJB-MJHT")]
    verification_uri_complete: String,
    /// Seconds until the codes expire.
    #[schema(example = 900)]
    expires_in: u32,
    /// Seconds to wait between two polls.
    #[schema(example = 5)]
    interval: u32,
}

/// Start the device flow
///
/// Show `user_code` and `verification_uri` to the user. Meanwhile, poll `POST /auth/device/token`
/// with `device_code`.
#[utoipa::path(
    post,
    path = "/api/v1/auth/device/code",
    tag = AUTHENTICATION,
    operation_id = "deviceCode.store",
    request_body(content = Option<DeviceCodeRequest>, description = "Optional. Without it, the token has all scopes."),
    responses(
        (status = 201, description = "The codes", body = DeviceAuthorization),
        Limited,
        BadBody,
    ),
)]
pub(crate) async fn create_device_code(
    State(api): State<Api>,
    visitor: Visitor,
    incoming: RequestBody,
) -> ApiResult<(StatusCode, Json<DeviceAuthorization>)> {
    let (scopes, client_name) = parse(incoming.optional_fields(&["scopes", "client_name"])?)?;
    let now = api.clock.now();
    let device = DeviceGrant {
        scopes,
        client_name,
        asked_from: visitor.ip,
        created_at: now,
        expires_at: now + LIFETIME,
        state: DeviceGrantState::Pending,
        user_id: None,
    };

    let device_code = token::random_token();
    let user_code = store_device(&api, &token::hash(device_code.expose_secret()), &device).await?;

    let verification_uri = format!("{}/device", api.origin);
    let body = DeviceAuthorization {
        device_code: device_code.expose_secret().to_owned(),
        user_code: user_code.to_string(),
        verification_uri_complete: format!("{verification_uri}?user_code={user_code}"),
        verification_uri,
        expires_in: u32::try_from(LIFETIME.num_seconds()).unwrap_or(u32::MAX),
        interval: INTERVAL,
    };
    Ok((StatusCode::CREATED, Json(body)))
}

fn parse(mut fields: Fields) -> ApiResult<(Scopes, Option<ClientName>)> {
    let mut requested = Vec::new();
    if let FieldValue::Value(values) = fields.bounded_list("scopes", Scope::ALL.len()) {
        for (index, value) in values.into_iter().enumerate() {
            let field = format!("scopes.{index}");
            match value {
                Value::String(raw) => match Scope::parse(&raw) {
                    Some(scope) => requested.push(scope),
                    None => fields.add(&field, format!("must be one of {}", Scope::ALL.map(Scope::as_str).join(", "))),
                },
                _ => fields.add(&field, "must be a string"),
            }
        }
    }
    let client_name = fields
        .text("client_name")
        .value()
        .and_then(|raw| ClientName::parse(&raw).inspect_err(|error| fields.add("client_name", error)).ok());
    fields.finish((Scopes::from_requested(&requested), client_name))
}

/// Stores the request under an unused user code.
async fn store_device(api: &Api, device_hash: &str, device: &DeviceGrant) -> ApiResult<UserCode> {
    // Of 25 billion codes, few are in use. One collision can happen; three in a row mean a defect.
    for _ in 0..3 {
        let code = UserCode::random();
        if api.store.put_device(device_hash, &code.hash(), device).await? == WriteOutcome::Applied {
            return Ok(code);
        }
    }
    tracing::error!("no user code was free");
    Err(ApiError::Internal)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::service;

    #[tokio::test]
    async fn unknown_scope_is_reported_with_its_index() {
        let service = service().await;

        let response =
            service.post("/api/v1/auth/device/code", None, json!({"scopes": ["posts:read", "admin", 7]})).await;

        assert_eq!(response.status, 422);
        let errors = response.body["errors"].as_object().unwrap();
        assert_eq!(errors.keys().collect::<Vec<_>>(), ["scopes.1", "scopes.2"]);
    }

    #[tokio::test]
    async fn invalid_client_name_is_reported_with_the_reason() {
        let service = service().await;
        let fault = async |name: serde_json::Value| {
            let response = service.post("/api/v1/auth/device/code", None, json!({"client_name": name})).await;
            (response.status, response.body["errors"]["client_name"][0].as_str().map(str::to_owned))
        };
        let refused = |text: &str| (422, Some(text.to_owned()));

        assert_eq!(fault(json!("Planner")).await, (201, None));
        assert_eq!(fault(json!(null)).await, (201, None));
        assert_eq!(fault(json!("")).await, refused("client_name may not be blank"));
        assert_eq!(fault(json!("  Planner\n")).await, (201, None));
        let long = refused("client_name may have at most 60 characters; this has 61");
        assert_eq!(fault(json!("x".repeat(61))).await, long);
        let mark = refused("client_name may not contain control characters or bidirectional formatting characters");
        assert_eq!(fault(json!("\u{202e}rennalP")).await, mark);
        assert_eq!(fault(json!(7)).await, refused("client_name must be a string"));
    }

    #[tokio::test]
    async fn response_has_the_codes_of_the_contract() {
        let service = service().await;

        for body in [json!({}), json!({"scopes": null}), json!({"scopes": []})] {
            let response = service.post("/api/v1/auth/device/code", None, body).await;
            assert_eq!(response.status, 201);
            let code = response.body["user_code"].as_str().unwrap();
            assert_eq!(code.len(), 9);
            assert_eq!(
                response.body["verification_uri_complete"],
                format!("https://social.example/device?user_code={code}")
            );
            assert_eq!((&response.body["expires_in"], &response.body["interval"]), (&json!(900), &json!(5)));
        }
    }
}
