//! The fields of a request body.

use serde_json::{Map, Value};

use super::api_error::ApiError;

/// The fields of a body. Reading a field removes it.
pub(super) struct Fields(pub(super) Map<String, Value>);

impl Fields {
    pub(super) fn parse(body: &[u8]) -> Result<Self, ApiError> {
        match serde_json::from_slice(body) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            _ => Err(ApiError::bad("INVALID_BODY", "The body is no object")),
        }
    }

    pub(super) fn take(&mut self, name: &str) -> Result<Value, ApiError> {
        self.0.remove(name).ok_or_else(|| ApiError::bad("MISSING_FIELD", &format!("/{name} :: field is required")))
    }

    pub(super) fn text(&mut self, name: &str) -> Result<String, ApiError> {
        let value = self.take(name)?;
        let text = value.as_str().map(str::to_owned);
        text.ok_or_else(|| ApiError::bad("INVALID_VALUE_FOR_FIELD", &format!("/{name} is no string")))
    }

    /// Refuses the fields that were not read.
    pub(super) fn end(self) -> Result<(), ApiError> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => Err(ApiError::bad(
                "UNPERMITTED_FIELD",
                &format!("Unpermitted fields present in REQUEST_BODY: [/{name}]"),
            )),
        }
    }
}
