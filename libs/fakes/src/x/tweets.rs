//! Creating and listing posts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use chrono::{DateTime, SecondsFormat, Utc};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::access::{TIMELINE, TWEETS};
use super::api_error::ApiError;
use super::{Fake, ID, Memory, Spelling, text};
use crate::fake::params::essence;
use crate::fake::schema::{
    self, Boolean, Digits, Fields, Integer, Kind, List, Object, OneOf, Optional, Required, TEXT, Text,
};

#[derive(Clone, Debug)]
pub(super) struct Tweet {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) media: Vec<String>,
    pub(super) fields: Value,
    pub(super) parent: Option<String>,
    at: DateTime<Utc>,
}

const TWEET_ID: Kind = Digits(1, 19);

const POLL: Fields =
    &[("options", Required, List(2, 4, &Text(1, 25))), ("duration_minutes", Required, Integer(5, 10_080))];

/// `CreatePostsRequest` in the API description, except that the text is required: the backend rejects an absent one.
const TWEET: Fields = &[
    ("text", Required, TEXT),
    ("media", Optional, Object(&[("media_ids", Required, List(1, 4, &TWEET_ID))])),
    ("reply", Optional, Object(&[("in_reply_to_tweet_id", Required, TWEET_ID)])),
    ("quote_tweet_id", Optional, TWEET_ID),
    ("poll", Optional, Object(POLL)),
    ("reply_settings", Optional, OneOf(&["following", "mentionedUsers", "subscribers", "verified"])),
    ("community_id", Optional, TWEET_ID),
    ("made_with_ai", Optional, Boolean),
    ("paid_partnership", Optional, Boolean),
];

/// `POST /2/tweets`
pub(super) async fn create(
    State(fake): State<Arc<Fake>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    fake.accept(&headers, "/2/tweets", &["tweet.write", "tweet.read", "users.read"], TWEETS)?;
    if essence(&headers) != "application/json" {
        return Err(ApiError::invalid("The body is no JSON"));
    }
    let fields = schema::parse(&body, TWEET)?;
    check_options(&fields)?;
    let media: Vec<String> = serde_json::from_value(fields["media"]["media_ids"].clone()).unwrap_or_default();
    let parent = fields["reply"]["in_reply_to_tweet_id"].as_str().map(str::to_owned);
    let now = fake.clock.now();
    let mut memory = fake.memory();
    // X trims the text.
    let text = fields["text"].as_str().unwrap_or_default().trim().to_owned();
    if text.is_empty() && media.is_empty() {
        return Err(ApiError::invalid("text is empty"));
    }
    let max = if memory.subscription.starts_with("Premium") { 25_000 } else { 280 };
    if max < text::weighted(&text) {
        return Err(ApiError::new(400, "Invalid Request", "Your Tweet text is too long."));
    }
    if let Some(parent) = &parent {
        memory.check_reply(parent, now)?;
    }
    memory.show(&media, now)?;
    // Other files add another link to the text, so it is no duplicate.
    if memory.tweets.iter().any(|it| it.text == text && it.media == media) {
        return Err(ApiError::forbidden("You are not allowed to create a Tweet with duplicate content."));
    }
    let id = memory.add(&text, media, fields, parent, now);
    let response = json!({ "data": { "id": id, "text": text, "edit_history_post_ids": [id] } });
    Ok((StatusCode::CREATED, Json(response)))
}

fn check_options(fields: &Value) -> Result<(), ApiError> {
    if 1 < ["media", "quote_tweet_id", "poll"].iter().filter(|it| fields.get(**it).is_some()).count() {
        return Err(ApiError::invalid("Quote, poll and media exclude each other"));
    }
    // The API description does not forbid these, but voters cannot distinguish equal options.
    let options = fields["poll"]["options"].as_array().map(Vec::as_slice).unwrap_or_default();
    let distinct: BTreeSet<_> = options.iter().filter_map(Value::as_str).filter(|it| !it.trim().is_empty()).collect();
    if distinct.len() == options.len() { Ok(()) } else { Err(ApiError::invalid("$.poll.options: blank or equal")) }
}

/// `GET /2/users/{id}/tweets`
pub(super) async fn list(
    State(fake): State<Arc<Fake>>,
    Path(id): Path<String>,
    Query(asked): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    fake.accept(&headers, "/2/users/", &["tweet.read", "users.read"], TIMELINE)?;
    if id != ID {
        return Err(ApiError::not_found());
    }
    let mut memory = fake.memory();
    let (now, spelling) = (fake.clock.now(), memory.spelling);
    let parameters = ["max_results", "pagination_token", "start_time", "end_time", "exclude", spelling.parameter()];
    if let Some((name, value)) = asked.iter().find(|(name, _)| !parameters.contains(&name.as_str())) {
        let message = format!("The query parameter [{name}] is not one of [{}]", parameters.join(","));
        return Err(ApiError::parameter(name, value, &message));
    }
    let says = |name: &str| asked.get(name).map(String::as_str);
    let count = says("max_results").map_or(Some(10), |it| it.parse::<usize>().ok());
    let count = count.filter(|it| (5..=100).contains(it));
    let count =
        count.ok_or_else(|| ApiError::invalid("The `max_results` query parameter value is not between 5 and 100"))?;
    let since = says("start_time").map(|it| DateTime::parse_from_rfc3339(it).map(|it| it.to_utc()));
    let since =
        since.transpose().map_err(|_| ApiError::invalid("The `start_time` query parameter value is no time"))?;
    let fields: Vec<&str> = says(spelling.parameter()).unwrap_or_default().split(',').collect();
    let mut known = vec!["created_at", "text", "attachments", "entities", "conversation_id", spelling.note()];
    // The API description with the new spelling has no such field.
    known.extend((spelling == Spelling::Tweet).then_some("referenced_tweets"));
    if let Some(unknown) = fields.iter().find(|it| !it.is_empty() && !known.contains(it)) {
        let name = spelling.parameter();
        let message = format!("The `{name}` query parameter value [{unknown}] is not one of [{}]", known.join(","));
        return Err(ApiError::parameter(name, unknown, &message));
    }
    let excludes_replies = says("exclude").unwrap_or_default().split(',').any(|it| it == "replies");
    let begins = says("pagination_token").map(|it| it.strip_prefix(TOKEN).and_then(|it| it.parse::<usize>().ok()));
    let begins = match begins {
        None => 0,
        Some(begins) => begins.ok_or_else(|| ApiError::invalid("The `pagination_token` is not valid"))?,
    };
    // "Volume limits"
    let max = if excludes_replies { 800 } else { 3_200 };
    let listed_after = memory.listed_after;
    let is_listed = |it: &&Tweet| it.at + listed_after <= now && since.is_none_or(|since| since <= it.at);
    let posts: Vec<&Tweet> = memory.tweets.iter().rev().take(max).filter(is_listed).collect();
    // A page has fewer posts than requested if some are filtered out.
    let page = posts.iter().skip(begins).take(count);
    let is_left_out = |it: &Tweet| excludes_replies && (it.parent.is_some() || it.text.starts_with('@'));
    let data: Vec<_> =
        page.filter(|it| !is_left_out(it)).map(|it| tweet_json(&memory, it, &fields, spelling)).collect();
    let mut meta = json!({ "result_count": data.len() });
    if begins + count < posts.len() {
        meta["next_token"] = format!("{TOKEN}{}", begins + count).into();
    }
    memory.read += data.len();
    Ok(Json(if data.is_empty() { json!({ "meta": meta }) } else { json!({ "data": data, "meta": meta }) }))
}

/// Prefix of page tokens, which are opaque; the position follows.
const TOKEN: &str = "7140dibdnow9c7btw";

fn tweet_json(memory: &Memory, tweet: &Tweet, fields: &[&str], spelling: Spelling) -> Value {
    let named = |key: &str| if memory.renames { format!("{key}0") } else { key.to_owned() };
    let keys: Vec<String> = tweet.media.iter().filter_map(|it| Some(named(&memory.files.get(it)?.key))).collect();
    let beginning = text::beginning(&tweet.text);
    let (text, urls) = text::displayed(beginning.as_ref().unwrap_or(&tweet.text), &keys, &tweet.id);
    let mut object = json!({ "id": tweet.id, "text": text, "edit_history_tweet_ids": [tweet.id] });
    for field in fields {
        match *field {
            "created_at" => object[*field] = tweet.at.to_rfc3339_opts(SecondsFormat::Millis, true).into(),
            "conversation_id" => object[*field] = memory.conversation(tweet).into(),
            "referenced_tweets" if tweet.parent.is_some() => {
                object[*field] = json!([{ "type": "replied_to", "id": tweet.parent }]);
            }
            "attachments" if tweet.fields["poll"].is_object() => {
                object[*field] = json!({ "poll_ids": [format!("1{}", tweet.id)] });
            }
            "attachments" if !keys.is_empty() => object[*field] = json!({ "media_keys": keys }),
            "entities" if urls.as_array().is_some_and(|it| !it.is_empty()) => object[*field] = json!({ "urls": urls }),
            note if note == spelling.note() && beginning.is_some() => {
                let (text, urls) = text::displayed(&tweet.text, &[], &tweet.id);
                object[note] = json!({ "text": text, "entities": { "urls": urls } });
            }
            _ => {}
        }
    }
    object
}

impl Memory {
    /// Adds a post. Returns its id.
    pub(super) fn add(
        &mut self,
        text: &str,
        media: Vec<String>,
        fields: Value,
        parent: Option<String>,
        at: DateTime<Utc>,
    ) -> String {
        let id = self.next().to_string();
        self.tweets.push(Tweet { id: id.clone(), text: text.to_owned(), media, fields, parent, at });
        id
    }

    fn check_reply(&self, parent: &str, now: DateTime<Utc>) -> Result<(), ApiError> {
        let is_visible = |it: &Tweet| it.id == parent && it.at + self.visible_after <= now;
        if self.tweets.iter().any(is_visible) {
            return Ok(());
        }
        Err(ApiError::forbidden("You attempted to reply to a Tweet that is deleted or not visible to you."))
    }

    fn conversation(&self, tweet: &Tweet) -> String {
        let mut first = tweet;
        while let Some(parent) = self.tweets.iter().find(|it| first.parent.as_ref() == Some(&it.id)) {
            first = parent;
        }
        // Its parent may be deleted.
        first.parent.as_ref().unwrap_or(&first.id).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::schema::testing::assert_refuses;

    #[test]
    fn invalid_fields_of_tweets_are_refused() {
        let valid = json!({ "text": "", "reply_settings": "following", "media": { "media_ids": ["1"] },
            "reply": { "in_reply_to_tweet_id": "1" }, "poll": { "options": ["a", "b"], "duration_minutes": 5 } });
        let (long, many) = ("1".repeat(26), ["1", "2", "3", "4", "5"]);
        let wrong = json!({
            "/text": [null], "/text ": [null], "/other": [1], "/reply_settings": ["everyone"],
            "/media/media_ids": [[], many], "/media/media_ids/0": [1], "/media/other": [1],
            "/reply/in_reply_to_tweet_id ": [null], "/reply/in_reply_to_tweet_id": ["a"],
            "/quote_tweet_id": ["12345678901234567890"], "/community_id": ["cats"], "/poll/options": [["a"], many],
            "/poll/options/1": [long], "/poll/duration_minutes": [4, 10_081], "/poll/duration_minutes ": [null],
            "/made_with_ai": ["true"], "/paid_partnership": [1],
        });
        assert_refuses(TWEET, &valid, &wrong);
        for wrong in [
            json!({ "text": "", "quote_tweet_id": "1", "media": { "media_ids": ["1"] } }),
            json!({ "text": "", "quote_tweet_id": "1", "poll": { "options": ["a", "b"], "duration_minutes": 5 } }),
            json!({ "text": "", "poll": { "options": ["a", "a"], "duration_minutes": 5 } }),
            json!({ "text": "", "poll": { "options": ["a", " "], "duration_minutes": 5 } }),
        ] {
            check_options(&wrong).expect_err("rules between fields");
        }
    }
}
