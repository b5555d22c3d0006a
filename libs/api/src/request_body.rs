//! The body is checked only when the handler asks for it, so that a missing resource returns 404
//! whatever the body contains.

use std::convert::Infallible;

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::Map;

use crate::error::ApiError;
use crate::fields::{Fields, Source};
use crate::json;
use crate::params::Params;

const MAX_BODY_BYTES: usize = 256 * 1024;

#[derive(Clone, Debug)]
pub struct RequestBody {
    is_json: bool,
    params: Params,
    body: ReceivedBody,
}

#[derive(Clone, Debug)]
enum ReceivedBody {
    Whole(Bytes),
    TooLarge,
    CutOff,
}

impl<S: Sync> FromRequest<S> for RequestBody {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Self, Infallible> {
        let is_json = is_json(request.headers());
        let params = Params::parse(request.uri().query().unwrap_or_default());
        let body = match Limited::new(request.into_body(), MAX_BODY_BYTES).collect().await {
            Ok(body) => ReceivedBody::Whole(body.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => ReceivedBody::TooLarge,
            Err(_) => ReceivedBody::CutOff,
        };
        Ok(Self { is_json, params, body })
    }
}

impl RequestBody {
    /// 413, 415, 400, or 422 if the body is not an object. An unknown field is an error like any
    /// other.
    pub fn fields(self, known: &[&'static str]) -> Result<Fields, ApiError> {
        let bytes = self.bytes()?;
        if !self.is_json {
            return Err(ApiError::WrongType);
        }
        let (values, faults) = json::object(&bytes)?;
        let mut fields = Fields::new(values, Source::Body, known);
        fields.faults().extend(faults);
        self.check_params(&mut fields);
        Ok(fields)
    }

    /// An empty body and `null` count as an empty object.
    pub fn optional_fields(self, known: &[&'static str]) -> Result<Fields, ApiError> {
        let bytes = self.bytes()?;
        if bytes.is_empty() || (self.is_json && bytes.trim_ascii() == b"null") {
            let mut fields = Fields::new(Map::new(), Source::Body, known);
            self.check_params(&mut fields);
            return Ok(fields);
        }
        self.fields(known)
    }

    /// For an operation that has parameters only: every field is an error, because the client
    /// expects it to have an effect.
    pub fn none(self) -> Result<(), ApiError> {
        Self { params: Params::default(), ..self }.optional_fields(&[])?.finish(())
    }

    /// Adds every query parameter as unknown: no route with a body has parameters.
    fn check_params(self, fields: &mut Fields) {
        let mut params = self.params.fields(&[]);
        fields.faults().extend(std::mem::take(params.faults()));
    }

    /// 413, or 400 if the body was cut off.
    pub fn bytes(&self) -> Result<Bytes, ApiError> {
        match &self.body {
            ReceivedBody::Whole(bytes) => Ok(bytes.clone()),
            ReceivedBody::TooLarge => Err(ApiError::TooLarge),
            ReceivedBody::CutOff => {
                Err(ApiError::Malformed("The body ended too early. Send the request again".to_owned()))
            }
        }
    }
}

/// The case does not matter. The only charset is UTF-8.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(Ok(value)) = headers.get(CONTENT_TYPE).map(|it| it.to_str()) else {
        return false;
    };
    let mut parts = value.split(';').map(str::trim);
    let is_json = parts.next().is_some_and(|it| it.eq_ignore_ascii_case("application/json"));
    let mut charsets = parts.filter_map(|it| it.split_once('=')).filter(|it| it.0.eq_ignore_ascii_case("charset"));
    is_json && charsets.all(|it| it.1.trim_matches('"').eq_ignore_ascii_case("utf-8"))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    async fn incoming(content_type: &str, body: impl Into<Body>) -> RequestBody {
        let request = Request::builder().header("content-type", content_type).body(body.into()).unwrap();
        RequestBody::from_request(request, &()).await.unwrap()
    }

    async fn refusal(content_type: &str, body: impl Into<Body>) -> ApiError {
        incoming(content_type, body).await.fields(&["content"]).unwrap_err()
    }

    #[tokio::test]
    async fn size_comes_before_type_and_type_before_json() {
        let large = "x".repeat(MAX_BODY_BYTES + 1);
        assert_eq!(refusal("text/plain", large).await, ApiError::TooLarge);
        assert_eq!(refusal("text/plain", "x").await, ApiError::WrongType);
        assert!(matches!(refusal("application/json", "x").await, ApiError::Malformed(_)));
        assert!(matches!(refusal("application/json", "[]").await, ApiError::Invalid(_)));
    }

    #[tokio::test]
    async fn the_largest_body_is_read() {
        let text = "x".repeat(MAX_BODY_BYTES - r#"{"content":""}"#.len());
        let mut fields =
            incoming("application/json", format!(r#"{{"content":"{text}"}}"#)).await.fields(&["content"]).unwrap();
        assert_eq!(fields.required_text("content").map(|it| it.len()), Some(text.len()));
    }

    #[tokio::test]
    async fn query_parameters_are_among_the_errors() {
        let request = Request::builder()
            .uri("/?schedule=now")
            .header("content-type", "application/json")
            .body(Body::from(r#"{"x":1}"#))
            .unwrap();
        let incoming = RequestBody::from_request(request, &()).await.unwrap();

        let Err(ApiError::Invalid(faults)) = incoming.fields(&["content"]).and_then(|it| it.finish(())) else {
            panic!("no faults")
        };

        let fields: Vec<_> = faults.iter().map(|it| it.0).collect();
        assert_eq!(fields, ["x", "schedule"]);
    }

    #[tokio::test]
    async fn json_in_another_encoding_is_another_type() {
        assert!(incoming("Application/JSON; charset=UTF-8", "{}").await.fields(&[]).is_ok());
        assert_eq!(refusal("application/json; charset=latin1", "{}").await, ApiError::WrongType);
        assert_eq!(refusal("application/jsonp", "{}").await, ApiError::WrongType);
    }

    #[tokio::test]
    async fn optional_body_may_be_empty() {
        assert!(incoming("text/plain", "").await.optional_fields(&["scopes"]).is_ok());
        assert_eq!(incoming("text/plain", "{}").await.optional_fields(&[]).unwrap_err(), ApiError::WrongType);
    }
}
