//! Tokens of Instagram's login, the checks of every call, and the account.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::{Fake, HANDLE, ID};
use crate::fake::oauth::{self, Authorizes, Fault, HasOAuth};
use crate::fake::params::{Params, essence};
use crate::meta::access::{self, Proof};
use crate::meta::error::GraphError;
use crate::meta::fields::Fields;
use crate::meta::long_lived::LongLived;
use crate::meta::select::Node;

const TOKENS: LongLived = LongLived { exchange: "ig_exchange_token", refresh: "ig_refresh_token" };

/// Requested by its token, the account has an app-scoped `id`.
const USER: Node = Node {
    kind: "IGUser",
    fields: &[
        "user_id",
        "username",
        "name",
        "account_type",
        "profile_picture_url",
        "followers_count",
        "follows_count",
        "media_count",
    ],
    unasked: &[],
};

pub(super) const PICTURE: &str = "https://scontent.cdninstagram.com/v/ada.jpg";

/// The app-scoped id of the account, which no call accepts.
const OF_THE_APP: &str = "9876543210987";

/// The routes of Instagram's login only.
pub(super) fn routes() -> Router<Arc<Fake>> {
    oauth::page_at::<Fake>("/oauth/authorize")
        .route("/oauth/access_token", post(issue_short_token))
        .route("/access_token", get(issue_long_token))
        .route("/refresh_access_token", get(refresh_long_token))
}

/// `POST /oauth/access_token`: exchanges a code for a token of one hour.
async fn issue_short_token(
    State(fake): State<Arc<Fake>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, Response> {
    let query = query.unwrap_or_default();
    if essence(&headers) != "application/x-www-form-urlencoded" || !query.is_empty() {
        return Err(login_error("You must provide a form"));
    }
    let mut fields = Fields::read("", &essence(&headers), &body).map_err(|_| login_error("Invalid form"))?;
    for name in ["client_id", "client_secret", "grant_type", "redirect_uri", "code"] {
        fields.want(name).map_err(|_| login_error(&format!("You must include a valid {name}")))?;
    }
    fields.end().map_err(|_| login_error("Unknown parameter"))?;
    let params = Params::read("", &headers, &body).map_err(|_| login_error("Invalid form"))?;
    let mut oauth = fake.oauth();
    let grant = oauth.token(&headers, &params, fake.clock.now()).map_err(|it| login_error(&it.message()))?;
    let token = grant.access_token.clone();
    let memory = fake.memory();
    for grant in oauth.grants.iter_mut().filter(|it| it.access_token == token) {
        grant.scopes.retain(|it| !memory.declined.contains(it));
    }
    let scopes = oauth.grants.iter().find(|it| it.access_token == token).map(|it| it.scopes.clone());
    let scopes = scopes.unwrap_or_default();
    let object = json!({ "access_token": token, "user_id": ID, "permissions": scopes.join(",") });
    Ok(Json(json!({ "data": [object] })))
}

/// An error in the format that only `POST /oauth/access_token` has.
fn login_error(message: &str) -> Response {
    let body = json!({ "error_type": "OAuthException", "code": 400, "error_message": message });
    (StatusCode::BAD_REQUEST, Json(body)).into_response()
}

/// `GET /access_token`: exchanges a short-lived token for a token of 60 days.
async fn issue_long_token(State(fake): State<Arc<Fake>>, fields: Fields) -> Result<Json<Value>, GraphError> {
    TOKENS.exchange(&mut fake.oauth(), fields, fake.clock.now())
}

/// `GET /refresh_access_token`: refreshes a long-lived token.
async fn refresh_long_token(State(fake): State<Arc<Fake>>, fields: Fields) -> Result<Json<Value>, GraphError> {
    TOKENS.refresh(&mut fake.oauth(), fields, fake.clock.now())
}

impl Fake {
    /// The account, requested by its id or by `me`.
    pub(super) fn account(&self, by: &str, mut fields: Fields) -> Result<Value, GraphError> {
        let asked = fields.text("fields");
        fields.end()?;
        let user_id = (by == "me").then_some(ID);
        let all = json!({
            "id": if by == "me" { OF_THE_APP } else { ID },
            "user_id": user_id,
            "username": HANDLE,
            "name": "Ada Keeper",
            "account_type": self.memory().account_type,
            "profile_picture_url": PICTURE,
            "followers_count": 12,
            "follows_count": 3,
            "media_count": self.memory().posts.len(),
        });
        USER.select(&all, asked.as_deref())
    }

    /// Accepts a call to `path` if its token has these scopes and no refusal is ordered for `path`.
    pub(super) fn accept(
        &self,
        headers: &HeaderMap,
        fields: &mut Fields,
        path: &str,
        scopes: &[&str],
    ) -> Result<(), GraphError> {
        let by_facebook = self.memory().by_facebook;
        if by_facebook {
            self.accept_page(headers, fields, scopes)?;
        } else {
            access::accept(&self.oauth(), headers, fields, Proof::Unknown, scopes, self.clock.now())?;
        }
        let mut memory = self.memory();
        match memory.refusals.iter().position(|(ends, _)| path == *ends) {
            Some(at) => Err(memory.refusals.remove(at).1),
            None => Ok(()),
        }
    }

    /// Like `accept`, for a call below the account's id. Other accounts are not visible.
    pub(super) fn authorize_for_account(
        &self,
        headers: &HeaderMap,
        fields: &mut Fields,
        (id, path): (&str, &str),
        scopes: &[&str],
    ) -> Result<(), GraphError> {
        self.accept(headers, fields, path, scopes)?;
        let is_its = id == ID || id == "me" && !self.memory().by_facebook;
        if is_its && !self.memory().is_hidden { Ok(()) } else { Err(GraphError::object_not_found(id)) }
    }
}

impl Authorizes for Fake {
    fn accounts(&self) -> &'static [&'static str] {
        &[HANDLE]
    }

    fn end_access_tokens(&self) {
        self.change_password(&mut self.oauth(), self.now());
    }

    fn refusal(&self, fault: Fault) -> Response {
        GraphError::from(fault).into_response()
    }
}
