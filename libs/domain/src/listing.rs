use std::cmp::Ordering;

use chrono::{DateTime, Utc};

use crate::id::PostId;
use crate::post::{Filter, Post, PostStatus};

/// The order of posts. Equal posts are ordered by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortField {
    /// The time of creation, which is also the order of ids.
    CreatedAt,
    /// The scheduled time. Drafts have none and come last.
    ScheduledAt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Asc,
    Desc,
}

/// The sort key of a post in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    scheduled_at: Option<DateTime<Utc>>,
    pub post_id: PostId,
}

impl From<&Post> for Position {
    fn from(post: &Post) -> Self {
        Self { scheduled_at: post.scheduled_at, post_id: post.post_id }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    pub filter: Filter,
    pub sort: SortField,
    pub direction: Direction,
    /// The number of the page, from 1.
    pub page: u64,
    /// Posts on a page, from 1 to 100.
    pub per_page: u64,
}

impl Listing {
    /// The largest page number. It is far beyond any user's last page, and the resulting offset is
    /// still an integer that JavaScript represents exactly.
    pub const MAX_PAGE: u64 = 1_000_000_000;

    pub fn offset(&self) -> u64 {
        (self.page - 1) * self.per_page
    }

    pub fn order(&self, one: impl Into<Position>, other: impl Into<Position>) -> Ordering {
        let (one, other): (Position, Position) = (one.into(), other.into());
        let by_id = one.post_id.cmp(&other.post_id);
        let (last, order) = match self.sort {
            SortField::CreatedAt => (Ordering::Equal, by_id),
            SortField::ScheduledAt => (
                one.scheduled_at.is_none().cmp(&other.scheduled_at.is_none()),
                one.scheduled_at.cmp(&other.scheduled_at).then(by_id),
            ),
        };
        last.then(if self.direction == Direction::Desc { order.reverse() } else { order })
    }

    pub fn shown(&self, total: u64) -> u64 {
        total.saturating_sub(self.offset()).min(self.per_page)
    }

    /// The number of the last page; at least 1.
    pub fn last_page(&self, total: u64) -> u64 {
        total.div_ceil(self.per_page).max(1)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Counts {
    pub draft: u64,
    pub scheduled: u64,
    pub publishing: u64,
    pub published: u64,
    pub failed: u64,
}

impl Counts {
    /// The number of posts in this status, or of all posts for `None`.
    pub fn count(&self, status: Option<PostStatus>) -> u64 {
        match status {
            Some(PostStatus::Draft) => self.draft,
            Some(PostStatus::Scheduled) => self.scheduled,
            Some(PostStatus::Publishing) => self.publishing,
            Some(PostStatus::Published) => self.published,
            Some(PostStatus::Failed) => self.failed,
            None => self.draft + self.scheduled + self.publishing + self.published + self.failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest(page: u64, per_page: u64) -> Listing {
        let (sort, direction) = (SortField::CreatedAt, Direction::Desc);
        Listing { filter: Filter::default(), sort, direction, page, per_page }
    }

    #[test]
    fn last_page_is_at_least_1() {
        let listing = newest(3, 15);
        assert_eq!(listing.offset(), 30);
        assert_eq!([0, 1, 15, 16].map(|total| listing.last_page(total)), [1, 1, 1, 2]);
    }

    #[test]
    fn page_has_the_posts_after_the_previous_pages() {
        for (page, total, shown) in [(1, 0, 0), (1, 2, 2), (1, 3, 3), (1, 9, 3), (2, 3, 0), (2, 4, 1), (9, 4, 0)] {
            assert_eq!(newest(page, 3).shown(total), shown, "of {total} on page {page}");
        }
    }
}
