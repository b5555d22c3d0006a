use std::ops::Range;

use chrono::{DateTime, Utc};
use domain::id::UserId;
use domain::post::Post;

use super::{Store, entry_id, time_key};
use crate::error::StorageError;
use crate::item::{n, s};
use crate::schema::Table;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct CalendarPosts {
    /// Earliest first.
    pub posts: Vec<Post>,
    pub has_more: bool,
}

impl Store {
    /// At most `limit` posts. A post that was scheduled a moment ago may be missing, because the
    /// index lags behind.
    pub async fn posts_between(
        &self,
        user: UserId,
        times: &Range<DateTime<Utc>>,
        limit: usize,
    ) -> Result<CalendarPosts, StorageError> {
        let found = self
            .client
            .query()
            .table_name(self.table(Table::Posts))
            .index_name("by_time")
            .key_condition_expression("user_id = :user AND time_key BETWEEN :start AND :end")
            .expression_attribute_values(":user", n(user))
            .expression_attribute_values(":start", s(time_key(times.start, 0)))
            .expression_attribute_values(":end", s(time_key(times.end, 0)))
            .limit(i32::try_from(limit + 1).unwrap_or(i32::MAX))
            .send()
            .await?;
        let mut ids: Vec<_> = found.items.unwrap_or_default().iter().filter_map(entry_id).collect();
        let has_more = limit < ids.len();
        ids.truncate(limit);
        let mut posts = self.read_posts(user, &ids).await?;
        // A post may have been moved since.
        posts.retain(|it| it.scheduled_at.is_some_and(|at| times.contains(&at)));
        posts.sort_by_key(|it| (it.scheduled_at, it.post_id));
        Ok(CalendarPosts { posts, has_more })
    }
}
