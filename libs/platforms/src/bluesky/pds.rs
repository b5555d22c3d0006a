use std::time::Duration;

use chrono::{DateTime, Utc};
use http::Method;
use reqwest::RequestBuilder;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use url::Url;

use super::dpop::{DpopClient, Nonces};
use super::reply::{Reply, ReplyError};
use super::session::{Kind, Session};
use crate::dependency_error::DependencyError;
use crate::http_clients::HttpClients;

pub(super) struct Pds<'a> {
    pub(super) http: &'a HttpClients,
    pub(super) nonces: &'a Nonces,
    pub(super) session: &'a Session,
    pub(super) token: &'a SecretString,
    pub(super) now: DateTime<Utc>,
}

impl Pds<'_> {
    pub(super) async fn query(&self, method: &str, parameters: &[(&str, &str)]) -> Result<Reply, ReplyError> {
        self.send(Method::GET, method, |request| Some(request.query(parameters))).await
    }

    pub(super) async fn procedure(
        &self,
        method: &str,
        body: &(impl Serialize + Sync),
        timeout: Duration,
    ) -> Result<Reply, ReplyError> {
        self.send(Method::POST, method, |request| Some(request.json(body).timeout(timeout))).await
    }

    /// Sends a request whose body `shape` adds, as in [`DpopClient::send`].
    pub(super) async fn send(
        &self,
        http_method: Method,
        method: &str,
        mut shape: impl FnMut(RequestBuilder) -> Option<RequestBuilder> + Send,
    ) -> Result<Reply, ReplyError> {
        let url = address(&self.session.pds, method);
        match &self.session.kind {
            Kind::Oauth(grant) => {
                let prover =
                    DpopClient { key: &grant.key, token: Some(self.token), nonces: self.nonces, now: self.now };
                prover.send(self.http, http_method, url, shape).await
            }
            Kind::AppPassword => {
                let request = self.http.request_named_host(http_method, url)?.bearer_auth(self.token.expose_secret());
                Reply::to(shape(request).ok_or(DependencyError)?).await
            }
        }
    }
}

pub(super) fn address(server: &Url, method: &str) -> Url {
    let mut url = server.clone();
    url.set_path(&format!("/xrpc/{method}"));
    url.set_query(None);
    url.set_fragment(None);
    url
}
