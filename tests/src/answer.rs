//! What the API answered, and how a check reads it.

use std::time::Duration;

use reqwest::{Method, header::HeaderMap};
use serde_json::Value;

use crate::{
    ensure,
    error::{Result, TestError},
    fail,
};

/// A response, together with the request it answers.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The request in words.
    pub request: String,
    /// The method of the request.
    pub method: Method,
    pub status: u16,
    pub headers: HeaderMap,
    /// The body.
    pub text: String,
    /// The time from the request to the end of the body.
    pub took: Duration,
}

impl Answer {
    /// A fault that shows the request and this response.
    pub fn test_error(&self, words: &str) -> TestError {
        TestError::new(format!(
            "{words}\n      request:  {}\n      response: {} {}",
            self.request,
            self.status,
            shortened(&self.text, 900)
        ))
    }

    /// A header as text, empty when absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default()
    }

    /// The body as JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.text).map_err(|_| self.test_error("the body is not JSON"))
    }

    /// Checks that the status is this one.
    pub fn is(self, status: u16) -> Result<Self> {
        if self.status == status { Ok(self) } else { Err(self.test_error(&format!("expected {status}"))) }
    }

    /// The JSON body of an answer that must have this status.
    pub fn ok(self, status: u16) -> Result<Value> {
        self.is(status)?.json()
    }

    /// The message of a refusal whose body is `{message}` and nothing else.
    pub fn refused(self, status: u16) -> Result<String> {
        let answer = self.is(status)?;
        let body = answer.json()?;
        let message = body["message"].as_str().unwrap_or_default();
        if message.is_empty() || body.as_object().is_none_or(|it| it.len() != 1) {
            return Err(answer.test_error("the body is not {message}"));
        }
        Ok(message.to_owned())
    }

    /// A refusal whose body is `{error, error_description}`.
    pub fn error(self, status: u16, error: &str) -> Result<String> {
        let answer = self.is(status)?;
        let body = answer.json()?;
        if body["error"] != error {
            return Err(answer.test_error(&format!("expected error {error}")));
        }
        Ok(body["error_description"].as_str().unwrap_or_default().to_owned())
    }

    /// A validation error on exactly these fields; gives their messages.
    pub fn invalid(self, fields: &[&str]) -> Result<Value> {
        let (answer, errors) = self.errors()?;
        let mut found: Vec<_> = errors.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        let mut expected = fields.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        if found != expected {
            return Err(answer.test_error(&format!("expected errors on exactly {expected:?}")));
        }
        Ok(errors)
    }

    /// A validation error on a field that starts like this; gives all messages.
    pub fn invalid_under(self, start: &str) -> Result<Value> {
        let (answer, errors) = self.errors()?;
        if !errors.as_object().into_iter().flatten().any(|(name, _)| name.starts_with(start)) {
            return Err(answer.test_error(&format!("expected an error on {start}…")));
        }
        Ok(errors)
    }

    fn errors(self) -> Result<(Self, Value)> {
        let answer = self.is(422)?;
        let errors = answer.json()?["errors"].clone();
        if !errors.is_object() {
            return Err(answer.test_error("expected a validation error with errors"));
        }
        Ok((answer, errors))
    }
}

/// An integer field, which must be there.
pub fn integer(value: &Value, name: &str) -> Result<i64> {
    match value[name].as_i64() {
        Some(it) => Ok(it),
        None => fail!("{name} is not an integer in {value}"),
    }
}

/// A text field, which must be there.
pub fn text<'a>(value: &'a Value, name: &str) -> Result<&'a str> {
    let found = value[name].as_str();
    ensure!(found.is_some(), "{name} is not text in {value}");
    Ok(found.unwrap_or_default())
}

/// A list field, which must be there.
pub fn list<'a>(value: &'a Value, name: &str) -> Result<&'a [Value]> {
    match value[name].as_array() {
        Some(it) => Ok(it),
        None => fail!("{name} is not a list in {value}"),
    }
}

/// The beginning of a text.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most).chain("…".chars()).collect()
}
