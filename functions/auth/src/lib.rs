//! Clients obtain tokens and users sign in: the device flow, the authorization code flow of OAuth, the
//! OpenID Connect sign-in, their pages, and the documentation.
//!
//! The device flow: a client requests codes (`create_device_code`); its user signs in (`sign_in`,
//! `oidc`), enters the user code and approves (`approve_device`, `entries`); the client exchanges its
//! device code for a token (`exchange_device_code`). On `account` the user sees and revokes tokens.
//!
//! The authorization code flow: an app reads the URLs of the endpoints (`metadata`), redirects the
//! browser (`authorize`), and exchanges the code from the callback (`exchange_authorization_code`). Its
//! client id is the URL of its metadata document (`client_documents`).

mod account;
mod approval;
mod approve_device;
mod authorize;
mod client_documents;
pub mod config;
mod create_device_code;
mod docs;
mod entries;
mod error;
mod exchange_authorization_code;
mod exchange_device_code;
mod metadata;
mod new_session;
pub mod oidc;
mod profile_choice;
mod request;
mod show_user;
mod sign_in;
mod sign_in_link;
mod sign_up;
mod start_page;
#[cfg(test)]
mod testing;

use std::sync::Arc;

use api::Api;
use axum::Router;
use axum::extract::FromRef;
use axum::routing::{get, post};

pub use client_documents::ClientDocuments;
pub use oidc::{ClientSecret, Oidc, OidcConfig};
pub use sign_in_link::{LinkError, SignInLink, SignInLinks};
pub use sign_up::SignUp;

#[derive(Clone, Debug)]
pub struct App {
    pub api: Api,
    pub method: SignInMethod,
    pub clients: ClientDocuments,
    pub sign_up: SignUp,
}

#[derive(Clone, Debug)]
pub enum SignInMethod {
    Oidc(Oidc),
    Links(Arc<dyn SignInLinks>),
}

impl FromRef<App> for Api {
    fn from_ref(app: &App) -> Self {
        app.api.clone()
    }
}

api::routes!(App: create_device_code, exchange_device_code, exchange_authorization_code, show_user);

/// To be completed by [`api::finish`].
pub fn router(app: App) -> Router {
    let of_links = match app.method {
        SignInMethod::Oidc(_) => Router::new(),
        SignInMethod::Links(_) => sign_in_link::routes(),
    };
    routes()
        .merge(of_links)
        .route("/api/v1/openapi.json", get(docs::openapi))
        .route("/", get(start_page::start_page))
        .route("/docs", get(docs::docs))
        .route("/sign-in", get(sign_in::sign_in))
        .route("/sign-in/callback", get(sign_in::callback))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/device", get(approve_device::show_device).post(approve_device::enter_code))
        .route("/oauth/authorize", get(authorize::show_authorization).post(authorize::decide))
        .route("/.well-known/oauth-authorization-server", get(metadata::authorization_server))
        .route("/.well-known/oauth-protected-resource", get(metadata::protected_resource))
        .route("/.well-known/oauth-protected-resource/mcp", get(metadata::protected_mcp_resource))
        .route("/account", get(account::account))
        .route("/account/time-zone", post(account::set_time_zone))
        .route("/account/revoke", post(account::revoke))
        .with_state(app)
}
