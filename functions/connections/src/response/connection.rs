//! Responses with a connection.

use contract::{ConnectionDetails, MetaEntry, Timestamp};
use domain::connection::Connection;
use domain::rules::Rule;
use serde_json::{Value, json};

use super::rule::{YES, condition_view, is_shown, rule_value, unit_name};

pub(crate) fn connection_view(connection: &Connection) -> contract::Connection {
    let profile = connection.profile.clone();
    contract::Connection {
        id: connection.connection_id.get(),
        provider: connection.provider.clone(),
        username: profile.username,
        display_name: profile.display_name,
        avatar: profile.avatar,
        profile_id: connection.of_profile.as_ref().map(|it| it.profile_id.get()),
        needs_reconnection: connection.needs_reconnection,
        created_at: Some(Timestamp(connection.created_at)),
    }
}

pub(crate) fn details_view(connection: &Connection) -> ConnectionDetails {
    ConnectionDetails { connection: connection_view(connection), meta: meta(connection) }
}

fn meta(connection: &Connection) -> Vec<MetaEntry> {
    let mut entries = vec![
        entry("profile_url", json!(connection.profile.profile_url)),
        entry("scopes", json!(connection.scopes)),
        entry("token_expires_at", json!(connection.token_expires_at.map(Timestamp))),
        entry("max_thread", json!(connection.rules.max_thread)),
    ];
    entries.extend(connection.rules.rules.iter().filter(|it| is_shown(it)).flat_map(rule_entries));
    for conditional in &connection.rules.depending {
        let when = |it: MetaEntry| MetaEntry { when: Some(condition_view(&conditional.when)), ..it };
        entries.extend(conditional.rules.iter().filter(|it| is_shown(it)).flat_map(rule_entries).map(when));
    }
    entries
}

/// Entries for the unit of the rule's number follow.
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

fn entry(name: &str, value: Value) -> MetaEntry {
    MetaEntry { name: name.to_owned(), value, when: None }
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
        let shown = serde_json::to_value(connection_view(&connection)).unwrap();
        for key in ["id", "provider", "username", "display_name", "avatar", "needs_reconnection", "created_at"] {
            assert!(shown.get(key).is_some(), "{key}");
        }
        assert_eq!(shown["username"], Value::Null);
        assert!(shown.get("meta").is_none());
    }

    #[test]
    fn meta_values_are_strings_numbers_lists_or_null() {
        let shown = serde_json::to_value(details_view(&a_connection(&a_user()))).unwrap();
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

        let entries = meta(&connection);
        let shown: Vec<_> = entries.iter().skip(4).map(|it| (it.name.as_str(), it.value.clone())).collect();

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

        let shown: Vec<_> = meta(&connection).into_iter().skip(4).map(|it| serde_json::to_value(it).unwrap()).collect();

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
