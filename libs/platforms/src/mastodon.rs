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
//!   files that they show.
//!
//! Addresses and answers are in `mastodon/api.rs`; here is what they mean.

mod api;
mod app;
mod content;
mod grant;
mod instance;
mod look_up;
mod multipart;
mod rate_limit;
mod refused;
mod server;
mod software;
mod watch;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::Profile;
use domain::delivery::{Published, Resolution, Setback};
use domain::media::Attachment;
use domain::rules::Rules;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;

use self::api::{Api, Medium, NewStatus, Tokens, Uploaded};
use self::app::Apps;
use self::grant::{Grant, Memory};
use self::look_up::{Found, Ours};
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

/// Pictures are there at once. A server takes minutes to transcode a video.
pub(crate) const LEAD: Lead =
    Lead { always: None, images: Some(TimeDelta::seconds(60)), videos: Some(TimeDelta::minutes(10)) };

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

/// The longest time between two looks at a file that is being worked on.
const LONGEST_WAIT: TimeDelta = TimeDelta::seconds(30);

/// Before a file is sent again whose processing failed.
const PROCESSING_WAIT: TimeDelta = TimeDelta::seconds(10);

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

/// What preparation has reached. Stored between the steps, so that a step
/// which is taken again after a crash uploads one file twice, not all of them.
#[derive(Default, Serialize, Deserialize)]
struct Progress {
    /// The ids of the files that are ready, in the order of the post.
    media: Vec<String>,
    /// The next one, when it is uploaded and being worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    processing: Option<Processing>,
    /// Whether the server has failed once to make something of the next one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    failed_once: bool,
}

/// A file that is being worked on.
#[derive(Serialize, Deserialize)]
struct Processing {
    id: String,
    /// How often it was asked for.
    looks: u32,
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
        let app = self.apps.at(&found, &request.here).await?;
        let grant = Grant { server: found.server, software: found.software, endpoints: found.endpoints, app };
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
            Err(Failure::Refused(refused)) if refused.is_of_our_app() => {
                return Err(self.apps.forgotten(&grant, &callback.here).await?);
            }
            exchanged => exchanged?,
        };
        let me = self.api.me(&grant.server, &tokens.access_token).await?;
        let scope = tokens.scope.as_deref().unwrap_or(&grant.app.scopes);
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
    /// One file per step, or one look at a file that is being worked on. A file
    /// is not public until a status shows it.
    async fn prepare(&self, job: &Job<'_>) -> Result<Step, Setback> {
        let grant = Grant::of(job.credentials)?;
        let step = Watch::begin(job.now).within(STEP_LIMIT, self.step(job, &grant)).await;
        step.unwrap_or_else(|| Err(Setback::Busy { retry_at: None, reason: NoAnswer::Late.reason() }))
    }

    async fn publish(&self, job: &Job<'_>) -> Result<Published, Setback> {
        let watch = Watch::begin(job.now);
        let grant = Grant::of(job.credentials)?;
        let media = Progress::of(job).unwrap_or_default().media;
        if media.len() != job.media.len() {
            return Err(Setback::Stale { reason: "not every file is uploaded".to_owned() });
        }
        match self.post(job, &grant, &media).await {
            Ok(published) => Ok(published),
            Err(Failure::Refused(refused)) if !media.is_empty() && refused.is_final() => {
                let reason = refused.reason();
                let learned = watch.within(STEP_LIMIT, self.refused_with_files(job, &grant, &media, refused, &watch));
                learned.await.unwrap_or(Err(Setback::Busy { retry_at: None, reason }))
            }
            Err(failure) => Err(failure.setback()),
        }
    }

    /// The account's statuses are read back to before the call, which needs no
    /// key. Where that cannot tell, the very same call is made again as long as
    /// its key is known: then it makes nothing new if the first one did. Not
    /// before the first can no longer be under way, because two at once would
    /// not see each other everywhere.
    async fn resolve(&self, job: &Job<'_>, since: DateTime<Utc>) -> Resolution {
        let grant = match Grant::of(job.credentials) {
            Ok(grant) => grant,
            Err(unreadable) => return Resolution::Disconnected { reason: unreadable.to_string() },
        };
        let watch = Watch::begin(job.now);
        let Some(Progress { media, .. }) = Progress::of(job) else {
            return Resolution::Unclear { reason: "what was kept of its files is unreadable".to_owned() };
        };
        if media.len() != job.media.len() {
            // Then no call was ever made.
            return Resolution::NotThere;
        }
        let has_key = grant.software.keeps_keys() && job.now < since + KEY_IS_KNOWN;
        let found = match self.look_up(job, &grant, &media, since, &watch).await {
            Found::Public(published) => return Resolution::Public(published),
            Found::NotThere => return Resolution::NotThere,
            Found::Unclear { reason } => Resolution::Unclear { reason },
            Found::Disconnected { reason } => Resolution::Disconnected { reason },
            Found::Forbidden if has_key => Resolution::Unclear { reason: UNREADABLE_LISTING.to_owned() },
            Found::Forbidden => Resolution::Unknowable { advice: UNREADABLE_LISTING.to_owned() },
        };
        if matches!(found, Resolution::Disconnected { .. }) || !has_key || job.now < since + SETTLES {
            return found;
        }
        match self.post(job, &grant, &media).await {
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
    async fn step(&self, job: &Job<'_>, grant: &Grant) -> Result<Step, Setback> {
        let progress = Progress::of(job).unwrap_or_default();
        match (&progress.processing, job.media.get(progress.media.len())) {
            (_, None) => Ok(Step::Ready { progress: progress.store() }),
            (None, Some(next)) => self.upload(job, grant, progress, next).await,
            (Some(Processing { id, looks }), Some(_)) => {
                let (id, looks) = (id.clone(), *looks);
                self.look(job, grant, progress, id, looks).await
            }
        }
    }

    async fn upload(
        &self,
        job: &Job<'_>,
        grant: &Grant,
        mut progress: Progress,
        file: &Attachment,
    ) -> Result<Step, Setback> {
        let token = &job.credentials.access_token;
        let mut uploaded = Err(Failure::Refused(Refused::not_there()));
        if grant.software.uploads_in_background() {
            uploaded = self.api.upload(grant, token, api::UPLOAD, file, open(job, file).await?, job.now).await;
        }
        if matches!(&uploaded, Err(Failure::Refused(refused)) if refused.has_no_such_call()) {
            uploaded = self.api.upload(grant, token, api::UPLOAD_AT_ONCE, file, open(job, file).await?, job.now).await;
        }
        match uploaded {
            Ok(Uploaded::Ready(id)) => Ok(progress.with(id).step(job)),
            Ok(Uploaded::Processing(id)) => {
                progress.processing = Some(Processing { id, looks: 0 });
                Ok(progress.again(job.now + wait(0)))
            }
            Err(Failure::Refused(refused)) if refused.failed_on_a_file() && !progress.failed_once => {
                progress.failed_once = true;
                Ok(progress.again(job.now + PROCESSING_WAIT))
            }
            Err(Failure::Refused(refused)) if refused.failed_on_a_file() => {
                Err(Setback::Refused { reason: of_file(job, &progress, &refused.reason()) })
            }
            Err(failure) => Err(in_words_of_file(failure.setback(), job, &progress)),
        }
    }

    async fn look(
        &self,
        job: &Job<'_>,
        grant: &Grant,
        mut progress: Progress,
        id: String,
        looks: u32,
    ) -> Result<Step, Setback> {
        match self.api.medium(grant, &job.credentials.access_token, &id, job.now).await {
            Ok(Medium::Ready) => Ok(progress.with(id).step(job)),
            Ok(Medium::Processing) => {
                let looks = looks.saturating_add(1);
                progress.processing = Some(Processing { id, looks });
                Ok(progress.again(job.now + wait(looks)))
            }
            Ok(Medium::Unknown) => Err(Setback::Stale { reason: of_file(job, &progress, "it is not there any more") }),
            Err(failure) => Err(in_words_of_file(failure.setback(), job, &progress)),
        }
    }

    /// The public call.
    async fn post(&self, job: &Job<'_>, grant: &Grant, media: &[String]) -> Result<Published, Failure> {
        let status = NewStatus {
            status: job.text,
            media_ids: media,
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
        media: &[String],
        refused: Refused,
        watch: &Watch,
    ) -> Result<Published, Setback> {
        let busy = |reason: String| Err(Setback::Busy { retry_at: None, reason });
        // A file is also refused once a status shows it, and that can be ours alone.
        match self.look_up(job, grant, media, job.publish_at, watch).await {
            Found::Public(published) => return Ok(published),
            Found::NotThere => {}
            Found::Disconnected { reason } => return Err(Setback::Disconnected { reason }),
            Found::Unclear { reason } => return busy(reason),
            Found::Forbidden => return busy(UNREADABLE_LISTING.to_owned()),
        }
        if refused.is_not_found() {
            return Err(Setback::Stale { reason: refused.reason() });
        }
        let mut is_unknown = false;
        for id in media {
            match self.api.medium(grant, &job.credentials.access_token, id, job.now).await {
                Ok(Medium::Ready) => {}
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

    async fn look_up(
        &self,
        job: &Job<'_>,
        grant: &Grant,
        media: &[String],
        since: DateTime<Utc>,
        watch: &Watch,
    ) -> Found {
        let Some((_, account_id)) = job.profile.account_id.split_once('/') else {
            return Found::Unclear { reason: "the account has no id".to_owned() };
        };
        let ours = Ours::new(job.text, media, grant.software, since);
        look_up::look_up(&self.api, grant, &job.credentials.access_token, account_id, &ours, watch).await
    }
}

impl Progress {
    /// That of a delivery; `None` when it is not in the form of this version.
    fn of(job: &Job<'_>) -> Option<Self> {
        job.progress.map_or_else(|| Some(Self::default()), |it| serde_json::from_str(it).ok())
    }

    /// Nothing when there is nothing to remember.
    fn store(&self) -> Option<String> {
        let is_empty = self.media.is_empty() && self.processing.is_none() && !self.failed_once;
        if is_empty { None } else { serde_json::to_string(self).ok() }
    }

    /// With one more file that is ready.
    fn with(mut self, id: String) -> Self {
        self.media.push(id);
        Self { media: self.media, processing: None, failed_once: false }
    }

    /// The step that ends here, with one file less to do.
    fn step(self, job: &Job<'_>) -> Step {
        if self.media.len() == job.media.len() { Step::Ready { progress: self.store() } } else { self.again(job.now) }
    }

    fn again(self, at: DateTime<Utc>) -> Step {
        Step::Again { progress: self.store().unwrap_or_default(), at }
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

async fn open(job: &Job<'_>, file: &Attachment) -> Result<crate::job::MediaBytes, Setback> {
    job.files.open(file).await.map_err(|error| Setback::Busy { retry_at: None, reason: error.to_string() })
}

/// Until the next look at a file that is being worked on.
fn wait(looks: u32) -> TimeDelta {
    TimeDelta::seconds(1 << looks.min(5)).min(LONGEST_WAIT)
}

/// Whether this can be shown as the address of a picture or a page.
fn is_web_address(address: &str) -> bool {
    let is_web = |it: Url| matches!(it.scheme(), "http" | "https");
    address.len() <= MAX_ADDRESS && Url::parse(address).is_ok_and(is_web)
}

fn of_file(job: &Job<'_>, progress: &Progress, reason: &str) -> String {
    format!("file {} of {}: {reason}", progress.media.len() + 1, job.media.len())
}

fn in_words_of_file(setback: Setback, job: &Job<'_>, progress: &Progress) -> Setback {
    match setback {
        Setback::Refused { reason } => Setback::Refused { reason: of_file(job, progress, &reason) },
        other => other,
    }
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
