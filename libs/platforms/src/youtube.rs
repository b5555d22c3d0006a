//! YouTube: videos on the channel of a Google account, through the operator's Google Cloud project.
//!
//! Source: the fact sheet of YouTube (Data API v3).
//!
//! - A video is uploaded as private, in parts, to a session that makes at most one video. The publish call changes its
//!   visibility. It can be repeated without a second video, and the video's id shows later whether it took effect.
//!   Other changes that a person makes in between stay.
//! - YouTube keeps the videos of a project private until the project has passed YouTube's audit.
//! - A project may upload 100 videos a day. Days end at midnight in Pacific time.
//! - A channel has one account: Google's consent page chooses the channel.

mod errors;
mod follow_ups;
mod publish;
mod upload;

use chrono::TimeDelta;
use domain::connection::AccountInfo;
use domain::media::{MimeType, PictureBounds, Ratio};
use domain::options::{OptionKind, OptionSpec, TextForm};
use domain::post::FIRST_COMMENT;
use domain::rules::{Counting, FileRule, OptionCondition, PostRule, Rule, Rules};
use serde::Deserialize;
use url::Url;

use self::errors::{ERRORS, NO_CHANNEL};
use crate::choices::{Choice, ChoicesRequest, MAX_CHOICES};
use crate::google;
use crate::kit::{ApiClient, Auth, CallError, Effect, ErrorKind, Grant, OAuthAdapter};
use crate::lead_times::LeadTimes;
use crate::oauth2::OAuth2;
use crate::platform_info::Access;
use crate::refresh_policy::RefreshPolicy;
use crate::setup::{Setup, SetupError};

pub(crate) const NAME: &str = "youtube";
pub(crate) const TITLE: &str = "YouTube";

/// Without the audit, videos stay private. Without the verification of the consent page, 100 people can connect.
pub(crate) const ACCESS: Access = Access::Review;

pub(crate) const PERMISSIONS: &str = "upload, change and delete videos, playlists and comments of the channel";

/// YouTube processes most videos in minutes. A video that is not processed by then is published all the same.
pub(crate) const LEAD: LeadTimes = LeadTimes { videos: Some(TimeDelta::minutes(30)), ..LeadTimes::NONE };

const VIDEO_TITLE: &str = "title";
const VISIBILITY: &str = "visibility";
const KIND: &str = "kind";
const TAGS: &str = "tags";
const LANGUAGE: &str = "language";
const MADE_FOR_KIDS: &str = "made_for_kids";
const SYNTHETIC: &str = "contains_synthetic_media";
const NOTIFY: &str = "notify_subscribers";
const EMBEDDABLE: &str = "embeddable";
const CATEGORY: &str = "category";
const PLAYLIST: &str = "playlist";
const LICENSE: &str = "license";

const PUBLIC: &str = "public";
const PRIVATE: &str = "private";
const CREATIVE_COMMONS: &str = "creative_commons";

/// In UTF-16 units, the strictest count of characters.
const MAX_TITLE: usize = 100;

/// In UTF-8.
const MAX_DESCRIPTION_BYTES: usize = 5_000;

const TITLE_FORM: TextForm = TextForm {
    pattern: "^[^<>]*[^<>\\s][^<>]*$",
    has: |it| !it.contains(['<', '>']) && !it.trim().is_empty() && it.encode_utf16().count() <= MAX_TITLE,
    max: MAX_TITLE,
    examples: &["A day at the harbor"],
};

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        VIDEO_TITLE,
        OptionKind::TextOf(&TITLE_FORM),
        "The title of the video, without < and >. Defaults to the first line of the text.",
    ),
    OptionSpec::new(
        VISIBILITY,
        OptionKind::OneOf(&[PUBLIC, "unlisted", PRIVATE]),
        "Who can watch the video. Defaults to public. YouTube keeps every video private until the operator's project \
         has passed its audit.",
    ),
    OptionSpec::new(
        KIND,
        OptionKind::OneOf(&["video", "short"]),
        "YouTube shows square and vertical videos of up to 3 minutes as Shorts. With short, other videos are refused; \
         video has no effect.",
    ),
    OptionSpec::new(
        TAGS,
        OptionKind::Texts { most: 100, max: 100 },
        "Keywords, at most 500 characters in all. A keyword with a space counts two more.",
    ),
    OptionSpec::new(LANGUAGE, OptionKind::Language, "The language of the title, the description and the video."),
    OptionSpec::new(
        MADE_FOR_KIDS,
        OptionKind::Flag,
        "Whether the video is made for children, which the law requires you to declare. Defaults to false.",
    ),
    OptionSpec::new(
        SYNTHETIC,
        OptionKind::Flag,
        "Whether the video contains realistic content that was altered or generated. Defaults to false.",
    ),
    OptionSpec::new(NOTIFY, OptionKind::Flag, "Whether subscribers are notified. Defaults to true."),
    OptionSpec::new(EMBEDDABLE, OptionKind::Flag, "Whether other websites can embed the video. Defaults to true."),
    OptionSpec::new(CATEGORY, OptionKind::Choice { max: 10 }, "The category. Defaults to People & Blogs."),
    OptionSpec::new(
        PLAYLIST,
        OptionKind::Choice { max: 64 },
        "The playlist of the channel that the video is added to once it is published.",
    ),
    OptionSpec::new(
        LICENSE,
        OptionKind::OneOf(&["youtube", CREATIVE_COMMONS]),
        "The license of the video. Defaults to the standard license of YouTube.",
    ),
    OptionSpec::new(
        FIRST_COMMENT,
        OptionKind::Text { max: 8_000 },
        "A comment that the channel adds below the video. If it fails, the video stays published.",
    ),
];

/// The one scope that permits uploads, changes, playlists and comments. With a single scope, the consent page has no
/// box to untick.
const SCOPES: &[&str] = &["https://www.googleapis.com/auth/youtube.force-ssl"];

/// The other host of the API. Subdomains of `googleapis.com` include storage buckets, which any customer can create.
const UPLOAD_HOSTS: &[&str] = &["youtube.googleapis.com"];

const THUMBNAIL: PictureBounds = PictureBounds::new(2_000_000, 1_280);

/// In seconds. Channels without a verified phone number may upload 15 minutes.
const LONGEST: u32 = 12 * 3_600;
const LONGEST_UNVERIFIED: u32 = 15 * 60;

/// The default category, "People & Blogs".
const DEFAULT_CATEGORY: &str = "22";

/// YouTube's categories differ little between countries.
const CATEGORY_REGION: &str = "US";

const PAGE_SIZE: &str = "50";
const MAX_PLAYLIST_PAGES: usize = MAX_CHOICES / 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    url: Option<Url>,
    #[serde(default)]
    audited: bool,
    /// The quota of the project. YouTube raises it on request.
    #[serde(default = "default_uploads_per_day")]
    uploads_per_day: u32,
}

const fn default_uploads_per_day() -> u32 {
    100
}

pub(crate) fn set_up(setup: &Setup) -> Result<Option<YouTube>, SetupError> {
    let Some(Settings { url, audited, uploads_per_day }) = setup.settings(NAME)? else { return Ok(None) };
    let url = url.as_ref();
    let (api, oauth) = (google::host(url, "https://www.googleapis.com"), google::oauth(setup, NAME, url));
    Ok(Some(YouTube {
        api: ApiClient::known(setup.http.clone(), api, &ERRORS).with_upload_hosts(UPLOAD_HOSTS),
        oauth,
        is_audited: audited,
        uploads_per_day,
    }))
}

pub(crate) struct YouTube {
    api: ApiClient,
    oauth: OAuth2,
    is_audited: bool,
    uploads_per_day: u32,
}

#[derive(Deserialize)]
struct Page<T> {
    // Absent where a list is empty.
    #[serde(default = "Vec::new")]
    items: Vec<T>,
    #[serde(rename = "nextPageToken")]
    next: Option<String>,
}

#[derive(Deserialize)]
struct Channel {
    id: String,
    snippet: ChannelSnippet,
    status: ChannelStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChannelSnippet {
    title: String,
    /// With `@`.
    custom_url: Option<String>,
    #[serde(default)]
    thumbnails: Thumbnails,
}

#[derive(Default, Deserialize)]
struct Thumbnails {
    medium: Option<Thumbnail>,
    default: Option<Thumbnail>,
}

#[derive(Deserialize)]
struct Thumbnail {
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChannelStatus {
    /// `allowed`, `eligible` or `disallowed`.
    long_uploads_status: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    snippet: EntrySnippet,
}

#[derive(Deserialize)]
struct EntrySnippet {
    title: String,
    /// Of a category.
    assignable: Option<bool>,
}

impl YouTube {
    fn rules_for(&self, longest: u32) -> Rules {
        use MimeType::{Jpeg, Mp4, Png, Quicktime, Webp};
        let mut rules = vec![
            Rule::max_text(5_000, Counting::code_points()),
            Rule::max_text_bytes(5_000),
            Rule::OfPost(PostRule::MinVideos { min: 1 }),
            Rule::max_videos(1),
            // The thumbnail.
            Rule::max_images(1),
            Rule::mime_types([Mp4, Quicktime, Jpeg, Png, Webp]),
            Rule::OfFiles(FileRule::FittedImageBytes { max: THUMBNAIL.max_bytes }),
            Rule::OfFiles(FileRule::FittedImageSide { max: THUMBNAIL.max_side }),
            Rule::OfFiles(FileRule::MaxDuration { max: longest }),
            Rule::OfPost(PostRule::MaxTagLength { max: 500 }),
            Rule::OfPost(PostRule::UploadsPerDay { max: self.uploads_per_day }),
        ];
        if !self.is_audited {
            rules.push(Rule::OfPost(PostRule::PrivateUntilAudit));
        }
        let refuses_comments = || [Rule::OfPost(PostRule::RefusedOptions { options: vec![FIRST_COMMENT.to_owned()] })];
        Rules::new(TITLE, rules)
            .with_rules_when(
                OptionCondition::option(KIND, ["short"]),
                [
                    Rule::OfFiles(FileRule::MaxDuration { max: 180 }),
                    Rule::OfFiles(FileRule::VideoRatio { min: Ratio::hundredths(1), max: Ratio::hundredths(100) }),
                ],
            )
            .with_rules_when(OptionCondition::option(VISIBILITY, [PRIVATE]), refuses_comments())
            .with_rules_when(OptionCondition::option(MADE_FOR_KIDS, [true]), refuses_comments())
    }

    async fn playlists(&self, auth: Auth<'_>) -> Result<Vec<Entry>, CallError> {
        let (mut playlists, mut next) = (Vec::new(), None::<String>);
        for _ in 0..MAX_PLAYLIST_PAGES {
            let call = self.api.get(auth, &["youtube", "v3", "playlists"]);
            let call = call.query(&[("part", "snippet"), ("mine", "true"), ("maxResults", PAGE_SIZE)]);
            let page: Page<Entry> =
                call.query(&next.iter().map(|it| ("pageToken", it)).collect::<Vec<_>>()).read().await?;
            playlists.extend(page.items);
            match page.next {
                Some(it) if Some(&it) != next.as_ref() => next = Some(it),
                _ => break,
            }
        }
        Ok(playlists)
    }

    async fn categories(&self, auth: Auth<'_>) -> Result<Vec<Entry>, CallError> {
        let call = self.api.get(auth, &["youtube", "v3", "videoCategories"]);
        let page: Page<Entry> = call.query(&[("part", "snippet"), ("regionCode", CATEGORY_REGION)]).read().await?;
        Ok(page.items.into_iter().filter(|it| it.snippet.assignable == Some(true)).collect())
    }
}

impl OAuthAdapter for YouTube {
    const NAME: &'static str = NAME;
    const REFRESH_POLICY: RefreshPolicy = RefreshPolicy::Rotating;
    const REVOKES_ALL: bool = true;

    fn oauth(&self) -> &OAuth2 {
        &self.oauth
    }

    fn scopes(&self) -> Vec<&str> {
        SCOPES.to_vec()
    }

    fn rules(&self) -> Rules {
        self.rules_for(LONGEST)
    }

    async fn accounts(&self, auth: Auth<'_>) -> Result<Grant, CallError> {
        let call = self.api.get(auth, &["youtube", "v3", "channels"]);
        let page: Page<Channel> = call.query(&[("part", "snippet,status"), ("mine", "true")]).read().await?;
        let Some(Channel { id, snippet, status }) = page.items.into_iter().next() else {
            return Err(CallError::new(ErrorKind::Forbidden, Effect::Read, NO_CHANNEL));
        };
        if !is_id(&id) {
            return Err(self.api.unreadable(Effect::Read));
        }
        let Thumbnails { medium, default } = snippet.thumbnails;
        let profile = AccountInfo {
            profile_url: Some(format!("https://www.youtube.com/channel/{id}")),
            account_id: id,
            display_name: Some(snippet.title),
            username: snippet.custom_url.map(|it| it.trim_start_matches('@').to_owned()),
            avatar: medium.or(default).map(|it| it.url),
        };
        let is_long = status.long_uploads_status.is_none_or(|it| it == "allowed");
        Ok(Grant::for_account(profile, self.rules_for(if is_long { LONGEST } else { LONGEST_UNVERIFIED })))
    }

    async fn choices(&self, request: &ChoicesRequest<'_>, auth: Auth<'_>) -> Result<Vec<Choice>, CallError> {
        let entries = match request.option {
            PLAYLIST => self.playlists(auth).await?,
            _ => self.categories(auth).await?,
        };
        Ok(entries.into_iter().map(|it| Choice { value: it.id, label: it.snippet.title }).collect())
    }
}

fn is_id(it: &str) -> bool {
    (1..=100).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it))
}
