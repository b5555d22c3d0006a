//! Google Business Profile: posts of locations, such as shops, through the operator's app.
//!
//! Source: the fact sheet of Google Business Profile, the reference of `accounts.locations.localPosts` (My Business API
//! v4), the discovery documents of Account Management and Business Information (v1).
//!
//! - A person manages locations in several accounts. Posts need the ids of both.
//! - Google reviews each post. A success of the publish call does not mean that the post is public, and it may even
//!   have been rejected already.
//! - Google fetches the image by URL after the publish call.
//! - No idempotency key, no client-chosen id. The posts of a location can be listed, with their texts and states.

mod local_post;
mod locations;

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use domain::connection::AccountInfo;
use domain::delivery::{AttemptError, Published, Resolution};
use domain::media::{Attachment, MAX_FETCHED_PICTURE_BYTES, MimeType, PictureBounds};
use domain::options::{OptionKind, OptionSpec, TextForm};
use domain::rules::{Counting, FileRule, OptionCondition, PostRule, Rule, Rules};
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use url::Url;

use self::local_post::{IN_REVIEW, LocalPost};
use self::locations::{Page, segments};
use crate::account::{AccountDetails, UnreadableGrant};
use crate::google;
use crate::kit::{
    ApiClient, Auth, Call, CallError, Effect, ErrorKind, ErrorRule, ErrorTable, File, Grant, ListedPost, LookUpMethod,
    MediaSource, OAuthAdapter, PostPage, PostState, Prepared, PublishAdapter, UploadStep,
};
use crate::lead_times::LeadTimes;
use crate::oauth2::OAuth2;
use crate::platform::{FollowUp, Followed};
use crate::platform_info::Access;
use crate::publish_request::PublishRequest;
use crate::recognition::PostMatch;
use crate::refresh_policy::RefreshPolicy;
use crate::setup::{Setup, SetupError};

pub(crate) const NAME: &str = "google_business";
pub(crate) const TITLE: &str = "Google Business Profile";

/// Google grants the API to each operator's project; until then, its quota is 0.
pub(crate) const ACCESS: Access = Access::Review;

pub(crate) const PERMISSIONS: &str = "manage the business profiles that you choose";

pub(crate) const LEAD: LeadTimes = LeadTimes { images: Some(TimeDelta::minutes(2)), ..LeadTimes::NONE };

const CALL_TO_ACTION: &str = "call_to_action";
const ENDS_AT: &str = "event_ends_at";
const STARTS_AT: &str = "event_starts_at";
const LANGUAGE: &str = "language";
const LINK: &str = "link";
const COUPON_CODE: &str = "offer_coupon_code";
const REDEEM_URL: &str = "offer_redeem_url";
const TERMS: &str = "offer_terms";
const POST_TITLE: &str = "title";
const TOPIC: &str = "topic";

const WEB: OptionKind = OptionKind::Address(&["https://", "http://"]);
/// Google's times have no time zone, so one in the option would be ignored, and a time in UTC shown unconverted.
const TIME: OptionKind = OptionKind::TextOf(&TextForm {
    pattern: "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}$",
    has: |it| local_post::local_time(it).is_some(),
    max: 16,
    examples: &["2026-05-09T19:00"],
});

const WITH_SCHEDULE: &[&str] = &["event", "offer"];
const WITH_LINK: &[&str] = &["book", "order", "shop", "learn_more", "sign_up"];

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        CALL_TO_ACTION,
        OptionKind::OneOf(&["book", "order", "shop", "learn_more", "sign_up", "call"]),
        "The button of the post. It opens the link; call dials the number of the location. Not in offers, which have a \
         button of their own.",
    ),
    OptionSpec::new(ENDS_AT, TIME, "When the event or offer ends, as a date and time of the location.")
        .required_when(TOPIC, WITH_SCHEDULE),
    OptionSpec::new(STARTS_AT, TIME, "When the event or offer starts, as a date and time of the location.")
        .required_when(TOPIC, WITH_SCHEDULE),
    OptionSpec::new(LANGUAGE, OptionKind::Language, "The language of the post. Defaults to English."),
    OptionSpec::new(LINK, WEB, "The URL that the button opens.")
        .required_when(CALL_TO_ACTION, WITH_LINK)
        .needs(CALL_TO_ACTION),
    OptionSpec::new(COUPON_CODE, OptionKind::Text { max: 58 }, "The coupon code of the offer."),
    OptionSpec::new(REDEEM_URL, WEB, "The URL at which the offer is redeemed."),
    OptionSpec::new(TERMS, OptionKind::Text { max: 5_000 }, "The terms and conditions of the offer."),
    OptionSpec::new(POST_TITLE, OptionKind::Text { max: 58 }, "The title of the event or offer.")
        .required_when(TOPIC, WITH_SCHEDULE),
    OptionSpec::new(
        TOPIC,
        OptionKind::OneOf(&["standard", "event", "offer"]),
        "Whether the post is an update, an event or an offer. Defaults to standard, an update.",
    ),
];

const SCOPE: &str = "https://www.googleapis.com/auth/business.manage";

const ERRORS: ErrorTable = ErrorTable {
    title: TITLE,
    // The error of a field says more than the error itself.
    message_at: &["/error/details/*/errorDetails/*/message", "/error/message"],
    rules: &[
        google::API_DISABLED.user_message(
            "The Google Cloud project of this service may not use this API. Ask the operator to enable My Business \
             Account Management API, My Business Business Information API and Google My Business API, which Google \
             shows only after it has granted access.",
        ),
        google::NO_QUOTA,
        google::SCOPE_MISSING,
        ErrorRule::status(429).kind(ErrorKind::RateLimited).retry_after(TimeDelta::minutes(1)),
        ErrorRule::codes(&["LOCATION_DISABLED_FOR_LOCAL_POST_API"])
            .user_message("Google permits no posts of this location by other software, as for many chains"),
        ErrorRule::status(400).message_contains(&["fetching image failed", "fetch photo"]).kind(ErrorKind::FetchFailed),
        ErrorRule::status(403).kind(ErrorKind::Forbidden).user_message(
            "this Google account may not post for the location: check that it is still its manager, and that the \
             location is verified",
        ),
        ErrorRule::status(404)
            .user_message("the location does not exist, or the Google account does not manage it any more"),
    ],
    ..google::ERRORS
};

/// Only JPEG and PNG are accepted, of at most 5 MB. The longest side is not documented.
const BOUNDS: PictureBounds = PictureBounds::new(MAX_FETCHED_PICTURE_BYTES, 4_096);

/// Documented for all photos of a profile. At least 10 KB are documented, too, but the service may convert a picture.
const MIN_IMAGE_SIDE: u32 = 250;

/// The follow-up that reads the state again, and how long after the publication.
const REVIEW: &str = "review";
const REVIEWED_AFTER: [TimeDelta; 2] = [TimeDelta::hours(1), TimeDelta::days(1)];

const PUBLISH_TIMEOUT: Duration = Duration::from_secs(20);

const PAGE_SIZE: &str = "100";
const PAGE_BYTES: usize = 4 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// Replaces all hosts of Google.
    url: Option<Url>,
}

pub(crate) fn set_up(setup: &Setup) -> Result<Option<GoogleBusiness>, SetupError> {
    let Some(Settings { url }) = setup.settings(NAME)? else { return Ok(None) };
    let url = url.as_ref();
    let api = |official| ApiClient::known(setup.http.clone(), google::host(url, official), &ERRORS);
    Ok(Some(GoogleBusiness {
        accounts: api("https://mybusinessaccountmanagement.googleapis.com"),
        locations: api("https://mybusinessbusinessinformation.googleapis.com"),
        posts: api("https://mybusiness.googleapis.com"),
        oauth: google::oauth(setup, NAME, url),
    }))
}

pub(crate) struct GoogleBusiness {
    accounts: ApiClient,
    locations: ApiClient,
    posts: ApiClient,
    oauth: OAuth2,
}

impl OAuthAdapter for GoogleBusiness {
    const NAME: &'static str = NAME;
    const REFRESH_POLICY: RefreshPolicy = RefreshPolicy::Rotating;
    const REVOKES_ALL: bool = true;

    fn oauth(&self) -> &OAuth2 {
        &self.oauth
    }

    fn scopes(&self) -> Vec<&str> {
        vec![SCOPE]
    }

    fn rules(&self) -> Rules {
        rules()
    }

    async fn accounts(&self, auth: Auth<'_>) -> Result<Grant, CallError> {
        locations::list(self, auth).await
    }

    async fn account(&self, auth: Auth<'_>, profile: &AccountInfo) -> Result<Option<AccountDetails>, CallError> {
        locations::one(self, auth, profile).await
    }
}

impl PublishAdapter for GoogleBusiness {
    const TITLE: &'static str = TITLE;
    const FETCHES_FILES: bool = true;
    /// Nothing is documented about how soon a post can be read or is in the list.
    const SETTLE_TIME: TimeDelta = TimeDelta::seconds(90);

    type Uploaded = ();

    fn media_source(&self, _: &PublishRequest<'_>, _: &Attachment) -> MediaSource {
        MediaSource::PublicUrl(BOUNDS)
    }

    async fn upload(&self, _: &PublishRequest<'_>, _: &File<'_>) -> Result<UploadStep<()>, CallError> {
        Ok(UploadStep::Uploaded(()))
    }

    async fn create_post(
        &self,
        request: &PublishRequest<'_>,
        prepared: &Prepared<'_, ()>,
    ) -> Result<Published, CallError> {
        let picture = prepared.files.first().and_then(|it| it.url.as_deref());
        let body = local_post::body(request.text, request.options, picture)?;
        let call = self.posts.post(Auth::post(request), &posts_path(request)?).json(&body);
        let created: LocalPost = call.timeout(PUBLISH_TIMEOUT).read().await?;
        if !created.has_name() {
            return Err(self.posts.unreadable(Effect::Public));
        }
        match created.state() {
            PostState::Public => Ok(Published::new(created.name, request.now).with_url(created.search_url)),
            PostState::NotYetPublic(reason) => Err(CallError::accepted(created.name.into(), reason)),
            PostState::Refused(reason) => Err(CallError::new(ErrorKind::InvalidPost, Effect::Public, reason)),
        }
    }

    /// The reference is the name of the post.
    async fn find_accepted(&self, request: &PublishRequest<'_>, name: &Value) -> Result<Resolution, CallError> {
        let Some(post) = self.post(request, name.as_str().unwrap_or_default()).await? else {
            if request.now < request.called_at + Self::SETTLE_TIME {
                return Ok(Resolution::Pending { reason: IN_REVIEW.to_owned() });
            }
            // A location that the person does not manage any more looks the same.
            let advice = "Google does not find the post any more, so a person may have deleted it";
            return Ok(Resolution::Undeterminable { advice: advice.to_owned() });
        };
        Ok(match post.state() {
            PostState::Public => {
                Resolution::Found(Published::new(post.name, request.called_at).with_url(post.search_url))
            }
            PostState::NotYetPublic(reason) => Resolution::Pending { reason },
            PostState::Refused(reason) => Resolution::Refused { reason },
        })
    }

    /// Google may reject a post after it was public.
    fn follow_ups(&self, _: &PublishRequest<'_>) -> Vec<&'static str> {
        vec![REVIEW]
    }

    async fn follow_up(
        &self,
        request: &PublishRequest<'_>,
        follow_up: &FollowUp<'_>,
    ) -> Result<Followed, AttemptError> {
        let again = |next: usize| match REVIEWED_AFTER.get(next) {
            Some(wait) => Followed::Again { progress: next.to_string(), at: follow_up.published.at + *wait },
            None => Followed::Done,
        };
        let Some(review) = follow_up.progress else { return Ok(again(0)) };
        match self.post(request, &follow_up.published.platform_post_id).await?.map(|it| it.state()) {
            Some(PostState::Refused(reason)) => Ok(Followed::Removed { reason }),
            // A person has deleted it, or does not manage the location any more.
            None => Ok(Followed::Done),
            Some(PostState::Public | PostState::NotYetPublic(_)) => {
                Ok(again(review.parse::<usize>().map_or(REVIEWED_AFTER.len(), |it| it + 1)))
            }
        }
    }

    fn look_up_method(&self, _: &PublishRequest<'_>) -> LookUpMethod {
        LookUpMethod::List { snapshot: false }
    }

    async fn list_posts(
        &self,
        request: &PublishRequest<'_>,
        _: Option<DateTime<Utc>>,
        page: Option<&str>,
    ) -> Result<PostPage, CallError> {
        let call = self.posts.get(Auth::post(request), &posts_path(request)?).query(&[("pageSize", PAGE_SIZE)]);
        let Page { items, next } = self::page(call, page).await?;
        if !items.iter().all(LocalPost::has_name) {
            return Err(self.posts.unreadable(Effect::Read));
        }
        // The order is not documented, so the age of a post never ends the search.
        Ok(PostPage { posts: items.into_iter().map(LocalPost::listed).collect(), next, is_sorted: false })
    }

    fn compare(&self, request: &PublishRequest<'_>, _: &Prepared<'_, ()>, listed: &ListedPost) -> PostMatch {
        local_post::compare(request.text, request.options, listed)
    }
}

impl GoogleBusiness {
    /// The post with this name, `None` if it was deleted.
    async fn post(&self, request: &PublishRequest<'_>, name: &str) -> Result<Option<LocalPost>, CallError> {
        let path: Vec<&str> = ["v4"].into_iter().chain(name.split('/')).collect();
        match self.posts.get(Auth::post(request), &path).read().await {
            Ok(post) => Ok(Some(post)),
            Err(error) if error.is_status(StatusCode::NOT_FOUND) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn rules() -> Rules {
    let refused = |options: &[&str]| {
        [Rule::OfPost(PostRule::RefusedOptions { options: options.iter().map(|it| (*it).to_owned()).collect() })]
    };
    let rules = [
        Rule::OfPost(PostRule::TextRequired),
        // The strictest count of characters.
        Rule::max_text(1_500, Counting::utf16()),
        Rule::max_images(1),
        Rule::mime_types([MimeType::Jpeg, MimeType::Png, MimeType::Webp]),
        Rule::OfFiles(FileRule::MinImageSide { min: MIN_IMAGE_SIDE }),
        Rule::OfFiles(FileRule::FittedImageBytes { max: BOUNDS.max_bytes }),
        Rule::OfFiles(FileRule::FittedImageSide { max: BOUNDS.max_side }),
    ];
    let of_others = refused(&[POST_TITLE, STARTS_AT, ENDS_AT, COUPON_CODE, REDEEM_URL, TERMS]);
    Rules::new(TITLE, rules)
        .with_rules_when(OptionCondition::option(TOPIC, ["standard"]).or_absent(), of_others)
        .with_rules_when(OptionCondition::option(TOPIC, ["event"]), refused(&[COUPON_CODE, REDEEM_URL, TERMS]))
        .with_rules_when(OptionCondition::option(TOPIC, ["offer"]), refused(&[CALL_TO_ACTION]))
        .with_rules_when(OptionCondition::option(CALL_TO_ACTION, ["call"]), refused(&[LINK]))
}

async fn page<T: DeserializeOwned>(call: Call, token: Option<&str>) -> Result<Page<T>, CallError> {
    let call = call.query(&token.iter().map(|it| ("pageToken", it)).collect::<Vec<_>>());
    let Page { items, next } = call.max_bytes(PAGE_BYTES).read().await?;
    Ok(Page { items, next: next.filter(|it| !it.is_empty()) })
}

fn posts_path<'a>(request: &PublishRequest<'a>) -> Result<[&'a str; 6], CallError> {
    let (account, location) = segments(&request.profile.account_id).ok_or(UnreadableGrant)?;
    Ok(["v4", "accounts", account, "locations", location, "localPosts"])
}

#[cfg(test)]
mod tests {
    use domain::options::{OptionValue, Options};

    use super::*;

    /// Responses seen in documents or in issues of clients.
    #[test]
    fn error_table_classifies_known_responses() {
        let error = |status: &str, details: &str| {
            format!(r#"{{"error":{{"code":0,"message":"Failed.","status":"{status}","details":[{details}]}}}}"#)
        };
        let reason = |it: &str| format!(r#"{{"reason":"{it}","metadata":{{"service":"mybusiness.googleapis.com"}}}}"#);
        let quota = |it: &str| {
            format!(
                r#"{{"reason":"RATE_LIMIT_EXCEEDED","metadata":{{"quota_limit_value":"{it}","quota_unit":"1/min"}}}}"#
            )
        };
        let field = r#"{"errorDetails":[{"code":3,"field":"summary","message":"Must be at most 1500 characters"}]}"#;
        let image = r#"{"errorDetails":[{"code":1000,"message":"Fetching image failed."}]}"#;
        for (status, body, expected) in [
            (401, error("UNAUTHENTICATED", ""), ErrorKind::Unauthorized),
            (403, error("PERMISSION_DENIED", ""), ErrorKind::Forbidden),
            (403, error("PERMISSION_DENIED", &reason("SERVICE_DISABLED")), ErrorKind::AppMisconfigured),
            (403, error("PERMISSION_DENIED", &reason("ACCESS_TOKEN_SCOPE_INSUFFICIENT")), ErrorKind::Unauthorized),
            (429, error("RESOURCE_EXHAUSTED", &quota("0")), ErrorKind::AppMisconfigured),
            (429, error("RESOURCE_EXHAUSTED", &quota("300")), ErrorKind::RateLimited),
            (400, error("INVALID_ARGUMENT", field), ErrorKind::InvalidPost),
            (400, error("INVALID_ARGUMENT", image), ErrorKind::FetchFailed),
            (400, error("INVALID_ARGUMENT", &reason("LOCATION_DISABLED_FOR_LOCAL_POST_API")), ErrorKind::InvalidPost),
            (404, error("NOT_FOUND", ""), ErrorKind::InvalidPost),
            (404, "<html><title>Error 404 (Not Found)!!1</title></html>".to_owned(), ErrorKind::Intermediary),
            (500, error("INTERNAL", ""), ErrorKind::ServerError),
        ] {
            let status = http::StatusCode::from_u16(status).unwrap();
            let now = domain::testing::noon();
            let error = ERRORS.classify(Effect::Public, status, &http::HeaderMap::new(), body.as_bytes(), now);
            assert_eq!(error.kind, expected, "{status} {body}");
            assert_eq!(error.message.contains("1500 characters"), body.contains("1500"), "{}", error.message);
        }
    }

    #[test]
    fn options_depend_on_the_topic_and_the_button() {
        let vocabulary = domain::options::PlatformOptions::new([(NAME, OPTIONS)]);
        let (at, until, url) = ("2026-05-09T19:00", "2026-05-09T22:00", "https://a.example");
        let event = [(POST_TITLE, "Tides"), (STARTS_AT, at), (ENDS_AT, until)];
        let with = |topic, more: &[(&'static str, &'static str)]| [&event[..], &[(TOPIC, topic)], more].concat();
        for (given, is_accepted) in [
            (vec![], true),
            (vec![(CALL_TO_ACTION, "call")], true),
            (vec![(CALL_TO_ACTION, "call"), (LINK, url)], false),
            (vec![(CALL_TO_ACTION, "book"), (LINK, url)], true),
            (vec![(CALL_TO_ACTION, "book")], false),
            (vec![(LINK, url)], false),
            (event.to_vec(), false),
            (vec![(TOPIC, "event")], false),
            (with("event", &[(CALL_TO_ACTION, "call")]), true),
            (with("event", &[(TERMS, "None.")]), false),
            (with("offer", &[(TERMS, "None."), (COUPON_CODE, "EBB"), (REDEEM_URL, url)]), true),
            (with("offer", &[(CALL_TO_ACTION, "call")]), false),
            (with("event", &[(ENDS_AT, "2026-05-09T22:00Z")]), false),
            (with("event", &[(ENDS_AT, "2026-05- 9T22:00")]), false),
            (with("event", &[(ENDS_AT, "2026-05-32T22:00")]), false),
        ] {
            let options: Options = given.iter().map(|it| (it.0.to_owned(), OptionValue::from(it.1))).collect();
            let mut errors = domain::validation_errors::ValidationErrors::default();
            vocabulary.check_values(NAME, &options, "options", &mut errors);
            let breaches = rules().breaches("Hello", &[], &options);
            assert_eq!(errors.is_empty() && breaches.is_empty(), is_accepted, "{given:?}: {errors:?} {breaches:?}");
        }
    }
}
