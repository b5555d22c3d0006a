use chrono::{DateTime, TimeDelta, Utc};
use domain::delivery::AttemptError;
use http::Method;
use reqwest::RequestBuilder;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use crate::bluesky::errors::PDS;
use crate::bluesky::host::host_of;
use crate::bluesky::pds::{Pds, address};
use crate::bluesky::reply::ReplyError;
use crate::kit::{CallError, Effect};

/// The lifetime of an upload token. The service uses it only after transcoding.
const TOKEN_LIFETIME: TimeDelta = TimeDelta::minutes(30);

#[derive(Deserialize)]
pub(super) struct Token {
    pub(super) token: SecretString,
}

pub(in crate::bluesky) struct VideoService<'a> {
    pub(in crate::bluesky) base: &'a Url,
    pub(in crate::bluesky) pds: &'a Pds<'a>,
}

impl VideoService<'_> {
    pub(super) fn call(&self, http_method: Method, method: &str) -> Result<RequestBuilder, ReplyError> {
        Ok(self.pds.http.request_known_host(http_method, address(self.base, method))?)
    }

    pub(super) fn now(&self) -> DateTime<Utc> {
        self.pds.now
    }

    /// A token by which the service stores a file on the account's server. All methods of an upload
    /// accept it.
    pub(super) async fn upload_token(&self) -> Result<SecretString, AttemptError> {
        let audience = format!("did:web:{}", host_of(&self.pds.session.pds));
        self.token(&audience, "com.atproto.repo.uploadBlob", TOKEN_LIFETIME).await
    }

    pub(super) async fn own_token(&self, method: &str) -> Result<SecretString, AttemptError> {
        self.token(&format!("did:web:{}", host_of(self.base)), method, TimeDelta::minutes(1)).await
    }

    async fn token(&self, audience: &str, method: &str, lifetime: TimeDelta) -> Result<SecretString, AttemptError> {
        let ends = (self.pds.now + lifetime).timestamp().to_string();
        let parameters = [("aud", audience), ("lxm", method), ("exp", &ends)];
        let reply = self.pds.query("com.atproto.server.getServiceAuth", &parameters).await?;
        match reply.json::<Token>() {
            Some(Token { token }) if reply.status.is_success() => Ok(token),
            _ if reply.status.is_success() => Err(CallError::unreadable(PDS.title, Effect::Private).into()),
            _ => Err(reply.failure(&PDS, Effect::Private, self.pds.now).into()),
        }
    }
}

pub(super) fn with(request: RequestBuilder, token: &SecretString) -> RequestBuilder {
    request.bearer_auth(token.expose_secret())
}
