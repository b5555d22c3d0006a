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
use super::fields::Fields;
use super::{Fake, ID, Memory, Spelling, text};
use crate::fake::params::essence;

#[derive(Clone, Debug)]
pub(super) struct Tweet {
    pub(super) id: String,
    pub(super) text: String,
    /// The ids of its files.
    pub(super) media: Vec<String>,
    /// The options.
    pub(super) fields: Value,
    /// The post that it replies to.
    pub(super) parent: Option<String>,
    at: DateTime<Utc>,
}

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
    let mut fields = Fields::parse(&body)?;
    let text = fields.text("text")?;
    let media = ids(fields.object("media")?)?;
    let further = further(&mut fields, !media.is_empty())?;
    let parent = fields.object("reply")?.map(read_reply).transpose()?;
    fields.end()?;
    let now = fake.clock.now();
    let mut memory = fake.memory();
    // According to the API description, the backend rejects an absent text.
    let text = text.ok_or_else(|| ApiError::invalid("text is missing but it is required"))?;
    // X trims the text.
    let text = text.trim().to_owned();
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
    let id = memory.add(&text, media, further, parent, now);
    let response = json!({ "data": { "id": id, "text": text, "edit_history_post_ids": [id] } });
    Ok((StatusCode::CREATED, Json(response)))
}

/// The media ids of a post.
fn ids(media: Option<Fields>) -> Result<Vec<String>, ApiError> {
    let Some(mut media) = media else { return Ok(Vec::new()) };
    let ids = media.0.remove("media_ids").unwrap_or_default();
    media.end()?;
    let ids: Vec<String> =
        serde_json::from_value(ids).map_err(|_| ApiError::invalid("$.media.media_ids: array expected"))?;
    let is_id = |it: &String| (1..=19).contains(&it.len()) && it.bytes().all(|it| it.is_ascii_digit());
    if (1..=4).contains(&ids.len()) && ids.iter().all(is_id) {
        Ok(ids)
    } else {
        Err(ApiError::invalid("$.media.media_ids: 1 to 4 ids of 1 to 19 digits"))
    }
}

/// The options of a post.
fn further(fields: &mut Fields, has_media: bool) -> Result<Value, ApiError> {
    let mut further = json!({});
    if let Some(who) = fields.text("reply_settings")? {
        if !["following", "mentionedUsers", "subscribers", "verified"].contains(&who.as_str()) {
            return Err(ApiError::invalid("$.reply_settings: does not have a value in the enumeration"));
        }
        further["reply_settings"] = who.into();
    }
    for name in ["quote_tweet_id", "community_id"] {
        if let Some(id) = fields.text(name)? {
            if id.len() > 19 || !id.bytes().all(|it| it.is_ascii_digit()) {
                return Err(ApiError::invalid(&format!("$.{name}: does not match the regex pattern")));
            }
            further[name] = id.into();
        }
    }
    if let Some(poll) = fields.object("poll")? {
        further["poll"] = read_poll(poll)?;
    }
    let has_poll = further["poll"].is_object();
    if 1 < [has_media, further["quote_tweet_id"].is_string(), has_poll].into_iter().filter(|it| *it).count() {
        return Err(ApiError::invalid("Quote, poll and media exclude each other"));
    }
    for name in ["made_with_ai", "paid_partnership"] {
        match fields.0.remove(name) {
            None => {}
            Some(Value::Bool(flag)) => further[name] = flag.into(),
            Some(_) => return Err(ApiError::invalid(&format!("$.{name}: boolean expected"))),
        }
    }
    Ok(further)
}

/// The id in `CreatePostsReply`.
fn read_reply(mut reply: Fields) -> Result<String, ApiError> {
    let id = reply.want("in_reply_to_tweet_id")?;
    reply.end()?;
    let is_id = (1..=19).contains(&id.len()) && id.bytes().all(|it| it.is_ascii_digit());
    let wrong = || ApiError::invalid("$.reply.in_reply_to_tweet_id: does not match the regex pattern");
    is_id.then_some(id).ok_or_else(wrong)
}

/// A poll: `CreatePostsPoll`. The API description does not forbid equal options; the fake does,
/// because voters cannot distinguish them.
fn read_poll(mut poll: Fields) -> Result<Value, ApiError> {
    let minutes = poll.0.remove("duration_minutes").and_then(|it| it.as_i64());
    let options: Vec<String> = poll
        .0
        .remove("options")
        .and_then(|it| serde_json::from_value(it).ok())
        .ok_or_else(|| ApiError::invalid("$.poll.options: array of strings expected"))?;
    poll.end()?;
    let are_fine = options.iter().all(|it| !it.trim().is_empty() && it.chars().count() <= 25)
        && options.iter().collect::<BTreeSet<_>>().len() == options.len();
    if !(2..=4).contains(&options.len()) || !are_fine {
        return Err(ApiError::invalid("$.poll.options: 2-4 choices, 1-25 characters each"));
    }
    let minutes = minutes.filter(|it| (5..=10_080).contains(it));
    let minutes = minutes.ok_or_else(|| ApiError::invalid("$.poll.duration_minutes: 5 to 10080"))?;
    Ok(json!({ "options": options, "duration_minutes": minutes }))
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

    /// Refuses a reply to a post that is missing, or is not visible yet.
    fn check_reply(&self, parent: &str, now: DateTime<Utc>) -> Result<(), ApiError> {
        let is_visible = |it: &Tweet| it.id == parent && it.at + self.visible_after <= now;
        if self.tweets.iter().any(is_visible) {
            return Ok(());
        }
        Err(ApiError::forbidden("You attempted to reply to a Tweet that is deleted or not visible to you."))
    }

    /// The id of the first post of its conversation.
    fn conversation(&self, tweet: &Tweet) -> String {
        let mut first = tweet;
        while let Some(parent) = self.tweets.iter().find(|it| first.parent.as_ref() == Some(&it.id)) {
            first = parent;
        }
        // Its parent may be deleted.
        first.parent.as_ref().unwrap_or(&first.id).clone()
    }
}
