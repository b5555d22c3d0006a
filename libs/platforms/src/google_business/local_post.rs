//! A post of a location, in requests and in lists.

use chrono::{DateTime, Datelike, NaiveDateTime, TimeDelta, Timelike, Utc};
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
pub(super) const IN_REVIEW: &str = "Google is reviewing the post";

/// How long after its creation a change of a post is made by a person, and not by Google's processing.
const EDITED_AFTER: TimeDelta = TimeDelta::seconds(10);

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
    update_time: Option<DateTime<Utc>>,
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

    fn is_edited(&self) -> bool {
        let created_and_updated = self.create_time.zip(self.update_time);
        created_and_updated.is_some_and(|(created, updated)| EDITED_AFTER < updated - created)
    }

    pub(super) fn listed(self) -> ListedPost {
        ListedPost {
            state: self.state(),
            content: json!([self.topic_type, self.event.title, self.summary, self.is_edited()]),
            at: self.create_time,
            url: self.search_url,
            id: self.name,
        }
    }
}

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
    if topic(options) == "OFFER" {
        post["offer"] = offer.collect::<Map<_, _>>().into();
    }
    if let Some(url) = picture {
        post["media"] = json!([{ "mediaFormat": "PHOTO", "sourceUrl": url }]);
    }
    Ok(post)
}

fn topic(options: &Options) -> String {
    options.text(TOPIC).unwrap_or("standard").to_ascii_uppercase()
}

/// A date and time such as `2026-05-09T19:00`.
pub(super) fn local_time(text: &str) -> Option<NaiveDateTime> {
    const FORM: &str = "%Y-%m-%dT%H:%M";
    let time = NaiveDateTime::parse_from_str(text, FORM).ok()?;
    // The parser accepts spaces and signs, too.
    (time.format(FORM).to_string() == text).then_some(time)
}

fn schedule(options: &Options) -> Result<Value, CallError> {
    let time = |name: &str| {
        let time = options.text(name).and_then(local_time);
        time.ok_or_else(|| CallError::invalid_post(format!("option {name}: enter a date and time")))
    };
    let (starts_at, ends_at) = (time(STARTS_AT)?, time(ENDS_AT)?);
    if ends_at <= starts_at {
        return Err(CallError::invalid_post(format!("option {ENDS_AT}: enter a time after {STARTS_AT}")));
    }
    let date = |it: NaiveDateTime| json!({ "year": it.year(), "month": it.month(), "day": it.day() });
    let time = |it: NaiveDateTime| json!({ "hours": it.hour(), "minutes": it.minute() });
    Ok(json!({
        "startDate": date(starts_at),
        "startTime": time(starts_at),
        "endDate": date(ends_at),
        "endTime": time(ends_at),
    }))
}

pub(super) fn compare(text: &str, options: &Options, listed: &ListedPost) -> PostMatch {
    let listed_text = |index: usize| listed.content[index].as_str().unwrap_or_default();
    // Google may change the white space.
    let is_same = |index, ours: &str| listed_text(index).split_whitespace().eq(ours.split_whitespace());
    let title = options.text(POST_TITLE).unwrap_or_default();
    let (has_topic, has_title, has_text) = (listed_text(0) == topic(options), is_same(1, title), is_same(2, text));
    if has_topic && has_title && has_text {
        return PostMatch::Equal;
    }
    // A person may have edited ours, also while Google reviews it.
    let is_edited = listed.content[3] == true;
    // Google may have changed one of them.
    let is_like = has_topic && (has_text || has_title && !title.is_empty());
    if is_edited || is_like { PostMatch::Possible } else { PostMatch::Different }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(given: &[(&str, &str)]) -> Options {
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect()
    }

    #[test]
    fn event_ends_after_it_starts() {
        let at = "2026-12-31T22:30";
        let event = options(&[(TOPIC, "event"), (POST_TITLE, "New Year"), (STARTS_AT, at), (ENDS_AT, at)]);
        let early = body("Hello", &event, None).unwrap_err();
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
        let (created, summary) = ("2026-05-09T19:00:00.5Z", "Flood");
        for (updated, expected) in
            [("2026-05-09T19:00:01Z", PostMatch::Different), ("2026-05-09T19:01:00Z", PostMatch::Possible)]
        {
            let other = json!({"name": "x/localPosts/3", "topicType": "STANDARD", "summary": summary,
                "createTime": created, "updateTime": updated});
            assert_eq!(compare("Ebb tide", &none, &listed(other)), expected);
        }
    }
}
