//! Upkeep: looks after credentials every week, and removes uploads that no
//! post uses or could use. Asked by
//! the operator, it removes everything of a user.

use domain::id::UserId;
use platforms::{Connect, Platform, Registry};
use publishing::{Publishing, PublishingError, remove_unused_uploads};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// What the function is woken for. The schedule sends an event of its own, which
/// has none of these fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Errand {
    /// Only to remove everything of this user, as `infra/erase-user` asks it.
    #[serde(default, deserialize_with = "of_somebody")]
    pub erase_user: Option<UserId>,
}

fn of_somebody<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<UserId>, D::Error> {
    let id: u64 = Deserialize::deserialize(deserializer)?;
    UserId::new(id).map(Some).ok_or_else(|| D::Error::custom("not the id of a user"))
}

/// What a pass of an erasure came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Pass {
    /// Items that were removed from the tables.
    pub items: usize,
    /// Files that were removed from the bucket.
    pub files: usize,
    /// Whether there was nothing left. Else it is to be asked for again.
    pub done: bool,
}

/// Makes one pass of removing everything of a user.
pub async fn erase(
    publishing: &Publishing,
    platforms: &Registry<dyn Connect>,
    user: UserId,
) -> Result<Pass, PublishingError> {
    let erased = publishing.erase_user(user, platforms).await?;
    Ok(Pass { items: erased.items, files: erased.files, done: erased.is_nothing() })
}

/// Does one round of it. What fails is logged and tried again in the next
/// round.
pub async fn round(publishing: &Publishing, platforms: &Registry<dyn Platform>) -> Result<(), PublishingError> {
    let renewed = publishing.custody().refresh_due(platforms).await;
    // The uploads do not depend on the credentials, so an error with the
    // credentials is returned only after the uploads were removed.
    let looked = publishing.look_at_uploads().await;
    let removed = remove_unused_uploads(&publishing.store, &publishing.bucket, publishing.clock.now()).await;
    let (renewed, removed) = (renewed?, removed? + looked?);
    tracing::info!(renewed, removed, "upkeep is done");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule_asks_for_no_erasure_and_the_operator_for_one_of_a_whole_id() {
        let errand = |raw: &str| serde_json::from_str::<Errand>(raw).ok().map(|it| it.erase_user);
        assert_eq!(errand(r#"{"source": "aws.scheduler", "detail": {}}"#), Some(None));
        assert_eq!(errand("{}"), Some(None));
        assert_eq!(errand(r#"{"erase_user": 7}"#), Some(UserId::new(7)));
        for wrong in [r#"{"erase_user": 0}"#, r#"{"erase_user": "x"}"#, r#"{"erase_user": -1}"#] {
            assert_eq!(errand(wrong), None, "{wrong}");
        }
    }
}
