//! Mastodon, and servers that implement its API.
//!
//! Where the documentation is silent, the fake follows Mastodon's source.

mod account;
mod api_error;
mod apps;
mod authorize;
mod description;
mod entities;
mod fake_platform;
mod finger;
mod flavor;
mod front;
mod html;
mod instance;
mod length;
mod media;
mod oauth;
mod rewritten;
mod statuses;
mod website;

use std::marker::PhantomData;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use axum::{Router, middleware};
use domain::clock::Clock;
use http::StatusCode;

use self::api_error::ApiError;
pub use self::flavor::{Flavor, FlavorType, GoToSocial, OldMastodon, Pixelfed, Pleroma, Snac, Stock};
use self::instance::Instance;
pub use self::website::{AccountDiscovery, Website};
use crate::fake::{self, echo, request_log, wire};

/// A server with one account, whose user is signed in.
///
/// `F` is the flavor that the conformance suite starts.
pub struct Server<F = Stock> {
    here: Arc<Instance>,
    address: SocketAddr,
    flavor: PhantomData<F>,
}

impl Server {
    pub async fn start_as(flavor: Flavor, clock: Clock) -> Self {
        Self::begin(flavor, clock).await
    }
}

impl<F> Server<F> {
    async fn begin(flavor: Flavor, clock: Clock) -> Self {
        let instance = Arc::new(Instance::new(flavor.differences(), clock));
        let server = echo::wrap(router(&instance), &instance.echo);
        let address = wire::serve(request_log::wrap(server, &instance.request_log)).await;
        instance.is_at(format!("http://{address}"));
        Self { here: instance, address, flavor: PhantomData }
    }

    /// Without a trailing slash.
    pub fn base_url(&self) -> &str {
        self.here.base_url()
    }

    pub fn delete(&self, id: &str) {
        self.here.memory().statuses.retain(|it| it.id.to_string() != id);
    }

    pub fn set_default_visibility(&self, visibility: &'static str) {
        self.here.memory().visibility = Some(visibility);
    }

    /// Omits the account's default visibility from responses.
    pub fn hides_visibility(&self) {
        self.here.memory().hides_visibility = true;
    }

    /// The options of the latest status: visibility, content warning,
    /// whether it is sensitive, and its language.
    pub fn latest(&self) -> Option<(String, String, bool, Option<String>)> {
        let memory = self.here.memory();
        let status = memory.statuses.last()?;
        Some((status.visibility.clone(), status.spoiler_text.clone(), status.sensitive, status.language.clone()))
    }

    pub fn access_tokens(&self) -> Vec<String> {
        self.here.memory().oauth.grants.iter().map(|it| it.access_token.clone()).collect()
    }

    /// Removes all apps and their grants, as servers before Mastodon 4.3 do with apps that appear unused.
    pub fn forget_apps(&self) {
        self.here.memory().oauth.forget();
    }

    /// Announces this issuer in the metadata, and sends it in authorization responses (RFC 9207).
    pub fn promise_issuer(&self, issuer: &str) {
        self.here.memory().issuer = Some(issuer.to_owned());
    }

    /// Sets the domain in the account's address.
    pub fn is_named(&self, domain: &str) {
        self.here.memory().domain = Some(domain.to_owned());
    }

    /// Number of polls before a video that is uploaded later is ready; the default is 2.
    pub fn polls_until_ready(&self, polls: usize) {
        self.here.memory().polls_until_ready = polls;
    }
}

fn router(instance: &Arc<Instance>) -> Router {
    let server = Router::new()
        .route("/.well-known/oauth-authorization-server", get(oauth::metadata))
        .route("/.well-known/webfinger", get(finger::web_finger))
        .route("/.well-known/host-meta", get(finger::host_meta))
        .route("/oauth/authorize", get(authorize::page).post(authorize::decide))
        .route("/oauth/token", post(oauth::token))
        .route("/oauth/revoke", post(oauth::revoke))
        .route("/api/v1/apps", post(apps::register))
        .route("/api/v1/instance", get(description::first))
        .route("/api/v2/instance", get(description::second))
        .route("/api/v1/accounts/verify_credentials", get(account::verify_credentials))
        .route("/api/v1/accounts/{id}/statuses", get(statuses::list_by_account))
        .route("/api/v1/media", post(media::upload_v1))
        .route("/api/v2/media", post(media::upload))
        .route("/api/v1/media/{id}", get(media::show))
        .route("/api/v1/statuses", post(statuses::publish))
        .route("/api/v1/statuses/{id}", get(statuses::show))
        .route("/api/v1/statuses/{id}/source", get(statuses::source))
        .fallback(|| async { ApiError::new(StatusCode::NOT_FOUND, "Not Found") })
        // `front` refuses bodies that are too large.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(Arc::clone(instance), front::limit));
    fake::front::wrap(server, Arc::clone(instance))
        .layer(middleware::from_fn_with_state(Arc::clone(instance), front::pass))
        .with_state(Arc::clone(instance))
}
