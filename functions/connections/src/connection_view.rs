//! A connection as clients see it.

use domain::connection::Connection;
use domain::rules::{Counting, Rules};
use domain::schedule::show;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// An account on a platform that the user connected.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Connection)]
pub(crate) struct ConnectionView {
    /// Its id; kept when the account is connected again.
    #[schema(example = 372_851_046_400_001_u64)]
    pub(crate) id: u64,
    /// The platform.
    #[schema(example = "sandbox")]
    pub(crate) provider: String,
    /// The account's handle.
    #[schema(example = "harbour", required)]
    pub(crate) username: Option<String>,
    /// The account's name.
    #[schema(example = "The Harbour", required)]
    pub(crate) display_name: Option<String>,
    /// The URL of the account's picture.
    #[schema(required)]
    pub(crate) avatar: Option<String>,
    /// Whether the account has to be connected again before it can publish.
    pub(crate) needs_reconnection: bool,
    /// When it was first connected.
    #[schema(format = DateTime, example = "2026-11-21T09:30:00.000Z", required)]
    pub(crate) created_at: Option<String>,
}

/// A connection with what is known of it beyond its name.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ConnectionDetails)]
pub(crate) struct ConnectionDetails {
    #[serde(flatten)]
    pub(crate) connection: ConnectionView,
    /// The grant, and the platform's limits that matter to a writer.
    pub(crate) meta: Vec<MetaEntry>,
}

/// Something that is known of a connection.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct MetaEntry {
    /// What.
    #[schema(example = "max_text")]
    pub(crate) name: &'static str,
    /// A string, a number, a list of strings, or null.
    #[schema(value_type = Value, example = json!(500))]
    pub(crate) value: Value,
}

impl From<&Connection> for ConnectionView {
    fn from(connection: &Connection) -> Self {
        let profile = connection.profile.clone();
        Self {
            id: connection.connection_id.get(),
            provider: connection.provider.clone(),
            username: profile.username,
            display_name: profile.display_name,
            avatar: profile.avatar,
            needs_reconnection: connection.needs_reconnection,
            created_at: Some(show(connection.created_at)),
        }
    }
}

impl From<&Connection> for ConnectionDetails {
    fn from(connection: &Connection) -> Self {
        Self { connection: connection.into(), meta: meta(connection) }
    }
}

fn meta(connection: &Connection) -> Vec<MetaEntry> {
    let Rules { max_text, max_images, max_videos, max_image_bytes, max_video_bytes, .. } = connection.rules;
    let text_unit = match connection.rules.counting {
        Counting::CodePoints => "characters",
        Counting::Utf16 => "utf16_units",
        Counting::Bytes => "bytes",
    };
    let mime_types: Vec<_> = connection.rules.mime_types.iter().map(|it| it.as_str()).collect();
    let entry = |name, value| MetaEntry { name, value };
    vec![
        entry("profile_url", json!(connection.profile.profile_url)),
        entry("scopes", json!(connection.scopes)),
        entry("token_expires_at", json!(connection.token_expires_at.map(show))),
        entry("max_text", json!(max_text)),
        entry("text_unit", json!(text_unit)),
        entry("max_images", json!(max_images)),
        entry("max_videos", json!(max_videos)),
        entry("mime_types", json!(mime_types)),
        entry("max_image_bytes", json!(max_image_bytes)),
        entry("max_video_bytes", json!(max_video_bytes)),
    ]
}

#[cfg(test)]
mod tests {
    use domain::testing::{a_connection, a_user};

    use super::*;

    #[test]
    fn a_connection_shows_every_key_even_without_a_value() {
        let mut connection = a_connection(&a_user());
        connection.profile.username = None;
        let shown = serde_json::to_value(ConnectionView::from(&connection)).unwrap();
        for key in ["id", "provider", "username", "display_name", "avatar", "needs_reconnection", "created_at"] {
            assert!(shown.get(key).is_some(), "{key}");
        }
        assert_eq!(shown["username"], Value::Null);
        assert!(shown.get("meta").is_none());
    }

    #[test]
    fn the_values_of_meta_are_strings_numbers_lists_or_null() {
        let shown = serde_json::to_value(ConnectionDetails::from(&a_connection(&a_user()))).unwrap();
        let meta = shown["meta"].as_array().unwrap();
        for entry in meta {
            let value = &entry["value"];
            let is_list = value.as_array().is_some_and(|it| it.iter().all(Value::is_string));
            assert!(value.is_string() || value.is_u64() || value.is_null() || is_list, "{entry}");
        }
        let value = |name: &str| &meta.iter().find(|it| it["name"] == name).unwrap()["value"];
        assert_eq!(value("max_text"), 500);
        assert_eq!(value("token_expires_at"), &Value::Null);
    }
}
