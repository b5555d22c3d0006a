//! `POST /auth/device/code`: starts the device flow.

use api::openapi::{AUTHENTICATION, BadBody, Limited};
use api::{Api, ApiError, ApiResult, RequestBody, Visitor};
use axum::Json;
use axum::extract::State;
use contract::{DeviceAuthorization, DeviceCodeRequest};
use domain::device_grant::{DEVICE_GRANT_LIFETIME, DeviceGrant};
use domain::token::{self, UserCode};
use http::StatusCode;
use secrecy::ExposeSecret;
use storage::WriteOutcome;

use crate::request::parse_device_code_request;

/// How long a client waits between two polls, in seconds.
const INTERVAL: u32 = 5;

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
    let (scopes, client_name) = parse_device_code_request(incoming.optional_fields(&["scopes", "client_name"])?)?;
    let device = DeviceGrant::request(scopes, client_name, visitor.ip, api.clock.now());

    let device_code = token::random_token();
    let user_code = store_device(&api, &token::hash(device_code.expose_secret()), &device).await?;

    let verification_uri = format!("{}/device", api.origin);
    let body = DeviceAuthorization {
        device_code,
        user_code: user_code.to_string(),
        verification_uri_complete: format!("{verification_uri}?user_code={user_code}"),
        verification_uri,
        expires_in: u32::try_from(DEVICE_GRANT_LIFETIME.num_seconds()).unwrap_or(u32::MAX),
        interval: INTERVAL,
    };
    Ok((StatusCode::CREATED, Json(body)))
}

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
