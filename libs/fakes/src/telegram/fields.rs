//! The fields of a call, from JSON or a form with files.

use std::collections::BTreeMap;

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use serde_json::{Map, Value};

use super::api_error::ApiError;
use crate::fake::params::{essence, parts};

#[derive(Debug, Default)]
pub(super) struct Fields {
    values: Map<String, Value>,
    files: BTreeMap<String, Bytes>,
}

impl Fields {
    pub(super) async fn read(request: Request) -> Result<Self, ApiError> {
        match essence(request.headers()).as_str() {
            "application/json" => {
                let body = Bytes::from_request(request, &()).await.map_err(|_| ApiError::bad("can't read the body"))?;
                match serde_json::from_slice(&body) {
                    Ok(Value::Object(values)) => Ok(Self { values, files: BTreeMap::new() }),
                    _ => Err(ApiError::bad("can't parse JSON object")),
                }
            }
            "multipart/form-data" => Self::read_form(request).await,
            _ => Err(ApiError::bad("unsupported content type")),
        }
    }

    async fn read_form(request: Request) -> Result<Self, ApiError> {
        if !request.headers().contains_key(http::header::CONTENT_LENGTH) {
            return Err(ApiError::new(411, "Length Required"));
        }
        let mut fields = Self::default();
        for part in parts(request).await.map_err(|_| ApiError::bad("can't parse the form"))? {
            if part.file_name.is_some() {
                fields.files.insert(part.name, part.bytes);
            } else {
                let text = part.text();
                fields.values.insert(part.name, text.into());
            }
        }
        Ok(fields)
    }

    /// A text, or a number as text.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        match self.values.remove(name)? {
            Value::String(text) => Some(text),
            Value::Null => None,
            other => Some(other.to_string()),
        }
    }

    /// JSON, which a form has as text.
    pub(super) fn take_json(&mut self, name: &str) -> Option<Value> {
        match self.values.remove(name)? {
            Value::String(text) => serde_json::from_str(&text).ok(),
            other => Some(other),
        }
    }

    pub(super) fn take_file(&mut self, name: &str) -> Option<Bytes> {
        self.files.remove(name)
    }

    pub(super) fn rest(self) -> Vec<String> {
        self.values.into_iter().map(|it| it.0).chain(self.files.into_keys()).collect()
    }
}
