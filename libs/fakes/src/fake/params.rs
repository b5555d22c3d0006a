//! The parameters of a request, from its query and its body.

use axum::Json;
use axum::extract::{FromRequest, Multipart, Request};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value, json};
use url::form_urlencoded;

/// The parameters of the query, and of a body that is a form or JSON. Bodies of other types are
/// ignored.
#[derive(Clone, Debug, Default)]
pub struct Params(Map<String, Value>);

/// A body whose format differs from its content type.
#[derive(Clone, Copy, Debug)]
pub struct BadBody;

impl Params {
    /// Fails when a JSON body is not an object.
    pub fn read(query: &str, headers: &HeaderMap, body: &[u8]) -> Result<Self, BadBody> {
        let mut params = Self::default();
        params.add_form(query.as_bytes());
        match essence(headers).as_str() {
            "application/x-www-form-urlencoded" => params.add_form(body),
            "application/json" if !body.is_empty() => match serde_json::from_slice(body) {
                Ok(Value::Object(fields)) => params.0.extend(fields),
                Ok(_) | Err(_) => return Err(BadBody),
            },
            _ => {}
        }
        Ok(params)
    }

    fn add_form(&mut self, form: &[u8]) {
        for (name, value) in form_urlencoded::parse(form) {
            let value = Value::String(value.into_owned());
            match name.strip_suffix("[]") {
                Some(name) => {
                    let list = self.0.entry(name).or_insert_with(|| Value::Array(Vec::new()));
                    if let Value::Array(list) = list {
                        list.push(value);
                    }
                }
                None => {
                    self.0.insert(name.into_owned(), value);
                }
            }
        }
    }

    /// The value of a parameter; `None` if it is missing, blank or a list.
    pub fn text(&self, name: &str) -> Option<String> {
        scalar_text(self.0.get(name)?).filter(|it| !it.trim().is_empty())
    }

    /// The values of a list; empty for any other value.
    pub fn list(&self, name: &str) -> Vec<String> {
        self.0
            .get(name)
            .and_then(Value::as_array)
            .map(|it| it.iter().filter_map(scalar_text).collect())
            .unwrap_or_default()
    }
}

impl<S: Send + Sync> FromRequest<S> for Params {
    type Rejection = BadBody;

    async fn from_request(request: Request, state: &S) -> Result<Self, BadBody> {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let headers = request.headers().clone();
        let body = Bytes::from_request(request, state).await.map_err(|_| BadBody)?;
        Self::read(&query, &headers, &body)
    }
}

impl IntoResponse for BadBody {
    fn into_response(self) -> Response {
        let error = "Error occurred while parsing request parameters";
        (StatusCode::BAD_REQUEST, Json(json!({ "error": error }))).into_response()
    }
}

/// A part of a multipart form (RFC 7578).
#[derive(Clone, Debug)]
pub struct Part {
    pub name: String,
    /// `None` unless the part is a file.
    pub file_name: Option<String>,
    /// As the part declares it; empty if it does not.
    pub mime_type: String,
    pub bytes: Bytes,
}

impl Part {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// The parts of a multipart form, in order.
pub async fn parts(request: Request) -> Result<Vec<Part>, BadBody> {
    let mut form = Multipart::from_request(request, &()).await.map_err(|_| BadBody)?;
    let mut parts = Vec::new();
    while let Some(field) = form.next_field().await.map_err(|_| BadBody)? {
        let name = field.name().unwrap_or_default().to_owned();
        let file_name = field.file_name().map(str::to_owned);
        let mime_type = field.content_type().unwrap_or_default().to_owned();
        parts.push(Part { name, file_name, mime_type, bytes: field.bytes().await.map_err(|_| BadBody)? });
    }
    Ok(parts)
}

/// The media type of the body without its parameters; empty without a `Content-Type`.
pub fn essence(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The name and password of the `Authorization` header, each encoded like a form value (RFC 6749,
/// section 2.3.1).
pub fn basic(headers: &HeaderMap) -> Option<(String, String)> {
    let encoded = headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Basic ")?;
    let pair = String::from_utf8(STANDARD.decode(encoded).ok()?).ok()?;
    let (name, password) = pair.split_once(':')?;
    let decoded = |it: &str| {
        let (value, _) = form_urlencoded::parse(it.as_bytes()).next()?;
        Some(value.into_owned())
    };
    Some((decoded(name)?, decoded(password)?))
}

pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")
}

fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
