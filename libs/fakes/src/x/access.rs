//! Tokens, checks of all calls, and the account.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::{Fake, HANDLE, ID};
use crate::fake::limits::{Limit, WindowStart};
use crate::fake::oauth::{Authorizes, Fault, Grant, Rules};
use crate::fake::params::bearer;

/// A limit per user: "/ 15 min".
const fn limit(name: &'static str, max: u64) -> Limit {
    Limit { name, max, period: TimeDelta::minutes(15), window_start: WindowStart::FirstRequest }
}

/// `POST /2/tweets`
pub(super) const TWEETS: Limit = limit("tweets", 100);
/// `GET /2/users/me`
const ME: Limit = limit("me", 75);
/// `GET /2/users/:id/tweets`
pub(super) const TIMELINE: Limit = limit("timeline", 900);
/// `POST /2/media/upload`, and `POST /2/media/metadata`
pub(super) const MEDIA: Limit = limit("media", 500);
/// Initialize, append and finalize.
pub(super) const PARTS: Limit = limit("parts", 1_875);
/// `GET /2/media/upload`
pub(super) const STATUS: Limit = limit("status", 1_000);

/// `GET /2/users/me`
pub(super) async fn me(
    State(fake): State<Arc<Fake>>,
    Query(asked): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    fake.accept(&headers, "/2/users/me", &["users.read", "tweet.read"], ME)?;
    let memory = fake.memory();
    let mut data = json!({ "id": ID, "name": "Ada Keeper", "username": HANDLE });
    for field in asked.get("user.fields").map(String::as_str).unwrap_or_default().split(',') {
        match field {
            "profile_image_url" => data[field] = "https://pbs.twimg.com/profile_images/1/a_normal.jpg".into(),
            "subscription_type" if !memory.hides_subscription => data[field] = memory.subscription.into(),
            "username" | "name" | "" => {}
            other => {
                let message = format!("The `user.fields` query parameter value [{other}] is not one of its values");
                return Err(ApiError::parameter("user.fields", other, &message));
            }
        }
    }
    Ok(Json(json!({ "data": data })))
}

impl Fake {
    /// Accepts a call within this limit whose token has all of these scopes.
    pub(super) fn accept(
        &self,
        headers: &HeaderMap,
        path: &str,
        scopes: &[&str],
        limit: Limit,
    ) -> Result<(), ApiError> {
        let now = self.clock.now();
        if bearer(headers).is_none() {
            return Err(ApiError::new(401, "Unauthorized", "Unauthorized"));
        }
        for scope in scopes {
            self.oauth().accept(headers, &[scope], now)?;
        }
        let usage = self.memory().limits.count(limit, ID, 1, now);
        if usage.is_exceeded {
            return Err(ApiError::too_many(usage.resets_at));
        }
        self.injected_faults().refusal(path).map_or(Ok(()), |(status, body)| Err(ApiError::with(status, body)))
    }
}

impl Authorizes for Fake {
    fn accounts(&self) -> &'static [&'static str] {
        &[HANDLE]
    }

    fn tokens(&self, grant: &Grant, rules: &Rules) -> Value {
        let mut answer = grant.respond(rules);
        answer["token_type"] = "bearer".into();
        if !grant.scopes.iter().any(|it| it == "offline.access")
            && let Some(fields) = answer.as_object_mut()
        {
            fields.remove("refresh_token");
        }
        answer
    }

    /// As clients report these errors.
    fn refusal(&self, fault: Fault) -> Response {
        let (status, error, description) = match &fault {
            Fault::UnknownClient => {
                (StatusCode::UNAUTHORIZED, "unauthorized_client", "Missing valid authorization header".to_owned())
            }
            Fault::InvalidGrant(_) => {
                (StatusCode::BAD_REQUEST, "invalid_request", "Value passed for the token was invalid.".to_owned())
            }
            other => (other.status(), other.code(), other.message()),
        };
        (status, Json(json!({ "error": error, "error_description": description }))).into_response()
    }
}
