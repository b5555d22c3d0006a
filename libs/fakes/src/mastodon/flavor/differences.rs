//! The points in which servers differ.

use chrono::TimeDelta;

use crate::fake::oauth::{Client, Pkce, Refresh, Rules};

/// Everything in which a flavor may differ from the others.
#[expect(clippy::struct_excessive_bools, reason = "each is a difference of its own")]
pub(crate) struct Differences {
    /// What the instance says it runs.
    pub(crate) version: &'static str,
    /// The URL of its source, if the instance has one.
    pub(crate) source_url: Option<&'static str>,
    /// How the instance describes itself.
    pub(crate) instance: InstanceApi,
    /// Whether there is `/.well-known/oauth-authorization-server`.
    pub(crate) metadata: bool,
    /// The scopes that a person can be asked for.
    pub(crate) scopes: &'static [&'static str],
    /// Whether an app with other scopes is refused at once, or only its requests.
    pub(crate) checks_scopes_of_apps: bool,
    /// Whether `redirect_uris` may be a list.
    pub(crate) lists_of_redirect_uris: bool,
    /// Whether a PKCE challenge is looked at.
    pub(crate) pkce: bool,
    /// Whether the same app gets the token again that it already has.
    pub(crate) reuses_tokens: bool,
    /// Whether an invalid refresh token is refused as an `invalid_request`.
    pub(crate) calls_dead_tokens_invalid_requests: bool,
    /// How long an access token is valid, where it comes with a refresh token.
    pub(crate) token_lifetime: Option<TimeDelta>,
    /// Whether the refusal of a call for tokens says no more than "Invalid
    /// credentials".
    pub(crate) hides_why_tokens_fail: bool,
    /// What counts as a character.
    pub(crate) counting: Counting,
    /// The treatment of a content warning.
    pub(crate) warnings: Warnings,
    /// The most characters of a status.
    pub(crate) max_characters: usize,
    /// What the instance says that a URL counts, which is not always true.
    pub(crate) told_url_characters: usize,
    /// The most files of a status.
    pub(crate) max_media: Option<usize>,
    /// Whether a status without a file is refused.
    pub(crate) needs_media: bool,
    /// Whether a video may stand beside something else.
    pub(crate) mixes_media: bool,
    /// What `POST /api/v2/media` does.
    pub(crate) second_upload: SecondUpload,
    /// The most pixels of a picture, where it looks at them.
    pub(crate) matrix_limit: Option<u64>,
    /// A picture has fewer bytes than this.
    pub(crate) image_limit: usize,
    /// A video has fewer bytes than this.
    pub(crate) video_limit: usize,
    /// The most characters of a description.
    pub(crate) description_limit: usize,
    /// Whether `/api/v2/instance` states the limit of a description.
    pub(crate) tells_description_limit: bool,
    /// Whether a status without a visibility has the one that the account has set; otherwise it is public.
    pub(crate) applies_own_visibility: bool,
    /// Whether `Idempotency-Key` is looked at.
    pub(crate) idempotency: bool,
    /// How `X-RateLimit-Reset` is written.
    pub(crate) reset: Reset,
    /// Whether requests are limited by address alone, not by token and account.
    pub(crate) limits_by_address: bool,
    /// Whether a status has a `url` in addition to `uri`.
    pub(crate) status_url: bool,
    /// Whether an error has a body.
    pub(crate) says_why: bool,
    /// Whether answers say what the time is.
    pub(crate) tells_date: bool,
    /// Whether statuses are made at whole seconds.
    pub(crate) whole_seconds: bool,
    /// Whether a listing goes on after `max_id`; otherwise it begins again.
    pub(crate) pages: bool,
    /// The field that has the source text of a status.
    pub(crate) source: Source,
    /// Whether markup in a text is applied, smileys become emoji, and the address of
    /// a picture is shown as a file.
    pub(crate) rewrites: bool,
    /// Under which names a status shows its files.
    pub(crate) files: FileNames,
    /// Whether a person who comes from an unknown app sees the page all the same.
    pub(crate) shows_page_to_all: bool,
    /// Whether an app is removed when it gives a token back.
    pub(crate) removes_apps: bool,
    /// Whether tokens are given for any code, also an invalid one.
    pub(crate) takes_any_code: bool,
    /// Whether the answer with the tokens leaves out their scopes.
    pub(crate) hides_scopes: bool,
}

impl Differences {
    /// What the documents say of its OAuth.
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

/// The treatment of a content warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Warnings {
    /// It counts as text, and marks the status as sensitive.
    Marking,
    /// It counts as text.
    Plain,
    /// It has a limit of its own, and is dropped of a status that is not marked as
    /// sensitive.
    Apart,
}

/// Under which names a status shows its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileNames {
    /// Those of their uploads.
    Kept,
    /// Other ids, at the addresses of the uploads.
    OtherIds,
    /// Other ids, and other addresses.
    AllOther,
}

/// The field that has the source text of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// `/api/v1/statuses/{id}/source`
    Call,
    /// As on Mastodon, and in the `text` of every status.
    CallAndText,
    /// Nowhere.
    Untold,
}

/// How an instance describes itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstanceApi {
    /// `/api/v2/instance` and `/api/v1/instance`, both with `configuration`.
    Both,
    /// `/api/v1/instance` with `configuration`.
    FirstWithConfiguration,
    /// `/api/v1/instance` with `max_toot_chars` and `upload_limit`.
    FirstWithLimits,
}

/// What counts as a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counting {
    /// Grapheme clusters; a URL is 23, a mention is without its host.
    Mastodon,
    /// Graphemes by the rules before Unicode 15.1, which Ruby followed until 4.0.
    MastodonOnRuby3,
    /// Grapheme clusters by those rules, whatever they are part of. Pleroma counts
    /// as the Erlang below it does, and most are older.
    Graphemes,
    /// Unicode code points, whatever they are part of.
    CodePoints,
}

/// What the second version of uploading does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SecondUpload {
    Absent,
    /// Pictures are processed at once and answered with 200, other files later and
    /// answered with 202.
    LargeLater,
    /// Every file is processed at once and answered with 200, but without its URL.
    WithoutUrl,
    /// Every file is processed at once, but answered with 202.
    AlwaysAccepted,
}

/// How the end of a limit is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reset {
    /// A timestamp of ISO 8601.
    Timestamp,
    /// Seconds since 1970.
    UnixSeconds,
}
