//! Mastodon, and what else speaks its API: `GoToSocial`, Pleroma and Akkoma,
//! Pixelfed.
//!
//! What it relies on (documentation of Mastodon 4.6, source of Mastodon and of
//! the others where it says nothing):
//!
//! - Every server has its own accounts, limits and apps. This service registers
//!   itself once per server and redirect URI. Servers before 4.3 remove apps
//!   that they think nobody uses.
//! - Authorization code with PKCE, which servers before 4.3 ignore. Access
//!   tokens do not end, except on Pleroma and Pixelfed, which give refresh
//!   tokens along.
//! - A file is uploaded before the status that shows it; a video is worked on
//!   for a while (202, then 206 until 200). One that no status shows is removed
//!   after about a day.
//! - `Idempotency-Key`: Mastodon remembers for an hour which status a key made,
//!   and looks at the key before anything else of the request. Nobody else gets
//!   one: `GoToSocial` takes no notice, Pixelfed refuses every repeat, whatever
//!   came of the first call, and Pleroma and Akkoma give its answer again for
//!   hours, even if it was an error.
//! - An account's statuses can be listed, newest first, with the ids of the
//!   files that they show; not every server pages, and some give files new ids.
//!   What a status was made from is asked for at `/source`, or is in its `text`:
//!   what servers show of it is rewritten in many ways.
//! - Servers reuse tokens, and some remove the app whose token is given back.
//!
//! Addresses and answers are in `mastodon/api.rs`; here is what they mean.

mod api;
mod app;
mod content;
mod grant;
mod instance;
mod look_up;
mod multipart;
mod preparation;
mod rate_limit;
mod refused;
mod server;
mod software;
mod watch;

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::Profile;
use domain::delivery::{Published, Resolution, Setback};
use domain::rules::Rules;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use self::api::{Api, Medium, NewStatus, Tokens};
use self::app::Apps;
use self::grant::{Grant, Memory};
use self::look_up::{Found, Statuses};
use self::preparation::{LOOK_BACK, Preparation, Progress};
use self::refused::{Failure, NoAnswer, Refused};
use self::server::Server;
use self::watch::Watch;
use crate::account::{Account, Credentials};
use crate::handoff::{Answers, AuthorizationRequest, Callback, Departure, Field, HandOffRefusal, RefreshRefusal};
use crate::job::Job;
use crate::lead::Lead;
use crate::platform::{Connect, Platform, Publish, STEP_LIMIT, Step};
use crate::renewal::Renewal;
use crate::setup::{Setup, SetupError};

/// Its name in paths, and of its settings.
pub(crate) const NAME: &str = "mastodon";

/// Every post begins with a look at what is there. Pictures are there at once;
/// a server takes minutes to transcode a video.
pub(crate) const LEAD: Lead =
    Lead { always: Some(LOOK_BACK), images: Some(TimeDelta::seconds(60)), videos: Some(TimeDelta::minutes(10)) };

/// How long a public call that was cut off may still take effect: servers and
/// the proxies before them end a request after a minute at most.
const SETTLES: TimeDelta = TimeDelta::seconds(90);

/// How long after a public call its key is certainly known: an hour, less what
/// two clocks may differ by.
const KEY_IS_KNOWN: TimeDelta = TimeDelta::minutes(55);

/// More than any address of a picture or page of an account.
const MAX_ADDRESS: usize = 2048;

/// What keeps us from looking for a post.
const UNREADABLE_LISTING: &str = "what it has published may not be read";

/// What keeps us from believing that a post is the one we look for.
const ONLY_ITS_KEY_TELLS: &str =
    "a post in the same words is there; the server is asked for this one by its key when that can make no second one";

/// How long the account's statuses are read. What is left of [`STEP_LIMIT`] is
/// enough for the public call, which may follow.
const LOOKING: Duration = Duration::from_secs(20);

/// What a deployment says of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// What people read on a server's page of who wants to act for them.
    #[serde(default = "client_name")]
    client_name: String,
}

fn client_name() -> String {
    "Social Publishing".to_owned()
}

/// The adapter, when it is switched on.
pub(crate) fn set_up(setup: &Setup) -> Result<Option<Mastodon>, SetupError> {
    let Some(Settings { client_name }) = setup.settings(NAME)? else { return Ok(None) };
    let api = Api::new(setup.http.clone());
    let apps = Apps::new(api.clone(), std::sync::Arc::clone(&setup.vault), client_name);
    Ok(Some(Mastodon { api, apps }))
}

/// Every server that speaks Mastodon's API.
pub(crate) struct Mastodon {
    api: Api,
    apps: Apps,
}

#[async_trait::async_trait]
impl Platform for Mastodon {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Only where there is a refresh token; on Mastodon itself there is none.
    fn renewal(&self) -> Renewal {
        Renewal::Rotating
    }

    async fn refresh(&self, old: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshRefusal> {
        let gone = |reason: &str| RefreshRefusal::Gone(reason.to_owned());
        let grant = Grant::of(old).map_err(|it| gone(&it.to_string()))?;
        let Some(refresh_token) = &old.refresh_token else { return Err(gone("there is no refresh token")) };
        match self.api.refresh(&grant, refresh_token).await {
            Ok(tokens) => Ok(credentials(tokens, Some(refresh_token), grant.store(), now)),
            // If our app is gone, so is everything that it was granted.
            Err(Failure::Refused(refused))
                if refused.is_of_the_grant()
                    || refused.is_of_a_refresh_token()
                    || refused.is_of_our_app()
                    || (grant.software.hides_why_tokens_fail() && refused.is_of_some_credentials()) =>
            {
                Err(RefreshRefusal::Gone(refused.reason()))
            }
            Err(failure) => Err(RefreshRefusal::Unreachable(failure.reason())),
        }
    }
}

#[async_trait::async_trait]
impl Connect for Mastodon {
    fn rules(&self) -> Rules {
        instance::stock_rules()
    }

    fn fields(&self) -> &'static [Field] {
        const FIELDS: &[Field] = &[Field::new(server::FIELD, "Your server", server::EXAMPLE)];
        FIELDS
    }

    async fn authorize(
        &self,
        answers: &Answers,
        request: &AuthorizationRequest,
        _now: DateTime<Utc>,
    ) -> Result<Departure, HandOffRefusal> {
        let typed = answers.get(server::FIELD).map_or("", |it| it.expose_secret());
        let found = self.api.discover(Server::parse(typed)?).await?;
        let grant = self.apps.at(&found, request).await?;
        let url = grant.authorization_url(request);
        let memory = Memory { grant, rules: found.rules };
        Ok(Departure::Page { url, memory: Some(memory.store()) })
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, HandOffRefusal> {
        let code = code(callback)?;
        let Some(Memory { grant, rules }) = callback.memory.as_ref().and_then(Memory::read) else {
            return Err(HandOffRefusal::Refused("what was begun is not known any more; connect again".to_owned()));
        };
        let tokens = match self.api.exchange(&grant, code, callback).await {
            Err(Failure::Refused(refused)) if refused.may_be_of_our_app() => {
                return Err(self.apps.forgotten(&grant, &callback.here, &refused).await?);
            }
            exchanged => exchanged?,
        };
        let me = self.api.me(&grant.server, &tokens.access_token).await?;
        // One that is not told is as it was asked for.
        let told = tokens.scope.as_deref().filter(|it| !it.trim().is_empty());
        let scope = told.unwrap_or(&grant.app.scopes);
        let host = grant.server.name();
        Ok(vec![Account {
            profile: Profile {
                account_id: format!("{host}/{}", me.id),
                username: Some(format!("{}@{host}", me.username)),
                display_name: me.display_name.filter(|it| !it.trim().is_empty()),
                avatar: me.avatar.filter(|it| is_web_address(it)),
                profile_url: me.url.filter(|it| is_web_address(it)),
            },
            scopes: scope.split_whitespace().map(str::to_owned).collect(),
            rules,
            credentials: credentials(tokens, None, grant.store(), now),
        }])
    }

    async fn revoke(&self, credentials: &Credentials, _now: DateTime<Utc>) -> Result<(), Setback> {
        let grant = Grant::of(credentials)?;
        self.api.revoke(&grant, &credentials.access_token).await.map_err(Failure::setback)
    }
}

#[async_trait::async_trait]
impl Publish for Mastodon {
    /// A file is not public until a status shows it.
    async fn prepare(&self, job: &Job<'_>) -> Result<Step, Setback> {
        let grant = Grant::of(job.credentials)?;
        let preparation = Preparation { api: &self.api, grant: &grant, job };
        let step = Watch::begin(job.now).within(STEP_LIMIT, preparation.step()).await;
        step.unwrap_or_else(|| Err(Setback::Busy { retry_at: None, reason: NoAnswer::Late.reason() }))
    }

    async fn publish(&self, job: &Job<'_>) -> Result<Published, Setback> {
        let watch = Watch::begin(job.now);
        let grant = Grant::of(job.credentials)?;
        let progress = Progress::of(job).unwrap_or_default();
        if progress.media.len() != job.media.len() {
            return Err(Setback::Stale { reason: "not every file is uploaded".to_owned() });
        }
        // Prepared by an earlier version, which did not look.
        if progress.before.is_none() && !grant.software.keeps_keys() {
            return Err(Setback::Stale { reason: "it was not read what was there before".to_owned() });
        }
        match self.post(job, &grant, &progress).await {
            Ok(published) => Ok(published),
            Err(Failure::Refused(refused)) if !progress.media.is_empty() && refused.is_final() => {
                let reason = refused.reason();
                let learned =
                    watch.within(STEP_LIMIT, self.refused_with_files(job, &grant, &progress, refused, &watch));
                learned.await.unwrap_or(Err(Setback::Busy { retry_at: None, reason }))
            }
            Err(failure) => Err(failure.setback()),
        }
    }

    /// The account's statuses are read back to what was there before. Where
    /// that cannot tell, the very same call is made again as long as its key is
    /// known: then it makes nothing new if the first one did. Not before the
    /// first can no longer be under way, because two at once would not see each
    /// other everywhere.
    async fn resolve(&self, job: &Job<'_>, since: DateTime<Utc>) -> Resolution {
        let grant = match Grant::of(job.credentials) {
            Ok(grant) => grant,
            Err(unreadable) => return Resolution::Disconnected { reason: unreadable.to_string() },
        };
        let watch = Watch::begin(job.now);
        let Some(progress) = Progress::of(job) else {
            return Resolution::Unclear { reason: "what was kept of its preparation is unreadable".to_owned() };
        };
        if progress.media.len() != job.media.len() {
            // Then no call was ever made.
            return Resolution::NotThere;
        }
        let has_key = grant.software.keeps_keys() && job.now < since + KEY_IS_KNOWN;
        let looked = watch.within(LOOKING, self.look_up(job, &grant, &progress, &watch)).await;
        let in_doubt = match looked {
            Some(Found::Public(published)) => return Resolution::Public(published),
            Some(Found::NotThere) => return Resolution::NotThere,
            Some(Found::Disconnected { reason }) => return Resolution::Disconnected { reason },
            Some(Found::Recognised(_)) if has_key => ONLY_ITS_KEY_TELLS.to_owned(),
            Some(Found::Recognised(published)) => return Resolution::Recognised(published),
            Some(Found::Forbidden) if !has_key => {
                return Resolution::Unknowable { advice: UNREADABLE_LISTING.to_owned() };
            }
            Some(Found::Forbidden) => UNREADABLE_LISTING.to_owned(),
            Some(Found::Unclear { reason }) => reason,
            None => NoAnswer::Late.reason(),
        };
        if !has_key || job.now < since + SETTLES {
            return Resolution::Unclear { reason: in_doubt };
        }
        match self.post(job, &grant, &progress).await {
            Ok(published) => Resolution::Public(published),
            Err(Failure::Refused(refused)) if refused.is_lost_grant() => {
                Resolution::Disconnected { reason: refused.reason() }
            }
            // The key is looked at first, so it has made nothing yet.
            Err(Failure::Refused(refused)) if refused.is_final() => Resolution::NotThere,
            Err(failure) => Resolution::Unclear { reason: failure.reason() },
        }
    }

    fn settles(&self) -> TimeDelta {
        SETTLES
    }
}

impl Mastodon {
    /// The public call.
    async fn post(&self, job: &Job<'_>, grant: &Grant, progress: &Progress) -> Result<Published, Failure> {
        let status = NewStatus {
            status: job.text,
            media_ids: progress.media.iter().map(|it| it.id.as_str()).collect(),
            visibility: "public",
            content_type: grant.software.content_type(),
        };
        let key = grant.software.keeps_keys().then_some(job.reference);
        let made = self.api.post(grant, &job.credentials.access_token, &status, key, job.now).await?;
        Ok(Published { at: made.created_at().unwrap_or(job.now), platform_post_id: made.id })
    }

    /// What a refusal means of a status with files. Servers answer in their
    /// users' languages, so the files are asked for instead of the words read.
    async fn refused_with_files(
        &self,
        job: &Job<'_>,
        grant: &Grant,
        progress: &Progress,
        refused: Refused,
        watch: &Watch,
    ) -> Result<Published, Setback> {
        let busy = |reason: String| Err(Setback::Busy { retry_at: None, reason });
        // A file is also refused once a status shows it, and that can be ours alone.
        match self.look_up(job, grant, progress, watch).await {
            Found::Public(published) => return Ok(published),
            // That a post looks the same does not make a refusal a publication.
            Found::Recognised(_) | Found::NotThere | Found::Forbidden => {}
            Found::Disconnected { reason } => return Err(Setback::Disconnected { reason }),
            Found::Unclear { reason } => return busy(reason),
        }
        if refused.is_not_found() {
            return Err(Setback::Stale { reason: refused.reason() });
        }
        let mut is_unknown = false;
        for file in &progress.media {
            match self.api.medium(grant, &job.credentials.access_token, &file.id, job.now).await {
                Ok(Medium::Ready(_)) => {}
                Ok(Medium::Processing) => return busy(refused.reason()),
                Ok(Medium::Unknown) => is_unknown = true,
                Err(Failure::Refused(of_file)) if of_file.is_final() => {}
                Err(Failure::Refused(of_file)) if of_file.is_lost_grant() => {
                    return Err(Setback::Disconnected { reason: of_file.reason() });
                }
                // The refusal stands, and why will be asked with the next one.
                Err(failure) => return busy(failure.reason()),
            }
        }
        if is_unknown {
            return Err(Setback::Stale { reason: refused.reason() });
        }
        Err(Failure::Refused(refused).setback())
    }

    async fn look_up(&self, job: &Job<'_>, grant: &Grant, progress: &Progress, watch: &Watch) -> Found {
        Statuses { api: &self.api, grant, job, progress, watch }.look_up().await
    }
}

/// The code of the answer, or why there is none.
fn code(callback: &Callback) -> Result<&str, HandOffRefusal> {
    let answer = |name: &str| callback.query.get(name).map(String::as_str);
    match answer("error") {
        None => answer("code").ok_or_else(|| HandOffRefusal::Refused("it sent no code".to_owned())),
        Some("access_denied") => Err(HandOffRefusal::Denied),
        Some(error) => Err(HandOffRefusal::Refused(refused::trimmed(answer("error_description").unwrap_or(error)))),
    }
}

/// The refresh token is kept when none comes back.
fn credentials(tokens: Tokens, old: Option<&SecretString>, extra: SecretString, now: DateTime<Utc>) -> Credentials {
    Credentials {
        access_token: tokens.access_token,
        refresh_token: tokens.refresh_token.or_else(|| old.cloned()),
        expires_at: tokens.expires_in.and_then(TimeDelta::try_seconds).and_then(|it| now.checked_add_signed(it)),
        extra: Some(extra),
    }
}

/// Whether this can be shown as the address of a picture or a page.
fn is_web_address(address: &str) -> bool {
    let is_web = |it: Url| matches!(it.scheme(), "http" | "https");
    address.len() <= MAX_ADDRESS && Url::parse(address).is_ok_and(is_web)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_leads_to_the_web_is_shown_as_an_address() {
        let long = format!("https://harbour.example/{}", "a".repeat(MAX_ADDRESS));
        for (address, is_web) in [
            ("https://harbour.example/@keeper", true),
            ("http://harbour.example/avatar.png", true),
            ("javascript:alert(1)", false),
            ("data:image/png;base64,AAAA", false),
            ("/avatars/original/missing.png", false),
            (&long, false),
        ] {
            assert_eq!(is_web_address(address), is_web, "{address}");
        }
    }
}
