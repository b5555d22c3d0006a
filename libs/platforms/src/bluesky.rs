//! Bluesky, and every other server of the AT Protocol.
//!
//! What the adapter relies on (details are in the files below):
//!
//! - An account is identified by its DID and stored on one server, its PDS. Its handle resolves to
//!   the DID and may change.
//! - Users sign in with OAuth (pushed requests, proofs of possession, refresh tokens that work
//!   once) or with an app password.
//! - A post is a record under a key that we choose. Preparation builds the whole record, with its
//!   key, time, facets and files, and stores it before the first attempt. The record has the
//!   planned time, or the present time if the post is late and no attempt was made. Putting the
//!   same record again changes nothing, so a call may be repeated whatever the outcome of the first
//!   one.
//! - A reply names the URI and the hash of the record that it follows, and of the first record of
//!   the thread. They are added to the prepared record when the reply is published.
//! - A call that puts a record returns when the record is public.
//!
//! All calls use our own client, which checks the address of every host that a name resolves to.
//! `atrium` has identities and OAuth as well, but its OAuth generates its own `state` where ours
//! names the connect flow, and refreshes automatically where a refresh token must be used under a
//! lease; its agent holds whole files in memory; and its identities alone add a megabyte or more to
//! each program that publishes. `jacquard` is under the MPL.

mod account;
mod app_password;
mod authorization_server;
mod blob;
mod client;
mod client_key;
mod connect_flow;
mod dpop;
mod embed;
mod errors;
mod facets;
mod host;
mod identity;
mod link_card;
mod names;
mod new_host;
mod oauth;
mod options;
mod pds;
mod people;
mod post_address;
mod preparation;
mod quote;
mod record;
mod record_key;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod recordings;
mod reply;
mod repository;
mod session;
mod signing_key;
#[cfg(test)]
mod tests;
mod typed;
mod upload;
mod video;

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{AttemptError, Published, Resolution};
use domain::post::SegmentKind;
use domain::rules::Rules;
use secrecy::SecretString;
use serde::Deserialize;
use serde::de::Error as _;
use url::Url;

use self::account::Videos;
use self::connect_flow::ConnectFlows;
use self::dpop::Nonces;
use self::facets::RichText;
use self::host::{host_and_port, is_of_bluesky};
use self::identity::Directory;
use self::new_host::NewHost;
use self::oauth::Authorization;
pub(crate) use self::options::OPTIONS;
use self::pds::Pds;
use self::preparation::{Preparation, Progress};
use self::record::{LookUp, Stored};
use self::record_key::record_key;
use self::session::{Grant, Kind, Session};
use self::typed::Name;
use crate::account::{Account, AccountDetails, Credentials};
use crate::connect_flow::{
    AuthorizationRequest, AuthorizeStep, Callback, CallbackUrls, ConnectError, Field, FieldValues, RefreshError,
};
use crate::dependency_error::DependencyError;
use crate::http_clients::HttpClients;
use crate::kit::Effect;
use crate::lead_times::LeadTimes;
use crate::platform::{Connect, Platform, Publish, Step};
use crate::platform_info::Access;
use crate::publish_request::PublishRequest;
use crate::refresh_policy::RefreshPolicy;
use crate::setup::{Setup, SetupError};
use crate::vault::Vault;

pub(crate) const NAME: &str = "bluesky";

pub(crate) const TITLE: &str = "Bluesky";

pub(crate) const ACCESS: Access = Access::Open;

pub(crate) const PERMISSIONS: &str = "publish, change and delete posts";

/// Every record is prepared in advance, because mentioned accounts and the linked page are looked
/// up. Files are uploaded only shortly before: servers remove files that no record shows.
pub(crate) const LEAD: LeadTimes = LeadTimes {
    always: Some(TimeDelta::seconds(60)),
    images: Some(TimeDelta::minutes(2)),
    videos: Some(TimeDelta::minutes(10)),
    gifs: Some(TimeDelta::minutes(10)),
    ..LeadTimes::NONE
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// URL of the PLC directory, which resolves `did:plc` identifiers.
    #[serde(default = "plc")]
    plc: String,
    /// URL of the server that resolves handles.
    #[serde(default = "public_api")]
    resolver: String,
    #[serde(default = "public_api")]
    appview: String,
    /// URL of the video service for accounts on any server. Without it, Bluesky's own service is
    /// used for accounts on Bluesky's servers, and other servers receive videos unchanged.
    video: Option<String>,
    #[serde(default = "client_name")]
    client_name: String,
}

fn plc() -> String {
    "https://plc.directory".to_owned()
}

fn public_api() -> String {
    "https://public.api.bsky.app".to_owned()
}

fn client_name() -> String {
    "Social Publishing".to_owned()
}

const VIDEO_SERVICE: &str = "https://video.bsky.app";

pub(crate) fn set_up(setup: &Setup) -> Result<Option<Bluesky>, SetupError> {
    let Some(settings) = setup.settings::<Settings>(NAME)? else { return Ok(None) };
    Ok(Some(Bluesky {
        directory: Directory::new(&setup.http, &url(&settings.plc)?, &url(&settings.resolver)?),
        appview: url(&settings.appview)?,
        any_video: settings.video.is_some(),
        video_service: url(settings.video.as_deref().unwrap_or(VIDEO_SERVICE))?,
        client_name: settings.client_name,
        vault: setup.vault.clone(),
        http: setup.http.clone(),
        nonces: Nonces::default(),
    }))
}

fn url(setting: &str) -> Result<Url, SetupError> {
    let wrong = |error| SetupError::Settings { name: NAME, source: serde_json::Error::custom(error) };
    let url = Url::parse(setting).map_err(|error| wrong(format!("{setting}: {error}")))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        _ => Err(wrong(format!("{setting}: not an address of a server"))),
    }
}

pub(crate) struct Bluesky {
    http: HttpClients,
    nonces: Nonces,
    vault: Arc<dyn Vault>,
    directory: Directory,
    appview: Url,
    video_service: Url,
    any_video: bool,
    client_name: String,
}

const FIELDS: &[Field] = &[
    Field::new(connect_flow::HANDLE, "Your handle", "alice.bsky.social"),
    Field {
        name: app_password::FIELD,
        label: "App password",
        example: "abcd-efgh-ijkl-mnop",
        secret: true,
        optional: Some(
            "Leave this empty to sign in on Bluesky's own page, which is safer and asks for access to posts, images \
             and videos only. (Older servers ask for full access.)",
        ),
    },
];

impl Bluesky {
    fn connect_flows(&self) -> ConnectFlows<'_> {
        let Self { http, nonces, directory, vault, appview, any_video, .. } = self;
        ConnectFlows { http, nonces, directory, vault, appview, any_video: *any_video }
    }

    fn pds<'a>(&'a self, session: &'a Session, request: &'a PublishRequest<'_>) -> Pds<'a> {
        Pds {
            http: &self.http,
            nonces: &self.nonces,
            session,
            token: &request.credentials.access_token,
            now: request.now,
        }
    }

    fn authorization<'a>(&'a self, grant: &'a Grant, now: DateTime<Utc>) -> Authorization<'a> {
        Authorization { http: &self.http, nonces: &self.nonces, grant, now }
    }

    async fn refresh_session(
        &self,
        session: &Session,
        token: &SecretString,
        old: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Credentials, RefreshError> {
        match &session.kind {
            Kind::Oauth(grant) => {
                let tokens = self.authorization(grant, now).refresh(token).await?;
                if !tokens.is_issued_for(&session.did) {
                    tracing::error!(did = session.did.as_str(), "a refresh returned another account's tokens");
                    return Err(RefreshError::Unreachable("it returned the tokens of another account".to_owned()));
                }
                Ok(Credentials {
                    expires_at: tokens.expires_at(now),
                    refresh_token: tokens.refresh_token.or_else(|| Some(token.clone())),
                    extra: old.extra.clone(),
                    ..Credentials::new(tokens.access_token)
                })
            }
            Kind::AppPassword => {
                let tokens = app_password::refresh(&self.http, &session.pds, token).await?;
                Ok(tokens.into_credentials(old.extra.clone(), now))
            }
        }
    }

    /// Looks up the post. An attempt with an earlier preparation had the same key and text.
    async fn look_up(&self, request: &PublishRequest<'_>, session: &Session) -> LookUp {
        let prepared_post = Progress::load(request).post;
        let text = prepared_post.as_ref().map_or_else(|| RichText::new(request.text).text, |it| it.text().to_owned());
        // A reply receives its key when it is published.
        let prepared_key = prepared_post.map(|it| it.rkey).filter(|_| request.segment == SegmentKind::Post);
        let rkey = prepared_key.unwrap_or_else(|| record_key(request.publish_at, request.reference));
        record::look_up(&self.http, (&session.pds, session.did.as_str()), (&rkey, &text), request).await
    }
}

#[async_trait::async_trait]
impl Platform for Bluesky {
    fn name(&self) -> &'static str {
        NAME
    }

    fn refresh_policy(&self) -> RefreshPolicy {
        RefreshPolicy::Rotating
    }

    fn host(&self, credentials: &Credentials) -> Option<String> {
        Session::load(credentials).ok().map(|it| host_and_port(&it.pds).to_owned())
    }

    async fn refresh(&self, old: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        let session = Session::load(old)?;
        let Some(token) = &old.refresh_token else {
            return Err(RefreshError::Gone("there is no refresh token".to_owned()));
        };
        let refresh_session = self.refresh_session(&session, token, old, now);
        let (refresh_session, moved) =
            futures::join!(refresh_session, NewHost::find(&self.http, &self.directory, &session));
        match (refresh_session, moved) {
            (Ok(new), Some(moved)) if moved.grant_goes_on => {
                Ok(Credentials { extra: Some(Session { pds: moved.server, ..session }.store()), ..new })
            }
            (Ok(_) | Err(RefreshError::Gone(_)), Some(moved)) => Err(RefreshError::Gone(moved.message())),
            (refresh_session, _) => refresh_session,
        }
    }

    async fn account_details(
        &self,
        profile: &AccountInfo,
        credentials: &Credentials,
        _now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let Session { did, kind, .. } = Session::load(credentials)?;
        // An account that cannot be looked up now is unchanged.
        let Ok(identity) = self.directory.find(&Name::Did(did)).await else { return Ok(None) };
        let account = self.connect_flows().account(&identity, kind, credentials.clone(), Vec::new()).await;
        // If nothing could be read, the name is missing, too.
        let has_name = account.profile.display_name.is_some() || profile.display_name.is_none();
        Ok(has_name.then_some(AccountDetails { profile: account.profile, rules: account.rules }))
    }
}

#[async_trait::async_trait]
impl Connect for Bluesky {
    fn rules(&self) -> Rules {
        account::rules(Videos::ToService, true)
    }

    fn fields(&self) -> &'static [Field] {
        FIELDS
    }

    fn named_host(&self, values: &FieldValues) -> Option<String> {
        connect_flow::named_host(values)
    }

    async fn client_document(&self, urls: &CallbackUrls) -> Result<Option<serde_json::Value>, DependencyError> {
        if client::is_loopback_origin(urls) {
            return Ok(None);
        }
        let keys = client_key::all(self.vault.as_ref()).await?;
        Ok(client::document(urls, &self.client_name, &keys))
    }

    async fn authorize(
        &self,
        values: &FieldValues,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        self.connect_flows().begin(values, request, now).await
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        Ok(vec![self.connect_flows().end(callback, now).await?])
    }

    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), AttemptError> {
        let session = Session::load(credentials)?;
        // Either token ends the whole session; the refresh token lives longer.
        let token = credentials.refresh_token.as_ref().unwrap_or(&credentials.access_token);
        let revocation = match &session.kind {
            Kind::Oauth(grant) => self.authorization(grant, now).revoke(token).await?,
            Kind::AppPassword => Some(app_password::end(&self.http, &session.pds, token).await?),
        };
        match revocation {
            Some(reply) if !reply.status.is_success() => Err(reply.failure(&errors::PDS, Effect::Private, now).into()),
            _ => Ok(()),
        }
    }
}

#[async_trait::async_trait]
impl Publish for Bluesky {
    async fn prepare(&self, request: &PublishRequest<'_>) -> Result<Step, AttemptError> {
        let session = Session::load(request.credentials)?;
        let uses_service = self.any_video || is_of_bluesky(&session.pds);
        let preparation = Preparation {
            directory: &self.directory,
            pds: self.pds(&session, request),
            video_service: uses_service.then_some(&self.video_service),
        };
        preparation.step(request).await
    }

    async fn publish(&self, request: &PublishRequest<'_>) -> Result<Published, AttemptError> {
        let session = Session::load(request.credentials)?;
        let Some(post) = Progress::load(request).post else {
            return Err(AttemptError::PreparationExpired { reason: "what was prepared is gone".to_owned() });
        };
        let post = post.completed(request)?;
        if !request.may_have_published && post.is_late(request.now) {
            return Err(AttemptError::PreparationExpired {
                reason: "the post is late and receives the current time".to_owned(),
            });
        }
        match record::put(&self.pds(&session, request), &post).await? {
            Stored::Public(published) => Ok(published),
            // Probably our own record with other content: an earlier attempt took effect, the post
            // was prepared again, and the page that it links had changed in between.
            Stored::Taken => match self.look_up(request, &session).await {
                LookUp::Ours(published) => Ok(published),
                LookUp::Another => Err(AttemptError::Refused { reason: TAKEN.to_owned() }),
                LookUp::Nothing | LookUp::Unclear(_) => {
                    Err(AttemptError::Unknown { may_still_run: false, retry_at: None, reason: TAKEN.to_owned() })
                }
            },
        }
    }

    async fn look_up(&self, request: &PublishRequest<'_>, _since: DateTime<Utc>) -> Resolution {
        let session = match Session::load(request.credentials) {
            Ok(session) => session,
            Err(unreadable) => return Resolution::Pending { reason: unreadable.to_string() },
        };
        match self.look_up(request, &session).await {
            LookUp::Ours(published) => Resolution::Found(published),
            LookUp::Nothing => Resolution::NotPublished,
            LookUp::Another => Resolution::NotFound,
            LookUp::Unclear(reason) => Resolution::Pending { reason },
        }
    }

    /// False: a post is found by the key of its record, which we chose.
    fn recognizes_own_posts(&self) -> bool {
        false
    }
}

/// Keys are derived from the post and its time, so no other post has the same key.
const TAKEN: &str = "another post of this account already has its key, which should not happen";
