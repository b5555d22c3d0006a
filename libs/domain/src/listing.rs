//! Pages of posts.

use std::cmp::Ordering;

use chrono::{DateTime, Utc};

use crate::id::PostId;
use crate::post::{Post, PostStatus};

/// What posts are ordered by. Posts that are equal in it are ordered by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortField {
    /// The time at which they were created, which is the order of their ids.
    CreatedAt,
    /// The time at which they go out. Drafts have none and come last.
    ScheduledAt,
}

/// Whether the earliest or the latest post comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The earliest first.
    Asc,
    /// The latest first.
    Desc,
}

/// What decides where a post stands in a list.
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

/// Which posts are listed, in which order, and which page of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Lists only posts with this status; `None` lists all.
    pub status: Option<PostStatus>,
    /// What they are ordered by.
    pub sort: SortField,
    /// Whether the earliest or the latest comes first.
    pub direction: Direction,
    /// The number of the page, from 1.
    pub page: u64,
    /// How many posts a page has, from 1 to 100.
    pub per_page: u64,
}

impl Listing {
    /// The largest page number. It is far beyond any user's last page, and the
    /// offset that follows from it is still a number that a JavaScript client
    /// reads exactly.
    pub const MAX_PAGE: u64 = 1_000_000_000;

    /// How many posts come before the page.
    pub fn offset(&self) -> u64 {
        (self.page - 1) * self.per_page
    }

    /// Whether a post is listed.
    pub fn fits(&self, post: &Post) -> bool {
        self.status.is_none_or(|it| it == post.status)
    }

    /// Which of two posts comes first.
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

    /// How many posts the page has when there are `total` on all pages.
    pub fn shown(&self, total: u64) -> u64 {
        total.saturating_sub(self.offset()).min(self.per_page)
    }

    /// The number of the last page of `total` posts; at least 1.
    pub fn last_page(&self, total: u64) -> u64 {
        total.div_ceil(self.per_page).max(1)
    }
}

/// How many posts a user has in each status.
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
    /// How many are in this status, or how many there are when it is `None`.
    pub fn of(&self, status: Option<PostStatus>) -> u64 {
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

    #[test]
    fn there_is_always_a_last_page() {
        let listing =
            Listing { status: None, sort: SortField::CreatedAt, direction: Direction::Desc, page: 3, per_page: 15 };
        assert_eq!(listing.offset(), 30);
        assert_eq!([0, 1, 15, 16].map(|total| listing.last_page(total)), [1, 1, 1, 2]);
    }

    #[test]
    fn a_page_has_what_the_pages_before_it_leave() {
        let listing =
            |page| Listing { status: None, sort: SortField::CreatedAt, direction: Direction::Desc, page, per_page: 3 };
        for (page, total, shown) in [(1, 0, 0), (1, 2, 2), (1, 3, 3), (1, 9, 3), (2, 3, 0), (2, 4, 1), (9, 4, 0)] {
            assert_eq!(listing(page).shown(total), shown, "of {total} on page {page}");
        }
    }
}
