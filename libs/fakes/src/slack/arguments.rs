//! The arguments of a call: from the query, a form, or JSON.

use axum::body::to_bytes;
use axum::extract::Request;
use http::{HeaderMap, Method, header};
use serde_json::Value;
use url::form_urlencoded;

use super::api_error::ApiError;
use crate::fake::params::{bearer, essence};
use crate::fake::schema::{self, Field, Fields, Integer, Kind, Optional, Pattern, Text};

pub(super) const NOT_EMPTY: Kind = Text(1, usize::MAX);

pub(super) const LIMIT: Field = ("limit", Optional, Integer(1, 999));

pub(super) const CURSOR: Field = ("cursor", Optional, Pattern(|it| position(it).is_some()));

/// The position in a list that a cursor means.
pub(super) fn position(cursor: &str) -> Option<usize> {
    if cursor.is_empty() { Some(0) } else { cursor.strip_prefix("next:")?.parse().ok() }
}

/// An empty text means that the argument is absent.
pub(super) fn text(arguments: &Value, name: &str) -> Option<String> {
    Some(schema::text(arguments, name)).filter(|it| !it.is_empty())
}

/// Reads the arguments without checking them, and the headers. A form may have the token as an argument.
pub(super) async fn read(request: Request, fields: Fields) -> Result<(Value, HeaderMap), ApiError> {
    let (mut head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.map_err(|_| ApiError::new("request_timeout"))?;
    let query = head.uri.query().unwrap_or_default().as_bytes();
    let form = |form: &[u8]| schema::from_form(form_urlencoded::parse(form).into_owned(), fields);
    let (mut arguments, is_json) = match (&head.method, essence(&head.headers).as_str()) {
        (&Method::POST, _) if !query.is_empty() => return Err(ApiError::arguments("arguments in the query")),
        (&Method::GET, _) | (&Method::POST, "") if body.is_empty() => (form(query), false),
        (&Method::POST, "") => return Err(ApiError::new("missing_post_type")),
        (&Method::POST, "application/x-www-form-urlencoded") => (form(&body), false),
        (&Method::POST, "application/json") => match serde_json::from_slice(&body) {
            Ok(arguments @ Value::Object(_)) => (arguments, true),
            Ok(_) => return Err(ApiError::new("json_not_object")),
            Err(_) => return Err(ApiError::new("invalid_json")),
        },
        _ => return Err(ApiError::new("invalid_post_type")),
    };
    if let Some(token) = text(&arguments, "token") {
        if is_json || bearer(&head.headers).is_some() {
            return Err(ApiError::arguments("the token is said twice"));
        }
        arguments.as_object_mut().and_then(|it| it.remove("token"));
        let token = format!("Bearer {token}").parse().map_err(|_| ApiError::new("invalid_auth"))?;
        head.headers.insert(header::AUTHORIZATION, token);
    }
    Ok((arguments, head.headers))
}
