//! A post of a location, in requests and in lists.

use chrono::{DateTime, Datelike, FixedOffset, Timelike, Utc};
use domain::options::Options;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    CALL_TO_ACTION, COUPON_CODE, ENDS_AT, LANGUAGE, LINK, POST_TITLE, REDEEM_URL, STARTS_AT, TERMS, TOPIC,
    WITH_SCHEDULE,
};
use crate::kit::{CallError, ListedPost, PostState};
use crate::recognition::PostMatch;

const REJECTED: &str = "Google rejected the post: it gives no reason; see its content policy";
const IN_REVIEW: &str = "Google is reviewing the post";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LocalPost {
    /// `accounts/{account}/locations/{location}/localPosts/{post}`.
    pub(super) name: String,
    state: Option<String>,
    #[serde(default)]
    summary: String,
    topic_type: Option<String>,
    create_time: Option<DateTime<Utc>>,
    pub(super) search_url: Option<String>,
    #[serde(default)]
    event: Event,
}

#[derive(Default, Deserialize)]
struct Event {
    #[serde(default)]
    title: String,
}

impl LocalPost {
    pub(super) fn has_name(&self) -> bool {
        let name = &self.name;
        name.len() <= 300 && name.contains("/localPosts/") && name.bytes().all(|it| it.is_ascii_graphic())
    }

    /// A state that is not documented may become public.
    pub(super) fn state(&self) -> PostState {
        match self.state.as_deref() {
            Some("LIVE" | "RECURRING") => PostState::Public,
            Some("REJECTED") => PostState::Refused(REJECTED.to_owned()),
            _ => PostState::NotYetPublic(IN_REVIEW.to_owned()),
        }
    }

    pub(super) fn listed(self) -> ListedPost {
        ListedPost {
            state: self.state(),
            content: json!([self.topic_type, self.event.title, self.summary]),
            at: self.create_time,
            url: self.search_url,
            id: self.name,
        }
    }
}

/// The body of the publish call.
pub(super) fn body(text: &str, options: &Options, picture: Option<&str>) -> Result<Value, CallError> {
    let language = options.text(LANGUAGE).unwrap_or("en");
    let mut post = json!({ "topicType": topic(options), "languageCode": language, "summary": text });
    if let Some(action) = options.text(CALL_TO_ACTION) {
        post["callToAction"] = json!({ "actionType": action.to_ascii_uppercase() });
        if let Some(link) = options.text(LINK) {
            post["callToAction"]["url"] = link.into();
        }
    }
    if options.text(TOPIC).is_some_and(|it| WITH_SCHEDULE.contains(&it)) {
        post["event"] = json!({ "title": options.text(POST_TITLE), "schedule": schedule(options)? });
    }
    let fields = [("couponCode", COUPON_CODE), ("redeemOnlineUrl", REDEEM_URL), ("termsConditions", TERMS)];
    let offer = fields.into_iter().filter_map(|(field, name)| Some((field.to_owned(), options.text(name)?.into())));
    let offer: Map<String, Value> = offer.collect();
    if !offer.is_empty() {
        post["offer"] = offer.into();
    }
    if let Some(url) = picture {
        post["media"] = json!([{ "mediaFormat": "PHOTO", "sourceUrl": url }]);
    }
    Ok(post)
}

fn topic(options: &Options) -> String {
    options.text(TOPIC).unwrap_or("standard").to_ascii_uppercase()
}

/// Google's dates and times have no time zone: each is sent as it is written.
fn schedule(options: &Options) -> Result<Value, CallError> {
    let time = |name: &str| {
        let time = options.text(name).and_then(|it| DateTime::parse_from_rfc3339(it).ok());
        time.ok_or_else(|| CallError::invalid_post(format!("option {name}: enter a date and time")))
    };
    let (starts_at, ends_at) = (time(STARTS_AT)?, time(ENDS_AT)?);
    if ends_at.naive_local() <= starts_at.naive_local() {
        return Err(CallError::invalid_post(format!("option {ENDS_AT}: enter a time after {STARTS_AT}")));
    }
    let date = |it: DateTime<FixedOffset>| json!({ "year": it.year(), "month": it.month(), "day": it.day() });
    let time = |it: DateTime<FixedOffset>| json!({ "hours": it.hour(), "minutes": it.minute() });
    Ok(json!({
        "startDate": date(starts_at),
        "startTime": time(starts_at),
        "endDate": date(ends_at),
        "endTime": time(ends_at),
    }))
}

pub(super) fn compare(text: &str, options: &Options, listed: &ListedPost) -> PostMatch {
    let listed_text = |index: usize| listed.content[index].as_str().unwrap_or_default();
    if listed_text(0) != topic(options) {
        return PostMatch::Different;
    }
    // Google may change the white space.
    let is_same = |index, ours: &str| listed_text(index).split_whitespace().eq(ours.split_whitespace());
    let title = options.text(POST_TITLE).unwrap_or_default();
    match (is_same(1, title), is_same(2, text)) {
        (true, true) => PostMatch::Equal,
        (true, false) if title.is_empty() => PostMatch::Different,
        // Google, or an owner, may have changed one of them.
        (true, false) | (false, true) => PostMatch::Possible,
        (false, false) => PostMatch::Different,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(given: &[(&str, &str)]) -> Options {
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect()
    }

    #[test]
    fn event_has_the_dates_and_times_as_they_are_written() {
        let event = |ends_at| {
            let (starts_at, title) = ("2026-12-31T22:30:00-05:00", "New Year");
            options(&[(TOPIC, "event"), (POST_TITLE, title), (STARTS_AT, starts_at), (ENDS_AT, ends_at)])
        };
        let post = body("Hello", &event("2027-01-01T02:00:00-05:00"), Some("https://a.example/1.jpg")).unwrap();
        let schedule = json!({
            "startDate": {"year": 2026, "month": 12, "day": 31},
            "startTime": {"hours": 22, "minutes": 30},
            "endDate": {"year": 2027, "month": 1, "day": 1},
            "endTime": {"hours": 2, "minutes": 0},
        });
        let expected = json!({
            "topicType": "EVENT",
            "languageCode": "en",
            "summary": "Hello",
            "event": {"title": "New Year", "schedule": schedule},
            "media": [{"mediaFormat": "PHOTO", "sourceUrl": "https://a.example/1.jpg"}],
        });
        assert_eq!(post, expected);
        let early = body("Hello", &event("2026-12-31T22:30:00-05:00"), None).unwrap_err();
        assert_eq!(early.message, "option event_ends_at: enter a time after event_starts_at");
    }

    #[test]
    fn listed_post_is_ours_if_topic_title_and_text_are() {
        let listed = |json| serde_json::from_value::<LocalPost>(json).unwrap().listed();
        let update = listed(json!({"name": "x/localPosts/1", "topicType": "STANDARD", "summary": "Ebb  tide"}));
        let none = options(&[]);
        assert_eq!(compare("Ebb tide", &none, &update), PostMatch::Equal);
        assert_eq!(compare("Flood", &none, &update), PostMatch::Different);
        assert_eq!(compare("Ebb tide", &options(&[(TOPIC, "event")]), &update), PostMatch::Different);
        let event = json!({"name": "x/localPosts/2", "topicType": "EVENT", "event": {"title": "A"}, "summary": "Ebb"});
        let ours = options(&[(TOPIC, "event"), (POST_TITLE, "A")]);
        assert_eq!(compare("Edited", &ours, &listed(event)), PostMatch::Possible);
    }
}
