use chrono::TimeDelta;

use crate::fake::oauth::{Client, Pkce, Refresh, Rules};

#[expect(clippy::struct_excessive_bools, reason = "each is a difference of its own")]
pub(crate) struct Differences {
    pub(crate) version: &'static str,
    /// The URL of the instance's source code.
    pub(crate) source_url: Option<&'static str>,
    pub(crate) instance: InstanceApi,
    /// Whether `/.well-known/oauth-authorization-server` exists.
    pub(crate) metadata: bool,
    /// The scopes that a client may request.
    pub(crate) scopes: &'static [&'static str],
    /// Whether registration refuses an app with unsupported scopes, or only authorization refuses them.
    pub(crate) checks_scopes_of_apps: bool,
    /// Whether `redirect_uris` may be a list.
    pub(crate) lists_of_redirect_uris: bool,
    /// Whether the server checks PKCE challenges.
    pub(crate) pkce: bool,
    /// Whether the same app receives its existing token again.
    pub(crate) reuses_tokens: bool,
    /// Whether the error for an invalid refresh token is `invalid_request`.
    pub(crate) calls_dead_tokens_invalid_requests: bool,
    /// Lifetime of access tokens that come with a refresh token.
    pub(crate) token_lifetime: Option<TimeDelta>,
    /// Whether the error of the token endpoint is only "Invalid credentials".
    pub(crate) hides_why_tokens_fail: bool,
    pub(crate) counting: Counting,
    pub(crate) warnings: Warnings,
    pub(crate) max_characters: usize,
    /// Characters per URL in the instance's description, which is not always true.
    pub(crate) told_url_characters: usize,
    pub(crate) max_media: Option<usize>,
    pub(crate) needs_media: bool,
    /// Whether a status may have a video together with other files.
    pub(crate) mixes_media: bool,
    pub(crate) second_upload: SecondUpload,
    /// Maximum pixels of an image; `None` if the server does not check.
    pub(crate) matrix_limit: Option<u64>,
    /// An image has fewer bytes than this.
    pub(crate) image_limit: usize,
    /// A video has fewer bytes than this.
    pub(crate) video_limit: usize,
    /// Maximum characters of a description.
    pub(crate) description_limit: usize,
    /// Whether `/api/v2/instance` lists the limit of a description.
    pub(crate) tells_description_limit: bool,
    /// Whether a status without a visibility gets the account's default; otherwise the status is public.
    pub(crate) applies_own_visibility: bool,
    /// Whether the server honors `Idempotency-Key`.
    pub(crate) idempotency: bool,
    /// Format of `X-RateLimit-Reset`.
    pub(crate) reset: Reset,
    /// Whether rate limits are per address only, not per token and account.
    pub(crate) limits_by_address: bool,
    /// Whether a status has a `url` in addition to `uri`.
    pub(crate) status_url: bool,
    /// Whether an error response has a body.
    pub(crate) says_why: bool,
    /// Whether responses have a `Date` header.
    pub(crate) tells_date: bool,
    /// Whether `created_at` is in whole seconds.
    pub(crate) whole_seconds: bool,
    /// Whether listings support `max_id`; otherwise they start from the beginning.
    pub(crate) pages: bool,
    pub(crate) source: Source,
    /// Whether the listing of an account has its replies.
    pub(crate) lists_replies: bool,
    /// Whether a reply to a missing status becomes a status that replies to none.
    pub(crate) ignores_missing_parents: bool,
    /// Whether the server applies markup, replaces smileys by emoji, and shows a linked image as a file.
    pub(crate) rewrites: bool,
    pub(crate) files: FileNames,
    /// Whether the consent page is shown for an unknown app or missing parameters.
    pub(crate) shows_page_to_all: bool,
    /// Whether the server removes an app that revokes a token.
    pub(crate) removes_apps: bool,
    /// Whether the server issues tokens for any code, also an invalid one.
    pub(crate) takes_any_code: bool,
    /// Whether the token response omits the scopes.
    pub(crate) hides_scopes: bool,
}

impl Differences {
    /// The OAuth rules according to the documentation.
    pub(crate) fn oauth(&self) -> Rules {
        Rules {
            clients: &[Client::Basic, Client::Body],
            pkce: if self.pkce { Pkce::Possible } else { Pkce::Ignored },
            scopes: self.scopes,
            default_scope: Some("read"),
            code_lives: TimeDelta::minutes(10),
            access_lives: self.token_lifetime,
            refresh: if self.token_lifetime.is_some() { Refresh::Rotating } else { Refresh::None },
            ..Rules::STANDARD
        }
    }
}

/// Treatment of a content warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warnings {
    /// The warning counts as text, and marks the status as sensitive.
    Marking,
    /// The warning counts as text.
    Plain,
    /// The warning has its own limit, and is dropped from a status that is not marked as sensitive.
    Apart,
}

/// The ids and URLs of a status's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileNames {
    /// Those of the uploads.
    Kept,
    /// Other ids, with the URLs of the uploads.
    OtherIds,
    /// Other ids and other URLs.
    AllOther,
}

/// Where the source text of a status is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// `/api/v1/statuses/{id}/source`
    Call,
    /// As on Mastodon, and in the `text` of every status.
    CallAndText,
    Untold,
}

/// The calls that describe an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstanceApi {
    /// `/api/v2/instance` and `/api/v1/instance`, both with `configuration`.
    Both,
    /// `/api/v1/instance` with `configuration`.
    FirstWithConfiguration,
    /// `/api/v1/instance` with `max_toot_chars` and `upload_limit`.
    FirstWithLimits,
}

/// Unit of text length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// Grapheme clusters; a URL counts 23, and a mention counts without its host.
    Mastodon,
    /// Like `Mastodon`, with the clusters before Unicode 15.1, which Ruby used until 4.0.
    MastodonOnRuby3,
    /// All grapheme clusters before Unicode 15.1, also those of URLs and mentions. Pleroma counts
    /// like its Erlang version, and most are older.
    Graphemes,
    /// All Unicode code points, also those of URLs and mentions.
    CodePoints,
}

/// Behavior of version 2 of the upload call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecondUpload {
    Absent,
    /// Images are processed at once, with 200; other files are processed later, with 202.
    LargeLater,
    /// Every file is processed at once, with 200 but without its URL.
    WithoutUrl,
    /// Every file is processed at once, but with 202.
    AlwaysAccepted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reset {
    /// An ISO 8601 timestamp.
    Timestamp,
    /// Seconds since 1970.
    UnixSeconds,
}
