//! A request of the API, with its parts from the path, the query or the body.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method};
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::Fake;
use super::api_error::ApiError;
use super::site::{Role, SiteQuirk, letters};
use crate::fake::params::{basic, essence};

pub(super) struct RestRequest {
    pub(super) method: Method,
    /// Such as `wp/v2/posts/7`.
    pub(super) route: String,
    pub(super) query: BTreeMap<String, String>,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

#[derive(Clone)]
pub(super) struct Member {
    pub(super) role: Role,
    /// Id of the application password.
    pub(super) uuid: String,
}

impl RestRequest {
    /// The parts of an API request; `None` for any other page.
    pub(super) fn read(fake: &Fake, head: &Parts, body: Bytes) -> Option<Self> {
        let path = head.uri.path().strip_prefix(fake.base())?;
        let query = form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes());
        let mut query: BTreeMap<String, String> = query.into_owned().collect();
        let route = match query.remove("rest_route") {
            Some(route) if matches!(path, "/" | "/index.php") => route,
            None if !fake.kind.is_plain && path.starts_with("/wp-json") => path.strip_prefix("/wp-json")?.to_owned(),
            _ => return None,
        };
        let route = route.trim_matches('/').to_owned();
        Some(Self { method: head.method.clone(), route, query, headers: head.headers.clone(), body })
    }

    /// The account of the request's application password, if it is valid.
    pub(super) fn member(&self, fake: &Fake) -> Option<Member> {
        let mut memory = fake.memory();
        let (user, password) = basic(&self.headers).filter(|_| !memory.is(SiteQuirk::StripsAuthorization))?;
        let role = memory.role;
        let password = letters(&password);
        let has_passwords = !memory.is(SiteQuirk::HasNoPasswords);
        let known = memory.passwords.iter_mut().find(|it| it.secret == password);
        let known = known.filter(|_| user == super::USER && has_passwords)?;
        known.is_used = true;
        Some(Member { role, uuid: known.uuid.clone() })
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.get(name).map(String::as_str)
    }

    /// The fields of a JSON body; unknown ones are refused.
    pub(super) fn fields(&self, known: &[&str]) -> Result<Map<String, Value>, ApiError> {
        let is_json = essence(&self.headers) == "application/json";
        let Some(Value::Object(fields)) = serde_json::from_slice(&self.body).ok().filter(|_| is_json) else {
            return Err(ApiError::new(400, "rest_invalid_json", "Invalid JSON body passed."));
        };
        match fields.keys().find(|it| !known.contains(&it.as_str())) {
            Some(unknown) => Err(ApiError::invalid(unknown, "there is no such field")),
            None => Ok(fields),
        }
    }

    /// The response with only the requested `_fields`.
    pub(super) fn shortened(&self, answer: Value) -> Value {
        let Some(wanted) = self.parameter("_fields") else { return answer };
        let shorten = |value: Value| match value {
            Value::Object(fields) => {
                let is_wanted = |name: &String| wanted.split(',').any(|it| it == name);
                Value::Object(fields.into_iter().filter(|(name, _)| is_wanted(name)).collect())
            }
            other => other,
        };
        match answer {
            Value::Array(many) => Value::Array(many.into_iter().map(shorten).collect()),
            one => shorten(one),
        }
    }
}
