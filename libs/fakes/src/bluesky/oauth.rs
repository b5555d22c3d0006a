//! The authorization server.

mod assertion;
mod metadata;
mod page;
mod par;
mod revoke;
mod token;

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Bytes;
use axum::extract::FromRequest;
use axum::extract::Request;
use axum::routing::{get, post};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method};

use super::api_error::ApiError;
use super::dpop::{self, Realm};
use super::pds_state::client::{Client, ClientAuth};
use super::pds_state::{PdsState, Shared};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/.well-known/oauth-authorization-server", get(metadata::metadata))
        .route("/oauth/par", post(par::push))
        .route("/oauth/authorize", get(page::show))
        .route("/oauth/authorize/{decision}", post(page::decide))
        .route("/oauth/token", post(token::token))
        .route("/oauth/revoke", post(revoke::revoke))
}

/// The fields of a form, without duplicates.
pub(super) struct Form(BTreeMap<String, String>);

impl Form {
    /// Reads `application/x-www-form-urlencoded`; `None` when a field is duplicated.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let mut fields = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(body) {
            if fields.insert(name.into_owned(), value.into_owned()).is_some() {
                return None;
            }
        }
        Some(Self(fields))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A required field.
    fn want(&self, name: &str, error: &str) -> Result<&str, ApiError> {
        self.get(name)
            .filter(|it| !it.is_empty())
            .ok_or_else(|| ApiError::oauth(error, format!("Validation of \"{name}\" failed: Required")))
    }
}

/// A client's POST request: its form and its proof of possession.
struct Posted {
    form: Form,
    method: Method,
    path: String,
    headers: HeaderMap,
}

impl<S: Send + Sync> FromRequest<S> for Posted {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let headers = request.headers().clone();
        let kind = headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("application/x-www-form-urlencoded") {
            return Err(ApiError::oauth("invalid_request", format!("unsupported content type {kind:?}")));
        }
        let body = Bytes::from_request(request, state).await;
        let form = body.ok().and_then(|it| Form::read(&it));
        let form = form.ok_or_else(|| ApiError::oauth("invalid_request", "the form cannot be read"))?;
        Ok(Self { form, method, path, headers })
    }
}

/// A client that authenticated itself and proved possession of a key.
struct VerifiedClient {
    client: Client,
    auth: ClientAuth,
    /// The thumbprint of the key of its proof.
    jkt: String,
}

impl Posted {
    /// Checks the proof first, as real servers do: a request without a nonce does not
    /// consume its assertion.
    fn authenticate(&self, fake: &PdsState, missing: &str) -> Result<VerifiedClient, ApiError> {
        let client_id = self.form.want("client_id", missing)?;
        let jkt = dpop::check(fake, Realm::AuthorizationServer, &self.method, &self.path, &self.headers, None)?;
        let client = Client::find(client_id, &fake.state().clients)?;
        let jkt = jkt.ok_or_else(|| {
            ApiError::oauth("invalid_dpop_proof", "DPoP proof required").with_challenge("invalid_dpop_proof")
        })?;
        let auth = client.authenticate(&self.form, fake, &jkt)?;
        Ok(VerifiedClient { client, auth, jkt })
    }
}
