//! Metadata documents of OAuth clients. The client id is the URL of the document.
//!
//! Source: OAuth Client ID Metadata Document, sections 3, 4 and 6.

use std::time::Duration;

use domain::name::ClientName;
use domain::oauth::{ClientId, RedirectUri};
use egress::{AddressPolicy, Egress, Schemes};
use reqwest::header::ACCEPT;
use reqwest::{Client, ClientBuilder, Response, StatusCode};
use serde::Deserialize;
use thiserror::Error;

/// In bytes. The specification recommends 5 KiB.
const MAX_BYTES: usize = 16 * 1024;

const MAX_REDIRECTS: usize = 50;

/// A user waits, and the gateway waits for at most 30 seconds.
const DOCUMENT_TIMEOUT: Duration = Duration::from_secs(8);

const USER_AGENT: &str = concat!("social-publishing/", env!("CARGO_PKG_VERSION"));

#[derive(Clone, Debug)]
pub struct ClientDocuments(Egress);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientDocument {
    pub(crate) name: ClientName,
    pub(crate) redirect_uris: Vec<RedirectUri>,
}

/// The page shows this to the user.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum ClientDocumentError {
    #[error("its URL {0}")]
    Refused(egress::EgressError),
    #[error("its server does not respond")]
    Silent,
    #[error("its server returned the status {0}")]
    Status(u16),
    #[error("its document is larger than 16 KiB")]
    TooLarge,
    #[error("its document does not describe an app")]
    Unreadable,
    #[error("its client_id is not the URL of the document")]
    ClientIdMismatch,
    #[error("it lists no redirect URI")]
    NoRedirectUri,
    #[error("it requires client authentication, which this service does not support")]
    Confidential,
}

#[derive(Deserialize)]
struct RawClientDocument {
    client_id: String,
    client_name: String,
    redirect_uris: Vec<String>,
    client_secret: Option<serde::de::IgnoredAny>,
    token_endpoint_auth_method: Option<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
}

impl ClientDocuments {
    pub fn new(policy: AddressPolicy) -> Self {
        Self(Egress::new(policy, client_builder))
    }

    pub(crate) async fn read(&self, id: &ClientId) -> Result<ClientDocument, ClientDocumentError> {
        let client = self.0.client(id.url(), Schemes::Encrypted).map_err(ClientDocumentError::Refused)?;
        let call = client.get(id.url().clone()).header(ACCEPT, "application/json").timeout(DOCUMENT_TIMEOUT).send();
        let response = call.await.map_err(|error| {
            tracing::info!(
                error = &error as &dyn std::error::Error,
                host = id.host(),
                "a client document could not be used"
            );
            Egress::refusal(&error).map_or(ClientDocumentError::Silent, ClientDocumentError::Refused)
        })?;
        if response.status() != StatusCode::OK {
            return Err(ClientDocumentError::Status(response.status().as_u16()));
        }
        parse_document(id, &read_body(response).await?)
    }
}

fn client_builder() -> ClientBuilder {
    // One call for each consent, so no connection is pooled.
    Client::builder().pool_max_idle_per_host(0).user_agent(USER_AGENT)
}

async fn read_body(mut response: Response) -> Result<Vec<u8>, ClientDocumentError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| ClientDocumentError::Silent)? {
        if MAX_BYTES < body.len() + chunk.len() {
            return Err(ClientDocumentError::TooLarge);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn parse_document(id: &ClientId, body: &[u8]) -> Result<ClientDocument, ClientDocumentError> {
    let document: RawClientDocument = serde_json::from_slice(body).map_err(|_| ClientDocumentError::Unreadable)?;
    if document.client_id != id.url().as_str() {
        return Err(ClientDocumentError::ClientIdMismatch);
    }
    // A client may prefer authentication and still support none.
    let supports_none = document.token_endpoint_auth_methods_supported.iter().any(|it| it == "none");
    let is_public = supports_none || document.token_endpoint_auth_method.is_none_or(|it| it == "none");
    if !is_public || document.client_secret.is_some() {
        return Err(ClientDocumentError::Confidential);
    }
    let name = ClientName::shown(&document.client_name).ok_or(ClientDocumentError::Unreadable)?;
    let listed_uris = document.redirect_uris.iter().take(MAX_REDIRECTS);
    let redirect_uris: Vec<_> = listed_uris.filter_map(|it| RedirectUri::parse(it)).collect();
    if redirect_uris.is_empty() {
        return Err(ClientDocumentError::NoRedirectUri);
    }
    Ok(ClientDocument { name, redirect_uris })
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::HeaderMap;
    use axum::response::Redirect;
    use axum::routing::get;
    use serde_json::{Value, json};

    use super::*;

    const ID: &str = "https://app.example/client.json";

    fn document() -> Value {
        json!({
            "client_id": ID,
            "client_name": "Planner",
            "redirect_uris": ["http://127.0.0.1/back", "cursor://back"],
            "grant_types": ["authorization_code"],
            "token_endpoint_auth_method": "none",
            "logo_uri": "https://app.example/logo.png",
        })
    }

    fn read(document: &Value) -> Result<ClientDocument, ClientDocumentError> {
        parse_document(&ClientId::parse(ID).unwrap(), document.to_string().as_bytes())
    }

    #[test]
    fn document_must_name_its_own_url_as_client_id() {
        let with = |name: &str, value: Value| {
            let mut document = document();
            document[name] = value;
            read(&document)
        };

        let plain = read(&document()).unwrap();
        assert_eq!((plain.name.as_str(), plain.redirect_uris.len()), ("Planner", 1));
        assert_eq!(with("client_name", json!("\u{202e}live\n")).unwrap().name.as_str(), "live");
        assert_eq!(with("client_name", json!("\u{202e}")), Err(ClientDocumentError::Unreadable));
        assert_eq!(
            with("client_id", json!("https://app.example/other.json")),
            Err(ClientDocumentError::ClientIdMismatch)
        );
        assert_eq!(with("redirect_uris", json!(["cursor://back"])), Err(ClientDocumentError::NoRedirectUri));
        assert_eq!(with("redirect_uris", json!("http://127.0.0.1/back")), Err(ClientDocumentError::Unreadable));
        assert_eq!(with("client_secret", json!("x")), Err(ClientDocumentError::Confidential));
        assert_eq!(
            with("token_endpoint_auth_method", json!("client_secret_basic")),
            Err(ClientDocumentError::Confidential)
        );
        assert_eq!(
            with("token_endpoint_auth_method", json!("private_key_jwt")),
            Err(ClientDocumentError::Confidential)
        );
        assert_eq!(read(&json!([])), Err(ClientDocumentError::Unreadable));
    }

    #[test]
    fn client_that_supports_no_authentication_is_accepted() {
        let mut document = document();
        document["token_endpoint_auth_method"] = json!("private_key_jwt");
        document["token_endpoint_auth_methods_supported"] = json!(["none", "private_key_jwt"]);

        assert!(read(&document).is_ok());
        document["token_endpoint_auth_methods_supported"] = json!(["private_key_jwt"]);
        assert_eq!(read(&document), Err(ClientDocumentError::Confidential));
    }

    fn padded(document: &str, bytes: usize) -> String {
        format!("{document:bytes$}")
    }

    #[tokio::test]
    async fn document_is_fetched_without_redirects_and_within_limits() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let at = |path: &str| {
            let id = format!("http://{address}{path}");
            json!({"client_id": id, "client_name": "Planner", "redirect_uris": ["http://[::1]/"]}).to_string()
        };
        let (own, full, large) = (at("/own"), at("/full"), at("/large"));
        let router = Router::new()
            .route("/own", get(move || async { own }))
            .route("/moved", get(|| async { Redirect::temporary("/own") }))
            .route("/agent", get(async |headers: HeaderMap| headers["user-agent"].to_str().unwrap().to_owned()))
            .route("/full", get(async move || padded(&full, 16_384)))
            .route("/large", get(async move || padded(&large, 16_385)));
        tokio::spawn(async move { axum::serve(listener, router).await });
        let id = |path: &str| ClientId::parse(&format!("http://{address}{path}")).unwrap();
        let documents = ClientDocuments::new(AddressPolicy::Also(vec![address]));

        assert_eq!(documents.read(&id("/own")).await.unwrap().name.as_str(), "Planner");
        assert_eq!(documents.read(&id("/moved")).await, Err(ClientDocumentError::Status(307)));
        assert!(documents.read(&id("/full")).await.is_ok(), "16 KiB are read");
        assert_eq!(documents.read(&id("/large")).await, Err(ClientDocumentError::TooLarge));
        assert_eq!(documents.read(&id("/none")).await, Err(ClientDocumentError::Status(404)));
        assert_eq!(documents.read(&id("/agent")).await, Err(ClientDocumentError::Unreadable), "the client has a name");
        let public = ClientDocuments::new(AddressPolicy::PublicOnly);
        assert!(matches!(public.read(&id("/own")).await, Err(ClientDocumentError::Refused(_))));
        let private = ClientId::parse("https://192.168.0.1/client.json").unwrap();
        assert_eq!(public.read(&private).await, Err(ClientDocumentError::Refused(egress::EgressError::NotPublic)));
    }
}
