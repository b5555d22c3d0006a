//! A response of the API, and how a check reads it.

use std::time::Duration;

use reqwest::{Method, header::HeaderMap};
use serde_json::Value;

use crate::{
    ensure,
    error::{Result, TestError},
    fail,
};

/// Includes the request, for error messages.
#[derive(Debug, Clone)]
pub struct HttpResponse {
    /// Method and URL.
    pub request: String,
    pub method: Method,
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
    /// From the request to the end of the body.
    pub took: Duration,
}

impl HttpResponse {
    /// Quotes the request and this response.
    pub fn test_error(&self, message: &str) -> TestError {
        TestError::new(format!(
            "{message}\n      request:  {}\n      response: {} {}",
            self.request,
            self.status,
            shortened(&self.text, 900)
        ))
    }

    /// Empty when the header is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default()
    }

    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.text).map_err(|_| self.test_error("the body is not JSON"))
    }

    pub fn is(self, status: u16) -> Result<Self> {
        if self.status == status { Ok(self) } else { Err(self.test_error(&format!("expected {status}"))) }
    }

    /// Checks the status.
    pub fn ok(self, status: u16) -> Result<Value> {
        self.is(status)?.json()
    }

    /// Checks that the body is `{message}` and nothing else; returns the message.
    pub fn refused(self, status: u16) -> Result<String> {
        let response = self.is(status)?;
        let body = response.json()?;
        let message = body["message"].as_str().unwrap_or_default();
        if message.is_empty() || body.as_object().is_none_or(|it| it.len() != 1) {
            return Err(response.test_error("the body is not {message}"));
        }
        Ok(message.to_owned())
    }

    /// Checks that the body is `{error, error_description}`; returns the description.
    pub fn error(self, status: u16, error: &str) -> Result<String> {
        let response = self.is(status)?;
        let body = response.json()?;
        if body["error"] != error {
            return Err(response.test_error(&format!("expected error {error}")));
        }
        Ok(body["error_description"].as_str().unwrap_or_default().to_owned())
    }

    /// Checks for validation errors on exactly these fields; returns their messages.
    pub fn invalid(self, fields: &[&str]) -> Result<Value> {
        let (response, errors) = self.errors()?;
        let mut found: Vec<_> = errors.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        let mut expected = fields.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        if found != expected {
            return Err(response.test_error(&format!("expected errors on exactly {expected:?}")));
        }
        Ok(errors)
    }

    /// Checks for a validation error on a field with this prefix; returns all messages.
    pub fn expect_invalid_under(self, prefix: &str) -> Result<Value> {
        let (response, errors) = self.errors()?;
        if !errors.as_object().into_iter().flatten().any(|(name, _)| name.starts_with(prefix)) {
            return Err(response.test_error(&format!("expected an error on {prefix}…")));
        }
        Ok(errors)
    }

    fn errors(self) -> Result<(Self, Value)> {
        let response = self.is(422)?;
        let errors = response.json()?["errors"].clone();
        if !errors.is_object() {
            return Err(response.test_error("expected a validation error with errors"));
        }
        Ok((response, errors))
    }
}

pub fn integer(value: &Value, name: &str) -> Result<i64> {
    match value[name].as_i64() {
        Some(it) => Ok(it),
        None => fail!("{name} is not an integer in {value}"),
    }
}

pub fn text<'a>(value: &'a Value, name: &str) -> Result<&'a str> {
    let found = value[name].as_str();
    ensure!(found.is_some(), "{name} is not text in {value}");
    Ok(found.unwrap_or_default())
}

pub fn list<'a>(value: &'a Value, name: &str) -> Result<&'a [Value]> {
    match value[name].as_array() {
        Some(it) => Ok(it),
        None => fail!("{name} is not a list in {value}"),
    }
}

pub(crate) fn shortened(text: &str, max_chars: usize) -> String {
    if text.chars().count() <= max_chars {
        return text.to_owned();
    }
    text.chars().take(max_chars).chain("…".chars()).collect()
}
