//! The parameters of a call, each to be taken once.

use std::collections::BTreeMap;

use axum::extract::{FromRequest, Multipart, Request};
use bytes::Bytes;
use http::header;
use url::form_urlencoded;

use super::refusal::Refusal;
use crate::stand_in::params::essence;

/// The parameters of a call. What nobody takes is refused.
#[derive(Debug, Default)]
pub(super) struct Fields {
    given: BTreeMap<String, String>,
    /// Files of a form.
    files: BTreeMap<String, Bytes>,
}

impl Fields {
    /// Those of a query.
    pub(super) fn of_query(query: Option<&str>) -> Self {
        let pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        Self { given: pairs.into_owned().collect(), files: BTreeMap::new() }
    }

    /// Those of a body and a query.
    pub(super) async fn of(request: Request) -> Result<Self, Refusal> {
        let mut fields = Self::of_query(request.uri().query());
        let broken = |_| Refusal::invalid("The body is cut off");
        match essence(request.headers()).as_str() {
            "application/x-www-form-urlencoded" => {
                let body = Bytes::from_request(request, &()).await.map_err(broken)?;
                fields.given.extend(form_urlencoded::parse(&body).into_owned());
            }
            "multipart/form-data" if request.headers().contains_key(header::CONTENT_LENGTH) => {
                fields.read_form(request).await?;
            }
            _ if Bytes::from_request(request, &()).await.map_err(broken)?.is_empty() => {}
            _ => return Err(Refusal::invalid("A form expected")),
        }
        Ok(fields)
    }

    async fn read_form(&mut self, request: Request) -> Result<(), Refusal> {
        let broken = |_| Refusal::invalid("The form is broken");
        let mut form =
            Multipart::from_request(request, &()).await.map_err(|_| Refusal::invalid("The form has no boundary"))?;
        while let Some(part) = form.next_field().await.map_err(broken)? {
            let name = part.name().unwrap_or_default().to_owned();
            if part.file_name().is_some() {
                self.files.insert(name, part.bytes().await.map_err(broken)?);
            } else {
                self.given.insert(name, part.text().await.map_err(broken)?);
            }
        }
        Ok(())
    }

    /// A value, if it is there.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        self.given.remove(name)
    }

    /// A value that has to be there.
    pub(super) fn want(&mut self, name: &str) -> Result<String, Refusal> {
        self.take(name).ok_or_else(|| Refusal::invalid(&format!("The parameter {name} is required")))
    }

    /// A file that has to be there.
    pub(super) fn file(&mut self, name: &str) -> Result<Bytes, Refusal> {
        self.files.remove(name).ok_or_else(|| Refusal::invalid(&format!("The file {name} is required")))
    }

    /// The values of `name[0]`, `name[1]` and so on.
    pub(super) fn list(&mut self, name: &str) -> Vec<String> {
        (0..).map_while(|at| self.take(&format!("{name}[{at}]"))).collect()
    }

    /// Refuses what nobody took.
    pub(super) fn end(self) -> Result<(), Refusal> {
        match self.given.keys().chain(self.files.keys()).next() {
            None => Ok(()),
            Some(name) => Err(Refusal::invalid(&format!("Unknown parameter: {name}"))),
        }
    }
}
