//! The arguments of a call: from the query, a form, or JSON.

use axum::body::to_bytes;
use axum::extract::Request;
use http::{HeaderMap, Method};
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::api_error::ApiError;
use crate::fake::params::essence;

/// The arguments of a call. The caller chooses the type of each.
#[derive(Debug)]
pub(super) struct Fields {
    values: Map<String, Value>,
    /// Whether values are JSON; otherwise all are text.
    is_json: bool,
}

impl Fields {
    pub(super) async fn read(request: Request) -> Result<(Self, HeaderMap), ApiError> {
        let (head, body) = request.into_parts();
        let body = to_bytes(body, usize::MAX).await.map_err(|_| ApiError::new("request_timeout"))?;
        let form = |form: &[u8]| {
            form_urlencoded::parse(form).map(|(name, value)| (name.into_owned(), value.into_owned().into())).collect()
        };
        let query: Map<_, _> = form(head.uri.query().unwrap_or_default().as_bytes());
        let (values, is_json) = match (&head.method, essence(&head.headers).as_str()) {
            (&Method::POST, _) if !query.is_empty() => return Err(ApiError::arguments("arguments in the query")),
            (&Method::GET, _) | (&Method::POST, "") if body.is_empty() => (query, false),
            (&Method::POST, "") => return Err(ApiError::new("missing_post_type")),
            (&Method::POST, "application/x-www-form-urlencoded") => (form(&body), false),
            (&Method::POST, "application/json") => match serde_json::from_slice(&body) {
                Ok(Value::Object(values)) => (values, true),
                Ok(_) => return Err(ApiError::new("json_not_object")),
                Err(_) => return Err(ApiError::new("invalid_json")),
            },
            _ => return Err(ApiError::new("invalid_post_type")),
        };
        Ok((Self { values, is_json }, head.headers))
    }

    pub(super) const fn is_json(&self) -> bool {
        self.is_json
    }

    /// A text; `None` if empty.
    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, ApiError> {
        match self.values.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text).filter(|it| !it.is_empty())),
            Some(_) => Err(ApiError::arguments(&format!("must provide a string [json-pointer:/{name}]"))),
        }
    }

    pub(super) fn required(&mut self, name: &str) -> Result<String, ApiError> {
        self.text(name)?.ok_or_else(|| ApiError::arguments(&format!("missing required field: {name}")))
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<Option<bool>, ApiError> {
        match (self.values.remove(name), self.is_json) {
            (None, _) => Ok(None),
            (Some(Value::Bool(it)), true) => Ok(Some(it)),
            (Some(Value::String(it)), false) if matches!(it.as_str(), "true" | "1") => Ok(Some(true)),
            (Some(Value::String(it)), false) if matches!(it.as_str(), "false" | "0") => Ok(Some(false)),
            _ => Err(ApiError::arguments(&format!("must provide a boolean [json-pointer:/{name}]"))),
        }
    }

    pub(super) fn number(&mut self, name: &str) -> Result<Option<u64>, ApiError> {
        let number = match (self.values.remove(name), self.is_json) {
            (None, _) => return Ok(None),
            (Some(Value::Number(it)), true) => it.as_u64(),
            (Some(Value::String(it)), false) => it.parse().ok(),
            _ => None,
        };
        number.map(Some).ok_or_else(|| ApiError::arguments(&format!("must provide an integer [json-pointer:/{name}]")))
    }

    /// An object or list, which a form has as JSON text.
    pub(super) fn json(&mut self, name: &str) -> Result<Option<Value>, ApiError> {
        let value = match (self.values.remove(name), self.is_json) {
            (None, _) => return Ok(None),
            (Some(Value::String(it)), false) => serde_json::from_str(&it).ok(),
            (Some(it @ (Value::Object(_) | Value::Array(_))), true) => Some(it),
            _ => None,
        };
        value.map(Some).ok_or_else(|| ApiError::arguments(&format!("must provide JSON [json-pointer:/{name}]")))
    }

    /// Refuses unknown arguments.
    pub(super) fn end(self) -> Result<(), ApiError> {
        match self.values.keys().next() {
            None => Ok(()),
            Some(name) => Err(ApiError::arguments(&format!("no such argument: {name}"))),
        }
    }
}
