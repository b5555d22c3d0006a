//! `POST /auth/device/token`: a device exchanges its code for a token.

use api::openapi::{AUTHENTICATION, BadBody, Limited};
use api::{Api, ApiError, ApiResult, ErrorBody, RequestBody, Visitor};
use axum::Json;
use axum::extract::State;
use cloud::audit::{self, Event};
use contract::{AccessTokenBody, TokenRequest, TokenUser};
use domain::access_token::AccessToken;
use domain::device_grant::DeviceGrant;
use domain::id::UserId;
use domain::token;
use domain::user::User;
use storage::{TokenGrant, WriteOutcome, WriteRetries};

use crate::error::AuthError;

/// Exchange a device code for an access token
///
/// Repeat the request every `interval` seconds until the response is 200, or an error other than
/// `authorization_pending`. A device code can be exchanged once.
#[utoipa::path(
    post,
    path = "/api/v1/auth/device/token",
    tag = AUTHENTICATION,
    operation_id = "deviceCode.token",
    request_body = TokenRequest,
    responses(
        Limited,
        BadBody,
        (status = 200, description = "The token and its user", body = AccessTokenBody),
        (status = 400, description = "The user has not decided yet or denied the request, the code is expired or unknown, or the body is not JSON", body = ErrorBody, examples(
            ("authorization_pending" = (value = json!({
                "error": "authorization_pending",
                "error_description": "The user has not decided yet. Try again in 5 seconds."
            }))),
            ("access_denied" = (value = json!({
                "error": "access_denied",
                "error_description": "The user denied the request."
            }))),
            ("expired_token" = (value = json!({
                "error": "expired_token",
                "error_description": "The device code has expired. Start again with POST /auth/device/code."
            }))),
            ("invalid_device_code" = (value = json!({
                "error": "invalid_device_code",
                "error_description": "The device code is unknown or was already exchanged. Start again with POST /auth/device/code."
            }))),
            ("malformed" = (value = json!({"message": "The body is not valid JSON: correct it at line 1, column 2"}))),
        )),
    ),
)]
pub(crate) async fn exchange_device_code(
    State(api): State<Api>,
    visitor: Visitor,
    incoming: RequestBody,
) -> ApiResult<Json<AccessTokenBody>> {
    let mut fields = incoming.fields(&["device_code"])?;
    let device_code = fields.required_text("device_code").unwrap_or_default();
    let hash = token::hash(&fields.finish(device_code)?);

    // A conditional write: it fails when the request was approved, denied or exchanged after it was
    // read, and the next attempt reads it again.
    let mut retries = WriteRetries::without_waits(3);
    loop {
        let device = api.store.device(&hash).await?.ok_or(AuthError::InvalidDeviceCode)?;
        let (redeemed, owner) = device.clone().redeem(api.clock.now()).map_err(AuthError::from)?;
        if let Some((token, user)) = exchange(&api, &hash, (&device, &redeemed), owner).await? {
            let hash = token.hash();
            audit::Entry::new(Event::TokenIssued).user(owner).token(&hash).address(visitor.ip).write();
            return Ok(Json(body(&token, user)));
        }
        retries.next_attempt().await.map_err(|_| ApiError::Unavailable)?;
    }
}

async fn exchange(
    api: &Api,
    device_hash: &str,
    (device, redeemed): (&DeviceGrant, &DeviceGrant),
    owner: UserId,
) -> Result<Option<(AccessToken, User)>, AuthError> {
    let now = api.clock.now();
    let token = AccessToken::mint(owner);
    let hash = token.hash();
    let expires_at = api.token_lifetime.ends(now, now);
    let grant = TokenGrant {
        client_name: device.client_name.clone(),
        profile_id: device.profile_id,
        ..TokenGrant::made(owner, device.scopes.clone(), now, expires_at)
    };
    // The client does not have the token yet, so a mark without one opens nothing.
    let user =
        api.store.mark_token(owner, &hash, device.created_at, expires_at).await?.ok_or(AuthError::InvalidDeviceCode)?;
    if api.store.exchange_device(device_hash, device, redeemed, &hash, &grant).await? == WriteOutcome::Applied {
        return Ok(Some((token, user)));
    }
    api.store.unmark_token(owner, &hash).await?;
    Ok(None)
}

fn body(token: &AccessToken, user: User) -> AccessTokenBody {
    AccessTokenBody {
        access_token: token.secret().clone(),
        token_type: "Bearer".to_owned(),
        user: TokenUser { id: user.user_id.to_string(), name: user.name, email: user.email },
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::device_grant::DeviceGrantState;
    use serde_json::json;

    use crate::testing::service;

    const TOKEN: &str = "/api/v1/auth/device/token";

    #[tokio::test]
    async fn concurrent_exchanges_issue_one_token() {
        let service = service().await;
        let user = service.user("one@example.com").await;
        let device = service.device().await;
        service.decide(&device, &user, DeviceGrantState::Approved).await;
        let body = json!({"device_code": device.code});

        let answers = futures::join!(service.post(TOKEN, None, body.clone()), service.post(TOKEN, None, body.clone()));

        let mut statuses = [answers.0.status, answers.1.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 400]);
        let (won, lost) = if answers.0.status == 200 { answers } else { (answers.1, answers.0) };
        assert_eq!(lost.body["error"], "invalid_device_code");
        assert_eq!(won.body["user"]["id"], user.user_id.to_string());
        assert_eq!(service.post(TOKEN, None, body).await.body["error"], "invalid_device_code");
    }

    #[tokio::test]
    async fn approval_before_global_sign_out_gives_no_token() {
        let service = service().await;
        let user = service.user("one@example.com").await;
        let device = service.device().await;
        service.decide(&device, &user, DeviceGrantState::Approved).await;
        service.clock.advance(TimeDelta::seconds(1));
        service.store.sign_out_everywhere(user.user_id, service.clock.now()).await.unwrap();

        let answer = service.post(TOKEN, None, json!({"device_code": device.code})).await;

        assert_eq!((answer.status, &answer.body["error"]), (400, &json!("invalid_device_code")));
    }

    #[tokio::test]
    async fn each_outcome_has_its_error() {
        let service = service().await;
        let user = service.user("one@example.com").await;
        let error = async |code: &str| {
            let answer = service.post(TOKEN, None, json!({"device_code": code})).await;
            assert_eq!(answer.status, 400);
            answer.body["error"].as_str().unwrap().to_owned()
        };

        let waiting = service.device().await;
        let denied = service.device().await;
        service.decide(&denied, &user, DeviceGrantState::Denied).await;

        assert_eq!(error(&waiting.code).await, "authorization_pending");
        assert_eq!(error(&denied.code).await, "access_denied");
        assert_eq!(error("unknown").await, "invalid_device_code");
        service.clock.advance(TimeDelta::seconds(899));
        assert_eq!(error(&waiting.code).await, "authorization_pending");
        service.clock.advance(TimeDelta::seconds(1));
        assert_eq!(error(&waiting.code).await, "expired_token");
        service.clock.advance(TimeDelta::days(1));
        assert_eq!(error(&waiting.code).await, "invalid_device_code");
    }
}
