//! A user's journey on one server: connect, publish a text, an image and a large video, look each
//! up as if its response had been lost, refresh, disconnect.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use domain::{
    clock::Clock,
    delivery::{AttemptError, Published, Resolution},
    media::{AltText, Attachment, MimeType, Parts},
    options::Options,
    post::SegmentKind,
    rules::Rule,
    testing::{a_connection, a_user},
    token::{Pkce, random_token},
};
use fakes::conformance::{
    adapter_harness::{TestFiles, Tunnel, callback_at},
    samples::{Sample, sample},
};
use platforms::{
    Account, AppCredentials, AppSource, AppUnavailable, Approval, AuthorizationRequest, AuthorizeStep, Callback,
    CallbackUrls, ChoicesRequest, Connect, Credentials, Field, FieldValues, Instructions, MemoryVault, PendingApproval,
    PlatformInfo, PlatformSettings, Publish, PublishRequest, RefreshPolicy, Registry, Setup, Step as Prepared,
    recognition::NoOtherClaims,
};
use secrecy::ExposeSecret;
use serde_json::Value;
use url::Url;

use super::scrub::Scrub;
use crate::{
    deployment::missing,
    ensure,
    error::{Result, TestError},
    fail, picture,
};

/// The size at which every adapter that can upload in parts does so.
const LARGE_BYTES: u64 = 18 << 20;

/// Limit of the time for one post, including all waits.
const PUBLISH_TIMEOUT: TimeDelta = TimeDelta::minutes(15);

/// Number of look-ups until a new post must be found, and of polls until the user must have
/// approved.
const LOOK_UPS: usize = 24;

const PAUSE: TimeDelta = TimeDelta::seconds(5);

#[async_trait]
pub(super) trait AccountOwner: Sync {
    async fn field_values(&self, fields: &[Field], callback_urls: &CallbackUrls) -> Result<FieldValues>;

    /// Approves on the platform's page; returns the URL to which it redirects.
    async fn approve(&self, page: &str) -> Result<Url>;

    /// Shows instructions, such as for an app.
    async fn read(&self, instructions: &Instructions) -> Result;

    /// Deletes posts by hand; false where this is not possible.
    async fn delete(&self, posts: &[Published]) -> Result<bool>;
}

/// A server, and how it is reached.
pub(super) struct ServerUnderTest<'a> {
    pub(super) platform: &'static PlatformInfo,
    /// Settings of the deployment, such as a URL.
    pub(super) settings: Value,
    pub(super) app: Option<AppCredentials>,
    /// Loopback addresses that may be called.
    pub(super) addresses: Vec<std::net::SocketAddr>,
    pub(super) clock: Clock,
    pub(super) options: Options,
    pub(super) origin: String,
    pub(super) tunnel: Tunnel,
    /// A video that the platform can process; `None` for a generated one without frames.
    pub(super) video: Option<Vec<u8>>,
    pub(super) person: &'a dyn AccountOwner,
}

pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) outcome: Result<String>,
}

pub(super) struct Journey<'a> {
    server: ServerUnderTest<'a>,
    connecting: Registry<dyn Connect>,
    publishing: Registry<dyn Publish>,
    /// Removes account data.
    scrub: &'a mut Scrub,
    steps: Vec<Step>,
}

struct SentPost<'a> {
    text: &'a str,
    media: &'a [Attachment],
    reference: String,
    progress: Option<String>,
    publish_at: DateTime<Utc>,
    /// The start of its publish call.
    called_at: DateTime<Utc>,
}

impl<'a> Journey<'a> {
    pub(super) fn new(server: ServerUnderTest<'a>, scrub: &'a mut Scrub) -> Result<Self> {
        let settings = PlatformSettings::from([(server.platform.name.to_owned(), server.settings.clone())]);
        let app = server.app.clone();
        let app = move |_: &str| -> Arc<dyn AppSource> {
            app.clone().map_or_else(|| Arc::new(AppUnavailable) as Arc<dyn AppSource>, |it| Arc::new(it))
        };
        let vault = Arc::new(MemoryVault::default());
        let setup = Setup::new(settings, app, vault, egress::AddressPolicy::Also(server.addresses.clone()));
        let (connecting, publishing) = (Registry::new(&setup)?, Registry::new(&setup)?);
        Ok(Self { server, connecting, publishing, scrub, steps: Vec::new() })
    }

    /// Every step, as far as the steps that it depends on succeed.
    pub(super) async fn play(mut self) -> Vec<Step> {
        let account = self.connect().await;
        let Some(mut account) = self.note("connect", account, |it| format!("with {} scopes", it.scopes.len())) else {
            return self.steps;
        };
        let choices = self.choices(&account).await;
        let values =
            self.server.options.iter().filter_map(|(_, it)| serde_json::to_string(it).ok()).collect::<Vec<_>>();
        for value in &values {
            self.scrub.hide_unknown(value);
        }
        self.note("choices", choices, Clone::clone);
        let (picture, video) = (large_picture(), self.large_video(&account));
        let files = TestFiles::new(&[picture.clone(), video.clone()], self.server.tunnel.clone());
        let mut published = Vec::new();
        let posts = [("text", vec![]), ("picture", vec![picture.attachment]), ("large video", vec![video.attachment])];
        for (name, media) in posts {
            let rules = &account.rules.rules;
            if media.is_empty() && rules.contains(&Rule::MediaRequired) {
                continue;
            }
            let text = format!("{name}, written by a test at {}", self.server.clock.now().format("%H:%M:%S"));
            let sent = self.publish(&mut account, &text, &media, &files).await;
            published.extend(self.note(name, sent, |_| "published".to_owned()));
        }
        let about = self.account_details(&account).await;
        self.note("account", about, |it| if *it { "read" } else { "not read" }.to_owned());
        let refreshed = self.refresh(&mut account.credentials).await;
        self.note("refresh", refreshed, |it| if *it { "refreshed" } else { "not refreshed" }.to_owned());
        if !published.is_empty() {
            let deleted = self.server.person.delete(&published).await;
            self.note("delete by hand", deleted, |it| if *it { "done" } else { "no account was returned" }.to_owned());
        }
        let revoked = self.revoke(&account.credentials).await;
        self.note("disconnect", revoked, |()| "disconnected".to_owned());
        self.steps
    }

    fn note<T>(&mut self, name: &'static str, outcome: Result<T>, words: impl FnOnce(&T) -> String) -> Option<T> {
        let (value, outcome) = match outcome {
            Ok(value) => {
                let words = words(&value);
                (Some(value), Ok(words))
            }
            Err(error) => (None, Err(error)),
        };
        self.steps.push(Step { name, outcome });
        value
    }

    fn connecting(&self) -> Result<&dyn Connect> {
        self.connecting.get(self.server.platform.name).ok_or_else(|| missing("the adapter"))
    }

    fn publishing(&self) -> Result<&dyn Publish> {
        self.publishing.get(self.server.platform.name).ok_or_else(|| missing("the adapter"))
    }

    async fn connect(&mut self) -> Result<Account> {
        let callback_urls = CallbackUrls::new(&self.server.origin, self.server.platform.name);
        let field_values = self.server.person.field_values(self.connecting()?.fields(), &callback_urls).await?;
        for answer in field_values.values().map(ExposeSecret::expose_secret) {
            if Url::parse(answer).is_ok_and(|it| it.has_host()) {
                self.scrub.hide_unknown(answer);
            } else {
                self.scrub.hide(answer);
            }
        }
        if let Some(app) = &self.server.app {
            self.scrub.hide(&app.client_id);
            self.scrub.hide(app.client_secret.expose_secret());
        }
        let (pkce, state) = (Pkce::random(), random_token());
        let verifier = pkce.verifier;
        let request = AuthorizationRequest { state, urls: callback_urls.clone(), challenge: pkce.challenge };
        let accounts = match self.connecting()?.authorize(&field_values, &request, self.server.clock.now()).await? {
            AuthorizeStep::Accounts(accounts) => accounts,
            AuthorizeStep::Redirect { url, memory } => {
                let redirected = self.server.person.approve(&url).await?;
                redirected.query_pairs().for_each(|(_, value)| self.scrub.hide_unknown(&value));
                let callback = Callback {
                    query: [].into(),
                    arrived_at: String::new(),
                    verifier,
                    urls: callback_urls,
                    adapter_state: memory,
                };
                self.connecting()?.complete(&callback_at(callback, &redirected), self.server.clock.now()).await?
            }
            AuthorizeStep::WaitForApproval { instructions, memory } => {
                self.server.person.read(&instructions).await?;
                self.wait_for_approval(&PendingApproval { verifier, urls: callback_urls, adapter_state: memory })
                    .await?
            }
        };
        let Some(account) = accounts.into_iter().next() else { fail!("the grant covers no account") };
        let profile = &account.profile;
        let names = [Some(&profile.account_id), profile.username.as_ref(), profile.display_name.as_ref()];
        names.into_iter().flatten().for_each(|it| self.scrub.hide(it));
        self.hide(&account.credentials);
        Ok(account)
    }

    async fn wait_for_approval(&self, awaited: &PendingApproval) -> Result<Vec<Account>> {
        for _ in 0..LOOK_UPS * 5 {
            if let Approval::Approved(accounts) = self.connecting()?.poll(awaited, self.server.clock.now()).await? {
                return Ok(accounts);
            }
            self.wait_until(self.server.clock.now() + PAUSE).await;
        }
        fail!("the user did not approve in time")
    }

    fn hide(&mut self, credentials: &Credentials) {
        let Credentials { access_token, refresh_token, extra, own_token: own, .. } = credentials;
        let tokens = [Some(access_token), refresh_token.as_ref(), own.as_ref()];
        tokens.into_iter().flatten().for_each(|it| self.scrub.hide(it.expose_secret()));
        if let Some(it) = extra {
            self.scrub.hide_unknown(it.expose_secret());
        }
    }

    /// The values of the options that the platform lists; a required one must be given.
    async fn choices(&mut self, account: &Account) -> Result<String> {
        let connection = domain::connection::Connection {
            profile: account.profile.clone(),
            rules: account.rules.clone(),
            ..a_connection(&a_user())
        };
        let mut summaries = Vec::new();
        for option in self.server.platform.options.iter().filter(|it| it.kind.is_listed()) {
            let choosing = ChoicesRequest {
                option: option.name,
                query: None,
                connection: &connection,
                credentials: &account.credentials,
            };
            let choices =
                self.connecting()?.choices(&choosing, self.server.clock.now()).await.map_err(attempt_error)?;
            let is_missing =
                option.required == domain::options::Required::Always && self.server.options.get(option.name).is_none();
            for choice in &choices {
                self.scrub.hide(&choice.label);
                self.scrub.hide_unknown(&choice.value);
            }
            let listed: Vec<_> = choices.iter().map(|it| format!("{} ({})", it.value, it.label)).collect();
            ensure!(!is_missing, "--options needs {:?}, one of {}", option.name, listed.join(", "));
            summaries.push(format!("{} {}s", choices.len(), option.name));
        }
        Ok(if summaries.is_empty() { "none".to_owned() } else { summaries.join(", ") })
    }

    async fn publish(
        &mut self,
        account: &mut Account,
        text: &str,
        media: &[Attachment],
        files: &TestFiles,
    ) -> Result<Published> {
        // Two posts in one second could get the same idempotency key.
        self.wait_until(self.server.clock.now() + TimeDelta::seconds(1)).await;
        let publish_at = self.server.clock.now();
        let reference = format!("{}-7-1", publish_at.timestamp_millis());
        let mut sent = SentPost { text, media, reference, progress: None, publish_at, called_at: publish_at };
        let mut is_ready = false;
        let published = loop {
            self.refresh_if_expiring(&mut account.credentials).await?;
            sent.called_at = self.server.clock.now();
            ensure!(sent.called_at < publish_at + PUBLISH_TIMEOUT, "not published after {PUBLISH_TIMEOUT}");
            let request = self.job(account, &sent, files, false);
            let error = if is_ready {
                match self.publishing()?.publish(&request).await {
                    Ok(published) => break Some(published),
                    Err(AttemptError::Accepted { progress, .. }) => {
                        sent.progress = progress.or(sent.progress);
                        break None;
                    }
                    Err(error) => error,
                }
            } else {
                match self.publishing()?.prepare(&request).await {
                    Ok(Prepared::Ready { progress }) => {
                        (sent.progress, is_ready) = (progress, true);
                        continue;
                    }
                    Ok(Prepared::Again { progress, at }) => {
                        sent.progress = Some(progress);
                        self.wait_until(at).await;
                        continue;
                    }
                    Ok(Prepared::NeedsParent { .. }) => fail!("a post follows nothing"),
                    Err(error) => error,
                }
            };
            match error {
                AttemptError::RetryLater { retry_at, .. } => {
                    self.wait_until(retry_at.unwrap_or(sent.called_at + PAUSE)).await;
                }
                AttemptError::PreparationExpired { .. } => (sent.progress, is_ready) = (None, false),
                other => return Err(attempt_error(other)),
            }
        };
        let found = self.look_up(account, &sent, files).await?;
        match (published, found) {
            (Some(published), Some(found)) => {
                let (published_id, found_id) = (&published.platform_post_id, &found.platform_post_id);
                ensure!(published_id == found_id, "published as {published_id}, and a look-up finds {found_id}");
                Ok(published)
            }
            (Some(only), None) | (None, Some(only)) => Ok(only),
            (None, None) => fail!("it cannot be looked up, and nothing else confirms it"),
        }
    }

    /// The post as a look-up finds it; `None` where the platform has no look-up.
    async fn look_up(&self, account: &Account, sent: &SentPost<'_>, files: &TestFiles) -> Result<Option<Published>> {
        let mut last = None;
        for _ in 0..LOOK_UPS {
            let request = self.job(account, sent, files, true);
            match self.publishing()?.look_up(&request, sent.called_at).await {
                Resolution::Found(published) | Resolution::Candidate(published) => return Ok(Some(published)),
                Resolution::Undeterminable { .. } => return Ok(None),
                other => last = Some(other),
            }
            self.wait_until(self.server.clock.now() + PAUSE).await;
        }
        fail!("it was published, and is not found: {last:?}")
    }

    fn job<'b>(
        &'b self,
        account: &'b Account,
        sent: &'b SentPost<'_>,
        files: &'b TestFiles,
        is_lost: bool,
    ) -> PublishRequest<'b> {
        PublishRequest {
            profile: &account.profile,
            credentials: &account.credentials,
            segment: SegmentKind::Post,
            reply_to: None,
            text: sent.text,
            media: sent.media,
            options: &self.server.options,
            reference: &sent.reference,
            progress: sent.progress.as_deref(),
            may_have_published: is_lost,
            lost_window: None,
            publish_at: sent.publish_at,
            called_at: sent.called_at,
            files,
            claims: &NoOtherClaims,
            now: self.server.clock.now(),
        }
    }

    async fn account_details(&self, account: &Account) -> Result<bool> {
        let now = self.server.clock.now();
        let about = self.publishing()?.account_details(&account.profile, &account.credentials, now).await;
        about.map(|it| it.is_some()).map_err(attempt_error)
    }

    async fn revoke(&self, credentials: &Credentials) -> Result {
        self.connecting()?.revoke(credentials, self.server.clock.now()).await.map_err(attempt_error)
    }

    async fn refresh_if_expiring(&mut self, credentials: &mut Credentials) -> Result {
        let soon = self.server.clock.now() + TimeDelta::seconds(10);
        if credentials.expires_at.is_some_and(|it| it < soon) {
            self.refresh(credentials).await?;
        }
        Ok(())
    }

    /// False where there is nothing to refresh.
    async fn refresh(&mut self, credentials: &mut Credentials) -> Result<bool> {
        // Only a token that is at least a day old can be extended.
        let policy = self.publishing()?.refresh_policy();
        if policy == RefreshPolicy::Extending || !policy.can_refresh(credentials) {
            return Ok(false);
        }
        let new = self.publishing()?.refresh(credentials, self.server.clock.now()).await?;
        // The old refresh token is kept if the response has none.
        let refresh_token = new.refresh_token.or_else(|| credentials.refresh_token.take());
        *credentials = Credentials { refresh_token, ..new };
        self.hide(credentials);
        Ok(true)
    }

    async fn wait_until(&self, at: DateTime<Utc>) {
        if !self.server.clock.skip_to(at) {
            let wait = (at - self.server.clock.now()).to_std().unwrap_or(Duration::ZERO);
            tokio::time::sleep(wait.min(Duration::from_mins(5))).await;
        }
    }

    /// A video that is uploaded in parts: a box without content enlarges it.
    fn large_video(&self, account: &Account) -> Sample {
        let most = account
            .rules
            .rules
            .iter()
            .find_map(|it| if let Rule::MaxVideoBytes { max } = it { Some(*max) } else { None });
        let size = LARGE_BYTES.min(most.unwrap_or(u64::MAX));
        let mut bytes = self.server.video.clone().unwrap_or_else(|| sample(MimeType::Mp4, 1).bytes);
        if let Ok(free) = usize::try_from(size.saturating_sub(bytes.len() as u64))
            && 8 <= free
        {
            let length = u32::try_from(free).unwrap_or(8).to_be_bytes();
            bytes.extend([&length[..], b"free", &vec![0; free - 8]].concat());
        }
        with_metadata(MimeType::Mp4, 2, bytes)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn attempt_error(error: AttemptError) -> TestError {
    TestError::new(format!("{error:?}"))
}

fn large_picture() -> Sample {
    with_metadata(MimeType::Png, 1, picture::png(640, 480, [20, 90, 160]))
}

/// A file with its metadata, as the service stores it.
fn with_metadata(mime_type: MimeType, number: u8, bytes: Vec<u8>) -> Sample {
    let Sample { attachment, .. } = sample(mime_type, number);
    let facts = Parts::new(bytes.len() as u64, bytes.clone()).known_facts(mime_type);
    let alt_text = AltText::parse("A test file").ok();
    Sample {
        attachment: Attachment { size_bytes: bytes.len() as u64, facts: Some(facts), alt_text, ..attachment },
        bytes,
    }
}
