//! The rooms to which an account can post.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::user::UserId;
use crate::choices::Choice;

/// The kinds of state that decide it, and that name a room.
pub(super) const STATE: &[&str] = &[
    "m.room.create",
    "m.room.power_levels",
    "m.room.encryption",
    "m.room.tombstone",
    "m.room.name",
    "m.room.canonical_alias",
];

/// What `/sync` answers.
#[derive(Deserialize)]
struct Sync {
    #[serde(default)]
    rooms: Rooms,
}

#[derive(Default, Deserialize)]
struct Rooms {
    #[serde(default)]
    join: BTreeMap<String, Joined>,
}

#[derive(Deserialize)]
struct Joined {
    #[serde(default)]
    state: Events,
    #[serde(default)]
    timeline: Events,
    #[serde(default)]
    summary: Summary,
}

#[derive(Default, Deserialize)]
struct Events {
    #[serde(default)]
    events: Vec<Event>,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    state_key: Option<String>,
    sender: String,
    content: Value,
}

/// Who is in a room that has no name.
#[derive(Default, Deserialize)]
struct Summary {
    #[serde(default, rename = "m.heroes")]
    heroes: Vec<String>,
}

/// A room, as far as it matters here.
struct Room {
    state: BTreeMap<String, Event>,
    heroes: Vec<String>,
}

/// Those of the rooms of an answer to which this user can post, by their names; `None`
/// where it is no such answer.
pub(super) fn choices(answer: Value, user: &UserId) -> Option<Vec<Choice>> {
    let Sync { rooms } = serde_json::from_value(answer).ok()?;
    let mut choices: Vec<_> = rooms
        .join
        .into_iter()
        .filter_map(|(id, joined)| {
            let Joined { state, timeline, summary } = joined;
            let events = state.events.into_iter().chain(timeline.events);
            let events = events.filter(|it| it.state_key.as_deref() == Some(""));
            let room = Room { state: events.map(|it| (it.kind.clone(), it)).collect(), heroes: summary.heroes };
            let is_open = !room.is_encrypted() && !room.is_no_place_to_talk() && room.lets_send(&id, user);
            is_open.then(|| Choice { label: room.label().unwrap_or_else(|| id.clone()), value: id })
        })
        .collect();
    choices.sort_by_key(|it| it.label.to_lowercase());
    Some(choices)
}

impl Room {
    fn of(&self, kind: &str) -> &Value {
        self.state.get(kind).map_or(&Value::Null, |it| &it.content)
    }

    fn is_encrypted(&self) -> bool {
        self.state.contains_key("m.room.encryption")
    }

    /// A space holds rooms; one that was upgraded goes on in another room.
    fn is_no_place_to_talk(&self) -> bool {
        self.of("m.room.create")["type"] == "m.space" || self.state.contains_key("m.room.tombstone")
    }

    /// Whether the power of a user is enough for messages. Since version 12 of rooms,
    /// whose ids have no domain, those who made one have more power than there are
    /// levels. Nobody needs any where nothing is said.
    fn lets_send(&self, id: &str, user: &UserId) -> bool {
        let user = user.as_str();
        let levels = self.of("m.room.power_levels");
        let made_by = self.state.get("m.room.create").is_some_and(|it| {
            let further = it.content["additional_creators"].as_array().into_iter().flatten();
            it.sender == user || further.into_iter().any(|it| it == user)
        });
        if made_by && !id.contains(':') {
            return true;
        }
        let needed = level(&levels["events"]["m.room.message"]).or_else(|| level(&levels["events_default"]));
        let held = level(&levels["users"][user]).or_else(|| level(&levels["users_default"]));
        needed.unwrap_or(0) <= held.unwrap_or(0)
    }

    fn label(&self) -> Option<String> {
        let text = |it: &Value| it.as_str().map(str::to_owned).filter(|it| !it.trim().is_empty());
        let name = text(&self.of("m.room.name")["name"]);
        let alias = text(&self.of("m.room.canonical_alias")["alias"]);
        match (name, alias) {
            (Some(name), Some(alias)) => Some(format!("{name} ({alias})")),
            (None, None) if !self.heroes.is_empty() => Some(self.heroes.join(", ")),
            (name, alias) => name.or(alias),
        }
    }
}

/// A level, which rooms before version 10 may also write as text.
fn level(it: &Value) -> Option<i64> {
    it.as_i64().or_else(|| it.as_str()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(kind: &str, content: &Value) -> Value {
        json!({ "type": kind, "state_key": "", "sender": "@keeper:example.org", "content": content })
    }

    fn chosen(id: &str, state: &Value, timeline: &Value) -> Option<String> {
        let answer = json!({ "rooms": { "join": { id: {
            "state": { "events": state }, "timeline": { "events": timeline },
            "summary": { "m.heroes": ["@bob:example.org"] },
        } } } });
        let choices = choices(answer, &UserId::parse("@keeper:example.org").unwrap()).unwrap();
        choices.into_iter().next().map(|it| it.label)
    }

    #[test]
    fn a_room_is_listed_where_the_user_may_post() {
        let levels = |levels: Value| json!([event("m.room.create", &json!({})), event("m.room.power_levels", &levels)]);
        for (id, state, is_open) in [
            ("!a:b", json!([]), true),
            ("!a:b", levels(json!({})), true),
            ("!a:b", levels(json!({ "events_default": 50 })), false),
            ("!new", levels(json!({ "events_default": 50 })), true),
            ("!a:b", levels(json!({ "events_default": "50", "users": { "@keeper:example.org": "50" } })), true),
            ("!a:b", levels(json!({ "events_default": 50, "users_default": 50 })), true),
            ("!a:b", levels(json!({ "events": { "m.room.message": 1 } })), false),
            ("!a:b", json!([event("m.room.encryption", &json!({}))]), false),
            ("!a:b", json!([event("m.room.tombstone", &json!({}))]), false),
            ("!a:b", json!([event("m.room.create", &json!({ "type": "m.space" }))]), false),
        ] {
            assert_eq!(chosen(id, &state, &json!([])).is_some(), is_open, "{id} {state}");
        }
        let encrypted = json!([event("m.room.encryption", &json!({}))]);
        assert_eq!(chosen("!a:b", &json!([]), &encrypted), None, "what came last counts");
    }

    #[test]
    fn a_room_is_named_as_people_know_it() {
        let name = event("m.room.name", &json!({ "name": "Harbour" }));
        let alias = event("m.room.canonical_alias", &json!({ "alias": "#harbour:example.org" }));
        for (state, label) in [
            (json!([name, alias]), "Harbour (#harbour:example.org)"),
            (json!([alias]), "#harbour:example.org"),
            (json!([event("m.room.name", &json!({ "name": " " }))]), "@bob:example.org"),
        ] {
            assert_eq!(chosen("!a:b", &state, &json!([])).as_deref(), Some(label));
        }
    }
}
