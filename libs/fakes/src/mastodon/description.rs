//! The server's description of itself.

use axum::Json;
use axum::extract::State;
use serde_json::{Map, Value, json};

use super::api_error::ApiError;
use super::flavor::InstanceApi;
use super::instance::{Instance, InstanceState};
use super::media;

/// `GET /api/v2/instance`
pub(crate) async fn second(State(server): InstanceState) -> Result<Json<Value>, ApiError> {
    let differences = server.differences;
    if differences.instance != InstanceApi::Both {
        return Err(ApiError::not_found());
    }
    let mut instance = Map::from_iter([
        ("domain".to_owned(), json!(server.domain())),
        ("title".to_owned(), json!("Harbour")),
        ("version".to_owned(), json!(differences.version)),
        ("description".to_owned(), json!("Ships and lights.")),
        ("languages".to_owned(), json!(["en"])),
        ("configuration".to_owned(), configuration(&server)),
        ("registrations".to_owned(), json!({"enabled": false, "approval_required": false, "message": null})),
        ("rules".to_owned(), json!([])),
    ]);
    if let Some(source_url) = differences.source_url {
        instance.insert("source_url".to_owned(), json!(source_url));
    }
    let mut instance = Value::from(instance);
    // Version 1 of the call never returns the limit.
    if differences.tells_description_limit {
        instance["configuration"]["media_attachments"]["description_limit"] = json!(differences.description_limit);
    }
    Ok(Json(instance))
}

/// `GET /api/v1/instance`
pub(crate) async fn first(State(server): InstanceState) -> Json<Value> {
    let differences = server.differences;
    let mut instance = json!({
        "uri": server.domain(),
        "title": "Harbour",
        "short_description": "Ships and lights.",
        "version": differences.version,
        "languages": ["en"],
        "registrations": false,
        "rules": [],
    });
    if differences.instance == InstanceApi::FirstWithLimits {
        instance["max_toot_chars"] = json!(differences.max_characters);
        instance["upload_limit"] = json!(differences.video_limit);
        instance["description_limit"] = json!(differences.description_limit);
    } else {
        instance["configuration"] = configuration(&server);
    }
    Json(instance)
}

fn configuration(instance: &Instance) -> Value {
    let differences = instance.differences;
    json!({
        "statuses": {
            "max_characters": differences.max_characters,
            "max_media_attachments": differences.max_media,
            "characters_reserved_per_url": differences.told_url_characters,
        },
        "media_attachments": {
            "supported_mime_types": media::TYPES,
            "image_size_limit": differences.image_limit,
            "image_matrix_limit": 33_177_600,
            "video_size_limit": differences.video_limit,
            "video_frame_rate_limit": 120,
            "video_matrix_limit": 8_294_400,
        },
        "polls": {"max_options": 4, "max_characters_per_option": 50, "min_expiration": 300, "max_expiration": 2_629_746},
    })
}
