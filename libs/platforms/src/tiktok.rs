//! TikTok: videos and photos for TikTok accounts, through the operator's app.
//!
//! Source: the fact sheet of TikTok (Content Posting API v2).
//!
//! - An app that passed the app review sends posts to the inbox of TikTok's app, where a person finishes them. After
//!   the audit of direct posts, posts are published without a person.
//! - A video is uploaded in chunks, one after another, and nothing is posted before the last byte: the publish call is
//!   the last chunk. Photos are fetched by URL after the publish call.
//! - A success means that TikTok processes the post. The `publish_id` shows the outcome.

mod creator;
mod errors;
mod publish;
mod status;

use chrono::TimeDelta;
use domain::connection::AccountInfo;
use domain::media::{MAX_FETCHED_PICTURE_BYTES, MimeType, VideoCodec};
use domain::options::{OptionKind, OptionSpec};
use domain::rules::{Counting, FileRule, OptionCondition, PostRule, Rule, Rules};
use http::Method;
use http::header::CONTENT_TYPE;
use serde::Deserialize;
use url::Url;

use self::creator::Creator;
use self::errors::ERRORS;
use crate::app::NoExtraSecrets;
use crate::choices::{Choice, ChoicesRequest};
use crate::creator_info::CreatorInfo;
use crate::kit::{ApiClient, Auth, Call, CallError, Effect, Grant, OAuthAdapter};
use crate::lead_times::LeadTimes;
use crate::oauth2::{Dialect, Endpoints, OAuth2, TokenCall, TokenKind};
use crate::platform_info::Access;
use crate::refresh_policy::RefreshPolicy;
use crate::setup::{Setup, SetupError, official};

pub(crate) const NAME: &str = "tiktok";
pub(crate) const TITLE: &str = "TikTok";

pub(crate) const ACCESS: Access = Access::Review;

pub(crate) const PERMISSIONS: &str = "publish videos and photos";

/// An upload has to end within an hour.
pub(crate) const LEAD: LeadTimes =
    LeadTimes { images: Some(TimeDelta::minutes(2)), videos: Some(TimeDelta::minutes(10)), ..LeadTimes::NONE };

const AI_GENERATED: &str = "ai_generated";
const AUTO_ADD_MUSIC: &str = "auto_add_music";
const BRAND_CONTENT: &str = "brand_content";
const BRAND_ORGANIC: &str = "brand_organic";
const COMMENTS: &str = "comments";
const COVER: &str = "cover_ms";
const DUET: &str = "duet";
const KIND: &str = "kind";
const PHOTO_TITLE: &str = "title";
const STITCH: &str = "stitch";
const VISIBILITY: &str = "visibility";

const DIRECT: &str = "direct";
const INBOX: &str = "inbox";
const PUBLIC: &str = "PUBLIC_TO_EVERYONE";
const SELF_ONLY: &str = "SELF_ONLY";

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        KIND,
        OptionKind::OneOf(&[DIRECT, INBOX]),
        "With inbox, a person finishes the post in TikTok's app, and writes the text of a video there. Defaults to \
         direct where this service has it, otherwise to inbox.",
    ),
    OptionSpec::new(VISIBILITY, OptionKind::Choice { max: 50 }, "Who can see the post. Required for direct posts."),
    OptionSpec::new(COMMENTS, OptionKind::Flag, "Whether people can comment. Defaults to false."),
    OptionSpec::new(DUET, OptionKind::Flag, "Whether people can make duets with the video. Defaults to false."),
    OptionSpec::new(STITCH, OptionKind::Flag, "Whether people can stitch the video. Defaults to false."),
    OptionSpec::new(
        BRAND_ORGANIC,
        OptionKind::Flag,
        "Whether the post promotes your own brand. TikTok labels it as promotional content.",
    ),
    OptionSpec::new(
        BRAND_CONTENT,
        OptionKind::Flag,
        "Whether the post promotes another brand. TikTok labels it as a paid partnership. Not with SELF_ONLY.",
    ),
    OptionSpec::new(AI_GENERATED, OptionKind::Flag, "Whether TikTok labels the video as AI-generated."),
    OptionSpec::new(
        COVER,
        OptionKind::Number { min: 0, max: 600_000 },
        "The position of the cover frame in the video, in milliseconds. Defaults to the beginning.",
    ),
    OptionSpec::new(PHOTO_TITLE, OptionKind::Text { max: 90 }, "The title of photos. Videos have none."),
    OptionSpec::new(AUTO_ADD_MUSIC, OptionKind::Flag, "Whether TikTok adds music to photos. Defaults to false."),
];

const DIALECT: Dialect = Dialect {
    client_id: "client_key",
    scope_separator: ",",
    // Only for apps on devices.
    pkce: false,
    revocation: TokenCall { token: TokenKind::Access, ..TokenCall::REVOCATION },
    ..Dialect::STANDARD
};

/// The regions have hosts of their own.
const UPLOAD_HOSTS: &[&str] = &[".tiktokapis.com"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Replaces both hosts of TikTok.
    url: Option<Url>,
    /// Whether the app has direct posts, and not only the inbox.
    #[serde(default)]
    direct: bool,
    #[serde(default)]
    audited: bool,
}

pub(crate) fn set_up(setup: &Setup) -> Result<Option<TikTok>, SetupError> {
    let Some(Settings { url, direct, audited }) = setup.settings(NAME)? else { return Ok(None) };
    let website = url.clone().unwrap_or_else(|| official("https://www.tiktok.com"));
    let api = url.unwrap_or_else(|| official("https://open.tiktokapis.com"));
    let at = |host: &Url, path| format!("{}{path}", host.as_str().trim_end_matches('/'));
    let endpoints = Endpoints {
        authorization: at(&website, "/v2/auth/authorize/"),
        token: at(&api, "/v2/oauth/token/"),
        revocation: Some(at(&api, "/v2/oauth/revoke/")),
        ..Endpoints::default()
    };
    Ok(Some(TikTok {
        oauth: OAuth2::new(setup.http.clone(), setup.app::<NoExtraSecrets>(NAME), &DIALECT, endpoints),
        api: ApiClient::known(setup.http.clone(), api, &ERRORS).with_upload_hosts(UPLOAD_HOSTS),
        has_direct: direct,
        is_audited: audited,
    }))
}

pub(crate) struct TikTok {
    api: ApiClient,
    oauth: OAuth2,
    has_direct: bool,
    is_audited: bool,
}

#[derive(Deserialize)]
struct Response<T> {
    data: T,
}

#[derive(Deserialize)]
struct UserInfo {
    user: User,
}

#[derive(Deserialize)]
struct User {
    open_id: String,
    display_name: Option<String>,
    username: Option<String>,
    avatar_url: Option<String>,
}

impl TikTok {
    /// Paths end with a slash.
    fn post(&self, auth: Auth<'_>, path: &str) -> Call {
        self.api.call_encoded(auth, Method::POST, path).header(CONTENT_TYPE, "application/json; charset=UTF-8")
    }

    /// The account's settings for direct posts, which TikTok requires to be read before each of them.
    async fn creator(&self, auth: Auth<'_>, effect: Effect) -> Result<Creator, CallError> {
        let call = self.post(auth, "v2/post/publish/creator_info/query/").effect(effect);
        let Response { data } = call.read::<Response<Creator>>().await?;
        Ok(if self.is_audited { data } else { data.unaudited() })
    }
}

impl OAuthAdapter for TikTok {
    const NAME: &'static str = NAME;
    const REFRESH_POLICY: RefreshPolicy = RefreshPolicy::Rotating;

    fn oauth(&self) -> &OAuth2 {
        &self.oauth
    }

    fn scopes(&self) -> Vec<&str> {
        let direct = self.has_direct.then_some("video.publish");
        ["user.info.basic", "user.info.profile", "video.upload"].into_iter().chain(direct).collect()
    }

    fn rules(&self) -> Rules {
        rules(self.has_direct, self.is_audited)
    }

    async fn accounts(&self, auth: Auth<'_>) -> Result<Grant, CallError> {
        let call = self.api.call_encoded(auth, Method::GET, "v2/user/info/");
        let call = call.query(&[("fields", "open_id,avatar_url,display_name,username")]);
        let Response { data: UserInfo { user } } = call.read().await?;
        if !is_id(&user.open_id) {
            return Err(self.api.unreadable(Effect::Read));
        }
        let is_name = |it: &String| it.bytes().all(|it| it.is_ascii_alphanumeric() || b"_.".contains(&it));
        let username = user.username.filter(is_name);
        let profile = AccountInfo {
            account_id: user.open_id,
            profile_url: username.as_ref().map(|it| format!("https://www.tiktok.com/@{it}")),
            display_name: user.display_name,
            username,
            avatar: user.avatar_url,
        };
        Ok(Grant::for_account(profile, self.rules()))
    }

    async fn choices(&self, _: &ChoicesRequest<'_>, auth: Auth<'_>) -> Result<Vec<Choice>, CallError> {
        Ok(if self.has_direct { self.creator(auth, Effect::Read).await?.choices() } else { Vec::new() })
    }

    async fn creator_info(&self, auth: Auth<'_>) -> Result<Option<CreatorInfo>, CallError> {
        Ok(if self.has_direct { Some(self.creator(auth, Effect::Read).await?.info()) } else { None })
    }
}

fn is_id(it: &str) -> bool {
    (1..=100).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_graphic())
}

fn rules(has_direct: bool, is_audited: bool) -> Rules {
    use MimeType::{Jpeg, Mp4, Png, Quicktime, Webp};
    let names = |options: &[&str]| options.iter().map(|it| (*it).to_owned()).collect();
    let refused = |options| [Rule::OfPost(PostRule::RefusedOptions { options: names(options) })];
    let rules = vec![
        Rule::MediaRequired,
        Rule::max_text(4_000, Counting::utf16()),
        Rule::OfPost(PostRule::MaxTextWithVideo { max: 2_200, counting: Counting::utf16() }),
        Rule::max_images(35),
        Rule::max_videos(1),
        Rule::NotMixed,
        Rule::mime_types([Jpeg, Png, Webp, Mp4, Quicktime]),
        Rule::OfFiles(FileRule::FittedImageBytes { max: MAX_FETCHED_PICTURE_BYTES }),
        Rule::OfFiles(FileRule::FittedImageSide { max: publish::MAX_HEIGHT }),
        Rule::max_video_bytes(4_000_000_000),
        Rule::OfFiles(FileRule::MaxDuration { max: 600 }),
        Rule::OfFiles(FileRule::MinFrameRate { min: 23 }),
        Rule::OfFiles(FileRule::MaxFrameRate { max: 60 }),
        Rule::OfFiles(FileRule::VideoCodecs { codecs: vec![VideoCodec::H264, VideoCodec::Hevc, VideoCodec::Vp9] }),
        Rule::OfPost(PostRule::VideoOptions { options: names(&[DUET, STITCH, AI_GENERATED, COVER]) }),
        Rule::OfPost(PostRule::ImageOptions { options: names(&[PHOTO_TITLE, AUTO_ADD_MUSIC]) }),
    ];
    let (inbox, direct) = (OptionCondition::option(KIND, [INBOX]), OptionCondition::option(KIND, [DIRECT]));
    let of_direct =
        [VISIBILITY, COMMENTS, DUET, STITCH, BRAND_CONTENT, BRAND_ORGANIC, AI_GENERATED, COVER, AUTO_ADD_MUSIC];
    let rules = Rules::new(TITLE, rules);
    if !has_direct {
        let rules = rules.with_rules_when(inbox.or_absent(), refused(&of_direct));
        return rules.with_rules_when(direct, refused(&[KIND]));
    }
    let consent = [VISIBILITY, COMMENTS, DUET, STITCH, BRAND_ORGANIC, BRAND_CONTENT];
    let mut of_direct_posts = vec![
        Rule::OfPost(PostRule::RequiredOptions { options: names(&[VISIBILITY]) }),
        Rule::OfPost(PostRule::ConsentOptions { options: names(&consent) }),
    ];
    if !is_audited {
        of_direct_posts.push(Rule::OfPost(PostRule::PrivateUntilAudit));
    }
    rules
        .with_rules_when(inbox, refused(&of_direct))
        .with_rules_when(direct.or_absent(), of_direct_posts)
        .with_rules_when(OptionCondition::option(VISIBILITY, [SELF_ONLY]), refused(&[BRAND_CONTENT]))
}

#[cfg(test)]
mod tests {
    use domain::media::Attachment;
    use domain::options::OptionValue;
    use domain::testing::an_attachment;

    use super::*;

    #[test]
    fn options_depend_on_the_kind_and_the_deployment() {
        let video = [Attachment { mime_type: MimeType::Mp4, ..an_attachment(1) }];
        let public: (&str, OptionValue) = (VISIBILITY, "PUBLIC_TO_EVERYONE".into());
        for (has_direct, given, is_accepted) in [
            (false, vec![], true),
            (false, vec![(KIND, DIRECT.into())], false),
            (false, vec![public.clone()], false),
            (true, vec![], false),
            (true, vec![public.clone(), (DUET, true.into()), (BRAND_CONTENT, true.into())], true),
            (true, vec![public.clone(), (PHOTO_TITLE, "Tides".into())], false),
            (true, vec![(KIND, INBOX.into())], true),
            (true, vec![(KIND, INBOX.into()), public], false),
            (true, vec![(VISIBILITY, SELF_ONLY.into()), (BRAND_CONTENT, true.into())], false),
        ] {
            let options = given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
            let breaches = rules(has_direct, true).breaches("Hello", &video, &options);
            assert_eq!(breaches.is_empty(), is_accepted, "{has_direct} {given:?}: {breaches:?}");
        }
    }
}
