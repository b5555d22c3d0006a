//! Videos: what their parts may contain, their processing, and their visibility.

use axum::Json;
use axum::response::IntoResponse;
use chrono::{DateTime, TimeDelta, Utc};
use domain::media::{FileType, MimeType};
use serde_json::{Value, json};

use super::api::{ApiCall, ApiResult, error, is_in, merged};
use super::lists::ASSIGNABLE;
use super::{CHANNEL, CHANNEL_TITLE, Fake, Memory};

pub(super) const PARTS: &str = "contentDetails fileDetails id paidProductPlacementDetails player processingDetails \
    recordingDetails snippet statistics status suggestions topicDetails";

/// How long YouTube processes a video.
const PROCESSING: TimeDelta = TimeDelta::seconds(8);

/// The writable parts, with their defaults.
pub(super) fn defaults() -> Value {
    json!({
        "snippet": { "title": "", "description": "", "tags": [], "categoryId": "22", "defaultLanguage": "",
            "defaultAudioLanguage": "" },
        "status": { "privacyStatus": "public", "license": "youtube", "embeddable": true, "publicStatsViewable": true,
            "selfDeclaredMadeForKids": false, "containsSyntheticMedia": false },
        "recordingDetails": { "recordingDate": "" },
        "paidProductPlacementDetails": { "hasPaidProductPlacement": false },
    })
}

/// The values that an update writes for omitted fields. They turn these off, as responses show that people have published.
fn turned_off() -> Value {
    let mut parts = defaults();
    for name in ["embeddable", "publicStatsViewable"] {
        parts["status"][name] = false.into();
    }
    parts
}

#[derive(Clone, Debug, Default)]
pub struct Video {
    pub id: String,
    /// The writable parts.
    pub parts: Value,
    pub bytes: Vec<u8>,
    /// `None` unless it was uploaded.
    pub thumbnail: Option<Vec<u8>>,
    /// The ids of the playlists to which it was added.
    pub playlists: Vec<String>,
    /// Whether its publication notifies subscribers.
    pub notifies: bool,
    pub(super) uploaded_at: DateTime<Utc>,
    /// Whether its processing fails.
    pub(super) is_spoiled: bool,
    /// Its position among the public videos; `None` while it is private.
    pub(super) public_number: Option<u32>,
}

impl Video {
    pub(super) fn resource(&self, call: &ApiCall, now: DateTime<Utc>) -> Value {
        let is_video = MimeType::sniff(&self.bytes).is_some_and(|it| it.file_type() == FileType::Video);
        let (upload, processing) = match (now < self.uploaded_at + PROCESSING, self.is_spoiled || !is_video) {
            (true, _) => ("uploaded", "processing"),
            (false, true) => ("failed", "failed"),
            (false, false) => ("processed", "succeeded"),
        };
        let mut parts = self.parts.clone();
        for part in parts.as_object_mut().unwrap().values_mut().filter_map(Value::as_object_mut) {
            part.retain(|name, value| name == "description" || *value != "" && *value != json!([]));
        }
        parts["snippet"]["publishedAt"] = self.uploaded_at.format("%FT%TZ").to_string().into();
        parts["snippet"]["channelId"] = CHANNEL.into();
        parts["snippet"]["channelTitle"] = CHANNEL_TITLE.into();
        parts["status"]["uploadStatus"] = upload.into();
        parts["status"]["madeForKids"] = parts["status"]["selfDeclaredMadeForKids"].clone();
        parts["processingDetails"] = json!({ "processingStatus": processing });
        if upload == "failed" {
            parts["status"]["failureReason"] = "invalidFile".into();
            parts["processingDetails"]["processingFailureReason"] = "transcodeFailed".into();
        }
        call.resource("video", &self.id, parts)
    }
}

impl Memory {
    pub(super) fn add(&mut self, parts: Value, bytes: Vec<u8>, now: DateTime<Utc>) -> &mut Video {
        let id = format!("vRd{:08}", self.next());
        self.videos.push(Video { id: id.clone(), bytes, uploaded_at: now, ..Video::default() });
        self.write(&id, parts)
    }

    /// Replaces the parts of a video that exists. In a project without an audit it is private.
    pub(super) fn write(&mut self, id: &str, parts: Value) -> &mut Video {
        let (number, is_unaudited) = (self.next(), self.is_unaudited);
        let video = self.videos.iter_mut().find(|it| it.id == id).unwrap();
        video.parts = parts;
        if is_unaudited {
            video.parts["status"]["privacyStatus"] = "private".into();
        }
        let is_public = video.parts["status"]["privacyStatus"] != "private";
        video.public_number = is_public.then(|| video.public_number.unwrap_or(number));
        video
    }

    pub(super) fn video(&mut self, id: &str) -> ApiResult<&mut Video> {
        let not_found = || error(404, "youtube.video", "videoNotFound", "The video cannot be found.");
        self.videos.iter_mut().find(|it| it.id == id).ok_or_else(not_found)
    }
}

/// `GET /youtube/v3/videos`
pub(super) fn list(fake: &Fake, call: &ApiCall) -> ApiResult {
    let ids: Vec<_> = call.required("id")?.split(',').collect();
    let (now, memory) = (fake.clock.now(), fake.memory());
    let found = memory.videos.iter().filter(|it| ids.contains(&it.id.as_str()));
    call.page("video", (50, 50), &found.map(|it| it.resource(call, now)).collect::<Vec<_>>())
}

/// `PUT /youtube/v3/videos`
pub(super) fn update(fake: &Fake, call: &ApiCall) -> ApiResult {
    let mut memory = fake.memory();
    let sent = call.json()?;
    let video = memory.video(sent["id"].as_str().unwrap_or_default())?;
    let (id, before) = (video.id.clone(), video.parts.clone());
    if call.has_part("snippet") && sent["snippet"]["categoryId"].is_null() {
        return Err(error(
            400,
            "youtube.video",
            "invalidCategoryId",
            "An update of the snippet has to name a category.",
        ));
    }
    let parts = written(call, turned_off(), before)?;
    Ok(Json(memory.write(&id, parts).resource(call, fake.clock.now())).into_response())
}

/// The parts of a video after a call that writes those that `part` names. Absent fields are those of `template`.
pub(super) fn written(call: &ApiCall, template: Value, mut parts: Value) -> ApiResult<Value> {
    let sent = call.json()?;
    for (name, part) in merged(template, &sent, "resource")?.as_object().unwrap() {
        if call.has_part(name) {
            parts[name] = part.clone();
        } else if sent.get(name).is_some() {
            return Err(error(400, "youtube.part", "unexpectedPart", name));
        }
    }
    let text = |pointer: &str| parts.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let is_plain = |it: &str| !it.contains(['<', '>']);
    // UTF-16 is the strictest count of characters.
    let length = |it: &str| it.encode_utf16().count();
    let (title, description) = (text("/snippet/title"), text("/snippet/description"));
    let tags = parts["snippet"]["tags"].as_array().unwrap();
    let (date, tag_texts) = (text("/recordingDetails/recordingDate"), || tags.iter().filter_map(Value::as_str));
    // The commas between tags count, and the quotation marks around a tag with a space.
    let tag_lengths = tag_texts().map(|it| length(it) + if it.contains(' ') { 3 } else { 1 });
    let is_valid = [
        ("Title", !title.trim().is_empty() && length(title) <= 100 && is_plain(title)),
        ("Description", description.len() <= 5_000 && is_plain(description)),
        ("Tags", tag_lengths.sum::<usize>() <= 501 && tag_texts().filter(|it| is_plain(it)).count() == tags.len()),
        ("CategoryId", is_in(ASSIGNABLE, text("/snippet/categoryId"))),
        ("VideoMetadata", is_in("public unlisted private", text("/status/privacyStatus"))),
        ("VideoMetadata", is_in("youtube creativeCommon", text("/status/license"))),
        ("RecordingDetails", date.is_empty() || DateTime::parse_from_rfc3339(date).is_ok()),
    ];
    match is_valid.iter().find(|it| !it.1).map(|it| format!("invalid{}", it.0)) {
        Some(reason) => Err(error(400, "youtube.video", &reason, "The request metadata is invalid.")),
        None => Ok(parts),
    }
}
