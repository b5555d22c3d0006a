//! LinkedIn: members, and the pages for which they may post.
//!
//! What it relies on (the documentation of the Posts API; the fact sheet of LinkedIn):
//!
//! - An access token lasts 60 days. Most apps get no refresh token, so that people connect the account again; apps that
//!   LinkedIn has approved get one, which does not change.
//! - Files are uploaded before the post, and are not visible until a post shows them.
//! - There is no idempotency key, and posts carry no reference of ours. What a page has posted can be listed; what a
//!   member has posted, cannot: when the response to a publish call is lost, the post is not sent again, unless the
//!   operator wants that (`replay`).

mod api;
mod article;
mod comments;
mod document;
mod errors;
mod little_text;
mod look_up;
mod organizations;
mod post;
mod replay;
mod version;
mod video;

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{Published, Resolution};
use domain::media::{Attachment, FileType, MimeType, PictureBounds, Ratio};
use domain::options::{OptionKind, OptionSpec};
use domain::post::{FIRST_COMMENT, SegmentKind};
use domain::rules::{Counting, FileRule, OptionCondition, PostRule, Rule, Rules};
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use self::api::{Api, Member};
use self::errors::timed;
use self::version::Version;
use crate::account::AccountDetails;
use crate::app::NoExtraSecrets;
use crate::kit::{
    Auth, CallError, Effect, File, Grant, ListedPost, LookUpMethod, MediaSource, OAuthAdapter, Part, PostPage,
    Prepared, PublishAdapter, UploadState, UploadStep,
};
use crate::lead_times::LeadTimes;
use crate::oauth2::{Dialect, OAuth2, TokenCall, TokenKind};
use crate::platform_info::Access;
use crate::publish_request::PublishRequest;
use crate::recognition::PostMatch;
use crate::refresh_policy::RefreshPolicy;
use crate::setup::{Setup, SetupError, official};

pub(crate) const NAME: &str = "linkedin";

pub(crate) const TITLE: &str = "LinkedIn";

/// Pages of companies need a review.
pub(crate) const ACCESS: Access = Access::Open;

pub(crate) const PERMISSIONS: &str = "publish posts and comments as you and as the pages that you choose";

const VISIBILITY: &str = "visibility";

/// The link that is shown as a card; `link_preview` decides about the first link of the text.
const LINK: &str = "link";
const LINK_PREVIEW: &str = "link_preview";

/// The title of a document, which LinkedIn requires.
const DOCUMENT_TITLE: &str = "document_title";

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        VISIBILITY,
        OptionKind::OneOf(&["public", "connections"]),
        "Who can see the post: everyone (the default), or only the member's connections.",
    ),
    OptionSpec::new(
        LINK,
        OptionKind::Address(&["https://", "http://"]),
        "A link to show as a card below the text, instead of the first link in the text. Not allowed with media files.",
    ),
    OptionSpec::new(
        LINK_PREVIEW,
        OptionKind::Flag,
        "Whether the first link of a text without files is shown as a card. Defaults to true.",
    ),
    OptionSpec::new(
        DOCUMENT_TITLE,
        OptionKind::Text { max: document::MAX_TITLE },
        "The title of a document. Defaults to the first line of the text, shortened.",
    ),
    OptionSpec::new(
        FIRST_COMMENT,
        OptionKind::Text { max: 1_250 },
        "A comment that the account adds below the post. If it fails, the post stays published.",
    ),
];

/// The scopes of an app with "Share on LinkedIn" and "Sign In with LinkedIn using OpenID Connect".
const SCOPES: &[&str] = &["openid", "profile", "w_member_social"];

/// The scopes of an app with "Community Management API". LinkedIn gives that product only to an app without any other,
/// so there is no OpenID Connect, and the member is read by `/v2/me` (`r_basicprofile`).
const SCOPES_WITH_PAGES: &[&str] = &[
    "r_basicprofile",
    "w_member_social",
    "w_organization_social",
    "r_organization_social",
    "rw_organization_admin",
    "w_member_social_feed",
    "w_organization_social_feed",
    "r_organization_social_feed",
];

const DIALECT: Dialect = Dialect {
    pkce: false,
    denials: &["user_cancelled_login", "user_cancelled_authorize", "access_denied"],
    scope_errors: &["unauthorized_scope_error"],
    gone: &["invalid_grant", "invalid_request"],
    // It is not documented what ends with a refresh token.
    revocation: TokenCall { token: TokenKind::Access, ..TokenCall::REVOCATION },
    ..Dialect::STANDARD
};

/// Files are uploaded before the due second, and for pages the listing is read.
pub(crate) const LEAD: LeadTimes = LeadTimes {
    always: Some(TimeDelta::seconds(60)),
    images: Some(TimeDelta::minutes(3)),
    videos: Some(TimeDelta::minutes(10)),
    documents: Some(TimeDelta::minutes(5)),
    ..LeadTimes::NONE
};

/// The longest side of a picture, in pixels: a square of it has less than 36,152,320 pixels.
const MAX_SIDE: u32 = 6_000;

const BOUNDS: PictureBounds = PictureBounds::new(10_000_000, MAX_SIDE);

const UPLOAD: Duration = Duration::from_secs(30);

/// How long LinkedIn processes a file, rounded up.
const PROCESSING: TimeDelta = TimeDelta::seconds(3);

/// The name of a link's card in the preparation and in a post.
const ARTICLE: &str = "article";

const SETTLE_TIME: TimeDelta = TimeDelta::seconds(90);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// The website and the API, if not LinkedIn's own.
    url: Option<Url>,
    #[serde(default)]
    version: Version,
    /// Whether users can connect pages, too. LinkedIn has to approve the app for that.
    #[serde(default)]
    pages: bool,
    scopes: Option<Vec<String>>,
    /// Whether a post with an unknown outcome that cannot be looked up is sent once more.
    #[serde(default)]
    replay: bool,
}

pub(crate) fn set_up(setup: &Setup) -> Result<Option<LinkedIn>, SetupError> {
    let Some(Settings { url, version, pages, scopes, replay }) = setup.settings(NAME)? else { return Ok(None) };
    let site = url.clone().unwrap_or_else(|| official("https://www.linkedin.com"));
    let base_url = url.unwrap_or_else(|| official("https://api.linkedin.com"));
    let api = Api::new(setup.http.clone(), site, base_url, &version);
    let oauth = OAuth2::new(setup.http.clone(), setup.app::<NoExtraSecrets>(NAME), &DIALECT, api.oauth());
    let usual = if pages { SCOPES_WITH_PAGES } else { SCOPES };
    let scopes = scopes.unwrap_or_else(|| usual.iter().map(|it| (*it).to_owned()).collect());
    Ok(Some(LinkedIn { api, version, oauth, pages, scopes, replay }))
}

pub(crate) struct LinkedIn {
    api: Api,
    version: Version,
    oauth: OAuth2,
    pages: bool,
    scopes: Vec<String>,
    replay: bool,
}

impl OAuthAdapter for LinkedIn {
    const NAME: &'static str = NAME;
    /// Used if LinkedIn has approved the app; otherwise there is no refresh token.
    const REFRESH_POLICY: RefreshPolicy = RefreshPolicy::Rotating;

    fn oauth(&self) -> &OAuth2 {
        &self.oauth
    }

    fn scopes(&self) -> Vec<&str> {
        self.scopes.iter().map(String::as_str).collect()
    }

    fn rules(&self) -> Rules {
        use MimeType::{Gif, Jpeg, Mp4, Pdf, Png, Webp};
        Rules::new(
            TITLE,
            [
                Rule::max_text(3_000, Counting::utf16()),
                Rule::max_images(20),
                Rule::max_videos(1),
                Rule::NotMixed,
                Rule::DocumentAlone,
                Rule::OfPost(PostRule::NotWithMedia { options: vec![LINK.to_owned()] }),
                Rule::OfPost(PostRule::DocumentOptions { options: vec![DOCUMENT_TITLE.to_owned()] }),
                Rule::mime_types([Jpeg, Png, Gif, Webp, Mp4, Pdf]),
                Rule::max_video_bytes(500_000_000),
                Rule::max_document_bytes(100_000_000),
                Rule::OfFiles(FileRule::MaxPages { max: 300 }),
                Rule::OfFiles(FileRule::ReadableDocuments),
                Rule::OfFiles(FileRule::MinDuration { min: 3 }),
                Rule::OfFiles(FileRule::MaxDuration { max: 1_800 }),
                Rule::OfFiles(FileRule::VideoRatio { min: Ratio::hundredths(41), max: Ratio::hundredths(240) }),
                Rule::OfFiles(FileRule::FittedImageSide { max: MAX_SIDE }),
                Rule::max_alt_text(4_086, Counting::utf16()),
            ],
        )
    }

    /// Pages come first, because users who have pages post for them. One token serves all accounts.
    async fn accounts(&self, auth: Auth<'_>) -> Result<Grant, CallError> {
        self.version.check(auth.now);
        let member = member_info(self.api.member(auth, self.has_openid()).await?);
        let member = member.ok_or_else(|| self.api.unreadable(Effect::Read))?;
        let pages = if self.pages { organizations::all(&self.api, auth).await? } else { Vec::new() };
        let name = Some(member.account_id.clone());
        Ok(Grant { name, accounts: pages.into_iter().chain([member]).map(|it| self.account_details(it)).collect() })
    }

    async fn account(&self, auth: Auth<'_>, profile: &AccountInfo) -> Result<Option<AccountDetails>, CallError> {
        self.version.check(auth.now);
        let profile = if is_page(profile) {
            organizations::one(&self.api, auth, &profile.account_id).await?
        } else {
            member_info(self.api.member(auth, self.has_openid()).await?)
        };
        Ok(profile.map(|it| self.account_details(it)))
    }
}

impl LinkedIn {
    /// Includes what LinkedIn accepts from this account: a page has no connections.
    fn account_details(&self, profile: AccountInfo) -> AccountDetails {
        let refused = Rule::OfPost(PostRule::RefusedOptions { options: vec![VISIBILITY.to_owned()] });
        let rules = OAuthAdapter::rules(self);
        let of_page = OptionCondition::option(VISIBILITY, ["connections"]);
        AccountDetails {
            rules: if is_page(&profile) { rules.with_rules_when(of_page, [refused]) } else { rules },
            profile,
        }
    }

    fn has_openid(&self) -> bool {
        self.scopes.iter().any(|it| it == "openid")
    }
}

const MEMBER: &str = "urn:li:person:";

/// A member has no handle in the API, so the username is the name.
fn member_info(Member { sub, name, picture, vanity_name }: Member) -> Option<AccountInfo> {
    let is_id = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'_');
    let name = name.filter(|it| !it.trim().is_empty());
    let vanity_name = vanity_name.filter(|it| !it.is_empty() && it.bytes().all(|it| is_id(it) || it == b'%'));
    ((1..=100).contains(&sub.len()) && sub.bytes().all(is_id)).then(|| AccountInfo {
        account_id: format!("{MEMBER}{sub}"),
        profile_url: vanity_name.as_ref().map(|it| format!("https://www.linkedin.com/in/{it}")),
        username: vanity_name.or_else(|| name.clone()).or(Some(sub)),
        display_name: name,
        avatar: picture,
    })
}

const PAGE_PREFIX: &str = "urn:li:organization:";

fn is_page(profile: &AccountInfo) -> bool {
    profile.account_id.starts_with(PAGE_PREFIX)
}

fn link(name: &str) -> String {
    format!("https://www.linkedin.com/feed/update/{name}/")
}

impl PublishAdapter for LinkedIn {
    const TITLE: &'static str = TITLE;
    const SETTLE_TIME: TimeDelta = SETTLE_TIME;
    /// Users assign roles and scopes, so a list that is forbidden stays forbidden until they do.
    const FORBIDDEN_LIST_IS_FINAL: bool = true;

    type Uploaded = String;

    fn media_source(&self, _: &PublishRequest<'_>, file: &Attachment) -> MediaSource {
        match file.mime_type {
            MimeType::Webp => MediaSource::Fitted(BOUNDS),
            MimeType::Jpeg | MimeType::Png => MediaSource::FittedIfLarger(BOUNDS),
            // A resized GIF would lose its animation.
            _ => MediaSource::Original,
        }
    }

    async fn upload(&self, request: &PublishRequest<'_>, file: &File<'_>) -> Result<UploadStep<String>, CallError> {
        let uploaded = match file.attachment.mime_type.file_type() {
            FileType::Video => video::begin(&self.api, request, file).await,
            FileType::Document => document::upload(&self.api, request, file).await,
            FileType::Image => {
                let (auth, owner) = (Auth::post(request), &request.profile.account_id);
                let contents = (file.size_bytes(), file.open(request).await?);
                self.api.upload_whole(auth, owner, "images", contents, UPLOAD).await.map(UploadStep::Uploaded)
            }
        };
        uploaded.map_err(|it| timed(it, request))
    }

    async fn send_part(
        &self,
        request: &PublishRequest<'_>,
        _: &File<'_>,
        state: &UploadState,
        part: Part,
    ) -> Result<String, CallError> {
        video::send(&self.api, request, state, part).await
    }

    async fn finish_upload(
        &self,
        request: &PublishRequest<'_>,
        _: &File<'_>,
        state: &UploadState,
    ) -> Result<UploadStep<String>, CallError> {
        video::finish(&self.api, request, state).await.map_err(|it| timed(it, request))
    }

    async fn upload_status(
        &self,
        request: &PublishRequest<'_>,
        file: &File<'_>,
        state: &UploadState,
    ) -> Result<UploadStep<String>, CallError> {
        let status = match file.attachment.mime_type.file_type() {
            FileType::Document => document::status(&self.api, request, state).await,
            FileType::Image | FileType::Video => video::status(&self.api, request, state).await,
        };
        status.map_err(|it| timed(it, request))
    }

    async fn prepare_post(
        &self,
        request: &PublishRequest<'_>,
        _: &Prepared<'_, String>,
    ) -> Result<(Value, TimeDelta), CallError> {
        if request.segment == SegmentKind::Comment {
            return Ok((Value::Null, TimeDelta::zero()));
        }
        if !request.media.is_empty() {
            return Ok((json!({}), PROCESSING));
        }
        let Some(article) = article::find(&self.api, request).await else { return Ok((json!({}), TimeDelta::zero())) };
        let processing = if article.thumbnail.is_some() { PROCESSING } else { TimeDelta::zero() };
        Ok((json!({ ARTICLE: article }), processing))
    }

    async fn create_post(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, String>,
    ) -> Result<Published, CallError> {
        if let Some(post) = request.commented_post() {
            let on = (request.profile.account_id.as_str(), post.platform_post_id.as_str());
            let id = self.api.comment(Auth::post(request), on, request.text).await?;
            return Ok(Published::new(id, request.now));
        }
        let post = post::body(request, prepared)?;
        match self.api.create_post(Auth::post(request), &request.profile.account_id, &post).await {
            Ok(urn) => Ok(look_up::published(urn, request.now)),
            Err(error) => look_up::resolve_duplicate(request, error).await.map_err(|it| timed(it, request)),
        }
    }

    fn look_up_method(&self, request: &PublishRequest<'_>) -> LookUpMethod {
        if !is_page(request.profile) && request.segment == SegmentKind::Comment {
            LookUpMethod::None { advice: comments::OF_A_MEMBER.to_owned() }
        } else if is_page(request.profile) {
            LookUpMethod::List { snapshot: true }
        } else {
            LookUpMethod::None { advice: look_up::OF_A_MEMBER.to_owned() }
        }
    }

    async fn list_posts(
        &self,
        request: &PublishRequest<'_>,
        _: Option<DateTime<Utc>>,
        page: Option<&str>,
    ) -> Result<PostPage, CallError> {
        if let Some(post) = request.commented_post() {
            return comments::page(&self.api, request, post, page).await;
        }
        look_up::page(&self.api, request, page).await.map_err(|it| timed(it, request))
    }

    fn compare(&self, request: &PublishRequest<'_>, prepared: &Prepared<'_, String>, listed: &ListedPost) -> PostMatch {
        if request.segment == SegmentKind::Comment {
            return comments::compare(request, listed);
        }
        look_up::compare(request, prepared, listed)
    }

    async fn without_look_up(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, String>,
        _: DateTime<Utc>,
        advice: String,
    ) -> Resolution {
        if self.replay && request.may_repeat() && request.segment == SegmentKind::Post {
            replay::once(&self.api, request, prepared, advice).await
        } else {
            Resolution::Undeterminable { advice }
        }
    }
}
