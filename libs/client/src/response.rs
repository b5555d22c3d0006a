use std::ops::Deref;

use serde::de::DeserializeOwned;

use crate::Error;

#[derive(Clone, Debug)]
pub struct ApiResponse<T> {
    pub value: T,
    /// The body as it arrived; empty if there is none.
    pub json: String,
    /// Whether the service replayed an earlier response, because it knew the idempotency key.
    pub replayed: bool,
}

impl<T: DeserializeOwned> ApiResponse<T> {
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
