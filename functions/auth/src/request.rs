//! Request bodies of the API's routes, and the parsing of their fields.

use std::collections::BTreeMap;

use api::{Api, ApiResult, FieldValue, Fields};
use domain::name::ClientName;
use domain::oauth::Resource;
use domain::scope::{Scope, Scopes};
use serde_json::Value;
use storage::AuthorizationGrant;
use url::form_urlencoded;

use crate::error::AuthError;

pub(crate) fn parse_device_code_request(mut fields: Fields) -> ApiResult<(Scopes, Option<ClientName>)> {
    let mut requested = Vec::new();
    if let FieldValue::Value(values) = fields.bounded_list("scopes", Scope::ALL.len()) {
        for (index, value) in values.into_iter().enumerate() {
            let field = format!("scopes.{index}");
            match value {
                Value::String(raw) => match Scope::parse(&raw) {
                    Some(scope) => requested.push(scope),
                    None => fields.add(&field, format!("must be one of {}", Scope::ALL.map(Scope::as_str).join(", "))),
                },
                _ => fields.add(&field, "must be a string"),
            }
        }
    }
    let client_name = fields
        .text("client_name")
        .value()
        .and_then(|raw| ClientName::parse(&raw).inspect_err(|error| fields.add("client_name", error)).ok());
    fields.finish((Scopes::from_requested(&requested), client_name))
}

/// The fields of a [`contract::CodeExchange`] that were sent.
pub(crate) struct TokenForm(BTreeMap<String, String>);

impl TokenForm {
    /// A repeated field is an error (RFC 6749, section 3.2).
    pub(crate) fn read(body: &[u8]) -> Result<Self, AuthError> {
        let mut fields = BTreeMap::new();
        for (name, value) in form_urlencoded::parse(body).into_owned() {
            if fields.insert(name, value).is_some() {
                return Err(AuthError::RepeatedField);
            }
        }
        Ok(Self(fields))
    }

    /// An empty field counts as absent (RFC 6749, section 3.2).
    fn optional(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|it| !it.is_empty())
    }

    pub(crate) fn get(&self, name: &'static str) -> Result<&str, AuthError> {
        self.optional(name).ok_or(AuthError::MissingField(name))
    }

    /// Checks that the sender is the app that the user approved.
    pub(crate) fn check(&self, request: &AuthorizationGrant) -> Result<(), AuthError> {
        if self.get("client_id")? != request.client_id.url().as_str() {
            return Err(AuthError::OtherClient);
        }
        // Optional in OAuth 2.1; if sent, it must be the one of the request (draft, section 10.2).
        if self.optional("redirect_uri").is_some_and(|it| it != request.redirect_uri.as_str()) {
            return Err(AuthError::OtherRedirectUri);
        }
        if !request.challenge.is_met_by(self.get("code_verifier")?) {
            return Err(AuthError::WrongVerifier);
        }
        Ok(())
    }

    /// The resource of the token: the authorized one, or the named part of it.
    pub(crate) fn resource(&self, api: &Api, request: &AuthorizationGrant) -> Result<Resource, AuthError> {
        let Some(address) = self.optional("resource") else { return Ok(request.resource) };
        let named = Resource::parse(&api.origin, address).ok_or(AuthError::UnknownResource)?;
        if request.resource.includes(named) {
            return Ok(named);
        }
        Err(AuthError::UnauthorizedResource)
    }
}
