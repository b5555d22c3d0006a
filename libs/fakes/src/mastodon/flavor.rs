//! Differences between servers that implement Mastodon's API.

mod differences;

use chrono::TimeDelta;

pub(crate) use self::differences::{
    Counting, Differences, FileNames, InstanceApi, Reset, SecondUpload, Source, Warnings,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavor {
    /// Mastodon 4.7 with its default settings.
    Mastodon,
    /// Mastodon 4.2: before the OAuth metadata, PKCE and the scope `profile`.
    OldMastodon,
    /// `GoToSocial`.
    GoToSocial,
    /// Pleroma, with coarse scopes and access tokens that expire.
    Pleroma,
    /// Pixelfed, where every status needs an image or video.
    Pixelfed,
    /// snac: no idempotency keys, rewrites the displayed texts, gives files new ids, and sends no date.
    Snac,
    /// Mastodon 4.7 with videos of up to 2 GiB.
    Roomy,
}

/// A flavor as a type, because the suite starts a server by its type alone.
pub trait FlavorType: Send + Sync + 'static {
    const FLAVOR: Flavor;
}

macro_rules! known {
    ($($name:ident: $flavor:ident),+) => {$(
        #[doc = concat!("[`Flavor::", stringify!($flavor), "`]")]
        pub struct $name;

        impl FlavorType for $name {
            const FLAVOR: Flavor = Flavor::$flavor;
        }
    )+};
}

known!(
    Stock: Mastodon,
    OldMastodon: OldMastodon,
    GoToSocial: GoToSocial,
    Pleroma: Pleroma,
    Pixelfed: Pixelfed,
    Snac: Snac
);

const MIB: usize = 1 << 20;

const MASTODON: Differences = Differences {
    version: "4.7.3",
    source_url: Some("https://github.com/mastodon/mastodon"),
    instance: InstanceApi::Both,
    metadata: true,
    scopes: &[
        "profile",
        "read",
        "read:accounts",
        "read:statuses",
        "write",
        "write:accounts",
        "write:media",
        "write:statuses",
        "follow",
        "push",
    ],
    checks_scopes_of_apps: true,
    lists_of_redirect_uris: true,
    pkce: true,
    reuses_tokens: true,
    token_lifetime: None,
    calls_dead_tokens_invalid_requests: false,
    hides_why_tokens_fail: false,
    counting: Counting::Mastodon,
    warnings: Warnings::Marking,
    max_characters: 500,
    told_url_characters: 23,
    max_media: Some(4),
    needs_media: false,
    mixes_media: false,
    second_upload: SecondUpload::LargeLater,
    matrix_limit: Some(33_177_600),
    image_limit: 16 * MIB,
    video_limit: 99 * MIB,
    description_limit: 10_000,
    tells_description_limit: true,
    applies_own_visibility: true,
    idempotency: true,
    reset: Reset::Timestamp,
    limits_by_address: false,
    status_url: true,
    says_why: true,
    tells_date: true,
    whole_seconds: false,
    pages: true,
    source: Source::Call,
    lists_replies: true,
    ignores_missing_parents: false,
    rewrites: false,
    files: FileNames::Kept,
    shows_page_to_all: false,
    removes_apps: false,
    takes_any_code: false,
    hides_scopes: false,
};

const OLD_MASTODON: Differences = Differences {
    version: "4.2.10",
    metadata: false,
    scopes: FINE_SCOPES,
    lists_of_redirect_uris: false,
    pkce: false,
    counting: Counting::MastodonOnRuby3,
    description_limit: 1500,
    // Since 4.4.
    tells_description_limit: false,
    ..MASTODON
};

const GO_TO_SOCIAL: Differences = Differences {
    version: "0.19.1+git-5b0b3b9",
    source_url: Some("https://codeberg.org/superseriousbusiness/gotosocial"),
    metadata: false,
    scopes: FINE_SCOPES,
    lists_of_redirect_uris: false,
    pkce: false,
    reuses_tokens: false,
    counting: Counting::CodePoints,
    warnings: Warnings::Plain,
    max_characters: 5000,
    // Listed for clients, but not enforced.
    told_url_characters: 25,
    max_media: Some(6),
    mixes_media: true,
    second_upload: SecondUpload::WithoutUrl,
    // Listed as the largest number of its type.
    matrix_limit: None,
    image_limit: 40 * MIB,
    video_limit: 40 * MIB,
    description_limit: 1500,
    idempotency: false,
    reset: Reset::UnixSeconds,
    limits_by_address: true,
    ..MASTODON
};

const PLEROMA: Differences = Differences {
    version: "2.7.2 (compatible; Pleroma 2.5.5)",
    source_url: None,
    instance: InstanceApi::FirstWithLimits,
    metadata: false,
    scopes: COARSE_SCOPES,
    checks_scopes_of_apps: false,
    lists_of_redirect_uris: false,
    pkce: false,
    reuses_tokens: false,
    token_lifetime: Some(TimeDelta::hours(1)),
    hides_why_tokens_fail: true,
    counting: Counting::Graphemes,
    warnings: Warnings::Plain,
    max_characters: 5000,
    max_media: None,
    mixes_media: true,
    second_upload: SecondUpload::AlwaysAccepted,
    matrix_limit: None,
    image_limit: 16_000_000,
    video_limit: 16_000_000,
    description_limit: 5000,
    // Some forks return null; which ones is not documented.
    status_url: false,
    // A file without its own id is shown under an id made from its URL.
    files: FileNames::OtherIds,
    // Newer versions refuse it.
    ignores_missing_parents: true,
    // For the consent page, the server reads the app only to list the requested scopes.
    shows_page_to_all: true,
    ..MASTODON
};

const PIXELFED: Differences = Differences {
    version: "3.5.3 (compatible; Pixelfed 0.12.3)",
    source_url: None,
    instance: InstanceApi::FirstWithConfiguration,
    metadata: false,
    scopes: COARSE_SCOPES,
    checks_scopes_of_apps: false,
    lists_of_redirect_uris: false,
    pkce: false,
    reuses_tokens: false,
    token_lifetime: Some(TimeDelta::days(356)),
    calls_dead_tokens_invalid_requests: true,
    // Laravel counts all code points, also those of URLs and mentions.
    counting: Counting::CodePoints,
    warnings: Warnings::Apart,
    needs_media: true,
    mixes_media: true,
    second_upload: SecondUpload::Absent,
    // Listed, but not checked.
    matrix_limit: None,
    image_limit: 15_000_000,
    video_limit: 15_000_000,
    // Not listed in any response.
    description_limit: 1000,
    idempotency: false,
    // A reply is a comment.
    lists_replies: false,
    source: Source::Untold,
    ..MASTODON
};

/// From the source of snac up to 2.94 (`mastoapi.c`, `format.c`), and from responses of a running server.
const SNAC: Differences = Differences {
    version: "4.0.0 (not true; really snac/2.94)",
    source_url: Some("https://codeberg.org/grunfink/snac2"),
    metadata: false,
    scopes: FINE_SCOPES,
    checks_scopes_of_apps: false,
    lists_of_redirect_uris: false,
    pkce: false,
    reuses_tokens: false,
    counting: Counting::CodePoints,
    // snac accepts 100,000, more than this service ever sends.
    max_characters: 10_000,
    mixes_media: true,
    second_upload: SecondUpload::WithoutUrl,
    description_limit: 1500,
    // `POST /api/v1/statuses` defaults to "public"; `source.privacy` is the account's own setting.
    applies_own_visibility: false,
    idempotency: false,
    limits_by_address: true,
    instance: InstanceApi::FirstWithConfiguration,
    says_why: false,
    tells_date: false,
    whole_seconds: true,
    // Versions before 2.80 ignore `max_id` and list from the beginning.
    pages: false,
    source: Source::CallAndText,
    ignores_missing_parents: true,
    rewrites: true,
    // snac itself keeps the URLs. The fake does not, because other software may change them.
    files: FileNames::AllOther,
    removes_apps: true,
    takes_any_code: true,
    hides_scopes: true,
    ..MASTODON
};

const ROOMY: Differences = Differences { video_limit: 2048 * MIB, ..MASTODON };

const FINE_SCOPES: &[&str] = &[
    "read",
    "read:accounts",
    "read:statuses",
    "write",
    "write:accounts",
    "write:media",
    "write:statuses",
    "follow",
    "push",
];

const COARSE_SCOPES: &[&str] = &["read", "write", "follow", "push"];

impl Flavor {
    pub(crate) fn differences(self) -> &'static Differences {
        match self {
            Self::Mastodon => &MASTODON,
            Self::OldMastodon => &OLD_MASTODON,
            Self::GoToSocial => &GO_TO_SOCIAL,
            Self::Pleroma => &PLEROMA,
            Self::Pixelfed => &PIXELFED,
            Self::Snac => &SNAC,
            Self::Roomy => &ROOMY,
        }
    }
}
