//! Whether the account may upload videos now.
//!
//! Facts: an account has a daily limit of videos and of bytes, and may upload none until its email
//! address is confirmed. The response then has 401 and the same body.

use chrono::{DateTime, DurationRound, TimeDelta, Utc};
use domain::delivery::AttemptError;
use http::Method;
use serde::Deserialize;

use super::service::{VideoService, with};
use crate::bluesky::errors::VIDEO;
use crate::bluesky::reply::Reply;
use crate::kit::Effect;
use crate::response;

const METHOD: &str = "app.bsky.video.getUploadLimits";

const UNCONFIRMED: &str = "unconfirmed_email";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Limits {
    pub(super) can_upload: bool,
    remaining_daily_videos: Option<i64>,
    remaining_daily_bytes: Option<i64>,
    message: Option<String>,
    error: Option<String>,
}

pub(super) async fn check(service: &VideoService<'_>, size_bytes: u64) -> Result<(), AttemptError> {
    let token = service.own_token(METHOD).await?;
    let reply = Reply::to(with(service.call(Method::GET, METHOD)?, &token)).await?;
    let now = service.now();
    match reply.json::<Limits>() {
        Some(limits) => limits.check(size_bytes, reply.retry_at(now), now),
        None => Err(reply.failure(&VIDEO, Effect::Private, now).into()),
    }
}

impl Limits {
    fn check(self, size_bytes: u64, resets_at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Result<(), AttemptError> {
        let message = |default: &str| response::shown(self.message.as_deref().unwrap_or(default));
        if self.error.as_deref() == Some(UNCONFIRMED) {
            let message = message("the account's email address is not confirmed");
            return Err(AttemptError::Refused {
                reason: format!(
                    "{message}. Confirm your email address in Bluesky's settings, under Account, before you \
                                 try again"
                ),
            });
        }
        let size_bytes = i64::try_from(size_bytes).unwrap_or(i64::MAX);
        let is_used_up = self.remaining_daily_videos.is_some_and(|it| it < 1)
            || self.remaining_daily_bytes.is_some_and(|it| it < size_bytes);
        if is_used_up {
            let message = message("the account has reached its daily video limit");
            let retry_at = Some(resets_at.unwrap_or_else(|| start_of_next_hour(now)));
            return Err(AttemptError::RetryLater {
                retry_at,
                reason: format!("{message}. The limit resets within a day"),
            });
        }
        if self.can_upload {
            return Ok(());
        }
        Err(AttemptError::RetryLater {
            retry_at: None,
            reason: message(
                "the video service accepts no videos from this \
                                                                      account at the moment",
            ),
        })
    }
}

/// The service does not report when the daily limit resets. With a check at each full hour, it is
/// noticed at most an hour late, whether days count from midnight or from the first video.
fn start_of_next_hour(now: DateTime<Utc>) -> DateTime<Utc> {
    let hour = TimeDelta::hours(1);
    now.duration_trunc(hour).map_or(now + hour, |it| it + hour)
}

#[cfg(test)]
mod tests {
    use domain::testing::noon;
    use serde_json::{Value, from_value, json};

    use super::*;

    fn check_limits(limits: Value) -> Result<(), AttemptError> {
        from_value::<Limits>(limits).unwrap().check(1000, None, noon() + TimeDelta::minutes(20))
    }

    #[test]
    fn daily_limit_retries_and_unconfirmed_email_is_refused() {
        assert_eq!(check_limits(json!({"canUpload": true})), Ok(()));
        assert_eq!(
            check_limits(json!({"canUpload": true, "remainingDailyVideos": 1, "remainingDailyBytes": 1000})),
            Ok(())
        );
        for used_up in [
            json!({"canUpload": false, "remainingDailyVideos": 0, "message": "User has exceeded daily upload videos limit"}),
            json!({"canUpload": true, "remainingDailyVideos": 3, "remainingDailyBytes": 999}),
        ] {
            let attempt_error = check_limits(used_up).unwrap_err();
            let AttemptError::RetryLater { retry_at, reason } = attempt_error else { panic!("{attempt_error:?}") };
            assert_eq!(retry_at, Some(noon() + TimeDelta::hours(1)));
            assert!(reason.ends_with(". The limit resets within a day"), "{reason}");
        }
        let unconfirmed = json!({
            "canUpload": false, "error": "unconfirmed_email", "message": "Confirm your email address to upload videos",
        });
        let attempt_error = check_limits(unconfirmed).unwrap_err();
        assert!(
            matches!(&attempt_error, AttemptError::Refused { reason } if reason.contains("settings")),
            "{attempt_error:?}"
        );
        let unclear = check_limits(json!({"canUpload": false, "error": "paused"})).unwrap_err();
        assert!(matches!(unclear, AttemptError::RetryLater { retry_at: None, .. }), "{unclear:?}");
    }
}
