//! Creates and lists posts.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::fields::Fields;
use super::files::AssetStatus;
use super::little::Read;
use super::organizations::asked;
use super::{Fake, MEMBER_URN, Memory};
use crate::fake::params::essence;

/// The longest text, from error messages ("exceeded the maximum allowed (3000 characters)"). The
/// unit is unknown: the fake counts UTF-16 units, the strictest of the likely units.
const MAX_TEXT: usize = 3_000;

const MAX_ALT_TEXT: usize = 4_086;

/// The longest title of a link preview.
const MAX_TITLE: usize = 400;

/// How long LinkedIn refuses a duplicate. Clients report 24 to 48 hours.
const REMEMBERED: TimeDelta = TimeDelta::hours(24);

#[derive(Clone, Debug)]
pub(super) struct Post {
    pub(super) urn: String,
    author: String,
    pub(super) text: Read,
    pub(super) content: Value,
    pub(super) visibility: String,
    at: DateTime<Utc>,
    pub(super) is_edited: bool,
}

impl Post {
    /// The URNs of its files, with their alternative texts.
    pub(super) fn files(&self) -> Vec<(&str, Option<&str>)> {
        let several = self.content["multiImage"]["images"].as_array().into_iter().flatten();
        let all = several.chain([&self.content["media"]]);
        all.filter_map(|it| Some((it["id"].as_str()?, it["altText"].as_str()))).collect()
    }
}

/// `POST /rest/posts`
pub(super) async fn create(
    State(fake): State<Arc<Fake>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<(StatusCode, [(&'static str, String); 1]), ApiError> {
    let scopes = ["w_member_social", "w_organization_social"];
    let grant = fake.authorize_rest(&headers, "/rest/posts", &scopes)?;
    if essence(&headers) != "application/json" {
        return Err(ApiError::new(415, 0, "UNSUPPORTED_MEDIA_TYPE", "The body is no JSON"));
    }
    let mut fields = Fields::parse(&body)?;
    let author = fields.text("author")?;
    let commentary = fields.text("commentary")?;
    let visibility = fields.text("visibility")?;
    let distribution = fields.take("distribution")?;
    let lifecycle = fields.text("lifecycleState")?;
    let content = fields.0.remove("content").unwrap_or_default();
    fields.0.remove("isReshareDisabledByAuthor");
    fields.end()?;

    if !author.starts_with("urn:li:person:") && !author.starts_with("urn:li:organization:") {
        return Err(ApiError::bad("INVALID_URN_TYPE", "author is no member and no organization"));
    }
    let has_scope = |scope: &str| grant.scopes.iter().any(|it| it == scope);
    if author.starts_with("urn:li:organization:") && !has_scope(scopes[1]) {
        return Err(ApiError::no_organization_permission("author"));
    }
    let mut memory = fake.memory();
    if !memory.may_post(&author) || (author == MEMBER_URN && !has_scope(scopes[0])) {
        let message = if author.starts_with("urn:li:person:") {
            "Field Value validation failed in REQUEST_BODY: Data Processing Exception while processing fields [/author]"
        } else {
            "Not enough permissions to access: posts.CREATE.20260801"
        };
        return Err(ApiError::denied(message));
    }
    let is_known = match visibility.as_str() {
        "PUBLIC" | "LOGGED_IN" => true,
        "CONNECTIONS" => author == MEMBER_URN,
        _ => false,
    };
    if !is_known || lifecycle != "PUBLISHED" || distribution["feedDistribution"] != "MAIN_FEED" {
        return Err(ApiError::bad(
            "INVALID_VALUE_FOR_FIELD",
            "visibility, lifecycleState or distribution has no such value",
        ));
    }
    let text = Read::parse(&commentary);
    let length = text.shown().encode_utf16().count();
    if MAX_TEXT < length {
        let message = format!(
            "ShareCommentary text length ({length} characters) exceeded the maximum allowed ({MAX_TEXT} characters)"
        );
        return Err(ApiError::bad("FIELD_LENGTH_TOO_LONG", &message));
    }
    let now = fake.clock.now();
    memory.check_content(&author, &content, now)?;
    let is_the_same = |it: &&Post| {
        it.author == author && it.text.shown() == text.shown() && it.content == content && now < it.at + REMEMBERED
    };
    if let Some(known) = memory.posts.iter().find(is_the_same) {
        return Err(ApiError::duplicate_of(&known.urn));
    }
    let urn = memory.add(&author, text, content, &visibility, now);
    Ok((StatusCode::CREATED, [("x-restli-id", urn)]))
}

/// `GET /rest/posts?q=author`
pub(super) async fn find(
    State(fake): State<Arc<Fake>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    // No scope permits reading members' posts.
    fake.authorize_rest(&headers, "/rest/posts", &["r_organization_social"])?;
    if headers.get("X-RestLi-Method").is_none_or(|it| it != "FINDER") {
        return Err(ApiError::bad("ILLEGAL_ARGUMENT", "This is no finder"));
    }
    let query = query.unwrap_or_default();
    let asked = asked(Some(&query));
    let says = |name: &str| asked.get(name).map(String::as_str);
    let author = says("author").filter(|_| query.contains("urn%3Ali%3Aorganization%3A"));
    let author =
        author.ok_or_else(|| ApiError::bad("PARAM_INVALID", "author is no organization, or is not encoded"))?;
    if says("q") != Some("author") || !matches!(says("sortBy"), None | Some("CREATED" | "LAST_MODIFIED")) {
        return Err(ApiError::bad("PARAM_INVALID", "Invalid query parameters passed to request"));
    }
    let number = |name: &str, default: usize| says(name).map_or(Some(default), |it| it.parse().ok());
    let (Some(start), Some(count @ 1..=100)) = (number("start", 0), number("count", 10)) else {
        return Err(ApiError::bad("PARAM_INVALID", "start and count are numbers, count at most 100"));
    };
    let memory = fake.memory();
    if !memory.may_post(author) {
        return Err(ApiError::denied("Not enough permissions to access: posts.FINDER-author"));
    }
    let posts = memory.posts.iter().rev().filter(|it| it.author == author).skip(start).take(count);
    let elements: Vec<_> = posts.map(post_json).collect();
    Ok(Json(json!({ "elements": elements, "paging": { "start": start, "count": count, "links": [] } })))
}

fn post_json(post: &Post) -> Value {
    let mut object = json!({
        "id": post.urn, "author": post.author, "commentary": post.text.to_text(), "visibility": post.visibility,
        "createdAt": post.at.timestamp_millis(), "lifecycleState": "PUBLISHED",
        "lifecycleStateInfo": { "isEditedByAuthor": post.is_edited },
        "distribution": { "feedDistribution": "MAIN_FEED" }, "isReshareDisabledByAuthor": false,
    });
    if !post.content.is_null() {
        object["content"] = post.content.clone();
    }
    object
}

impl Memory {
    /// Adds a post. Returns its URN.
    pub(super) fn add(
        &mut self,
        author: &str,
        text: Read,
        content: Value,
        visibility: &str,
        at: DateTime<Utc>,
    ) -> String {
        let kind =
            if content["media"]["id"].as_str().is_some_and(|it| it.contains(":video:")) { "ugcPost" } else { "share" };
        let urn = format!("urn:li:{kind}:{}", self.next());
        let (author, visibility) = (author.to_owned(), visibility.to_owned());
        self.posts.push(Post { urn: urn.clone(), author, text, content, visibility, at, is_edited: false });
        urn
    }

    fn check_content(&self, author: &str, content: &Value, now: DateTime<Utc>) -> Result<(), ApiError> {
        let kinds = match content {
            Value::Null => return Ok(()),
            Value::Object(kinds) if kinds.len() == 1 => kinds,
            _ => return Err(ApiError::bad("INVALID_VALUE_FOR_FIELD", "content is one of its kinds")),
        };
        let shown: Vec<&Value> = match kinds.iter().next().map(|(kind, it)| (kind.as_str(), it)) {
            Some(("media", it)) => vec![it],
            Some(("multiImage", it)) => {
                let images = it["images"].as_array().map(Vec::as_slice).unwrap_or_default();
                if !(2..=20).contains(&images.len()) {
                    return Err(ApiError::bad("FIELD_ARRAY_SIZE_TOO_HIGH", "multiImage has 2 to 20 images"));
                }
                images.iter().collect()
            }
            Some(("article", it)) => return self.check_article(author, it, now),
            _ => return Err(ApiError::bad("UNPERMITTED_FIELD", "content has no such kind")),
        };
        let several = shown.len() != 1;
        for it in shown {
            let mut fields = Fields(it.as_object().cloned().unwrap_or_default());
            let id = fields.text("id")?;
            let words = fields.0.remove("altText");
            let words = words.as_ref().and_then(Value::as_str);
            let title = if several { None } else { fields.0.remove("title") };
            fields.end()?;
            let is_document = id.starts_with("urn:li:document:");
            if is_document && title.as_ref().and_then(Value::as_str).is_none_or(str::is_empty) {
                return Err(ApiError::bad("MISSING_FIELD", "/content/media/title"));
            }
            if is_document && (several || words.is_some()) {
                return Err(ApiError::bad("INVALID_VALUE_FOR_FIELD", "a document stands alone, and has no altText"));
            }
            let is_video = id.starts_with("urn:li:video:");
            if is_video && (several || words.is_some()) {
                return Err(ApiError::bad("INVALID_VALUE_FOR_FIELD", "a video stands alone, and has no altText"));
            }
            if words.is_some_and(|it| MAX_ALT_TEXT < it.encode_utf16().count()) {
                return Err(ApiError::bad("FIELD_LENGTH_TOO_LONG", "altText is too long"));
            }
            self.check_file(author, &id, now)?;
        }
        Ok(())
    }

    fn check_article(&self, author: &str, article: &Value, now: DateTime<Utc>) -> Result<(), ApiError> {
        let mut fields = Fields(article.as_object().cloned().unwrap_or_default());
        let (source, title) = (fields.text("source")?, fields.text("title")?);
        if !source.starts_with("https://") && !source.starts_with("http://") || title.is_empty() {
            return Err(ApiError::bad("INVALID_VALUE_FOR_FIELD", "/content/article"));
        }
        let description = fields.0.remove("description");
        let description = description.as_ref().and_then(Value::as_str).unwrap_or_default();
        if MAX_TITLE < title.chars().count() || MAX_ALT_TEXT < description.chars().count() {
            return Err(ApiError::bad("FIELD_LENGTH_TOO_LONG", "/content/article"));
        }
        match fields.0.remove("thumbnail") {
            Some(Value::String(id)) if id.starts_with("urn:li:image:") => self.check_file(author, &id, now)?,
            None => {}
            Some(_) => return Err(ApiError::bad("INVALID_URN_TYPE", "/content/article/thumbnail")),
        }
        fields.end()
    }

    fn check_file(&self, author: &str, id: &str, now: DateTime<Utc>) -> Result<(), ApiError> {
        let file = self.files.get(id).filter(|it| it.owner == author).ok_or_else(ApiError::not_found)?;
        match file.asset(now) {
            AssetStatus::Available => Ok(()),
            AssetStatus::WaitingUpload => Err(ApiError::bad("MEDIA_ASSET_WAITING_UPLOAD", id)),
            AssetStatus::Processing => Err(ApiError::bad("MEDIA_ASSET_PROCESSING", id)),
            AssetStatus::Failed => Err(ApiError::bad("MEDIA_ASSET_PROCESSING_FAILED", id)),
        }
    }
}
