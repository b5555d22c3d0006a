//! Tokens, checks of all calls, and the profile.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::HeaderMap;
use serde_json::{Value, json};

use super::{Fake, ID, USERNAME};
use crate::fake::oauth::{Authorizes, Fault};
use crate::fake::params::{Params, essence};
use crate::meta::access::{self, Proof};
use crate::meta::error::GraphError;
use crate::meta::fields::Fields;
use crate::meta::long_lived::LongLived;
use crate::meta::select::Node;

const TOKENS: LongLived = LongLived { exchange: "th_exchange_token", refresh: "th_refresh_token" };

const PROFILE: Node = Node {
    kind: "ThreadsUser",
    fields: &["username", "name", "threads_profile_picture_url", "threads_biography", "is_verified"],
    unasked: &[],
};

/// Scopes of every call.
pub(super) const BASIC: &[&str] = &["threads_basic"];

/// Scopes of publish calls.
pub(super) const PUBLISH: &[&str] = &["threads_basic", "threads_content_publish"];

/// Scopes of a container with `reply_to_id`.
pub(super) const REPLY: &[&str] = &["threads_basic", "threads_content_publish", "threads_manage_replies"];

/// Scopes of reading replies.
pub(super) const READ_REPLIES: &[&str] = &["threads_basic", "threads_read_replies"];

/// `POST /oauth/access_token`: exchanges a code for a token of one hour.
pub(super) async fn short(
    State(fake): State<Arc<Fake>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, GraphError> {
    let query = query.unwrap_or_default();
    let mut fields = Fields::read(&query, &essence(&headers), &body)?;
    for name in ["client_id", "client_secret", "grant_type", "redirect_uri", "code"] {
        fields.want(name)?;
    }
    fields.end()?;
    let params = Params::read(&query, &headers, &body).map_err(|_| GraphError::param("The body is no form"))?;
    let mut oauth = fake.oauth();
    let grant = oauth.token(&headers, &params, fake.clock.now())?;
    let user: u64 = ID.parse().map_err(|_| GraphError::unknown())?;
    Ok(Json(json!({ "access_token": grant.access_token, "user_id": user })))
}

/// `GET /access_token`: exchanges it for a token of 60 days.
pub(super) async fn long(State(fake): State<Arc<Fake>>, fields: Fields) -> Result<Json<Value>, GraphError> {
    TOKENS.exchange(&mut fake.oauth(), fields, fake.clock.now())
}

/// `GET /refresh_access_token`: refreshes the token of 60 days.
pub(super) async fn longer(State(fake): State<Arc<Fake>>, fields: Fields) -> Result<Json<Value>, GraphError> {
    TOKENS.refresh(&mut fake.oauth(), fields, fake.clock.now())
}

/// `GET /me`
pub(super) fn profile(mut fields: Fields) -> Result<Value, GraphError> {
    let asked = fields.text("fields");
    fields.end()?;
    let all = json!({
        "id": ID,
        "username": USERNAME,
        "name": "Ada Keeper",
        "threads_profile_picture_url": "https://scontent.cdninstagram.com/v/ada.jpg",
        "threads_biography": "Keeps a lighthouse.",
        "is_verified": false,
    });
    PROFILE.select(&all, asked.as_deref())
}

impl Fake {
    /// Accepts a call to a path with this suffix if its token has these scopes.
    pub(super) fn accept(
        &self,
        headers: &HeaderMap,
        fields: &mut Fields,
        path: &str,
        scopes: &[&str],
    ) -> Result<(), GraphError> {
        access::accept(&self.oauth(), headers, fields, Proof::Unknown, scopes, self.clock.now())?;
        let mut memory = self.memory();
        match memory.refusals.iter().position(|(ends, _)| path == *ends) {
            Some(at) => Err(memory.refusals.remove(at).1),
            None => Ok(()),
        }
    }

    /// Like `accept`, for a path that begins with the profile's id: other profiles are not visible.
    pub(super) fn authorize_for_profile(
        &self,
        headers: &HeaderMap,
        fields: &mut Fields,
        (id, path): (&str, &str),
        scopes: &[&str],
    ) -> Result<(), GraphError> {
        self.accept(headers, fields, path, scopes)?;
        if [ID, "me"].contains(&id) { Ok(()) } else { Err(GraphError::object_not_found(id)) }
    }
}

impl Authorizes for Fake {
    fn accounts(&self) -> &'static [&'static str] {
        &[USERNAME]
    }

    fn refusal(&self, fault: Fault) -> Response {
        GraphError::from(fault).into_response()
    }
}
