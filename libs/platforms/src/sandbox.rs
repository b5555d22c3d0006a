//! The sandbox network of the local stack, and the example for a new platform.
//!
//! What it relies on, all of it described where the network itself is written
//! (`infra/local`):
//!
//! - Authorization code with PKCE; access tokens last an hour, each refresh
//!   token works once.
//! - A grant may cover several accounts, and each call names the one that it is for.
//! - Files are uploaded one by one before the post that shows them. Pictures
//!   are made smaller first where they are longer than its pages are wide.
//! - It never recognises a repeat. Posts carry our reference and can be looked up
//!   by it, which tells what became of a call whose answer was lost.
//! - It never recognises a repeated comment either, and comments cannot be looked up.
//!
//! `sandbox/api.rs` knows addresses and answers, and this file what they mean. They
//! are apart so that one can be read beside the platform's documentation, the other
//! beside the traits.

mod api;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::Profile;
use domain::delivery::{Published, Resolution, Setback};
use domain::media::{MimeType, PictureBounds};
use domain::options::{OptionKind, OptionSpec};
use domain::rules::{Counting, FileRule, Rule, Rules};
use futures::{StreamExt, stream};
use serde::{Deserialize, Serialize};

use crate::account::{About, Account, Credentials};
use crate::app::{AppSource, NoFurther};
use crate::choices::{Choice, Choosing};
use crate::discreet::without_token;
use crate::handoff::{Answers, AuthorizationRequest, Callback, Departure, HandOffRefusal, RefreshRefusal};
use crate::http_clients::HttpClients;
use crate::job::Job;
use crate::known::Access;
use crate::lead::Lead;
use crate::oauth2::{Dialect, OAuth2};
use crate::picture::{self, Awaited, Look};
use crate::platform::{Connect, FollowUp, Followed, Platform, Publish, Step};
use crate::renewal::Renewal;
use crate::setup::{Setup, SetupError};
use api::{Api, By, PublicAccount};

/// Its name in paths, and of its settings.
pub(crate) const NAME: &str = "sandbox";

/// Its name as people know it.
pub(crate) const TITLE: &str = "Sandbox";

/// What an operator needs to have it.
pub(crate) const ACCESS: Access = Access::Open;

/// What a post can say here alone.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("visibility", OptionKind::OneOf(&["public", "unlisted"]), "Kept, and shown in posts.json."),
    OptionSpec::new("content_warning", OptionKind::Text { max: 100 }, "Kept, and shown in posts.json."),
    OptionSpec::new("sensitive", OptionKind::Flag, "Kept, and shown in posts.json."),
    OptionSpec::new("language", OptionKind::Language, "Kept, and shown in posts.json."),
    OptionSpec::new(
        FIRST_COMMENT,
        OptionKind::Text { max: 200 },
        "Added under the post by the same account, once it is public; best effort.",
    ),
    OptionSpec::new(
        "board",
        OptionKind::Choice { max: 100 },
        "Which of the account's boards it stands on. On none, unless given.",
    ),
];

/// What we ask to be allowed.
const SCOPES: &[&str] = &["profile", "publish"];

/// The one thing that can follow a publication here, by the name of its option.
const FIRST_COMMENT: &str = "first_comment";

/// Uploads begin a minute before the due second.
pub(crate) const LEAD: Lead =
    Lead { images: Some(TimeDelta::seconds(60)), videos: Some(TimeDelta::seconds(60)), ..Lead::NONE };

/// How long a public call that was cut off may still take effect. The network
/// can be told to be slow by up to a minute.
const SETTLES: TimeDelta = TimeDelta::seconds(80);

/// What is made of a longer picture: what the network's pages show at most.
const BOUNDS: PictureBounds = PictureBounds::new(4_000_000, 4_096);

/// What a deployment says of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Where it is, such as `https://social.example/sandbox`.
    url: String,
}

/// The adapter, when it is switched on.
pub(crate) fn set_up(setup: &Setup) -> Result<Option<Sandbox>, SetupError> {
    let Some(Settings { url }) = setup.settings(NAME)? else { return Ok(None) };
    Ok(Some(Sandbox::at(&url, setup.http.clone(), setup.app::<NoFurther>(NAME))))
}

/// The sandbox network.
pub(crate) struct Sandbox {
    api: Api,
    oauth: OAuth2,
}

impl Sandbox {
    fn at(url: &str, http: HttpClients, app: Arc<dyn AppSource>) -> Self {
        let api = Api::new(http.clone(), url);
        let oauth = OAuth2::new(http, app, &Dialect::STANDARD, api.oauth());
        Self { api, oauth }
    }
}

/// What it takes, from everybody.
fn rules() -> Rules {
    use MimeType::{Gif, Jpeg, Mp4, Png, Webp};
    Rules::of(
        TITLE,
        [
            Rule::max_text(500, Counting::code_points()),
            Rule::max_images(4),
            Rule::max_videos(1),
            Rule::NotMixed,
            Rule::mime_types([Jpeg, Png, Gif, Webp, Mp4]),
            Rule::max_image_bytes(20 << 20),
            Rule::max_video_bytes(60 << 20),
            Rule::OfFiles(FileRule::FittedImageSide { max: BOUNDS.max_side }),
            Rule::max_alt_text(1000, Counting::code_points()),
        ],
    )
}

/// What preparation has reached: the ids of the files uploaded so far, in the
/// order of the post. Stored between the steps, so that a step which is taken
/// again after a crash uploads one file twice, not all of them.
#[derive(Default, Serialize, Deserialize)]
struct Progress {
    media: Vec<String>,
    /// The picture that is being made smaller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    picture: Option<Awaited>,
}

#[async_trait::async_trait]
impl Platform for Sandbox {
    fn name(&self) -> &'static str {
        NAME
    }

    fn renewal(&self) -> Renewal {
        Renewal::Rotating
    }

    async fn refresh(&self, old: &Credentials, now: DateTime<Utc>) -> Result<Credentials, RefreshRefusal> {
        self.oauth.refresh(old, now).await
    }

    async fn about(
        &self,
        profile: &Profile,
        credentials: &Credentials,
        now: DateTime<Utc>,
    ) -> Result<Option<About>, Setback> {
        let me = self.api.account(By::account(credentials, profile), now).await?;
        Ok(Some(About { profile: me.profile(), rules: rules() }))
    }
}

#[async_trait::async_trait]
impl Connect for Sandbox {
    fn rules(&self) -> Rules {
        rules()
    }

    async fn authorize(
        &self,
        _answers: &Answers,
        request: &AuthorizationRequest,
        _now: DateTime<Utc>,
    ) -> Result<Departure, HandOffRefusal> {
        let url = self.oauth.authorization_url(request, SCOPES, &[]).await?;
        // The PKCE verifier is kept by the caller, so there is nothing to remember.
        Ok(Departure::Page { url, memory: None })
    }

    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, HandOffRefusal> {
        let tokens = self.oauth.complete(callback).await?;
        let me = self.api.me(&tokens.access_token).await.map_err(|it| without_token(it, &tokens.access_token))?;
        let (scopes, credentials) = (tokens.granted(SCOPES), tokens.credentials(None, now));
        let account = |it: PublicAccount| Account {
            profile: it.profile(),
            scopes: scopes.clone(),
            rules: rules(),
            grant: me.grant.clone(),
            credentials: credentials.clone(),
        };
        Ok([me.account].into_iter().chain(me.also).map(account).collect())
    }

    /// Boards are the only option of the kind.
    async fn choices(&self, asked: &Choosing<'_>, now: DateTime<Utc>) -> Result<Vec<Choice>, Setback> {
        self.api.boards(By::account(asked.credentials, &asked.connection.profile), now).await
    }

    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), Setback> {
        self.oauth.revoke(credentials, now).await
    }
}

#[async_trait::async_trait]
impl Publish for Sandbox {
    /// One file per step. An uploaded file is not public until a post shows it.
    async fn prepare(&self, job: &Job<'_>) -> Result<Step, Setback> {
        let mut progress = Progress::of(job);
        let Some(next) = job.media.get(progress.media.len()) else {
            return Ok(Step::Ready { progress: progress.store() });
        };
        let by = By::of(job);
        let id = if progress.picture.is_some() || picture::is_longer(job, next, BOUNDS.max_side).await? {
            match picture::fitted(job, next, BOUNDS, progress.picture).await? {
                Look::Again(awaited, at) => {
                    progress.picture = Some(awaited);
                    return Ok(Step::Again { progress: progress.store().unwrap_or_default(), at });
                }
                Look::Ready((picture, _)) => {
                    let size_bytes = picture.bytes.len() as u64;
                    let bytes = stream::iter([Ok(picture.bytes)]).boxed();
                    self.api.upload(by, (picture.mime_type, size_bytes), bytes, job.now).await?
                }
            }
        } else {
            let opened = job.files.open(next).await;
            let bytes = opened.map_err(|error| Setback::Busy { retry_at: None, reason: error.to_string() })?;
            self.api.upload(by, (next.mime_type, next.size_bytes), bytes, job.now).await?
        };
        progress.picture = None;
        progress.media.push(id);
        let all_there = progress.media.len() == job.media.len();
        match progress.store() {
            Some(progress) if !all_there => Ok(Step::Again { progress, at: job.now }),
            progress => Ok(Step::Ready { progress }),
        }
    }

    async fn publish(&self, job: &Job<'_>) -> Result<Published, Setback> {
        let words = job.media.iter().map(|it| it.alt_text.as_ref());
        let media: Vec<_> = Progress::of(job).media.into_iter().zip(words).collect();
        let said = job.options.iter().filter(|(name, _)| *name != FIRST_COMMENT);
        let options = said.map(|(name, value)| (name.to_owned(), value.clone())).collect();
        let made = self.api.post(By::of(job), job.text, &media, (&options, job.reference), job.now).await?;
        Ok(Published::new(made.id, job.now).seen_at(made.url))
    }

    async fn resolve(&self, job: &Job<'_>, _since: DateTime<Utc>) -> Resolution {
        match self.api.posts_with(By::of(job), job.reference).await {
            Ok(found) => found.into_iter().next().map_or(Resolution::NotThere, |it| {
                Resolution::Public(Published::new(it.id, it.posted_at).seen_at(it.url))
            }),
            Err(why) => why,
        }
    }

    fn follow_ups(&self, job: &Job<'_>) -> Vec<&'static str> {
        job.options.text(FIRST_COMMENT).map(|_| FIRST_COMMENT).into_iter().collect()
    }

    async fn follow_up(&self, job: &Job<'_>, it: &FollowUp<'_>) -> Result<Followed, Setback> {
        if let (FIRST_COMMENT, Some(text)) = (it.name, job.options.text(FIRST_COMMENT)) {
            let post = &it.published.platform_post_id;
            self.api.comment(By::of(job), post, (text, job.reference), job.now).await?;
        }
        Ok(Followed::Done)
    }

    fn recognises(&self) -> bool {
        false
    }

    fn settles(&self) -> TimeDelta {
        SETTLES
    }
}

impl Progress {
    fn of(job: &Job<'_>) -> Self {
        job.reached()
    }

    /// Nothing when there is nothing to remember.
    fn store(&self) -> Option<String> {
        if self.media.is_empty() && self.picture.is_none() { None } else { serde_json::to_string(self).ok() }
    }
}
