//! The rooms to which an account can post.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use futures::future::try_join_all;
use futures::{Stream, StreamExt, stream};
use serde_json::Value;
use tokio::time::sleep;

use super::api::{Api, CREATE, Device};
use super::user::UserId;
use crate::choices::Choice;
use crate::kit::{CallError, Effect, ErrorKind};

/// The state events that decide whether a room can be posted to, and that name it.
const KINDS: [&str; 5] = [CREATE, "m.room.power_levels", "m.room.tombstone", "m.room.name", "m.room.canonical_alias"];

/// The most rooms that are read. Each costs one call, or six if it is not encrypted. An initial
/// `/sync` returns all in one, but with hundreds of rooms it takes a homeserver minutes.
const MAX_ROOMS: usize = 200;

const CONCURRENCY: usize = 8;

const TIMEOUT: Duration = Duration::from_secs(9);

/// A room that is not encrypted.
struct Room {
    /// The content of its state by event type; for [`CREATE`], the whole event.
    state: BTreeMap<&'static str, Value>,
}

/// The rooms to which a user can post, sorted by name. Rooms that could not be read in time are
/// missing.
pub(super) async fn choices(api: &Api, device: Device<'_>, user: &UserId) -> Result<Vec<Choice>, CallError> {
    let time_is_up = sleep(TIMEOUT);
    let ids = api.joined_rooms(device).await?;
    let count = ids.len();
    let rooms = ids.into_iter().take(MAX_ROOMS).map(|id| async move {
        let room = Room::read(api, device, &id).await;
        (id, room)
    });
    collect_choices(stream::iter(rooms).buffer_unordered(CONCURRENCY), count, time_is_up, user).await
}

async fn collect_choices(
    rooms: impl Stream<Item = (String, Result<Option<Room>, CallError>)>,
    mut remaining: usize,
    time_is_up: impl Future<Output = ()>,
    user: &UserId,
) -> Result<Vec<Choice>, CallError> {
    let mut rooms = pin!(rooms.take_until(time_is_up));
    let (mut choices, mut failed) = (Vec::new(), None);
    while let Some((id, room)) = rooms.next().await {
        remaining = remaining.saturating_sub(1);
        match room {
            Ok(Some(room)) if !room.is_closed() && room.can_send(&id, user) => {
                choices.push(Choice { label: room.label().unwrap_or_else(|| id.clone()), value: id });
            }
            Ok(_) => {}
            Err(error) if error.kind == ErrorKind::Unauthorized => return Err(error),
            // The user has left the room in the meantime.
            Err(error) if error.kind == ErrorKind::Forbidden => {}
            Err(error) => failed = Some(error),
        }
    }
    if choices.is_empty() && remaining != 0 {
        let message = "the account is in too many rooms to list them: type the ID of a room";
        failed = failed.or_else(|| Some(CallError::new(ErrorKind::Unavailable, Effect::Read, message)));
    }
    choices.sort_by_key(|it| it.label.to_lowercase());
    failed.filter(|_| choices.is_empty()).map_or(Ok(choices), Err)
}

impl Room {
    /// `None` if the room is encrypted.
    async fn read(api: &Api, device: Device<'_>, id: &str) -> Result<Option<Self>, CallError> {
        if api.is_encrypted(device, id).await? {
            return Ok(None);
        }
        let state = try_join_all(KINDS.map(|kind| api.state(device, id, kind))).await?;
        let state = KINDS.into_iter().zip(state).filter_map(|(kind, it)| Some((kind, it?))).collect();
        Ok(Some(Self { state }))
    }

    fn content(&self, kind: &str) -> &Value {
        self.state.get(kind).unwrap_or(&Value::Null)
    }

    fn creation(&self) -> &Value {
        let it = self.content(CREATE);
        if it["type"] == CREATE { &it["content"] } else { it }
    }

    /// A space contains rooms; an upgraded room continues in another room.
    fn is_closed(&self) -> bool {
        self.creation()["type"] == "m.space" || self.state.contains_key("m.room.tombstone")
    }

    /// Whether the user's power level allows messages. Since room version 12, whose ids have no
    /// domain, the creators of a room have unlimited power. The default level for messages is 0.
    fn can_send(&self, id: &str, user: &UserId) -> bool {
        let user = user.as_str();
        let levels = self.content("m.room.power_levels");
        let mut additional_creators = self.creation()["additional_creators"].as_array().into_iter().flatten();
        let is_creator = self.content(CREATE)["sender"] == user || additional_creators.any(|it| it == user);
        if is_creator && !id.contains(':') {
            return true;
        }
        let needed = level(&levels["events"]["m.room.message"]).or_else(|| level(&levels["events_default"]));
        let held = level(&levels["users"][user]).or_else(|| level(&levels["users_default"]));
        needed.unwrap_or(0) <= held.unwrap_or(0)
    }

    fn label(&self) -> Option<String> {
        let text = |it: &Value| it.as_str().map(str::to_owned).filter(|it| !it.trim().is_empty());
        let name = text(&self.content("m.room.name")["name"]);
        let alias = text(&self.content("m.room.canonical_alias")["alias"]);
        match (name, alias) {
            (Some(name), Some(alias)) => Some(format!("{name} ({alias})")),
            (name, alias) => name.or(alias),
        }
    }
}

/// A power level, which rooms before version 10 may also write as text.
fn level(it: &Value) -> Option<i64> {
    it.as_i64().or_else(|| it.as_str()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use serde_json::json;

    use super::*;

    fn user() -> UserId {
        UserId::parse("@keeper:example.org").unwrap()
    }

    /// A room with this state, keyed by types without `m.room.`.
    fn room(state: &Value) -> Room {
        let event = |kind: &&str| state.get(kind.trim_start_matches("m.room.")).cloned();
        Room { state: KINDS.iter().filter_map(|kind| Some((*kind, event(kind)?))).collect() }
    }

    fn created_by(sender: &str, content: &Value) -> Value {
        json!({ "type": CREATE, "sender": sender, "content": content })
    }

    #[test]
    fn user_can_post_with_sufficient_power_level() {
        let created = created_by("@keeper:example.org", &json!({}));
        let levels = |levels: Value| json!({ "create": created, "power_levels": levels });
        for (id, state, is_open) in [
            ("!a:b", json!({}), true),
            ("!a:b", levels(json!({})), true),
            ("!a:b", levels(json!({ "events_default": 50 })), false),
            ("!new", levels(json!({ "events_default": 50 })), true),
            // A server from before version 1.16 does not name the creator.
            ("!new", json!({ "create": {}, "power_levels": { "events_default": 50 } }), false),
            ("!new", json!({ "create": { "additional_creators": ["@keeper:example.org"] } }), true),
            ("!a:b", levels(json!({ "events_default": "50", "users": { "@keeper:example.org": "50" } })), true),
            ("!a:b", levels(json!({ "events_default": 50, "users_default": 50 })), true),
            ("!a:b", levels(json!({ "events": { "m.room.message": 1 } })), false),
        ] {
            assert_eq!(room(&state).can_send(id, &user()), is_open, "{id} {state}");
        }
    }

    #[test]
    fn space_and_upgraded_room_are_not_listed() {
        for state in [
            json!({ "tombstone": {} }),
            json!({ "create": { "type": "m.space" } }),
            json!({ "create": created_by("@a:b", &json!({ "type": "m.space" })) }),
        ] {
            assert!(room(&state).is_closed(), "{state}");
        }
        assert!(!room(&json!({ "create": created_by("@a:b", &json!({})) })).is_closed());
    }

    #[test]
    fn room_is_listed_by_its_name_or_alias() {
        let (name, alias) = (json!({ "name": "Harbour" }), json!({ "alias": "#harbour:example.org" }));
        for (state, label) in [
            (json!({ "name": name, "canonical_alias": alias }), Some("Harbour (#harbour:example.org)")),
            (json!({ "canonical_alias": alias }), Some("#harbour:example.org")),
            (json!({ "name": { "name": " " } }), None),
        ] {
            assert_eq!(room(&state).label().as_deref(), label);
        }
    }

    #[tokio::test]
    async fn list_ends_at_the_timeout_with_the_rooms_so_far() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let seen = stream::once(async move {
            sender.send(()).unwrap();
            ("!a:b".to_owned(), Ok(Some(room(&json!({})))))
        });
        let time_is_up = async { receiver.await.unwrap() };

        let choices = collect_choices(seen.chain(stream::once(pending())), 2, time_is_up, &user()).await.unwrap();

        assert_eq!(choices.len(), 1);
        let none = collect_choices(stream::once(pending()), 1, ready(()), &user()).await.unwrap_err();
        assert!(none.message.contains("type the ID of a room"), "{none:?}");
    }

    #[tokio::test]
    async fn failed_room_does_not_hide_others() {
        let failed = |kind| ("!a:b".to_owned(), Err(CallError::new(kind, Effect::Read, "no")));
        let open = || ("!b:b".to_owned(), Ok(Some(room(&json!({})))));
        let list =
            async |rooms: Vec<_>| collect_choices(stream::iter(rooms), 0, pending(), &user()).await.map(|it| it.len());

        assert_eq!(list(vec![failed(ErrorKind::ServerError), open()]).await.unwrap(), 1);
        assert_eq!(list(vec![failed(ErrorKind::Forbidden)]).await.unwrap(), 0);
        assert!(list(vec![failed(ErrorKind::ServerError)]).await.is_err());
        assert!(list(vec![open(), failed(ErrorKind::Unauthorized)]).await.is_err(), "its token is refreshed first");
    }
}
