//! The upkeep function: checks and refreshes credentials, removes uploads that no post uses or
//! could use, and erases profiles. At the operator's request, it erases a user.

use std::time::Duration;

use connecting::{ConnectingError, CredentialService};
use domain::id::UserId;
use housekeeping::{Housekeeping, HousekeepingError};
use platforms::{Connect, Platform, Registry};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use tokio::time::Instant;

/// From the start of a round. The rest of the function's timeout in `template.yaml` is for the last
/// call.
const ERASE_WITHIN: Duration = Duration::from_secs(220);

/// The schedule sends an event without any of these fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct UpkeepEvent {
    /// `infra/erase-user` sends this.
    #[serde(default, deserialize_with = "of_somebody")]
    pub erase_user: Option<UserId>,
}

fn of_somebody<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<UserId>, D::Error> {
    let id: u64 = Deserialize::deserialize(deserializer)?;
    UserId::new(id).map(Some).ok_or_else(|| D::Error::custom("not a user id"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ErasePass {
    pub items: usize,
    pub files: usize,
    /// Otherwise run another pass.
    pub done: bool,
}

/// The next round repeats the part that failed.
#[derive(Debug, thiserror::Error)]
pub enum RoundError {
    #[error("credentials: {0}")]
    Credentials(#[from] ConnectingError),
    #[error("uploads and erasures: {0}")]
    Housekeeping(#[from] HousekeepingError),
}

pub async fn erase(
    housekeeping: &Housekeeping,
    platforms: &Registry<dyn Connect>,
    user: UserId,
) -> Result<ErasePass, HousekeepingError> {
    let erased = housekeeping.erase_user(user, platforms).await?;
    Ok(ErasePass { items: erased.items, files: erased.files, done: erased.is_nothing() })
}

/// Failures are logged and repeated in the next round.
pub async fn round(
    housekeeping: &Housekeeping,
    credentials: &CredentialService,
    platforms: &Registry<dyn Platform>,
) -> Result<(), RoundError> {
    let began_at = Instant::now();
    let refreshed = credentials.refresh_due(platforms).await;
    // The parts do not depend on each other, so an error is returned only after the last part.
    let checked = housekeeping.check_uploads().await;
    let removed = housekeeping.remove_unused_uploads().await;
    let erased = tokio::time::timeout_at(began_at + ERASE_WITHIN, Box::pin(housekeeping.erase_profiles())).await;
    let erased = erased.unwrap_or_else(|_| {
        tracing::warn!("erasures were cut off, and the next round continues them");
        Ok(0)
    });
    let (refreshed, removed, erased) = (refreshed?, removed? + checked?, erased?);
    tracing::info!(refreshed, removed, erased, "upkeep is done");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedule_event_erases_no_user_and_operator_event_needs_a_whole_id() {
        let user_of = |raw: &str| serde_json::from_str::<UpkeepEvent>(raw).ok().map(|it| it.erase_user);
        assert_eq!(user_of(r#"{"source": "aws.scheduler", "detail": {}}"#), Some(None));
        assert_eq!(user_of("{}"), Some(None));
        assert_eq!(user_of(r#"{"erase_user": 7}"#), Some(UserId::new(7)));
        for wrong in [r#"{"erase_user": 0}"#, r#"{"erase_user": "x"}"#, r#"{"erase_user": -1}"#] {
            assert_eq!(user_of(wrong), None, "{wrong}");
        }
    }
}
