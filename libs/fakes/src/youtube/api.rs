//! What the methods share: parts, bodies, pages, and errors as Google writes them.

use std::collections::BTreeMap;
use std::mem::discriminant;

use axum::Json;
use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, Uri};
use serde_json::{Value, json};

use crate::fake::params::essence;

pub(super) const YOUTUBE: &str = "https://www.googleapis.com/auth/youtube";
pub(super) const FORCE_SSL: &str = "https://www.googleapis.com/auth/youtube.force-ssl";
pub(super) const UPLOAD: &str = "https://www.googleapis.com/auth/youtube.upload";
pub(super) const READONLY: &str = "https://www.googleapis.com/auth/youtube.readonly";

/// Fields that clients may send, but not set.
const READ_ONLY: &str = "channelId channelTitle failureReason liveBroadcastContent localized madeForKids publishedAt \
    rejectionReason thumbnails uploadStatus id kind etag";

pub(super) struct ApiCall {
    pub(super) uri: Uri,
    pub(super) query: BTreeMap<String, String>,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

type ApiError = (StatusCode, Json<Value>);
pub(super) type ApiResult<T = Response> = Result<T, ApiError>;

impl ApiCall {
    pub(super) fn required(&self, name: &str) -> ApiResult<&str> {
        let missing = || error(400, "youtube.parameter", "missingRequiredParameter", &format!("'{name}'"));
        self.query.get(name).map(String::as_str).ok_or_else(missing)
    }

    pub(super) fn has_part(&self, name: &str) -> bool {
        self.query.get("part").is_some_and(|it| it.split(',').any(|it| it == name))
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// A resource with those of its parts that the call asks for.
    pub(super) fn resource(&self, kind: &str, id: &str, mut parts: Value) -> Value {
        parts.as_object_mut().unwrap().retain(|name, _| self.has_part(name));
        parts["kind"] = format!("youtube#{kind}").into();
        parts["etag"] = format!("etag of {id}").into();
        parts["id"] = id.into();
        parts
    }

    /// A page of a list with at most `max` items.
    pub(super) fn page(&self, kind: &str, (max, default): (usize, usize), all: &[Value]) -> ApiResult {
        let number = |name: &str, default| self.query.get(name).map_or(Some(default), |it| it.parse().ok());
        let size = number("maxResults", default).filter(|it| (1..=max).contains(it));
        let (Some(size), Some(start)) = (size, number("pageToken", 0)) else {
            return Err(error(400, "youtube.parameter", "invalidPageToken", "The request specifies an invalid page."));
        };
        let items: Vec<_> = all.iter().skip(start).take(size).collect();
        let mut page = json!({ "kind": format!("youtube#{kind}ListResponse"), "etag": "etag of a page", "items": items,
            "pageInfo": { "totalResults": all.len(), "resultsPerPage": size } });
        if start + items.len() < all.len() {
            page["nextPageToken"] = (start + items.len()).to_string().into();
        }
        Ok(Json(page).into_response())
    }

    pub(super) fn json(&self) -> ApiResult<Value> {
        let body = serde_json::from_slice(&self.body).ok().filter(|_| essence(&self.headers) == "application/json");
        body.ok_or_else(|| error(400, "global", "parseError", "The body has to be JSON."))
    }
}

/// A template with the values that were sent. Only its fields exist, and with its types.
pub(super) fn merged(mut template: Value, sent: &Value, path: &str) -> ApiResult<Value> {
    let invalid = |what: &str| error(400, "global", "invalid", &format!("Invalid JSON payload received. {what}"));
    if discriminant(&template) != discriminant(sent) {
        return Err(invalid(&format!("Invalid value at '{path}'")));
    }
    let Some(fields) = template.as_object_mut() else { return Ok(sent.clone()) };
    for (name, value) in sent.as_object().unwrap() {
        match fields.get_mut(name) {
            Some(field) => *field = merged(field.take(), value, &format!("{path}.{name}"))?,
            None if is_in(READ_ONLY, name) => {}
            None => return Err(invalid(&format!("Unknown name \"{name}\" at '{path}': Cannot find field."))),
        }
    }
    Ok(template)
}

/// Whether a list with spaces contains this name.
pub(super) fn is_in(names: &str, name: &str) -> bool {
    names.split(' ').any(|it| it == name)
}

/// An error as Google writes it. Only its shared front servers add a status.
pub(super) fn error(code: u16, domain: &str, reason: &str, message: &str) -> ApiError {
    let error = json!({ "message": message, "domain": domain, "reason": reason });
    let mut body = json!({ "error": { "code": code, "message": message, "errors": [error] } });
    let statuses = [(400, "INVALID_ARGUMENT"), (401, "UNAUTHENTICATED"), (403, "PERMISSION_DENIED")];
    if let Some((_, status)) = statuses.iter().find(|it| it.0 == code && domain == "global") {
        body["error"]["status"] = (*status).into();
    }
    (StatusCode::from_u16(code).unwrap(), Json(body))
}
