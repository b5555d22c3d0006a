//! A public call that takes its time is shown to who looks at the post.

use std::time::Duration;

use domain::delivery::{AttemptError, Published};

use super::AttemptContext;
use crate::Publishing;

/// A public call that takes longer shows as `publishing`; a shorter one ends
/// before anybody could look, and the two writes are spared.
const SHOW_AFTER: Duration = Duration::from_millis(500);

impl Publishing {
    pub(super) async fn shown_when_slow(
        &self,
        task: &AttemptContext<'_>,
        call: impl Future<Output = Result<Published, AttemptError>>,
    ) -> Result<Published, AttemptError> {
        if task.roll_up_at.is_some() {
            return call.await;
        }
        let mut call = std::pin::pin!(call);
        if let Ok(ended) = tokio::time::timeout(SHOW_AFTER, &mut call).await {
            return ended;
        }
        let shown = self.roll_up(task.delivery.user_id, task.delivery.post_id);
        let (ended, shown) = futures::join!(call, shown);
        if let Err(error) = shown {
            tracing::warn!(%error, post_id = %task.delivery.post_id, "a slow call is not shown yet");
        }
        ended
    }
}
