//! The fields of a new local post, and their rules. An error is a response body.

use chrono::{NaiveDate, NaiveDateTime};
use http::HeaderMap;
use serde_json::Value;
use url::Url;

use super::invalid;
use crate::google::api_error::internal;
use crate::google::payload::{self, Messages};

// Of the enum `ErrorCode`, whose numbers are not documented. 2 and 1000 were seen in responses. All
// values that are not accepted are `INVALID_VALUE` here; Google has more codes for them.
const MISSING_VALUE: u32 = 2;
pub(super) const INVALID_VALUE: u32 = 3;
pub(super) const PHOTO_FETCH_FAILED: u32 = 1_000;
pub(super) const PHOTO_UPLOAD_FAILED: u32 = 1_001;

const MESSAGES: Messages = &[
    ("LocalPost", "languageCode summary topicType callToAction:CallToAction event:Event media:[MediaItem] offer:Offer"),
    ("CallToAction", "actionType url"),
    ("Event", "title schedule:TimeInterval"),
    ("TimeInterval", "startDate:Date startTime:TimeOfDay endDate:Date endTime:TimeOfDay"),
    ("Date", "year:TYPE_INT32 month:TYPE_INT32 day:TYPE_INT32"),
    ("TimeOfDay", "hours:TYPE_INT32 minutes:TYPE_INT32 seconds:TYPE_INT32 nanos:TYPE_INT32"),
    ("MediaItem", "mediaFormat sourceUrl"),
    ("Offer", "couponCode redeemOnlineUrl termsConditions"),
];

/// Parses a post, and checks its rules.
pub(super) fn parse(headers: &HeaderMap, body: &[u8]) -> Result<Value, Value> {
    let post = payload::parse(headers, body, MESSAGES, "LocalPost", "local_post")?;
    let topic = post["topicType"].as_str().unwrap_or("LOCAL_POST_TOPIC_TYPE_UNSPECIFIED");
    if topic == "LOCAL_POST_TOPIC_TYPE_UNSPECIFIED" {
        return Err(invalid(MISSING_VALUE, "topic_type", "Topic type is required for post creation."));
    }
    let is_language = |it: &str| 2 <= it.len() && it.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
    if post["languageCode"].as_str().is_some_and(|it| !is_language(it)) {
        return Err(invalid(INVALID_VALUE, "language_code", "Invalid language code"));
    }
    check_text(&post["summary"], "summary", 1_500)?;
    check_topic(topic, &post)?;
    check_action(&post["callToAction"])?;
    check_media(&post["media"])?;
    Ok(post)
}

fn missing(field: &str) -> Value {
    invalid(MISSING_VALUE, field, &format!("{field} is required"))
}

/// Requires a text of at most so many UTF-16 code units: Google does not define characters, and
/// JavaScript counts these in its own form.
fn check_text(text: &Value, field: &str, max: usize) -> Result<(), Value> {
    let text = text.as_str().filter(|it| !it.is_empty()).ok_or_else(|| missing(field))?;
    if max < text.encode_utf16().count() {
        return Err(invalid(INVALID_VALUE, field, &format!("Must be at most {max} characters")));
    }
    Ok(())
}

fn check_url(url: &Value, field: &str) -> Result<(), Value> {
    let url = url.as_str().ok_or_else(|| missing(field))?;
    let is_web = Url::parse(url).is_ok_and(|it| ["http", "https"].contains(&it.scheme()));
    if is_web { Ok(()) } else { Err(invalid(INVALID_VALUE, field, "Invalid URL")) }
}

/// The fields that a topic requires, and those that it forbids.
fn check_topic(topic: &str, post: &Value) -> Result<(), Value> {
    let (required, forbidden): (&[&str], &[&str]) = match topic {
        "EVENT" => (&["event"], &["offer"]),
        "OFFER" => (&["event", "offer"], &["callToAction"]),
        "STANDARD" => (&[], &["event", "offer"]),
        _ => return Err(invalid(INVALID_VALUE, "topic_type", "Invalid topic type")),
    };
    if let Some(field) = required.iter().find(|it| post[**it].is_null()) {
        return Err(missing(field));
    }
    if let Some(field) = forbidden.iter().find(|it| !post[**it].is_null()) {
        return Err(invalid(INVALID_VALUE, field, "Not supported for this topic type"));
    }
    if !post["offer"]["redeemOnlineUrl"].is_null() {
        check_url(&post["offer"]["redeemOnlineUrl"], "offer.redeem_online_url")?;
    }
    if post["event"].is_null() { Ok(()) } else { check_event(&post["event"]) }
}

/// The interval "must contain all fields to be valid". It has no time zone.
fn check_event(event: &Value) -> Result<(), Value> {
    check_text(&event["title"], "event.title", 58)?;
    let time = |date: &str, time: &str| -> Option<NaiveDateTime> {
        let (date, time) = (event["schedule"].get(date)?, event["schedule"].get(time)?);
        let number = |of: &Value, name: &str| of[name].as_u64().map_or(Some(0), |it| u32::try_from(it).ok());
        let year = number(date, "year").filter(|it| (1..=9_999).contains(it))?;
        let date = NaiveDate::from_ymd_opt(year.cast_signed(), number(date, "month")?, number(date, "day")?)?;
        date.and_hms_opt(number(time, "hours")?, number(time, "minutes")?, number(time, "seconds")?)
    };
    match (time("startDate", "startTime"), time("endDate", "endTime")) {
        (Some(start), Some(end)) if start < end => Ok(()),
        _ => Err(invalid(INVALID_VALUE, "event.schedule", "Invalid schedule")),
    }
}

fn check_action(action: &Value) -> Result<(), Value> {
    match action["actionType"].as_str() {
        None if action.is_null() => Ok(()),
        Some("CALL") if action["url"].is_null() => Ok(()),
        Some("CALL") => Err(invalid(INVALID_VALUE, "call_to_action.url", "Not supported for CALL")),
        Some("BOOK" | "ORDER" | "SHOP" | "LEARN_MORE" | "SIGN_UP") => check_url(&action["url"], "call_to_action.url"),
        _ => Err(invalid(INVALID_VALUE, "call_to_action.action_type", "Invalid action type")),
    }
}

/// A post has one photo. Google fails for a video.
fn check_media(media: &Value) -> Result<(), Value> {
    let items = media.as_array().map(Vec::as_slice).unwrap_or_default();
    if 1 < items.len() {
        return Err(invalid(INVALID_VALUE, "media", "Must have at most 1 item"));
    }
    let Some(item) = items.first() else { return Ok(()) };
    match item["mediaFormat"].as_str() {
        Some("PHOTO") => check_url(&item["sourceUrl"], "media.source_url"),
        Some("VIDEO") => Err(internal()),
        _ => Err(missing("media.media_format")),
    }
}
