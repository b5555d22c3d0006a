//! Compares the scheduled posts of a user and a profile with the limits of the plan of the user.
//! Requests that run at one time can exceed a limit by their number.

use domain::plan::Plan;
use domain::post::Post;
use storage::{PostContext, StorageError};

use crate::Scheduling;

/// `None` below the limit; else a message for the user.
pub(crate) fn user_limit(plan: &Plan, context: &PostContext) -> Option<String> {
    let max = plan.max_scheduled_posts.filter(|it| u64::from(*it) <= context.counts.scheduled)?;
    Some(format!(
        "your plan allows {max} scheduled posts at a time (max_scheduled_posts), and you have that many; unschedule one, \
         or wait until one is published"
    ))
}

impl Scheduling {
    /// `None` below the limit; else a message for the user.
    pub(crate) async fn profile_limit(&self, plan: &Plan, post: &Post) -> Result<Option<String>, StorageError> {
        let (Some(max), Some(profile)) = (plan.max_scheduled_posts_per_profile, &post.of_profile) else {
            return Ok(None);
        };
        let scheduled = self.store.scheduled_of_profile(post.user_id, profile.profile_id).await?;
        Ok((u64::from(max) <= scheduled).then(|| {
            format!(
                "your plan limits the scheduled posts of each profile to {max} (max_scheduled_posts_per_profile), and this \
                 profile has that many; unschedule one, or wait until one is published"
            )
        }))
    }
}
