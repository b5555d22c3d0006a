//! Shows a slow publish call as `publishing`.

use std::time::Duration;

use domain::delivery::{AttemptError, Published};

use super::AttemptContext;
use crate::Publishing;

/// A shorter call ends before a user could look, and saves two writes.
const SHOW_AFTER: Duration = Duration::from_millis(500);

impl Publishing {
    pub(super) async fn show_when_slow(
        &self,
        context: &AttemptContext<'_>,
        call: impl Future<Output = Result<Published, AttemptError>>,
    ) -> Result<Published, AttemptError> {
        if context.roll_up_at.is_some() {
            return call.await;
        }
        let mut call = std::pin::pin!(call);
        if let Ok(ended) = tokio::time::timeout(SHOW_AFTER, &mut call).await {
            return ended;
        }
        let shown = self.roll_ups.roll_up(context.delivery.user_id, context.delivery.post_id);
        let (ended, shown) = futures::join!(call, shown);
        if let Err(error) = shown {
            tracing::warn!(%error, post_id = %context.delivery.post_id, "slow publish call could not be shown yet");
        }
        ended
    }
}
