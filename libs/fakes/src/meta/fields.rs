//! The parameters of a call, from its query and its body: a form, a multipart form or a JSON
//! object. A call may not repeat a parameter or have an unknown one.

use std::collections::BTreeMap;

use axum::extract::{FromRequest, Request};
use bytes::Bytes;
use http::header;
use serde_json::Value;
use url::form_urlencoded;

use super::error::GraphError;
use crate::fake::params::{essence, parts};

/// Reading a parameter removes it.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    given: BTreeMap<String, String>,
    files: BTreeMap<String, Bytes>,
}

impl Fields {
    /// The parameters of a call without a body.
    pub fn from_query(query: Option<&str>) -> Result<Self, GraphError> {
        Self::read(query.unwrap_or_default(), "", &[])
    }

    pub fn read(query: &str, content_type: &str, body: &[u8]) -> Result<Self, GraphError> {
        let mut fields = Self::default();
        fields.add_form(query.as_bytes())?;
        match content_type {
            "application/x-www-form-urlencoded" => fields.add_form(body)?,
            "application/json" => {
                let Ok(Value::Object(object)) = serde_json::from_slice(body) else {
                    return Err(GraphError::param("The body is no JSON object"));
                };
                for (name, value) in object {
                    // In a JSON body, as in a form, lists and objects are JSON text.
                    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    fields.add(name, value)?;
                }
            }
            _ if body.is_empty() => {}
            _ => return Err(GraphError::param("The body is no form")),
        }
        Ok(fields)
    }

    fn add_form(&mut self, form: &[u8]) -> Result<(), GraphError> {
        form_urlencoded::parse(form).try_for_each(|(name, value)| self.add(name.into_owned(), value.into_owned()))
    }

    fn add(&mut self, name: String, value: String) -> Result<(), GraphError> {
        if self.has(&name) {
            return Err(GraphError::param(&format!("Param {name} was given twice")));
        }
        self.given.insert(name, value);
        Ok(())
    }

    /// Adds the parts of a multipart form, which needs a `Content-Length`.
    async fn add_parts(&mut self, request: Request) -> Result<(), GraphError> {
        if !request.headers().contains_key(header::CONTENT_LENGTH) {
            return Err(GraphError::param("The form does not say how long it is"));
        }
        for part in parts(request).await.map_err(|_| GraphError::param("The form is broken"))? {
            if part.file_name.is_some() {
                self.files.insert(part.name, part.bytes);
            } else {
                let text = part.text();
                self.add(part.name, text)?;
            }
        }
        Ok(())
    }

    pub fn text(&mut self, name: &str) -> Option<String> {
        self.given.remove(name)
    }

    pub fn file(&mut self, name: &str) -> Result<Bytes, GraphError> {
        self.files.remove(name).ok_or_else(|| GraphError::missing(name))
    }

    /// A parameter that is required and may not be blank.
    pub fn want(&mut self, name: &str) -> Result<String, GraphError> {
        self.text(name).filter(|it| !it.trim().is_empty()).ok_or_else(|| GraphError::missing(name))
    }

    /// A parameter that is `true` or `false`.
    pub fn flag(&mut self, name: &str) -> Result<Option<bool>, GraphError> {
        match self.text(name).as_deref() {
            None => Ok(None),
            Some("true" | "1") => Ok(Some(true)),
            Some("false" | "0") => Ok(Some(false)),
            Some(_) => Err(GraphError::param(&format!("Param {name} must be a boolean"))),
        }
    }

    /// A whole number in this range, both ends included.
    pub fn number(&mut self, name: &str, from: i64, to: i64) -> Result<Option<i64>, GraphError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let number = text.parse().ok().filter(|it| (from..=to).contains(it));
        let message = || format!("Param {name} must be an integer from {from} to {to}");
        number.map(Some).ok_or_else(|| GraphError::param(&message()))
    }

    pub fn one_of(&mut self, name: &str, values: &[&str]) -> Result<Option<String>, GraphError> {
        match self.text(name) {
            Some(text) if !values.contains(&text.as_str()) => {
                Err(GraphError::param(&format!("Param {name} must be one of {{{}}}", values.join(", "))))
            }
            other => Ok(other),
        }
    }

    pub fn json(&mut self, name: &str) -> Result<Option<Value>, GraphError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|_| GraphError::param(&format!("Param {name} must be JSON")))
    }

    /// A list of texts, separated by commas or as JSON.
    pub fn list(&mut self, name: &str) -> Result<Option<Vec<String>>, GraphError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        if text.starts_with('[') {
            let list = serde_json::from_str(&text);
            return list.map(Some).map_err(|_| GraphError::param(&format!("Param {name} must be an array")));
        }
        Ok(Some(text.split(',').map(str::to_owned).collect()))
    }

    /// The texts `name[0]`, `name[1]` and so on.
    pub fn numbered(&mut self, name: &str) -> Vec<String> {
        (0..).map_while(|at| self.text(&format!("{name}[{at}]"))).collect()
    }

    pub fn has(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// Refuses parameters that were not read: the call does not have them.
    pub fn end(self) -> Result<(), GraphError> {
        match self.given.keys().chain(self.files.keys()).next() {
            None => Ok(()),
            Some(name) => {
                Err(GraphError::param(&format!("Param {name} is unknown here, or not accepted with the others")))
            }
        }
    }
}

impl<S: Send + Sync> FromRequest<S> for Fields {
    type Rejection = GraphError;

    async fn from_request(request: Request, state: &S) -> Result<Self, GraphError> {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let content_type = essence(request.headers());
        if content_type == "multipart/form-data" {
            let mut fields = Self::read(&query, "", &[])?;
            fields.add_parts(request).await?;
            return Ok(fields);
        }
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|_| GraphError::param("The body did not arrive"))?;
        Self::read(&query, &content_type, &body)
    }
}
