//! The parameters of a request, wherever they stand.

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use serde_json::{Map, Value};
use url::form_urlencoded;

use super::refusal::Refusal;

/// The query, and a body that is a form or JSON; in any other type of body
/// nothing is found.
#[derive(Debug, Default)]
pub(crate) struct Params(Map<String, Value>);

impl Params {
    /// Reads them; 400 when a JSON body is none.
    pub(crate) fn read(query: &str, headers: &HeaderMap, body: &[u8]) -> Result<Self, Refusal> {
        let mut params = Self::default();
        params.add_form(query.as_bytes());
        match essence(headers).as_str() {
            "application/x-www-form-urlencoded" => params.add_form(body),
            "application/json" if !body.is_empty() => match serde_json::from_slice(body) {
                Ok(Value::Object(fields)) => params.0.extend(fields),
                Ok(_) | Err(_) => {
                    return Err(Refusal::new(
                        StatusCode::BAD_REQUEST,
                        "Error occurred while parsing request parameters",
                    ));
                }
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

    /// One value, unless it is missing, blank or a list.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        scalar(self.0.get(name)?).filter(|it| !it.trim().is_empty())
    }

    /// The values of a list; none of anything else.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        self.0.get(name).and_then(Value::as_array).map(|it| it.iter().filter_map(scalar).collect()).unwrap_or_default()
    }
}

impl<S: Send + Sync> FromRequest<S> for Params {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let headers = request.headers().clone();
        let body = Bytes::from_request(request, state)
            .await
            .map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, error.to_string()))?;
        Self::read(&query, &headers, &body)
    }
}

/// The type of the body without its parameters; empty when it is not said.
pub(crate) fn essence(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
