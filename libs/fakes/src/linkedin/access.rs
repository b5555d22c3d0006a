//! Tokens, the checks of every call, and the member.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};
use url::Url;

use super::api_error::ApiError;
use super::{Fake, LATER_VERSION, MEMBER, MEMBER_URN, VERSION};
use crate::fake::limits::{Limit, WindowStart};
use crate::fake::oauth::{Authorizes, Fault, Grant, Rules};
use crate::fake::params::{Params, bearer};

/// The limit per member of "Share on LinkedIn". The documents state none for other products.
const PER_MEMBER: Limit =
    Limit { name: "member", max: 150, period: TimeDelta::days(1), window_start: WindowStart::Clock };

/// `GET /v2/userinfo`, which requires no version.
pub(super) async fn userinfo(State(fake): State<Arc<Fake>>, headers: HeaderMap) -> Result<Json<Value>, ApiError> {
    fake.accept(&headers, "/v2/userinfo", &["openid"])?;
    Ok(Json(json!({
        "sub": MEMBER_URN.trim_start_matches("urn:li:person:"),
        "name": MEMBER, "given_name": "Ada", "family_name": "Keeper",
        "locale": { "country": "US", "language": "en" },
        "picture": "https://media.licdn.com/dms/image/C5603AQ/profile-displayphoto-shrink_100_100/0/1",
    })))
}

/// `GET /v2/me`, for apps without `OpenID` Connect.
pub(super) async fn me(State(fake): State<Arc<Fake>>, headers: HeaderMap) -> Result<Json<Value>, ApiError> {
    fake.accept(&headers, "/v2/me", &["r_basicprofile"])?;
    Ok(Json(json!({
        "id": MEMBER_URN.trim_start_matches("urn:li:person:"),
        "localizedFirstName": "Ada", "localizedLastName": "Keeper", "vanityName": "ada-keeper",
        "profilePicture": { "displayImage": "urn:li:digitalmediaAsset:C4D00AAAAbBCDEFGhiJ" },
    })))
}

impl Fake {
    /// The grant of a call's token, if it has any of these scopes and the member's limit is not
    /// exceeded.
    pub(super) fn accept(&self, headers: &HeaderMap, path: &str, any_of: &[&str]) -> Result<Grant, ApiError> {
        if bearer(headers).is_none() {
            return Err(ApiError::new(401, 65_604, "EMPTY_ACCESS_TOKEN", "Empty oauth2 access token"));
        }
        let now = self.clock.now();
        let grant = self.oauth().accept(headers, any_of, now)?.clone();
        let mut memory = self.memory();
        if !memory.approved && memory.limits.count(PER_MEMBER, MEMBER_URN, 1, now).is_exceeded {
            return Err(ApiError::too_many());
        }
        self.refused(path).map_or(Ok(grant), Err)
    }

    /// The ordered refusal of the next call to this path.
    pub(super) fn refused(&self, path: &str) -> Option<ApiError> {
        self.injected_faults().refusal(path).map(|(status, body)| ApiError::with(status, body))
    }

    /// Like `accept`, for a call of the versioned API.
    pub(super) fn authorize_rest(&self, headers: &HeaderMap, path: &str, any_of: &[&str]) -> Result<Grant, ApiError> {
        let header = |name: &str| headers.get(name).and_then(|it| it.to_str().ok());
        let version = header("LinkedIn-Version").ok_or_else(|| {
            ApiError::bad(
                "VERSION_MISSING",
                "A version must be present. Please specify a version by adding the Linkedin-Version header.",
            )
        })?;
        if ![VERSION, LATER_VERSION].contains(&version) {
            let message = format!("Requested version {version} is not active");
            return Err(ApiError::new(426, 0, "NONEXISTENT_VERSION", &message));
        }
        if header("X-Restli-Protocol-Version") != Some("2.0.0") {
            return Err(ApiError::bad("ILLEGAL_ARGUMENT", "Syntax exception in path variables"));
        }
        self.accept(headers, path, any_of)
    }
}

impl Authorizes for Fake {
    fn accounts(&self) -> &'static [&'static str] {
        &[MEMBER]
    }

    fn tokens(&self, grant: &Grant, rules: &Rules) -> Value {
        let mut answer = grant.respond(rules);
        answer["scope"] = grant.scopes.join(",").into();
        answer
    }

    /// One scope that the app may not request fails the whole consent: LinkedIn redirects the user
    /// back without asking for consent. The quotation marks are escaped, as clients report
    /// (cuongdevjs/reactjs-social-login 178).
    fn page_refusal(&self, params: &Params, fault: &Fault) -> Response {
        let text = |name: &str| params.text(name).unwrap_or_default();
        let (Fault::WrongScope, Ok(mut back)) = (fault, Url::parse(&text("redirect_uri"))) else {
            return (fault.status(), fault.message()).into_response();
        };
        let oauth = self.oauth();
        let asked = oauth.scopes(&text("scope"));
        let unknown = asked.iter().find(|it| !oauth.rules.scopes.contains(&it.as_str()));
        let description =
            format!("Scope &quot;{}&quot; is not authorized for your application", unknown.map_or("", String::as_str));
        back.query_pairs_mut()
            .append_pair("error", "unauthorized_scope_error")
            .append_pair("error_description", &description)
            .append_pair("state", &text("state"));
        (StatusCode::FOUND, [(header::LOCATION, String::from(back))]).into_response()
    }

    fn denial(&self) -> &'static str {
        "user_cancelled_authorize"
    }
}
