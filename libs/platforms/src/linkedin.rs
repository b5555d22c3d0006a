//! LinkedIn: members, and the pages for which they may post.
//!
//! What it relies on (the documentation of the Posts API; the fact sheet of LinkedIn):
//!
//! - A token lasts 60 days. Most apps get none to renew it with, so that people connect
//!   the account again; apps that LinkedIn has approved get one, which does not change.
//! - Files are uploaded before, and seen by nobody until a post shows them.
//! - There is no key, and no id of ours. What a page has posted can be listed; what a
//!   member has, cannot: of a call whose answer was lost nothing is known then, and the
//!   post is not sent again, unless the operator wants that (`replay`).
//!
//! `linkedin/api.rs` knows URLs and responses, `errors.rs` what errors mean,
//! `little_text.rs` how a text is written, `preparation.rs` and `video.rs` what comes
//! before the public call, `look_up.rs` what became of it.

mod api;
mod article;
mod errors;
mod little_text;
mod look_up;
mod organizations;
mod post;
mod preparation;
mod progress;
mod replay;
mod version;
mod video;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::Profile;
use domain::delivery::{Published, Resolution, Setback};
use domain::media::{MimeType, Ratio};
use domain::options::{OptionKind, OptionSpec};
use domain::rules::{Counting, FileRule, PostRule, Rule, Rules, When};
use serde::Deserialize;
use url::Url;

use self::api::{Api, Member};
use self::progress::Progress;
use self::version::Version;
use crate::account::{About, Account, Credentials};
use crate::app::NoFurther;
use crate::discreet::without_token;
use crate::handoff::{Answers, AuthorizationRequest, Callback, Departure, HandOffRefusal, RefreshRefusal};
use crate::job::Job;
use crate::kit::{Auth, CallError, Effect};
use crate::known::Access;
use crate::lead::Lead;
use crate::oauth2::{Dialect, OAuth2, Of, TokenCall};
use crate::platform::{Connect, FollowUp, Followed, Platform, Publish, Step};
use crate::renewal::Renewal;
use crate::setup::{Setup, SetupError};
use crate::watch;

/// Its name in paths, and of its settings.
pub(crate) const NAME: &str = "linkedin";

/// Its name as people know it.
pub(crate) const TITLE: &str = "LinkedIn";

/// What an operator needs to have it. Pages of companies take a review.
pub(crate) const ACCESS: Access = Access::Open;

/// Who sees a post.
const VISIBILITY: &str = "visibility";

/// The link of which a card is shown, and whether there is one of the text's first.
const LINK: &str = "link";
const LINK_PREVIEW: &str = "link_preview";

/// The one thing that can follow a publication here, by the name of its option.
const FIRST_COMMENT: &str = "first_comment";

/// What a post can say here alone.
pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        VISIBILITY,
        OptionKind::OneOf(&["public", "connections"]),
        "Who sees it: everybody, unless this says that only a member's connections do.",
    ),
    OptionSpec::new(
        LINK,
        OptionKind::Address(&["https://", "http://"]),
        "A link that is shown as a card under the text, in place of the first link of the text.",
    ),
    OptionSpec::new(LINK_PREVIEW, OptionKind::Flag, "Whether the first link of the text is shown as a card."),
    OptionSpec::new(
        FIRST_COMMENT,
        OptionKind::Text { max: 1_250 },
        "Added under the post by the same account, once it is public; best effort.",
    ),
];

/// What an app with "Share on LinkedIn" and "Sign In with LinkedIn using OpenID Connect" may ask for.
const SCOPES: &[&str] = &["openid", "profile", "w_member_social"];

/// What an app with "Community Management API" may ask for. LinkedIn gives that product only to an app without any
/// other, so there is no OpenID Connect, and the member is read by `/v2/me` (`r_basicprofile`).
const SCOPES_WITH_PAGES: &[&str] = &[
    "r_basicprofile",
    "w_member_social",
    "w_organization_social",
    "r_organization_social",
    "rw_organization_admin",
    "w_member_social_feed",
    "w_organization_social_feed",
];

/// LinkedIn sends people back with this error, without having asked them, when the app's products do not include
/// every scope.
const UNAUTHORIZED_SCOPE: &str = "unauthorized_scope_error";

/// How its OAuth differs.
const DIALECT: Dialect = Dialect {
    pkce: false,
    denials: &["user_cancelled_login", "user_cancelled_authorize", "access_denied"],
    gone: &["invalid_grant", "invalid_request"],
    // What ends with a refresh token is not documented.
    revocation: TokenCall { of: Of::Access, ..TokenCall::REVOCATION },
    ..Dialect::STANDARD
};

/// Files go up before the due second, and of pages it is read what they show.
pub(crate) const LEAD: Lead = Lead {
    always: Some(TimeDelta::seconds(60)),
    images: Some(TimeDelta::minutes(3)),
    videos: Some(TimeDelta::minutes(10)),
    ..Lead::NONE
};

/// The longest side of a picture: a square of it has less than 36,152,320 pixels.
const MAX_SIDE: u32 = 6_000;

/// How long a public call that was cut off may still take effect, and appear in lists.
const SETTLES: TimeDelta = TimeDelta::seconds(90);

/// What a deployment says of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Where both the website and the API are, if not at LinkedIn's own addresses.
    url: Option<Url>,
    /// The version of the API.
    #[serde(default)]
    version: Version,
    /// Whether people connect pages as well. LinkedIn has to approve the app for that.
    #[serde(default)]
    pages: bool,
    /// What people are asked for, where the products of the app include other scopes.
    scopes: Option<Vec<String>>,
    /// Whether a post of which nobody may read what became is sent once more.
    #[serde(default)]
    replay: bool,
}

fn official(address: &str) -> Url {
    Url::parse(address).unwrap_or_else(|error| unreachable!("{address}: {error}"))
}

/// The adapter, when it is switched on.
pub(crate) fn set_up(setup: &Setup) -> Result<Option<LinkedIn>, SetupError> {
    let Some(Settings { url, version, pages, scopes, replay }) = setup.settings(NAME)? else { return Ok(None) };
    let site = url.clone().unwrap_or_else(|| official("https://www.linkedin.com"));
    let base_url = url.unwrap_or_else(|| official("https://api.linkedin.com"));
    let api = Api::new(setup.http.clone(), site, base_url, &version);
    let oauth = OAuth2::new(setup.http.clone(), setup.app::<NoFurther>(NAME), &DIALECT, api.oauth());
    let usual = if pages { SCOPES_WITH_PAGES } else { SCOPES };
    let scopes = scopes.unwrap_or_else(|| usual.iter().map(|it| (*it).to_owned()).collect());
    Ok(Some(LinkedIn { api, version, oauth, pages, scopes, replay }))
}

/// LinkedIn.
pub(crate) struct LinkedIn {
    api: Api,
    version: Version,
    oauth: OAuth2,
    pages: bool,
    scopes: Vec<String>,
    replay: bool,
}

#[async_trait::async_trait]
impl Platform for LinkedIn {
    fn name(&self) -> &'static str {
        NAME
    }

    /// Where LinkedIn has approved the app; otherwise there is no refresh token.
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
        self.version.check(now);
        let auth = Auth::token(&credentials.access_token, now);
        let told = if is_page(profile) {
            organizations::one(&self.api, auth, &profile.account_id).await?
        } else {
            profile_of(self.api.member(auth, self.has_openid()).await?)
        };
        Ok(told.map(|profile| About { rules: self.rules_of(&profile), profile }))
    }
}

#[async_trait::async_trait]
impl Connect for LinkedIn {
    fn rules(&self) -> Rules {
        use MimeType::{Gif, Jpeg, Mp4, Png, Webp};
        Rules::of(
            TITLE,
            [
                Rule::max_text(3_000, Counting::utf16()),
                Rule::max_images(20),
                Rule::max_videos(1),
                Rule::NotMixed,
                Rule::OfPost(PostRule::NotWithMedia { options: vec![LINK.to_owned()] }),
                Rule::mime_types([Jpeg, Png, Gif, Webp, Mp4]),
                Rule::max_video_bytes(500_000_000),
                Rule::OfFiles(FileRule::MinDuration { min: 3 }),
                Rule::OfFiles(FileRule::MaxDuration { max: 1_800 }),
                Rule::OfFiles(FileRule::VideoRatio { min: Ratio::hundredths(41), max: Ratio::hundredths(240) }),
                Rule::OfFiles(FileRule::FittedImageSide { max: MAX_SIDE }),
                Rule::max_alt_text(4_086, Counting::utf16()),
            ],
        )
    }

    async fn authorize(
        &self,
        _: &Answers,
        request: &AuthorizationRequest,
        now: DateTime<Utc>,
    ) -> Result<Departure, HandOffRefusal> {
        self.version.check(now);
        let url = self.oauth.authorization_url(request, &self.scopes(), &[]).await?;
        Ok(Departure::Page { url, memory: None })
    }

    /// The member, and behind the pages, because whoever has pages posts for them.
    async fn complete(&self, callback: &Callback, now: DateTime<Utc>) -> Result<Vec<Account>, HandOffRefusal> {
        self.check_scopes(callback)?;
        let tokens = self.oauth.complete(callback).await?;
        let auth = Auth::token(&tokens.access_token, now);
        let asked = async {
            let member = profile_of(self.api.member(auth, self.has_openid()).await?);
            let member = member.ok_or_else(|| self.api.unreadable(Effect::Read))?;
            let pages = if self.pages { organizations::all(&self.api, auth).await? } else { Vec::new() };
            Ok::<_, CallError>((member, pages))
        };
        let (member, pages) = asked.await.map_err(|it| without_token(it, &tokens.access_token))?;
        let (scopes, credentials) = (tokens.granted(&self.scopes()), tokens.credentials(None, now));
        // One token serves all of them.
        let grant = member.account_id.clone();
        let account = |profile: Profile| Account {
            rules: self.rules_of(&profile),
            profile,
            scopes: scopes.clone(),
            grant: Some(grant.clone()),
            credentials: credentials.clone(),
        };
        Ok(pages.into_iter().chain([member]).map(account).collect())
    }

    async fn revoke(&self, credentials: &Credentials, now: DateTime<Utc>) -> Result<(), Setback> {
        self.oauth.revoke(credentials, now).await
    }
}

impl LinkedIn {
    /// What it accepts from an account: a page has no connections.
    fn rules_of(&self, profile: &Profile) -> Rules {
        let refused = Rule::OfPost(PostRule::RefusedOptions { options: vec![VISIBILITY.to_owned()] });
        let rules = self.rules();
        if is_page(profile) { rules.and_where(When::option(VISIBILITY, ["connections"]), [refused]) } else { rules }
    }

    /// People can do nothing about an app that asks for more than its products include.
    fn check_scopes(&self, callback: &Callback) -> Result<(), HandOffRefusal> {
        if callback.query.get("error").is_none_or(|it| it != UNAUTHORIZED_SCOPE) {
            return Ok(());
        }
        let scopes = self.scopes.join(" ");
        tracing::error!(scopes, "the products of the app at LinkedIn do not include all of these scopes");
        let reason = "LinkedIn refuses what this service asks for. Its operator has to compare the setting `scopes` of \
                      linkedin with the scopes that LinkedIn lists for the app under Auth.";
        Err(HandOffRefusal::NotFromHere(reason.to_owned()))
    }

    /// Whether the app has the product OpenID Connect.
    fn has_openid(&self) -> bool {
        self.scopes.iter().any(|it| it == "openid")
    }

    fn scopes(&self) -> Vec<&str> {
        self.scopes.iter().map(String::as_str).collect()
    }
}

/// What the name of a member begins with.
const MEMBER: &str = "urn:li:person:";

/// A member, as people know them: by their name, where no handle is told.
fn profile_of(Member { sub, name, picture, vanity_name }: Member) -> Option<Profile> {
    let is_id = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_');
    let name = name.filter(|it| !it.trim().is_empty());
    let vanity_name = vanity_name.filter(|it| !it.is_empty() && it.bytes().all(|it| is_id(it) || it == b'%'));
    ((1..=100).contains(&sub.len()) && sub.bytes().all(is_id)).then(|| Profile {
        account_id: format!("{MEMBER}{sub}"),
        profile_url: vanity_name.as_ref().map(|it| format!("https://www.linkedin.com/in/{it}")),
        username: vanity_name.or_else(|| name.clone()).or(Some(sub)),
        display_name: name,
        avatar: picture,
    })
}

/// Whether an account is a page.
fn is_page(profile: &Profile) -> bool {
    profile.account_id.starts_with(organizations::PREFIX)
}

/// Where people see a post.
fn link(name: &str) -> String {
    format!("https://www.linkedin.com/feed/update/{name}/")
}

#[async_trait::async_trait]
impl Publish for LinkedIn {
    async fn prepare(&self, job: &Job<'_>) -> Result<Step, Setback> {
        watch::step(TITLE, job, preparation::step(&self.api, job)).await
    }

    async fn publish(&self, job: &Job<'_>) -> Result<Published, Setback> {
        let post = post::of(job, &Progress::of(job))?;
        match self.api.create_post(Auth::post(job), &job.profile.account_id, &post).await {
            Ok(urn) => Ok(look_up::published(urn, job.now)),
            Err(error) => look_up::made_before(job, error).await.map_err(|error| errors::timed(error, job).into()),
        }
    }

    async fn resolve(&self, job: &Job<'_>, _since: DateTime<Utc>) -> Resolution {
        let resolved = async {
            match look_up::resolve(&self.api, job).await {
                Resolution::Unknowable { advice } if self.replay => replay::once(&self.api, job, advice).await,
                other => other,
            }
        };
        watch::look(TITLE, job, resolved).await
    }

    fn follow_ups(&self, job: &Job<'_>) -> Vec<&'static str> {
        job.options.text(FIRST_COMMENT).map(|_| FIRST_COMMENT).into_iter().collect()
    }

    async fn follow_up(&self, job: &Job<'_>, it: &FollowUp<'_>) -> Result<Followed, Setback> {
        if let (FIRST_COMMENT, Some(text)) = (it.name, job.options.text(FIRST_COMMENT)) {
            let (actor, post) = (&job.profile.account_id, &it.published.platform_post_id);
            self.api.comment(Auth::account(job.credentials, job.now), (actor, post), text).await?;
        }
        Ok(Followed::Done)
    }

    fn settles(&self) -> TimeDelta {
        SETTLES
    }
}
