//! Statuses: publishing and reading.

use axum::Json;
use axum::extract::{OriginalUri, Path, State};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};

use super::account::{self, authorize};
use super::api_error::ApiError;
use super::flavor::{FileNames, Source, Warnings};
use super::html;
use super::instance::media::Medium;
use super::instance::statuses::Status;
use super::instance::{Instance, InstanceState, Memory};
use super::length::length;
use super::rewritten::{find_linked_pictures, rewritten};
use crate::fake::params::Params;

const KEY_LIFETIME: TimeDelta = TimeDelta::hours(1);
/// Default page size.
const PAGE: usize = 20;
/// Maximum page size.
const MAX_PAGE: usize = 40;

/// Maximum characters of a content warning that does not count as text.
const MAX_WARNING: usize = 140;

const VISIBILITIES: [&str; 4] = ["public", "unlisted", "private", "direct"];

/// `POST /api/v1/statuses`
pub(crate) async fn publish(
    State(instance): InstanceState,
    headers: HeaderMap,
    params: Params,
) -> Result<Json<Value>, ApiError> {
    let now = instance.clock.now();
    let mut memory = instance.memory();
    authorize(&memory, &headers, &["write", "write:statuses"], now)?;

    // Mastodon looks for the parent before it checks the key.
    let parent = find_parent(&instance, &memory, &params)?;
    let key = headers.get("Idempotency-Key").and_then(|it| it.to_str().ok()).filter(|it| !it.is_empty());
    let key = key.filter(|_| instance.differences.idempotency);
    let known = key.and_then(|it| memory.keys.get(it)).filter(|(_, since)| now < *since + KEY_LIFETIME);
    if let Some((id, _)) = known
        && let Some(status) = memory.statuses.iter().find(|it| it.id == *id)
    {
        return Ok(Json(view(&instance, &memory, status)));
    }

    let media = check_media(&instance, &memory, &params, now)?;
    let own = memory.visibility.filter(|_| instance.differences.applies_own_visibility);
    let status = Status { id: 0, media, parent, ..read(&instance, &params, own, now)? };
    if status.text.trim().is_empty() && status.media.is_empty() {
        return Err(ApiError::invalid("Text can't be blank"));
    }

    let status = Status { id: memory.next_id(now), ..status };
    for medium in memory.media.iter_mut().filter(|it| status.media.contains(&it.id)) {
        medium.attached = true;
    }
    if let Some(key) = key {
        memory.keys.insert(key.to_owned(), (status.id, now));
    }
    let answer = view(&instance, &memory, &status);
    memory.statuses.push(status);
    Ok(Json(answer))
}

/// Validates the parameters of a new status.
fn read(instance: &Instance, params: &Params, default: Option<&str>, now: DateTime<Utc>) -> Result<Status, ApiError> {
    let text = params.text("status").unwrap_or_default();
    let mut spoiler_text = params.text("spoiler_text").unwrap_or_default();
    let mut sensitive = params.text("sensitive").as_deref() == Some("true");
    let visibility = params.text("visibility").unwrap_or_else(|| default.unwrap_or("public").to_owned());
    if !VISIBILITIES.contains(&visibility.as_str()) {
        return Err(ApiError::invalid("Visibility is not included in the list"));
    }
    let max = instance.differences.max_characters;
    // The server trims the text, and does not count the white space.
    let counted = if instance.differences.warnings == Warnings::Apart { "" } else { spoiler_text.trim() };
    if max < length(instance.differences.counting, text.trim(), counted) {
        return Err(ApiError::invalid(format!("Text character limit of {max} exceeded")));
    }
    match instance.differences.warnings {
        Warnings::Apart if MAX_WARNING < spoiler_text.chars().count() => {
            return Err(ApiError::unprocessable("The spoiler text may not be greater than 140 characters."));
        }
        Warnings::Apart if !sensitive => spoiler_text.clear(),
        Warnings::Marking => sensitive |= !spoiler_text.is_empty(),
        Warnings::Apart | Warnings::Plain => {}
    }
    let language = params.text("language");
    let (media, parent) = (Vec::new(), None);
    Ok(Status { id: 0, text, spoiler_text, visibility, sensitive, language, created_at: now, media, parent })
}

/// The status that a new one replies to. Only the account's own statuses exist here.
fn find_parent(instance: &Instance, memory: &Memory, params: &Params) -> Result<Option<u64>, ApiError> {
    let Some(id) = params.text("in_reply_to_id").filter(|it| !it.is_empty()) else { return Ok(None) };
    let parent = find(memory, &id).map(|it| it.id);
    if parent.is_none() && !instance.differences.ignores_missing_parents {
        let message = "The post you are trying to reply to does not appear to exist.";
        return Err(ApiError::new(StatusCode::NOT_FOUND, message));
    }
    Ok(parent)
}

fn check_media(
    instance: &Instance,
    memory: &Memory,
    params: &Params,
    now: DateTime<Utc>,
) -> Result<Vec<u64>, ApiError> {
    let ids = params.list("media_ids");
    if let Some(max) = instance.differences.max_media.filter(|max| *max < ids.len()) {
        return Err(ApiError::unprocessable(format!("Cannot attach more than {max} files")));
    }
    let mut media: Vec<&Medium> = Vec::new();
    let mut missing = Vec::new();
    for id in ids {
        match memory.media.iter().find(|it| it.id.to_string() == id && it.is_free(now)) {
            Some(medium) if media.iter().any(|it| it.id == medium.id) => {}
            Some(medium) => media.push(medium),
            None => missing.push(id),
        }
    }
    if !missing.is_empty() {
        let missing = missing.join(", ");
        return Err(ApiError::unprocessable(format!("Media {missing} not found or already attached to another post")));
    }
    if !instance.differences.mixes_media && 1 < media.len() && media.iter().any(|it| it.is_video()) {
        return Err(ApiError::unprocessable("Cannot attach a video to a post that already contains images"));
    }
    if !media.iter().all(|it| it.is_ready()) {
        return Err(ApiError::unprocessable(
            "Cannot attach files that have not finished processing. Try again in a moment!",
        ));
    }
    let needs_media = instance.differences.needs_media && params.text("in_reply_to_id").is_none();
    if needs_media && media.is_empty() {
        return Err(ApiError::invalid("Media can't be blank"));
    }
    Ok(media.iter().map(|it| it.id).collect())
}

/// `GET /api/v1/accounts/{id}/statuses`
pub(crate) async fn list_by_account(
    State(instance): InstanceState,
    Path(id): Path<String>,
    OriginalUri(uri): OriginalUri,
    headers: HeaderMap,
    params: Params,
) -> Result<Response, ApiError> {
    let memory = instance.memory();
    let is_own = is_own_reader(&instance, &memory, &headers)?;
    if id != account::ID {
        return Err(ApiError::not_found());
    }
    let limit = params.text("limit").and_then(|it| it.parse().ok()).unwrap_or(PAGE).clamp(1, MAX_PAGE);
    let number = |name: &str| params.text(name).and_then(|it| it.parse::<u64>().ok());
    let (max_id, min_id) = (number("max_id"), number("min_id"));
    let since_id = number("since_id").or(min_id);
    // No status of the fake is pinned or a boost.
    let is_pinned = params.text("pinned").as_deref() == Some("true");
    // snac lists only public statuses, also for the owner.
    let lists_all = is_own && !instance.differences.rewrites;
    let is_listed =
        |it: &Status| if instance.differences.rewrites { it.visibility == "public" } else { it.is_public() };
    let lists_replies = instance.differences.lists_replies && params.text("exclude_replies").as_deref() != Some("true");
    let asked = |it: &&Status| {
        !is_pinned
            && (lists_all || is_listed(it))
            && (it.parent.is_none() || lists_replies)
            && max_id.is_none_or(|max| it.id < max || !instance.differences.pages)
            && since_id.is_none_or(|since| since < it.id)
    };

    let mut page: Vec<&Status> = memory.statuses.iter().filter(asked).collect();
    if min_id.is_some() {
        page.truncate(limit);
    }
    page.reverse();
    page.truncate(limit);

    let statuses: Vec<Value> = page.iter().map(|it| view(&instance, &memory, it)).collect();
    let mut response = Json(statuses).into_response();
    if let (Some(newest), Some(oldest)) = (page.first(), page.last()) {
        let at = format!("{}{}?limit={limit}", instance.base_url(), uri.path());
        let link = format!("<{at}&max_id={}>; rel=\"next\", <{at}&min_id={}>; rel=\"prev\"", oldest.id, newest.id);
        if let Ok(link) = link.parse() {
            response.headers_mut().insert(header::LINK, link);
        }
    }
    Ok(response)
}

/// `GET /api/v1/statuses/{id}`
pub(crate) async fn show(
    State(instance): InstanceState,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    let memory = instance.memory();
    let is_own = is_own_reader(&instance, &memory, &headers)?;
    let status = find(&memory, &id).filter(|it| is_own || it.is_public()).ok_or_else(ApiError::not_found)?;
    Ok(Json(view(&instance, &memory, status)))
}

/// `GET /api/v1/statuses/{id}/source`
pub(crate) async fn source(
    State(instance): InstanceState,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Value>, ApiError> {
    let memory = instance.memory();
    authorize(&memory, &headers, READING, instance.clock.now())?;
    if instance.differences.source == Source::Untold {
        return Err(ApiError::not_found());
    }
    let status = find(&memory, &id).ok_or_else(ApiError::not_found)?;
    Ok(Json(json!({"id": id, "text": status.text.trim(), "spoiler_text": status.spoiler_text.trim()})))
}

const READING: &[&str] = &["read", "read:statuses"];

/// Whether the reader is the account itself. Public statuses can be read without a token, but a
/// token that the server knows must be valid and have a read scope.
fn is_own_reader(instance: &Instance, memory: &Memory, headers: &HeaderMap) -> Result<bool, ApiError> {
    let is_own = memory.oauth.find_by_bearer(headers).is_some();
    if is_own {
        authorize(memory, headers, READING, instance.clock.now())?;
    }
    Ok(is_own)
}

fn find<'a>(memory: &'a Memory, id: &str) -> Option<&'a Status> {
    memory.statuses.iter().find(|it| it.id.to_string() == id)
}

fn view(instance: &Instance, memory: &Memory, status: &Status) -> Value {
    let base = instance.base_url();
    let id = status.id.to_string();
    let differences = instance.differences;
    let attached = status.media.iter().filter_map(|id| memory.media.iter().find(|it| it.id == *id));
    let mut files: Vec<Value> = attached.map(|it| it.view(base)).collect();
    let content = if differences.rewrites {
        files.extend(find_linked_pictures(&status.text));
        rewritten(&status.text)
    } else {
        html::content(&status.text, base)
    };
    for (place, file) in files.iter_mut().enumerate() {
        if differences.files != FileNames::Kept {
            file["id"] = json!(format!("{base}/p/{id}_{place}"));
        }
        if differences.files == FileNames::AllOther {
            file["url"] = json!(format!("{base}/files/{id}/{place}"));
            file["preview_url"] = file["url"].clone();
        }
    }
    // A status whose parent is deleted remains, without a parent.
    let parent = status.parent.filter(|parent| memory.statuses.iter().any(|it| it.id == *parent));
    let url = differences.status_url.then(|| format!("{base}/@{}/{id}", account::USERNAME));
    let created_at = if differences.whole_seconds { SecondsFormat::Secs } else { SecondsFormat::Millis };
    let mut view = json!({
        "id": id,
        "created_at": status.created_at.to_rfc3339_opts(created_at, true),
        "in_reply_to_id": parent.map(|it| it.to_string()),
        "in_reply_to_account_id": parent.map(|_| account::ID),
        "sensitive": status.sensitive,
        "spoiler_text": status.spoiler_text.trim(),
        "visibility": status.visibility,
        "language": status.language,
        "uri": format!("{base}/users/{}/statuses/{id}", account::USERNAME),
        "url": url,
        "replies_count": 0,
        "reblogs_count": 0,
        "favourites_count": 0,
        "edited_at": null,
        "content": content,
        "reblog": null,
        "account": account::view(instance),
        "media_attachments": files,
        "mentions": [],
        "tags": [],
        "emojis": [],
        "card": null,
        "poll": null,
    });
    if differences.source == Source::CallAndText {
        view["text"] = json!(status.text);
    }
    view
}
