//! Responses with a connection.

use domain::connection::Connection;
use domain::rules::Rule;
use domain::schedule::show;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::rule::{WhenView, YES, is_shown, rule_value, unit_name};

/// An account on a platform that the user connected.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Connection)]
pub(crate) struct ConnectionView {
    /// The id. Reconnecting the account does not change it.
    #[schema(example = 372_851_046_400_001_u64)]
    pub(crate) id: u64,
    /// The platform's name.
    #[schema(example = "sandbox")]
    pub(crate) provider: String,
    /// The account's handle.
    #[schema(example = "harbour", required)]
    pub(crate) username: Option<String>,
    /// The account's name.
    #[schema(example = "The Harbour", required)]
    pub(crate) display_name: Option<String>,
    /// The URL of the account's avatar.
    #[schema(required)]
    pub(crate) avatar: Option<String>,
    /// Whether the account must be reconnected before it can publish.
    pub(crate) needs_reconnection: bool,
    /// When it was first connected.
    #[schema(format = DateTime, example = "2026-11-21T09:30:00.000Z", required)]
    pub(crate) created_at: Option<String>,
}

/// A connection with its grant and its platform's limits.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = ConnectionDetails)]
pub(crate) struct ConnectionDetails {
    #[serde(flatten)]
    pub(crate) connection: ConnectionView,
    /// Facts of the grant (`profile_url`, `scopes`, `token_expires_at`), and the rules for a post of this account. A
    /// rule that does not apply has no entry.
    ///
    /// Text: `max_text`, `min_text`, `max_text_with_media` and `max_text_with_video` in `text_unit`, which is
    /// `graphemes`, `characters` (code points), `utf16_units`, `weighted` (as X counts) or `emoji_bytes` (an emoji
    /// counts its bytes, any other code point 1); `url_length`, the length that every link counts; `short_links`, if
    /// links are shown and counted shortened; `short_mentions`, if `@user@host` counts as `@user`; `max_text_bytes`;
    /// `max_content_warning`; `max_hashtags`, `max_mentions`, `max_links`; `text_not_shown`.
    ///
    /// Files: `max_media` for images and videos together; `max_images`, GIFs included; `max_videos`; `min_images`,
    /// `min_videos`; `media_required`; `not_mixed`, if images and videos cannot be combined; `gif_alone`, if a GIF
    /// cannot be combined; `mime_types`; `max_image_bytes`, `max_gif_bytes`, `max_video_bytes`; `max_alt_text` in
    /// `alt_text_unit`, with `max_video_alt_text` if videos have a lower limit; `min_alt_text` of each file.
    ///
    /// Options: `not_with_media`, which cannot be combined with files; `required_options` and `refused_options`, which
    /// a post of this account must have and must not have.
    pub(crate) meta: Vec<MetaEntry>,
}

/// A fact or a rule of a connection.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct MetaEntry {
    /// The name of the fact or rule.
    #[schema(example = "max_text")]
    pub(crate) name: &'static str,
    /// A string, a number, a list of strings, or null; `yes` for a rule without a value.
    #[schema(value_type = Value, example = json!(500))]
    pub(crate) value: Value,
    /// The condition under which the rule applies; absent when it always applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) when: Option<WhenView>,
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
    let mut entries = vec![
        entry("profile_url", json!(connection.profile.profile_url)),
        entry("scopes", json!(connection.scopes)),
        entry("token_expires_at", json!(connection.token_expires_at.map(show))),
    ];
    entries.extend(connection.rules.rules.iter().filter(|it| is_shown(it)).flat_map(rule_entries));
    for conditional in &connection.rules.depending {
        let when = |it: MetaEntry| MetaEntry { when: Some(WhenView::new(&conditional.when)), ..it };
        entries.extend(conditional.rules.iter().filter(|it| is_shown(it)).flat_map(rule_entries).map(when));
    }
    entries
}

/// The entry of a rule, followed by entries for the unit of its number.
fn rule_entries(rule: &Rule) -> Vec<MetaEntry> {
    let mut entries = vec![entry(rule.id(), rule_value(rule))];
    if let Rule::MaxAltText { counting, .. } = rule {
        entries.push(entry("alt_text_unit", json!(unit_name(counting))));
    }
    if let Rule::MaxText { counting, .. } = rule {
        entries.push(entry("text_unit", json!(unit_name(counting))));
        entries.extend(counting.url_length.map(|it| entry("url_length", json!(it))));
        entries.extend(counting.short_links.then(|| entry("short_links", json!(YES))));
        entries.extend(counting.short_mentions.then(|| entry("short_mentions", json!(YES))));
    }
    entries
}

fn entry(name: &'static str, value: Value) -> MetaEntry {
    MetaEntry { name, value, when: None }
}

#[cfg(test)]
mod tests {
    use domain::media::MimeType;
    use domain::rules::{Counting, FileRule, OptionCondition, PostRule, Rules};
    use domain::testing::{a_connection, a_user};

    use super::*;

    #[test]
    fn connection_has_every_key_even_without_a_value() {
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
    fn meta_values_are_strings_numbers_lists_or_null() {
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

    #[test]
    fn meta_lists_the_rules_of_an_account_by_id() {
        let mut connection = a_connection(&a_user());
        let counting = Counting::graphemes().url(23).short_links().short_mentions();
        connection.rules.rules = vec![
            Rule::max_text(500, counting),
            Rule::max_text_bytes(3000),
            Rule::max_media(4),
            Rule::NotMixed,
            Rule::mime_types([MimeType::Jpeg, MimeType::Mp4]),
            Rule::max_video_bytes(60 << 20),
            Rule::OfFiles(FileRule::FittedImageBytes { max: 1_000_000 }),
            Rule::OfFiles(FileRule::FittedImageSide { max: 4096 }),
            Rule::max_alt_text(1500, Counting::code_points()),
            Rule::min_alt_text(10, Counting::code_points()),
        ];

        let shown: Vec<_> = meta(&connection).into_iter().skip(3).map(|it| (it.name, it.value)).collect();

        assert_eq!(
            shown,
            [
                ("max_text", json!(500)),
                ("text_unit", json!("graphemes")),
                ("url_length", json!(23)),
                ("short_links", json!("yes")),
                ("short_mentions", json!("yes")),
                ("max_text_bytes", json!(3000)),
                ("max_media", json!(4)),
                ("not_mixed", json!("yes")),
                ("mime_types", json!(["image/jpeg", "video/mp4"])),
                ("max_video_bytes", json!(62_914_560)),
                ("max_alt_text", json!(1500)),
                ("alt_text_unit", json!("characters")),
                ("min_alt_text", json!(10)),
            ]
        );
    }

    #[test]
    fn conditional_rules_come_last_with_their_condition() {
        let mut connection = a_connection(&a_user());
        let reel = OptionCondition::option("kind", ["reel"]).or_absent();
        connection.rules = Rules::new("Example", [Rule::max_media(4)]).with_rules_when(
            reel,
            [Rule::OfPost(PostRule::MinVideos { min: 1 }), Rule::OfPost(PostRule::TextNotShown)],
        );

        let shown: Vec<_> = meta(&connection).into_iter().skip(3).map(|it| serde_json::to_value(it).unwrap()).collect();

        let when = json!({"option": "kind", "is": ["reel"], "or_absent": true});
        assert_eq!(
            shown,
            [
                json!({"name": "max_media", "value": 4}),
                json!({"name": "min_videos", "value": 1, "when": when}),
                json!({"name": "text_not_shown", "value": "yes", "when": when}),
            ]
        );
    }
}
