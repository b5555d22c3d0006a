//! What the API answered.

use std::ops::Deref;

use serde::de::DeserializeOwned;

use crate::Error;

/// An answer: what it says, and the JSON as it came.
#[derive(Clone, Debug)]
pub struct ApiResponse<T> {
    /// What it says.
    pub value: T,
    /// The API's answer unchanged; empty where there is none.
    pub json: String,
    /// Whether the service did nothing and repeated an earlier answer, for an
    /// idempotency key that it knew.
    pub replayed: bool,
}

impl<T: DeserializeOwned> ApiResponse<T> {
    /// Reads an answer.
    pub(crate) fn read(json: String, replayed: bool) -> Result<Self, Error> {
        match serde_json::from_str(&json) {
            Ok(value) => Ok(Self { value, json, replayed }),
            Err(error) => Err(Error::Unreadable(error.to_string())),
        }
    }
}

impl<T> Deref for ApiResponse<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
