//! A request of the API, with its parts from the path, the query or the body.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method};
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::Fake;
use super::api_error::ApiError;
use super::site::letters;
use crate::fake::params::{basic, essence};

pub(super) struct RestRequest {
    pub(super) method: Method,
    /// Such as `wp/v2/posts/7`.
    pub(super) route: String,
    query: BTreeMap<String, String>,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl RestRequest {
    /// The parts of an API request; `None` for any other page.
    pub(super) fn read(fake: &Fake, head: &Parts, body: Bytes) -> Option<Self> {
        let path = head.uri.path().strip_prefix(fake.base())?;
        let query = form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes());
        let mut query: BTreeMap<String, String> = query.into_owned().collect();
        let route = match query.remove("rest_route") {
            Some(route) if matches!(path, "/" | "/index.php") => route,
            None if !fake.kind.is_plain => path.strip_prefix("/wp-json")?.to_owned(),
            _ => return None,
        };
        let route = route.trim_matches('/').to_owned();
        Some(Self { method: head.method.clone(), route, query, headers: head.headers.clone(), body })
    }

    /// The id of the request's application password, which is used from now on.
    pub(super) fn password(&self, fake: &Fake) -> Result<String, ApiError> {
        let (user, password) = basic(&self.headers).ok_or_else(ApiError::not_logged_in)?;
        let (mut memory, password) = (fake.memory(), letters(&password));
        let known = memory.passwords.iter_mut().find(|it| it.secret == password && user == super::USER);
        let known = known.ok_or_else(ApiError::not_logged_in)?;
        known.is_used = true;
        Ok(known.uuid.clone())
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    /// Refuses a deletion that would only move the post or file to the trash.
    pub(super) fn require_force(&self) -> Result<(), ApiError> {
        if self.parameter("force") == Some("true") { Ok(()) } else { Err(ApiError::invalid("force")) }
    }

    /// The fields of a JSON body; unknown ones are refused.
    pub(super) fn fields(&self, known: &[&str]) -> Result<Map<String, Value>, ApiError> {
        let is_json = essence(&self.headers) == "application/json";
        let Some(Value::Object(fields)) = serde_json::from_slice(&self.body).ok().filter(|_| is_json) else {
            return Err(ApiError::new(400, "rest_invalid_json", "Invalid JSON body passed."));
        };
        match fields.keys().find(|it| !known.contains(&it.as_str())) {
            Some(unknown) => Err(ApiError::invalid(unknown)),
            None => Ok(fields),
        }
    }
}
