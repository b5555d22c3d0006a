//! The sandbox network of the local stack, and the example for a new platform.
//!
//! Facts, all described with the network itself (`infra/local`):
//!
//! - Authorization code with PKCE; access tokens last an hour, and each refresh token is valid
//!   once.
//! - A grant may cover several accounts; each call names its account.
//! - Files are uploaded one by one before the post that shows them. Pictures that are longer than
//!   its pages are wide are fitted first.
//! - It does not recognize a repeated post or comment. Both have our reference and can be looked up
//!   by it, so the outcome of a call whose response was lost can be read.
//! - A reply names the post of the same account that it replies to. Comments are not posts: each is
//!   listed under its post.
//!
//! The kit does the rest: pages and codes of OAuth, the loop over files, and the meaning of each
//! response.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{Published, Resolution};
use domain::media::{Attachment, FileType, MimeType, PictureBounds};
use domain::options::{OptionKind, OptionSpec, Options};
use domain::post::FIRST_COMMENT;
use domain::rules::{Counting, FileRule, Rule, Rules};
use http::HeaderName;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::account::AccountDetails;
use crate::app::{AppSource, NoExtraSecrets};
use crate::choices::{Choice, ChoicesRequest};
use crate::http_clients::HttpClients;
use crate::kit::{
    ApiClient, Auth, CallError, Effect, ErrorTable, File, Grant, LookUpMethod, MediaSource, OAuthAdapter, Prepared,
    PreparedFile, PublishAdapter, UploadStep,
};
use crate::lead_times::LeadTimes;
use crate::oauth2::{Dialect, Endpoints, OAuth2};
use crate::platform::STEP_LIMIT;
use crate::platform_info::Access;
use crate::publish_request::PublishRequest;
use crate::refresh_policy::RefreshPolicy;
use crate::setup::{Setup, SetupError};

pub(crate) const NAME: &str = "sandbox";

pub(crate) const TITLE: &str = "Sandbox";

pub(crate) const ACCESS: Access = Access::Development;

pub(crate) const PERMISSIONS: &str = "publish posts";

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("visibility", OptionKind::OneOf(&["public", "unlisted"]), "Stored, and shown in posts.json."),
    OptionSpec::new("content_warning", OptionKind::Text { max: 100 }, "Stored, and shown in posts.json."),
    OptionSpec::new("sensitive", OptionKind::Flag, "Stored, and shown in posts.json."),
    OptionSpec::new("language", OptionKind::Language, "Stored, and shown in posts.json."),
    OptionSpec::new(
        FIRST_COMMENT,
        OptionKind::Text { max: 200 },
        "A comment that the account adds below the post, after its thread. If it fails, the post stays published.",
    ),
    OptionSpec::new(
        "board",
        OptionKind::Choice { max: 100 },
        "The board of the account to post to. Defaults to no board.",
    ),
];

const SCOPES: &[&str] = &["profile", "publish"];

pub(crate) const LEAD: LeadTimes = LeadTimes {
    images: Some(TimeDelta::seconds(60)),
    videos: Some(TimeDelta::seconds(60)),
    documents: Some(TimeDelta::seconds(60)),
    ..LeadTimes::NONE
};

/// The network can be configured to be slow by up to a minute.
const SETTLE_TIME: TimeDelta = TimeDelta::seconds(80);

/// Longer pictures are fitted to what the network's pages show at most.
const BOUNDS: PictureBounds = PictureBounds::new(4_000_000, 4_096);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Base URL, such as `https://social.example/sandbox`.
    url: Url,
}

/// Longer than the network needs, and shorter than `delivery::LEASE_DURATION`, so that the worker
/// with the lease also learns the outcome.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(15);

/// The account of a call.
const ON_BEHALF_OF: HeaderName = HeaderName::from_static("sandbox-account");

/// Every error has a code and a message; the status says the rest.
const ERRORS: ErrorTable = ErrorTable {
    title: "the sandbox",
    code_at: &["/error"],
    message_at: &["/message", "/error_description"],
    ..ErrorTable::STANDARD
};

pub(crate) fn set_up(setup: &Setup) -> Result<Option<Sandbox>, SetupError> {
    let Some(Settings { url }) = setup.settings(NAME)? else { return Ok(None) };
    Ok(Some(Sandbox::at(url, setup.http.clone(), setup.app::<NoExtraSecrets>(NAME))))
}

pub(crate) struct Sandbox {
    api: ApiClient,
    oauth: OAuth2,
}

#[derive(Deserialize)]
struct Me {
    #[serde(flatten)]
    account: PublicAccount,
    #[serde(default)]
    grant: Option<String>,
    #[serde(default)]
    also: Vec<PublicAccount>,
}

#[derive(Deserialize)]
struct PublicAccount {
    id: String,
    handle: String,
    name: String,
    avatar_url: Option<String>,
    profile_url: Option<String>,
}

#[derive(Deserialize)]
struct Board {
    id: String,
    name: String,
}

#[derive(Deserialize)]
struct FoundPost {
    id: String,
    url: Option<String>,
    posted_at: DateTime<Utc>,
}

#[derive(Deserialize)]
struct Created {
    id: String,
    url: Option<String>,
}

#[derive(Serialize)]
struct NewPost<'a> {
    text: &'a str,
    media_ids: Vec<&'a str>,
    /// By file id.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    alt_texts: BTreeMap<&'a str, &'a str>,
    #[serde(skip_serializing_if = "Options::is_empty")]
    options: Options,
    reference: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_reply_to: Option<&'a str>,
}

#[derive(Serialize)]
struct NewComment<'a> {
    text: &'a str,
    reference: &'a str,
}

impl Sandbox {
    fn at(url: Url, http: HttpClients, app: Arc<dyn AppSource>) -> Self {
        let base = url.as_str().trim_end_matches('/');
        // Its OAuth follows the RFCs.
        let endpoints = Endpoints {
            authorization: format!("{base}/oauth/authorize"),
            token: format!("{base}/oauth/token"),
            revocation: Some(format!("{base}/oauth/revoke")),
            ..Endpoints::default()
        };
        let oauth = OAuth2::new(http.clone(), app, &Dialect::STANDARD, endpoints);
        Self { api: ApiClient::known(http, url, &ERRORS), oauth }
    }

    async fn create_comment(&self, request: &PublishRequest<'_>, post: &Published) -> Result<Published, CallError> {
        let comment = NewComment { text: request.text, reference: request.reference };
        let call = self.api.post(Auth::post(request), &comments_path(post));
        let call = call.header(ON_BEHALF_OF, &request.profile.account_id);
        let created: Created = call.json(&comment).timeout(PUBLISH_TIMEOUT).effect(Effect::Public).read().await?;
        Ok(Published::new(created.id, request.now).with_url(created.url))
    }
}

fn comments_path(post: &Published) -> [&str; 4] {
    ["api", "posts", &post.platform_post_id, "comments"]
}

impl PublicAccount {
    fn account_details(self) -> AccountDetails {
        let profile = AccountInfo {
            account_id: self.id,
            username: Some(self.handle),
            display_name: Some(self.name),
            avatar: self.avatar_url,
            profile_url: self.profile_url,
        };
        AccountDetails { profile, rules: rules() }
    }
}

/// They are equal for every account.
fn rules() -> Rules {
    use MimeType::{Gif, Jpeg, Mp4, Pdf, Png, Webp};
    Rules::new(
        TITLE,
        [
            Rule::max_text(500, Counting::code_points()),
            Rule::max_images(4),
            Rule::max_videos(1),
            Rule::NotMixed,
            Rule::DocumentAlone,
            Rule::mime_types([Jpeg, Png, Gif, Webp, Mp4, Pdf]),
            Rule::max_image_bytes(20 << 20),
            Rule::max_video_bytes(60 << 20),
            Rule::max_document_bytes(60 << 20),
            Rule::OfFiles(FileRule::MaxPages { max: 300 }),
            Rule::OfFiles(FileRule::ReadableDocuments),
            Rule::OfFiles(FileRule::FittedImageSide { max: BOUNDS.max_side }),
            Rule::max_alt_text(1000, Counting::code_points()),
        ],
    )
    .with_threads()
}

fn alt_text_by_id<'a>(file: &PreparedFile<'a, String>) -> Option<(&'a str, &'a str)> {
    Some((file.uploaded.as_str(), file.attachment.alt_text.as_ref()?.as_str()))
}

impl OAuthAdapter for Sandbox {
    const NAME: &'static str = NAME;
    const REFRESH_POLICY: RefreshPolicy = RefreshPolicy::Rotating;

    fn oauth(&self) -> &OAuth2 {
        &self.oauth
    }

    fn scopes(&self) -> Vec<&str> {
        SCOPES.to_vec()
    }

    fn rules(&self) -> Rules {
        rules()
    }

    async fn accounts(&self, auth: Auth<'_>) -> Result<Grant, CallError> {
        let Me { account, grant, also } = self.api.get(auth, &["api", "me"]).read().await?;
        Ok(Grant {
            name: grant,
            accounts: [account].into_iter().chain(also).map(PublicAccount::account_details).collect(),
        })
    }

    async fn account(&self, auth: Auth<'_>, profile: &AccountInfo) -> Result<Option<AccountDetails>, CallError> {
        let call = self.api.get(auth, &["api", "me"]).header(ON_BEHALF_OF, &profile.account_id);
        Ok(Some(call.read::<PublicAccount>().await?.account_details()))
    }

    async fn choices(&self, request: &ChoicesRequest<'_>, auth: Auth<'_>) -> Result<Vec<Choice>, CallError> {
        let call = self.api.get(auth, &["api", "boards"]);
        let boards: Vec<Board> = call.header(ON_BEHALF_OF, &request.connection.profile.account_id).read().await?;
        Ok(boards.into_iter().map(|it| Choice { value: it.id, label: it.name }).collect())
    }
}

impl PublishAdapter for Sandbox {
    const TITLE: &'static str = TITLE;
    const SETTLE_TIME: TimeDelta = SETTLE_TIME;
    const RECOGNIZES: bool = false;

    type Uploaded = String;

    fn media_source(&self, _: &PublishRequest<'_>, file: &Attachment) -> MediaSource {
        match file.mime_type.file_type() {
            FileType::Document => MediaSource::Original,
            FileType::Image | FileType::Video => MediaSource::FittedIfLarger(BOUNDS),
        }
    }

    /// An uploaded file is not public until a post shows it.
    async fn upload(&self, request: &PublishRequest<'_>, file: &File<'_>) -> Result<UploadStep<String>, CallError> {
        let call = self.api.post(Auth::post(request), &["api", "media"]).effect(Effect::Private).timeout(STEP_LIMIT);
        let call = call.header(ON_BEHALF_OF, &request.profile.account_id);
        let created: Created = call.file(file.mime_type(), file.size_bytes(), file.open(request).await?).read().await?;
        Ok(UploadStep::Uploaded(created.id))
    }

    async fn create_post(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, String>,
    ) -> Result<Published, CallError> {
        if let Some(post) = request.commented_post() {
            return self.create_comment(request, post).await;
        }
        let options = request.options.iter().filter(|(name, _)| *name != FIRST_COMMENT);
        let post = NewPost {
            text: request.text,
            media_ids: prepared.files.iter().map(|it| it.uploaded.as_str()).collect(),
            alt_texts: prepared.files.iter().filter_map(alt_text_by_id).collect(),
            options: options.map(|(name, value)| (name.to_owned(), value.clone())).collect(),
            reference: request.reference,
            in_reply_to: request.reply_to.map(|it| it.parent.platform_post_id.as_str()),
        };
        let call =
            self.api.post(Auth::post(request), &["api", "posts"]).header(ON_BEHALF_OF, &request.profile.account_id);
        let created: Created = call.json(&post).timeout(PUBLISH_TIMEOUT).effect(Effect::Public).read().await?;
        Ok(Published::new(created.id, request.now).with_url(created.url))
    }

    fn look_up_method(&self, _: &PublishRequest<'_>) -> LookUpMethod {
        LookUpMethod::Reference
    }

    async fn find_post(
        &self,
        request: &PublishRequest<'_>,
        _: &Prepared<'_, Self::Uploaded>,
    ) -> Result<Resolution, CallError> {
        let comments = request.commented_post().map(comments_path);
        let path = comments.as_ref().map_or(["api", "posts"].as_slice(), |it| it.as_slice());
        let call = self.api.get(Auth::post(request), path).query(&[("reference", request.reference)]);
        let posts: Vec<FoundPost> = call.header(ON_BEHALF_OF, &request.profile.account_id).read().await?;
        let found = posts.into_iter().next().map(|it| Published::new(it.id, it.posted_at).with_url(it.url));
        Ok(found.map_or(Resolution::NotPublished, Resolution::Found))
    }
}
