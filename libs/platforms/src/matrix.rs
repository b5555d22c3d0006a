//! Matrix: rooms that an account has joined, on any homeserver.
//!
//! What it relies on (client-server API of the specification, version 1.18; source of
//! Synapse 1.163 where it says nothing):
//!
//! - People sign in on a page of OAuth 2.0, where their homeserver has it. Elsewhere a
//!   password is given once, for a device of its own. The old page (`m.login.sso`) gives a
//!   login token to any address that it is sent, without a word of who gave it: any
//!   homeserver could have the login token of another one brought to itself. So it is used
//!   only where the operator trusts the homeserver not to.
//! - The device's tokens end with the device, and where the homeserver gives a refresh
//!   token, the access token ends by itself (after five minutes). "The old refresh token
//!   remains valid until the new access token or refresh token is used."
//! - A message is sent under a transaction id. The same one from the same device is
//!   answered with the same event: Synapse remembers it for 24 hours, Dendrite in memory
//!   for half an hour to an hour. How long, the specification does not say.
//! - What an account has said in a room can be read, with its transaction id for the
//!   device that sent it, and with whatever a message carries beside its text.
//! - A message has one file at most. Files are uploaded before, and seen by nobody until
//!   a message shows them.
//! - An event has at most 65,536 bytes. Rooms in which messages have to be encrypted
//!   take plain ones all the same, so they are asked before.
//!
//! `matrix/api.rs` knows addresses and answers, `errors.rs` what errors mean, `user.rs`
//! how users and homeservers are named, `connect.rs` how an account is connected,
//! `oauth.rs` what of that is OAuth 2.0, `rooms.rs` which rooms can be posted to, `content.rs` what a post is sent as.

mod api;
mod connect;
mod content;
mod errors;
mod grant;
mod oauth;
mod publish;
mod rooms;
mod user;

#[cfg(any(test, feature = "conformance"))]
pub(crate) use self::api::recordings;

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::AttemptError;
use domain::media::MimeType;
use domain::options::{OptionKind, OptionSpec};
use domain::rules::{Counting, Rule, Rules};
use serde::Deserialize;

use self::api::{Api, Device};
use self::errors::{is_gone, not_renewed};
use self::grant::{Grant, Session};
use self::user::Homeserver;
use crate::account::{Account, AccountDetails, Credentials};
use crate::choices::{Choice, Choosing};
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

/// Its name in paths, and of its settings.
pub(crate) const NAME: &str = "matrix";

/// Its name as people know it.
pub(crate) const TITLE: &str = "Matrix";

/// What an operator needs to have it.
pub(crate) const ACCESS: Access = Access::Open;

/// What a post can say here alone.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        publish::ROOM,
        OptionKind::Choice { max: 255 },
        "The room, by its id, such as !abc:example.org. The account has to have joined it, and it may not be encrypted. Of \
         an account in hundreds of rooms, some are not listed.",
    )
    .required(),
    OptionSpec::new(
        "notice",
        OptionKind::Flag,
        "Whether the text is a notice, which clients show more quietly and to which bots do not answer. It is not beside \
         a file that has no alternative text, whose caption it is.",
    ),
    OptionSpec::new(
        "thread_root",
        OptionKind::Text { max: 255 },
        "The id of the message whose thread it belongs to, such as $abc. It stands in the link to the message.",
    ),
];

/// Uploads begin before the due second.
pub(crate) const LEAD: LeadTimes =
    LeadTimes { images: Some(TimeDelta::seconds(60)), videos: Some(TimeDelta::seconds(180)), ..LeadTimes::NONE };

/// What goes up within a step.
const MAX_FILE_BYTES: u64 = 100_000_000;

/// The most files of a post, each of which is a message. Synapse, as it is installed,
/// takes ten at once, and then one in five seconds.
const MAX_FILES: u32 = 10;

/// How long a renewal may take: the tokens of a later answer would be lost.
const REFRESH_WITHIN: Duration = Duration::from_secs(28);

/// What a deployment says of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The name of our device, which people read in the list of theirs.
    #[serde(default = "client_name")]
    client_name: String,
    /// Homeservers without OAuth 2.0 on whose page people may sign in. The operator trusts
    /// them not to send people on to another homeserver.
    #[serde(default)]
    sso_homeservers: Vec<Homeserver>,
}

fn client_name() -> String {
    "Social Publishing".to_owned()
}

/// The adapter, when it is switched on.
pub(crate) fn set_up(setup: &Setup) -> Result<Option<Matrix>, SetupError> {
    let Some(Settings { client_name, sso_homeservers }) = setup.settings(NAME)? else { return Ok(None) };
    Ok(Some(Matrix { api: Api::new(setup.http.clone()), client_name, sso_homeservers }))
}

/// Every homeserver.
pub(crate) struct Matrix {
    api: Api,
    client_name: String,
    sso_homeservers: Vec<Homeserver>,
}

/// What is taken by a homeserver that takes files of so many bytes.
fn rules(upload_limit: u64) -> Rules {
    let max_bytes = upload_limit.min(MAX_FILE_BYTES);
    Rules::of(
        TITLE,
        [
            Rule::max_text_bytes(content::MAX_TEXT_BYTES),
            Rule::max_media(MAX_FILES),
            Rule::mime_types(MimeType::ALL),
            Rule::max_image_bytes(max_bytes),
            Rule::max_video_bytes(max_bytes),
            // What this service takes: in any script less than a message may have.
            Rule::max_alt_text(10_000, Counting::code_points()),
        ],
    )
}

#[async_trait::async_trait]
impl Platform for Matrix {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Where the homeserver gives a refresh token.
    fn refresh_policy(&self) -> RefreshPolicy {
        RefreshPolicy::Rotating
    }

    fn host(&self, credentials: &Credentials) -> Option<String> {
        Grant::of(credentials).ok().map(|it| it.server.name())
    }

    async fn refresh(&self, old: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshError> {
        let gone = |reason: String| RefreshError::Gone(reason);
        let grant = Grant::of(old).map_err(|it| gone(it.into_reason()))?;
        if let Session::OAuth(client) = &grant.session {
            return client.oauth(&self.api.http).refresh(old, now).await;
        }
        let token = old.refresh_token.as_ref().ok_or_else(|| gone("there is no refresh token".to_owned()))?;
        let refreshed = self.api.refresh(&grant.server, token, REFRESH_WITHIN, now).await;
        let tokens = refreshed.map_err(not_renewed)?;
        let expires_at = tokens.expires_at(now);
        let refresh_token = tokens.refresh_token.or_else(|| old.refresh_token.clone());
        Ok(Credentials { access_token: tokens.access_token, refresh_token, expires_at, ..old.clone() })
    }

    async fn about(
        &self,
        _: &AccountInfo,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<AccountDetails>, AttemptError> {
        let Grant { server, user, .. } = Grant::of(credentials)?;
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

    fn named_host(&self, answers: &FieldValues) -> Option<String> {
        connect::named_host(answers)
    }

    async fn authorize(
        &self,
        answers: &FieldValues,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<AuthorizeStep, ConnectError> {
        self.begin(answers, request, now).await
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, ConnectError> {
        Ok(vec![self.come_back(callback, now).await?])
    }

    /// Rooms are the only option of the kind.
    async fn choices(&self, asked: &Choosing<'_>, now: DateTime<Utc>) -> Result<Vec<Choice>, AttemptError> {
        let grant = Grant::of(asked.credentials)?;
        let device = Device { server: &grant.server, token: &asked.credentials.access_token, now };
        Ok(rooms::choices(&self.api, device, &grant.user).await?)
    }

    /// Ends the device that was made for it. One whose token was pasted is somebody's own.
    /// An access token that has ended, as most have by then, is renewed for it.
    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), AttemptError> {
        let grant = Grant::of(credentials)?;
        match &grant.session {
            Session::Pasted => return Ok(()),
            Session::Login => {}
            Session::OAuth(client) => return client.oauth(&self.api.http).revoke(credentials, now).await,
        }
        let log_out = async |token| self.api.log_out(Device { server: &grant.server, token, now }).await;
        let ended = match (log_out(&credentials.access_token).await, &credentials.refresh_token) {
            (Err(error), Some(token)) if error.kind == ErrorKind::Unauthorized => {
                match self.api.refresh(&grant.server, token, ANSWER_WITHIN, now).await {
                    Ok(tokens) => log_out(&tokens.access_token).await,
                    Err(error) => Err(error),
                }
            }
            (ended, _) => ended,
        };
        match ended {
            Err(error) if !is_gone(&error) => Err(error.into()),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
