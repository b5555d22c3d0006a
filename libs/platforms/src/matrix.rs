//! Matrix: rooms that an account has joined, on any homeserver.
//!
//! What the adapter relies on (client-server API of the specification, version 1.18; where it is
//! silent, the source of Synapse 1.163):
//!
//! - Users sign in on a page of OAuth 2.0 if their homeserver has it. Otherwise a password is used
//!   once, for a device of its own. The old page (`m.login.sso`) sends a login token to any URL
//!   that it receives and does not say which homeserver issued the token: any homeserver could
//!   obtain the login token of another one. So it is used only where the operator trusts the
//!   homeserver not to do this.
//! - The device's tokens end with the device. If the homeserver issues a refresh token, the access
//!   token expires (after five minutes). "The old refresh token remains valid until the new access
//!   token or refresh token is used."
//! - A message is sent under a transaction id. The same id from the same device returns the same
//!   event: Synapse remembers it for 24 hours, Dendrite in memory for half an hour to an hour. The
//!   specification does not say how long.
//! - The messages of an account in a room can be read, with their transaction ids (for the device
//!   that sent them) and with any further field of the message.
//! - A thread has one first message, which is in no thread: Synapse refuses to "start threads from
//!   an event with a relation". So all replies name the first message, and the one before them for
//!   apps without threads.
//! - A message has one file at most. Files are uploaded before, and are not visible until a message
//!   shows them.
//! - An event has at most 65,536 bytes. Encrypted rooms accept plain messages as well, so the
//!   room's encryption is checked before.

mod api;
mod connect;
mod content;
mod errors;
mod grant;
mod oauth;
mod publish;
mod rooms;
mod user;

#[cfg(any(test, feature = "testing"))]
pub(crate) use self::api::recordings;

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::AttemptError;
use domain::media::MimeType;
use domain::options::{OptionKind, OptionSpec};
use domain::rules::{Counting, FileRule, Rule, Rules};
use serde::Deserialize;

use self::api::{Api, Device};
use self::errors::{is_gone, refresh_error};
use self::grant::{Grant, Session};
use self::user::Homeserver;
use crate::account::{Account, AccountDetails, Credentials};
use crate::choices::{Choice, ChoicesRequest};
use crate::connect_flow::{
    AuthorizationRequest, AuthorizeStep, Callback, ConnectError, Field, FieldValues, RefreshError,
};
use crate::http_clients::ANSWER_WITHIN;
use crate::kit::ErrorKind;
use crate::lead_times::LeadTimes;
use crate::platform::{Connect, Platform};
use crate::platform_info::Access;
use crate::refresh_policy::RefreshPolicy;
use crate::setup::{Setup, SetupError};

pub(crate) const NAME: &str = "matrix";

pub(crate) const TITLE: &str = "Matrix";

pub(crate) const ACCESS: Access = Access::Open;

pub(crate) const PERMISSIONS: &str = "everything that you may do with the account";

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        publish::ROOM,
        OptionKind::Choice { max: 255 },
        "The ID of the room, such as !abc:example.org. The account must have joined the room, and the room must not \
         be encrypted. If the account is in hundreds of rooms, some are not listed.",
    )
    .required(),
    OptionSpec::new(
        "notice",
        OptionKind::Flag,
        "Whether the text is sent as a notice, which clients show less prominently and bots do not answer. Ignored if \
         the text is the caption of a file without an alt text.",
    ),
    OptionSpec::new(
        "thread_root",
        OptionKind::Text { max: 255 },
        "The ID of the message whose thread the post belongs to, such as $abc. The link to the message contains it. \
         The replies of the post belong to the same thread.",
    ),
];

pub(crate) const LEAD: LeadTimes = LeadTimes {
    images: Some(TimeDelta::seconds(60)),
    videos: Some(TimeDelta::seconds(180)),
    documents: Some(TimeDelta::seconds(180)),
    ..LeadTimes::NONE
};

/// The largest file that can be uploaded within one step.
const MAX_FILE_BYTES: u64 = 100_000_000;

/// The most files of a post, each of which is a message. Synapse, as installed, accepts ten at
/// once, then one in five seconds.
const MAX_FILES: u32 = 10;

/// The timeout of a refresh: the tokens of a later response would be lost.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(28);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default = "client_name")]
    client_name: String,
    /// Homeservers without OAuth 2.0 on whose page users may sign in. The operator trusts them not
    /// to redirect users to another homeserver.
    #[serde(default)]
    sso_homeservers: Vec<Homeserver>,
}

fn client_name() -> String {
    "Social Publishing".to_owned()
}

pub(crate) fn set_up(setup: &Setup) -> Result<Option<Matrix>, SetupError> {
    let Some(Settings { client_name, sso_homeservers }) = setup.settings(NAME)? else { return Ok(None) };
    Ok(Some(Matrix { api: Api::new(setup.http.clone()), client_name, sso_homeservers }))
}

pub(crate) struct Matrix {
    api: Api,
    client_name: String,
    sso_homeservers: Vec<Homeserver>,
}

/// `upload_limit` is in bytes.
fn rules(upload_limit: u64) -> Rules {
    let max_bytes = upload_limit.min(MAX_FILE_BYTES);
    Rules::new(
        TITLE,
        [
            Rule::max_text_bytes(content::MAX_TEXT_BYTES),
            Rule::max_media(MAX_FILES),
            Rule::DocumentAlone,
            Rule::mime_types(MimeType::ALL),
            Rule::max_image_bytes(max_bytes),
            Rule::max_video_bytes(max_bytes),
            Rule::max_document_bytes(max_bytes),
            Rule::OfFiles(FileRule::ReadableDocuments),
            // This service's own limit: in any script less than a message may have.
            Rule::max_alt_text(10_000, Counting::code_points()),
        ],
    )
    .with_threads()
}

#[async_trait::async_trait]
impl Platform for Matrix {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Only homeservers that issue refresh tokens need it.
    fn refresh_policy(&self) -> RefreshPolicy {
        RefreshPolicy::Rotating
    }

    fn host(&self, credentials: &Credentials) -> Option<String> {
        Grant::load(credentials).ok().map(|it| it.server.name())
    }

    async fn refresh(&self, old: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        let gone = |reason: String| RefreshError::Gone(reason);
        let grant = Grant::load(old).map_err(|it| gone(it.into_reason()))?;
        if let Session::OAuth(client) = &grant.session {
            return client.oauth(&self.api.http).refresh(old, now).await;
        }
        let token = old.refresh_token.as_ref().ok_or_else(|| gone("there is no refresh token".to_owned()))?;
        let refreshed = self.api.refresh(&grant.server, token, REFRESH_TIMEOUT, now).await;
        let tokens = refreshed.map_err(refresh_error)?;
        let expires_at = tokens.expires_at(now);
        let refresh_token = tokens.refresh_token.or_else(|| old.refresh_token.clone());
        Ok(Credentials { access_token: tokens.access_token, refresh_token, expires_at, ..old.clone() })
    }

    async fn account_details(
        &self,
        _: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let Grant { server, user, .. } = Grant::load(credentials)?;
        let device = Device { server: &server, token: &credentials.access_token, now };
        Ok(Some(self.about_user(device, &user).await?))
    }
}

#[async_trait::async_trait]
impl Connect for Matrix {
    fn rules(&self) -> Rules {
        rules(MAX_FILE_BYTES)
    }

    fn fields(&self) -> &'static [Field] {
        connect::FIELDS
    }

    fn named_host(&self, values: &FieldValues) -> Option<String> {
        connect::named_host(values)
    }

    async fn authorize(
        &self,
        values: &FieldValues,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        self.begin(values, request, now).await
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        Ok(vec![self.complete(callback, now).await?])
    }

    async fn choices(&self, choosing: &ChoicesRequest<'_>, now: DateTime<Utc>) -> Result<Vec<Choice>, AttemptError> {
        let grant = Grant::load(choosing.credentials)?;
        let device = Device { server: &grant.server, token: &choosing.credentials.access_token, now };
        Ok(rooms::choices(&self.api, device, &grant.user).await?)
    }

    /// Ends the device that was made for the connection; the device of a pasted token belongs to
    /// the user and stays. An access token that has expired, as most have by then, is refreshed
    /// first.
    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), AttemptError> {
        let grant = Grant::load(credentials)?;
        match &grant.session {
            Session::Pasted => return Ok(()),
            Session::Login => {}
            Session::OAuth(client) => return client.oauth(&self.api.http).revoke(credentials, now).await,
        }
        let log_out = async |token| self.api.log_out(Device { server: &grant.server, token, now }).await;
        let result = match (log_out(&credentials.access_token).await, &credentials.refresh_token) {
            (Err(error), Some(token)) if error.kind == ErrorKind::Unauthorized => {
                match self.api.refresh(&grant.server, token, ANSWER_WITHIN, now).await {
                    Ok(tokens) => log_out(&tokens.access_token).await,
                    Err(error) => Err(error),
                }
            }
            (result, _) => result,
        };
        match result {
            Err(error) if !is_gone(&error) => Err(error.into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
