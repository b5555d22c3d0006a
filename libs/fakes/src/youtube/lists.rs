//! The channel, its playlists, the categories of videos, and comments.

use axum::Json;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::api::{ApiCall, ApiResult, error, is_in, merged};
use super::{CHANNEL, CHANNEL_TITLE, Fake, PLAYLIST};
use crate::fake::consent::escape;

/// The categories that videos can have.
pub(super) const ASSIGNABLE: &str = "1 2 10 15 17 19 20 22 23 24 25 26 27 28";

/// The longest comment on the website; the documentation names no limit.
const MAX_COMMENT: usize = 10_000;

/// `GET /youtube/v3/channels`
pub(super) fn channel(_: &Fake, call: &ApiCall) -> ApiResult {
    call.required("mine")?;
    let image = json!({ "url": "https://yt3.ggpht.com/harbor=s88", "width": 88, "height": 88 });
    let parts = json!({
        "snippet": { "title": CHANNEL_TITLE, "description": "", "customUrl": "@harborfilms",
            "publishedAt": "2014-03-21T09:00:00Z", "thumbnails": { "default": image, "high": image } },
        "contentDetails": { "relatedPlaylists": { "likes": "", "uploads": CHANNEL.replacen("UC", "UU", 1) } },
        "status": { "privacyStatus": "public", "isLinked": true, "longUploadsStatus": "allowed", "madeForKids": false },
    });
    call.page("channel", (50, 5), &[call.resource("channel", CHANNEL, parts)])
}

/// `GET /youtube/v3/playlists`
pub(super) fn playlists(_: &Fake, call: &ApiCall) -> ApiResult {
    call.required("mine")?;
    let ids = (1..=60).map(|it| format!("PLtrips{it:027}")).chain([PLAYLIST.to_owned()]);
    let playlist = |id: String| json!({ "snippet": { "title": format!("Trip {id}"), "channelId": CHANNEL } });
    let all: Vec<_> = ids.map(|id| call.resource("playlist", &id, playlist(id.clone()))).collect();
    call.page("playlist", (50, 5), &all)
}

/// `POST /youtube/v3/playlistItems`
pub(super) fn add_to_playlist(fake: &Fake, call: &ApiCall) -> ApiResult {
    let template = json!({ "snippet": { "playlistId": "", "resourceId": { "kind": "", "videoId": "" } } });
    let item = merged(template, &call.json()?, "resource")?;
    let resource = &item["snippet"]["resourceId"];
    if resource["kind"] != "youtube#video" {
        return Err(error(400, "youtube.playlistItem", "invalidResourceType", "The resource is not a video."));
    }
    if item["snippet"]["playlistId"] != PLAYLIST {
        return Err(error(404, "youtube.playlistItem", "playlistNotFound", "The playlist cannot be found."));
    }
    let mut memory = fake.memory();
    let video = memory.video(resource["videoId"].as_str().unwrap())?;
    video.playlists.push(PLAYLIST.to_owned());
    Ok(Json(call.resource("playlistItem", &format!("item of {}", video.id), item)).into_response())
}

/// `GET /youtube/v3/videoCategories`: one page.
pub(super) fn categories(_: &Fake, call: &ApiCall) -> ApiResult {
    let region = call.required("regionCode")?;
    if region.len() != 2 || !region.bytes().all(|it| it.is_ascii_uppercase()) {
        return Err(error(400, "youtube.parameter", "invalidRegionCode", "The region code is invalid."));
    }
    let category =
        |id: &str| json!({ "snippet": { "title": format!("Category {id}"), "assignable": is_in(ASSIGNABLE, id) } });
    let ids = ASSIGNABLE.split(' ').chain(["18", "21", "30"]);
    let items: Vec<_> = ids.map(|id| call.resource("videoCategory", id, category(id))).collect();
    Ok(Json(json!({ "kind": "youtube#videoCategoryListResponse", "etag": region, "items": items })).into_response())
}

/// `POST /youtube/v3/commentThreads`
pub(super) fn comment(fake: &Fake, call: &ApiCall) -> ApiResult {
    let comment = json!({ "snippet": { "textOriginal": "" } });
    let template = json!({ "snippet": { "channelId": "", "videoId": "", "topLevelComment": comment } });
    let mut thread = merged(template, &call.json()?, "resource")?;
    let text = thread["snippet"]["topLevelComment"]["snippet"]["textOriginal"].as_str().unwrap().to_owned();
    let is_invalid = [
        ("channelOrVideoIdMissing", thread["snippet"]["channelId"] != CHANNEL),
        ("commentTextRequired", text.trim().is_empty()),
        ("commentTextTooLong", MAX_COMMENT < text.encode_utf16().count()),
    ];
    if let Some((reason, _)) = is_invalid.iter().find(|it| it.1) {
        return Err(error(400, "youtube.commentThread", reason, "The comment is invalid."));
    }
    check_comments(fake, thread["snippet"]["videoId"].as_str().unwrap())?;
    let (mut memory, now) = (fake.memory(), fake.clock.now().format("%FT%TZ").to_string());
    let id = format!("Ugx{:023}", memory.next());
    let html = escape(&text).replace('\n', "<br>");
    thread["id"] = id.as_str().into();
    thread["snippet"]["topLevelComment"] = json!({ "kind": "youtube#comment", "id": id, "snippet": {
        "textOriginal": text, "textDisplay": html, "authorChannelId": { "value": CHANNEL }, "publishedAt": now } });
    memory.comments.push(thread.clone());
    Ok(Json(call.resource("commentThread", &id, thread)).into_response())
}

/// `GET /youtube/v3/commentThreads`, newest first.
pub(super) fn comments(fake: &Fake, call: &ApiCall) -> ApiResult {
    let video = call.required("videoId")?;
    check_comments(fake, video)?;
    let memory = fake.memory();
    let comments = memory.comments.iter().rev().filter(|it| it["snippet"]["videoId"] == video);
    let thread = |it: &Value| call.resource("commentThread", it["id"].as_str().unwrap(), it.clone());
    call.page("commentThread", (100, 20), &comments.map(thread).collect::<Vec<_>>())
}

/// Neither private videos nor those for children can have comments.
fn check_comments(fake: &Fake, video: &str) -> ApiResult<()> {
    let (mut memory, message) = (fake.memory(), "The video has disabled comments.");
    let video = memory.video(video)?;
    let has_comments = video.public_number.is_some() && video.parts["status"]["selfDeclaredMadeForKids"] == false;
    if has_comments { Ok(()) } else { Err(error(403, "youtube.commentThread", "commentsDisabled", message)) }
}
