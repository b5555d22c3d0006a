use serde_json::{Map, Value};

use super::api_error::ApiError;

/// The fields of a body, each taken once: `additionalProperties` is false.
pub(super) struct Fields(pub(super) Map<String, Value>);

impl Fields {
    pub(super) fn parse(body: &[u8]) -> Result<Self, ApiError> {
        match serde_json::from_slice(body) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            _ => Err(ApiError::invalid("The body is no object")),
        }
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, ApiError> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(ApiError::invalid(&format!("$.{name}: string expected"))),
        }
    }

    /// A required text.
    pub(super) fn want(&mut self, name: &str) -> Result<String, ApiError> {
        self.text(name)?.ok_or_else(|| ApiError::invalid(&format!("$.{name}: is missing but it is required")))
    }

    pub(super) fn object(&mut self, name: &str) -> Result<Option<Self>, ApiError> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(Value::Object(fields)) => Ok(Some(Self(fields))),
            Some(_) => Err(ApiError::invalid(&format!("$.{name}: object expected"))),
        }
    }

    /// Refuses unknown fields.
    pub(super) fn end(self) -> Result<(), ApiError> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => {
                let message = format!(
                    "$.{name}: is not defined in the schema and the schema does not allow additional properties"
                );
                Err(ApiError::invalid(&message))
            }
        }
    }
}
