//! Pages of posts.

use crate::post::PostStatus;

/// By what posts are ordered; ties by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortField {
    /// When they were written, which is the order of their ids.
    CreatedAt,
    /// When they go out; drafts, which have no time, come last.
    ScheduledAt,
}

/// Which end comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The earliest first.
    Asc,
    /// The latest first.
    Desc,
}

/// Which posts, in which order, which part of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listing {
    /// Only those that stand here.
    pub status: Option<PostStatus>,
    /// By what they are ordered.
    pub sort: SortField,
    /// Which end comes first.
    pub direction: Direction,
    /// From 1.
    pub page: u64,
    /// 1 to 100.
    pub per_page: u64,
}

impl Listing {
    /// The largest page number: beyond the largest offset that fits a number
    /// a JavaScript client reads exactly.
    pub const MAX_PAGE: u64 = 1_000_000_000;

    /// How many posts come before the page.
    pub fn offset(&self) -> u64 {
        (self.page - 1) * self.per_page
    }

    /// The last page of so many posts; at least 1.
    pub fn last_page(&self, total: u64) -> u64 {
        total.div_ceil(self.per_page).max(1)
    }
}

/// How many posts a user has in each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Drafts.
    pub draft: u64,
    /// Scheduled.
    pub scheduled: u64,
    /// Publishing.
    pub publishing: u64,
    /// Published.
    pub published: u64,
    /// Failed.
    pub failed: u64,
}

impl Counts {
    /// Those in one status, or all.
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
}
