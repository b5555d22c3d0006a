//! Tokens, checks of all calls, and the account.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};
use url::Url;

use super::posts::MAX_DIRECT_SECONDS;
use super::{ApiError, ApiResult, Fake, LOG_ID, Memory, OPEN_ID, Params, USERNAME, fields, refusal, success};
use crate::fake::oauth::{Authorizes, Fault, Grant, Rules};

const AVATAR: &str = "https://p16-sign.tiktokcdn-us.com/ada.jpeg";

/// `GET /v2/user/info/`
pub(super) async fn user_info(State(fake): State<Arc<Fake>>, query: Params, headers: HeaderMap) -> ApiResult {
    let grant = fake.accept(&headers, "/v2/user/info/", &["user.info.basic"])?;
    let profile = ["username", "bio_description", "is_verified", "profile_deep_link"];
    let asks_profile = query.get("fields").is_some_and(|it| it.split(',').any(|name| profile.contains(&name)));
    if asks_profile && !grant.scopes.iter().any(|it| it == "user.info.profile") {
        return Err(refusal(400, "scope_permission_missed", "Some fields need additional scopes: user.info.profile."));
    }
    let user = json!({ "open_id": OPEN_ID, "union_id": "c9c60f44-a68e", "display_name": "Ada Keeper",
        "avatar_url": AVATAR, "avatar_url_100": AVATAR, "avatar_large_url": AVATAR, "username": USERNAME,
        "bio_description": "", "is_verified": false, "profile_deep_link": "https://vm.tiktok.com/ada/" });
    Ok(success(&json!({ "user": fields::selected(&query, &user)? })))
}

/// `POST /v2/post/publish/creator_info/query/`
pub(super) async fn creator_info(State(fake): State<Arc<Fake>>, headers: HeaderMap, body: Bytes) -> ApiResult {
    let grant = fake.accept(&headers, "/v2/post/publish/creator_info/query/", &["video.publish"])?;
    fields::body(&headers, &body, "")?;
    let mut memory = fake.memory();
    memory.creator_info_query = Some((grant.access_token, fake.clock.now()));
    Ok(success(&json!({
        "creator_avatar_url": AVATAR, "creator_username": USERNAME, "creator_nickname": "Ada Keeper",
        "privacy_level_options": memory.privacy_levels(), "comment_disabled": false,
        "duet_disabled": memory.is_private, "stitch_disabled": memory.is_private,
        "max_video_post_duration_sec": MAX_DIRECT_SECONDS,
    })))
}

impl Memory {
    pub(super) fn privacy_levels(&self) -> [&'static str; 3] {
        let widest = if self.is_private { "FOLLOWER_OF_CREATOR" } else { "PUBLIC_TO_EVERYONE" };
        [widest, "MUTUAL_FOLLOW_FRIENDS", "SELF_ONLY"]
    }
}

impl Fake {
    /// Accepts a call whose token has any of these scopes.
    pub(super) fn accept(&self, headers: &HeaderMap, path: &str, any_of: &[&str]) -> Result<Grant, ApiError> {
        let grant = self.oauth().accept(headers, any_of, self.clock.now()).cloned();
        let grant = grant.map_err(|fault| match fault {
            Fault::BeyondScope => refusal(401, "scope_not_authorized", "The user did not authorize the scope."),
            _ => refusal(401, "access_token_invalid", "The access token is invalid or not found in the request."),
        })?;
        self.injected_faults().refusal(path).map_or(Ok(grant), |(status, body)| Err((status, Json(body))))
    }
}

impl Authorizes for Fake {
    fn accounts(&self) -> &'static [&'static str] {
        &[USERNAME]
    }

    fn amend_redirect(&self, redirect: &mut Url) {
        let mut oauth = self.oauth();
        let code = oauth.codes.last_mut().expect("the user has just allowed access");
        let declined = self.memory().declined.clone();
        code.scopes.retain(|it| !declined.contains(it));
        redirect.query_pairs_mut().append_pair("scopes", &code.scopes.join(","));
    }

    fn tokens(&self, grant: &Grant, rules: &Rules) -> Value {
        let mut tokens = grant.respond(rules);
        tokens["refresh_expires_in"] = tokens["refresh_token_expires_in"].take();
        tokens["open_id"] = OPEN_ID.into();
        tokens
    }

    /// The documentation names no status. Clients report 200 for `invalid_grant`.
    fn refusal(&self, fault: Fault) -> Response {
        let status = if matches!(fault, Fault::InvalidGrant(_)) { StatusCode::OK } else { fault.status() };
        let body = json!({ "error": fault.code(), "error_description": fault.message(), "log_id": LOG_ID });
        (status, Json(body)).into_response()
    }
}
