//! The shapes that every response must have.

use reqwest::Method;
use serde_json::Value;

use crate::{
    ensure,
    error::{Result, TestError, same},
    http_response::{HttpResponse, integer, list, text},
    moment,
};

/// Every JSON parser reads integers below this exactly.
pub const TOO_BIG: i64 = 1 << 53;

pub const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// All are counted.
pub const MAX_FAULTS: usize = 50;

/// Checks headers, content type and error body.
pub fn check_response(response: &HttpResponse) -> Result {
    if response.header("x-request-id").is_empty() {
        return Err(response.test_error("x-request-id is missing"));
    }
    let number = |name: &str| {
        response.header(name).parse::<i64>().map_err(|_| response.test_error(&format!("{name} is not a number")))
    };
    let (limit, remaining, reset) =
        (number("x-ratelimit-limit")?, number("x-ratelimit-remaining")?, number("x-ratelimit-reset")?);
    // The window is one of those between the request and the response, which may be far apart.
    let took = i64::try_from(response.took.as_secs())?;
    let ahead = reset - moment::now().timestamp();
    if remaining < 0 || limit <= remaining || 61 < ahead || ahead + took < -2 {
        return Err(response
            .test_error(&format!("rate limit headers: limit {limit}, remaining {remaining}, reset in {ahead} s")));
    }
    if response.status == 204 || response.method == Method::HEAD {
        return if response.text.is_empty() { Ok(()) } else { Err(response.test_error("the body is not empty")) };
    }
    if !response.header("content-type").starts_with("application/json") {
        return Err(response.test_error("content-type is not application/json"));
    }
    if response.status < 400 { Ok(()) } else { check_error(response) }
}

fn check_error(response: &HttpResponse) -> Result {
    if MAX_REFUSAL_BYTES < response.text.len() {
        return Err(response.test_error("a refusal is larger than 64 KiB"));
    }
    let body = response.json()?;
    let mut keys: Vec<_> = body.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    keys.sort_unstable();
    match (response.status, keys.as_slice()) {
        (422, ["errors", "message"]) => check_validation(&body).map_err(|it| response.test_error(&it.to_string())),
        (400 | 404 | 410 | 422, ["error", "error_description"]) if is_non_empty_text(&body["error_description"]) => {
            Ok(())
        }
        (status, ["message"]) if status != 422 && is_non_empty_text(&body["message"]) => Ok(()),
        _ => Err(response.test_error("the error body has another shape than the specification's")),
    }
}

fn is_non_empty_text(value: &Value) -> bool {
    value.as_str().is_some_and(|it| !it.trim().is_empty())
}

/// Null where there are files.
fn is_content(value: &Value, has_media: bool) -> bool {
    is_non_empty_text(value) || value.is_null() && has_media
}

fn check_validation(body: &Value) -> Result {
    let errors = body["errors"].as_object().ok_or_else(|| TestError::new("errors is not an object"))?;
    let mut messages = Vec::new();
    for (field, said) in errors {
        let said = said.as_array().ok_or_else(|| TestError::new(format!("errors.{field} is not a list")))?;
        ensure!(!said.is_empty() && said.iter().all(is_non_empty_text), "errors.{field} has no messages");
        messages.extend(said.iter().filter_map(Value::as_str));
    }
    ensure!(!messages.is_empty() && messages.len() <= MAX_FAULTS, "errors has {} messages", messages.len());
    let message = text(body, "message")?;
    let said = messages.iter().filter_map(|it| message.strip_prefix(it)).filter_map(error_count).max();
    let counted =
        said.ok_or_else(|| TestError::new("message is not an error followed by the number of further errors"))?;
    let is_right = if messages.len() < MAX_FAULTS { counted == messages.len() } else { MAX_FAULTS <= counted };
    ensure!(is_right, "message counts {counted} faults, and {} are listed", messages.len());
    Ok(())
}

/// From the text after the first message.
fn error_count(rest: &str) -> Option<usize> {
    let number = match rest {
        "" => 0,
        " (and 1 more error)" => 1,
        _ => rest.strip_prefix(" (and ")?.strip_suffix(" more errors)")?.parse().ok().filter(|it| 1 < *it)?,
    };
    Some(number + 1)
}

pub fn check_id(value: &Value, name: &str) -> Result<i64> {
    let id = integer(value, name)?;
    ensure!(0 < id && id < TOO_BIG, "{name} {id} is not between 1 and 2^53");
    Ok(id)
}

fn check_keys(value: &Value, expected: &[&str], what: &str) -> Result {
    let mut found: Vec<_> = value.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    let mut expected = expected.to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    same(found, expected, &format!("fields of {what}"))
}

fn check_one_of(value: &Value, name: &str, allowed: &[&str]) -> Result {
    let found = text(value, name)?;
    ensure!(allowed.contains(&found), "{name} is {found}, which is not one of {allowed:?}");
    Ok(())
}

fn check_text_or_null(value: &Value, name: &str) -> Result {
    ensure!(value[name].is_null() || value[name].is_string(), "{name} is neither text nor null in {value}");
    Ok(())
}

fn check_time_or_null(value: &Value, name: &str) -> Result {
    if !value[name].is_null() {
        moment::read(&value[name])?;
    }
    Ok(())
}

pub fn check_post(post: &Value) -> Result {
    let fields = [
        "id",
        "revision",
        "content",
        "status",
        "scheduled_at",
        "created_at",
        "updated_at",
        "profile_id",
        "creator",
        "platforms",
        "media",
        "thread",
        "external_id",
        "labels",
    ];
    check_keys(post, &fields, "a post")?;
    check_text_or_null(post, "external_id")?;
    ensure!(list(post, "labels")?.iter().all(Value::is_string), "the labels of {post}");
    check_id(post, "id")?;
    ensure!(0 < integer(post, "revision")?, "the revision of {post}");
    let has_media = !list(post, "media")?.is_empty();
    ensure!(is_content(&post["content"], has_media), "the content is blank in {post}");
    check_one_of(post, "status", &["draft", "scheduled", "publishing", "published", "failed"])?;
    check_time_or_null(post, "scheduled_at")?;
    same(post["status"] == "draft", post["scheduled_at"].is_null(), "a draft and only a draft has no scheduled_at")?;
    let (created, updated) = (moment::read(&post["created_at"])?, moment::read(&post["updated_at"])?);
    ensure!(created <= updated, "updated_at is before created_at in {post}");
    check_keys(&post["creator"], &["id", "name"], "a creator")?;
    check_id(&post["creator"], "id")?;
    text(&post["creator"], "name")?;
    list(post, "platforms")?.iter().try_for_each(check_target)?;
    list(post, "thread")?.iter().try_for_each(check_thread_entry)?;
    list(post, "media")?.iter().try_for_each(check_media)
}

fn check_thread_entry(entry: &Value) -> Result {
    check_keys(entry, &["content", "media"], "an entry of a thread")?;
    check_text_or_null(entry, "content")?;
    list(entry, "media")?.iter().try_for_each(check_media)
}

fn check_segment(segment: &Value) -> Result {
    let fields = [
        "kind",
        "content",
        "media",
        "status",
        "published_at",
        "platform_post_id",
        "platform_post_url",
        "error_message",
    ];
    check_keys(segment, &fields, "a segment")?;
    check_one_of(segment, "kind", &["post", "reply", "comment"])?;
    check_one_of(segment, "status", &["pending", "publishing", "published", "failed"])?;
    check_time_or_null(segment, "published_at")?;
    for name in ["content", "platform_post_id", "platform_post_url", "error_message"] {
        check_text_or_null(segment, name)?;
    }
    list(segment, "media")?.iter().try_for_each(check_media)?;
    let published = segment["status"] == "published";
    same(!segment["published_at"].is_null(), published, "published_at of a segment is there when published")
}

fn check_target(target: &Value) -> Result {
    let mut fields = vec![
        "id",
        "connected_account_id",
        "provider",
        "username",
        "content",
        "status",
        "published_at",
        "platform_post_id",
        "platform_post_url",
        "options",
        "error_message",
        "segments",
    ];
    if target.get("thread").is_some() {
        fields.push("thread");
        list(target, "thread")?.iter().try_for_each(check_thread_entry)?;
    }
    if target.get("handed_over").is_some() {
        fields.push("handed_over");
        same(&target["handed_over"], &Value::Bool(true), "handed_over is absent unless it is true")?;
    }
    if target.get("consented_at").is_some() {
        fields.push("consented_at");
        check_time_or_null(target, "consented_at")?;
    }
    // A target has `media` only if it has its own.
    if let Some(media) = target.get("media") {
        fields.push("media");
        list(target, "media")?.iter().try_for_each(check_media)?;
        ensure!(!media.is_null(), "media of {target} is null");
    }
    check_keys(target, &fields, "a post-platform entry")?;
    check_id(target, "id")?;
    check_id(target, "connected_account_id")?;
    text(target, "provider")?;
    let has_media = !list(&target["segments"][0], "media")?.is_empty();
    ensure!(is_content(&target["content"], has_media), "the content is blank in {target}");
    check_text_or_null(target, "username")?;
    check_one_of(target, "status", &["pending", "publishing", "published", "failed"])?;
    check_time_or_null(target, "published_at")?;
    check_text_or_null(target, "platform_post_id")?;
    check_text_or_null(target, "platform_post_url")?;
    ensure!(target["options"].is_object(), "options are no object: {target}");
    check_text_or_null(target, "error_message")?;
    let segments = list(target, "segments")?;
    segments.iter().try_for_each(check_segment)?;
    for name in ["published_at", "platform_post_id", "platform_post_url", "content"] {
        same(&segments[0][name], &target[name], &format!("{name} of the first segment is that of the target"))?;
    }
    let is_published = |it: &Value| it["status"] == "published" || it["kind"] == "comment";
    let published = target["status"] == "published";
    same(published, segments.iter().all(is_published), "a target is published when its segments are")
}

fn check_media(item: &Value) -> Result {
    check_keys(item, &["id", "url", "file_type", "mime_type", "alt_text"], "a media item")?;
    check_id(item, "id")?;
    ensure!(text(item, "url")?.starts_with("http"), "the url of {item} is not a link");
    check_one_of(item, "file_type", &["image", "video", "document"])?;
    check_text_or_null(item, "alt_text")?;
    let (kind, mime_type) = (text(item, "file_type")?, text(item, "mime_type")?);
    let kind_of_type = if mime_type == "application/pdf" { "document" } else { mime_type };
    ensure!(kind_of_type.starts_with(kind), "{kind} does not fit {mime_type}");
    Ok(())
}

/// Only the response with a single one has `meta`.
pub fn check_connection(connection: &Value, single: bool) -> Result {
    let mut fields =
        vec!["id", "provider", "username", "display_name", "avatar", "profile_id", "needs_reconnection", "created_at"];
    if single {
        fields.push("meta");
    }
    check_keys(connection, &fields, "a connection")?;
    check_id(connection, "id")?;
    text(connection, "provider")?;
    for name in ["username", "display_name", "avatar"] {
        check_text_or_null(connection, name)?;
    }
    ensure!(connection["needs_reconnection"].is_boolean(), "needs_reconnection is no boolean in {connection}");
    check_time_or_null(connection, "created_at")
}
