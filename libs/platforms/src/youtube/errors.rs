use chrono::{DateTime, TimeDelta, Utc};
use domain::upload_day::UploadDay;

use super::TITLE;
use crate::google;
use crate::kit::{ErrorKind, ErrorRule, ErrorTable};

pub(super) const ERRORS: ErrorTable = ErrorTable {
    title: TITLE,
    rules: &[
        google::NO_QUOTA,
        ErrorRule::codes(&["quotaExceeded", "dailyLimitExceeded"])
            .kind(ErrorKind::RateLimited)
            .retry_at(next_reset)
            .user_message(QUOTA),
        ErrorRule::codes(&["rateLimitExceeded", "RATE_LIMIT_EXCEEDED"])
            .message_contains(&["per day"])
            .kind(ErrorKind::RateLimited)
            .retry_at(next_reset)
            .user_message(QUOTA),
        ErrorRule::codes(&["rateLimitExceeded", "userRateLimitExceeded"]).kind(ErrorKind::RateLimited),
        ErrorRule::codes(&["uploadLimitExceeded"])
            .kind(ErrorKind::RateLimited)
            .retry_after(TimeDelta::hours(24))
            .user_message("the channel has reached YouTube's limit of uploads in 24 hours"),
        ErrorRule::codes(&["youtubeSignupRequired"]).kind(ErrorKind::Unauthorized).user_message(NO_CHANNEL),
        ErrorRule::codes(&["authenticatedUserAccountClosed", "authenticatedUserAccountSuspended"])
            .kind(ErrorKind::Unauthorized),
        google::API_DISABLED,
        google::SCOPE_MISSING,
        ErrorRule::status(403)
            .and_codes(&["forbidden"])
            .message_contains(&["thumbnail"])
            .kind(ErrorKind::Forbidden)
            .user_message("the channel may not set thumbnails: verify its phone number at youtube.com/verify"),
        ErrorRule::status(404)
            .and_codes(&["videoNotFound"])
            .user_message("the video does not exist: it was deleted from the channel"),
        ErrorRule::codes(&["processingFailure"]).kind(ErrorKind::ServerError),
    ],
    ..google::ERRORS
};

pub(super) const NO_CHANNEL: &str =
    "this Google account has no YouTube channel: create one at youtube.com, then connect it";

const QUOTA: &str = "this service has used up its quota of YouTube for today; the quota is renewed at midnight in \
                     Pacific time";

fn next_reset(now: DateTime<Utc>) -> DateTime<Utc> {
    UploadDay::from_instant(now).ends_at()
}
