//! Creates and lists posts.

use std::sync::Arc;

use axum::Json;
use axum::extract::{RawQuery, State};
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use http::{HeaderMap, StatusCode};
use serde_json::{Value, json};

use super::api_error::ApiError;
use super::files::AssetStatus;
use super::little::Read;
use super::organizations::asked;
use super::{Fake, MEMBER_URN, Memory};
use crate::fake::params::essence;
use crate::fake::schema::{
    self, Any, Fields, Kind, List, Nullable, Object, OneOf, Optional, Pattern, Required, TEXT, Text, Utf16,
};

/// The longest text, from error messages ("exceeded the maximum allowed (3000 characters)"). The
/// unit is unknown: the fake counts UTF-16 units, the strictest of the likely units.
const MAX_TEXT: usize = 3_000;

const POST: Fields = &[
    ("author", Required, Pattern(|it| it.starts_with("urn:li:person:") || it.starts_with("urn:li:organization:"))),
    ("commentary", Required, TEXT),
    ("visibility", Required, OneOf(&["PUBLIC", "LOGGED_IN", "CONNECTIONS"])),
    ("distribution", Required, Object(DISTRIBUTION)),
    ("lifecycleState", Required, OneOf(&["PUBLISHED"])),
    ("content", Nullable, Object(CONTENT)),
    ("isReshareDisabledByAuthor", Optional, Any),
];

const DISTRIBUTION: Fields = &[
    ("feedDistribution", Required, OneOf(&["MAIN_FEED"])),
    ("targetEntities", Optional, Any),
    ("thirdPartyDistributionChannels", Optional, Any),
];

/// One of these.
const CONTENT: Fields = &[
    (
        "media",
        Optional,
        Object(&[("id", Required, TEXT), ("altText", Optional, DESCRIPTION), ("title", Optional, TEXT)]),
    ),
    ("multiImage", Optional, Object(&[("images", Required, List(2, 20, &Object(IMAGE)))])),
    ("article", Optional, Object(ARTICLE)),
];

const IMAGE: Fields = &[("id", Required, TEXT), ("altText", Optional, DESCRIPTION)];

const ARTICLE: Fields = &[
    ("source", Required, Pattern(|it| it.starts_with("https://") || it.starts_with("http://"))),
    ("title", Required, Text(1, 400)),
    ("description", Optional, DESCRIPTION),
    ("thumbnail", Optional, Pattern(|it| it.starts_with("urn:li:image:"))),
];

const DESCRIPTION: Kind = Utf16(0, 4_086);

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
    let mut request = schema::parse(&body, POST)?;
    let text = |name: &str| schema::text(&request, name);
    let (author, visibility) = (text("author"), text("visibility"));
    let text = Read::parse(&text("commentary"));
    let content = request["content"].take();
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
    if visibility == "CONNECTIONS" && author != MEMBER_URN {
        return Err(ApiError::bad("INVALID_VALUE_FOR_FIELD", "/visibility"));
    }
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
        if content.as_object().is_some_and(|it| it.len() != 1) {
            return Err(ApiError::bad("INVALID_VALUE_FOR_FIELD", "content is one of its kinds"));
        }
        if let Some(thumbnail) = content["article"]["thumbnail"].as_str() {
            self.check_file(author, thumbnail, now)?;
        }
        for image in content["multiImage"]["images"].as_array().into_iter().flatten() {
            let id = schema::text(image, "id");
            if id.starts_with("urn:li:document:") || id.starts_with("urn:li:video:") {
                return Err(ApiError::bad("INVALID_VALUE_FOR_FIELD", "a document or a video cannot have another file"));
            }
            self.check_file(author, &id, now)?;
        }
        let Some(media) = content.get("media") else { return Ok(()) };
        let id = schema::text(media, "id");
        let is_document = id.starts_with("urn:li:document:");
        if is_document && schema::text(media, "title").is_empty() {
            return Err(ApiError::bad("MISSING_FIELD", "/content/media/title"));
        }
        if (is_document || id.starts_with("urn:li:video:")) && media["altText"].is_string() {
            return Err(ApiError::bad("INVALID_VALUE_FOR_FIELD", "a document or a video has no altText"));
        }
        self.check_file(author, &id, now)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::schema::testing::assert_refuses;

    #[test]
    fn invalid_fields_of_posts_are_refused() {
        let mut valid = json!({ "author": "urn:li:person:1", "commentary": "", "visibility": "PUBLIC",
            "distribution": { "feedDistribution": "MAIN_FEED" }, "lifecycleState": "PUBLISHED",
            "content": { "article": { "source": "https://a.invalid", "title": "A", "description": "" } } });
        let long = |length: usize| Value::from("x".repeat(length));
        let wrong = json!({
            "/other": [1], "/author": ["urn:li:share:1"], "/commentary": [null], "/visibility": ["FRIENDS"],
            "/distribution ": [null], "/distribution/feedDistribution": ["NONE"], "/lifecycleState": ["DRAFT"],
            "/content/poll": [{}], "/content/article/source": ["ftp://a.invalid"],
            "/content/article/title": ["", long(401)], "/content/article/description": [long(4_087)],
            "/content/article/thumbnail": ["urn:li:video:1"], "/content/article/other": [1],
        });
        assert_refuses(POST, &valid, &wrong);
        valid["content"] = json!({ "multiImage": { "images": [{ "id": "1" }, { "id": "2" }] } });
        let wrong = json!({
            "/content/multiImage/images": [[{ "id": "1" }], vec![json!({ "id": "1" }); 21]],
            "/content/multiImage/images/0": [{}], "/content/multiImage/images/0/altText": [long(4_087)],
            "/content/multiImage/images/0/title": [""],
        });
        assert_refuses(POST, &valid, &wrong);
    }
}
