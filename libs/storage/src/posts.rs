//! Reads posts, lists, and counts by status. [`Store::write_post`] writes them.

mod all;
mod calendar;

use std::collections::HashSet;

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use chrono::{DateTime, Utc};
use domain::connection::Connection;
use domain::id::{ConnectionId, MediaId, PostId, ProfileId, UserId};
use domain::listing::{Counts, Direction, Listing, SortField};
use domain::owner::Owner;
use domain::post::{Accounts, Filter, Post, PostStatus};
use domain::user::User;

pub use self::calendar::CalendarPosts;
use crate::Store;
use crate::error::StorageError;
use crate::idempotency::{IdempotentRequest, StoredResponse, parse_unexpired};
use crate::item::{Item, attributes, from_item, n, s, to_item};
use crate::media::Medium;
use crate::schema::Table;

/// Per page.
const MAX_ENTRIES: u64 = 1_000_000;

/// Read in addition to a page, to replace posts that no longer belong to it.
const SPARE: usize = 5;

/// Further keys, if [`SPARE`] is not enough: as many as one call reads.
const MORE: usize = 100;

/// Read when an index lags behind.
const NEWEST: u64 = 100;

/// All posts are read afterwards.
const INDEX_ATTEMPTS: usize = 4;

struct PostsById {
    posts: Vec<Post>,
    is_whole: bool,
}

struct VersionedCounts {
    counts: Counts,
    /// Increases with every change of `counts`. While it stays the same, no post was created or deleted,
    /// and no status changed.
    version: u64,
}

#[derive(Debug, Default)]
pub struct PostContext {
    /// `None` if the user does not exist.
    pub user: Option<User>,
    /// The requested accounts that belong to the owner.
    pub accounts: Accounts,
    /// The requested media files that belong to the owner.
    pub media: Vec<Medium>,
    pub counts: Counts,
    pub kept: Option<StoredResponse>,
}

#[derive(Debug)]
pub struct Page {
    /// In the requested order.
    pub posts: Vec<Post>,
    /// Number of posts on all pages.
    pub total: u64,
}

impl Store {
    pub async fn post(&self, owner: impl Into<Owner>, post: PostId) -> Result<Option<Post>, StorageError> {
        let owner = owner.into();
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::Posts))
            .set_key(Some(post_key(owner.user_id, post)))
            .consistent_read(true)
            .send()
            .await?;
        let found: Option<Post> = found.item.map(from_item).transpose()?;
        Ok(found.filter(|it| owner.may_see(it.of_profile.as_ref())))
    }

    /// Reads everything in one call.
    pub async fn load_post_context(
        &self,
        owner: impl Into<Owner>,
        connections: impl IntoIterator<Item = ConnectionId>,
        media: impl IntoIterator<Item = MediaId>,
        key: Option<&IdempotentRequest>,
        now: DateTime<Utc>,
    ) -> Result<PostContext, StorageError> {
        let owner = owner.into();
        let user = owner.user_id;
        let item_key = |name: &str, id: u64| attributes([("user_id", n(user)), (name, n(id))]);
        let mut keys = vec![(Table::Users, attributes([("user_id", n(user))])), (Table::Posts, counts_key(user, None))];
        keys.extend(connections.into_iter().map(|it| (Table::Connections, item_key("connection_id", it.get()))));
        keys.extend(media.into_iter().map(|it| (Table::Media, item_key("media_id", it.get()))));
        keys.extend(key.map(|it| (Table::Idempotency, it.item_key())));

        let mut found = self.batch_get(keys).await?;
        let mut take = |table| found.remove(&table).unwrap_or_default();
        let mut accounts = Accounts::new();
        for item in take(Table::Connections) {
            let account: Connection = from_item(item)?;
            if owner.may_see(account.of_profile.as_ref()) {
                accounts.insert(account.connection_id, account);
            }
        }
        let mut media: Vec<Medium> = take(Table::Media).into_iter().map(from_item).collect::<Result<_, _>>()?;
        media.retain(|it| owner.may_see(it.of_profile.as_ref()));
        let stored_response = take(Table::Idempotency).pop().map(|it| parse_unexpired(it, now)).transpose()?.flatten();
        Ok(PostContext {
            user: take(Table::Users).pop().map(from_item).transpose()?,
            accounts,
            media,
            counts: take(Table::Posts).pop().map(from_item).transpose()?.unwrap_or_default(),
            kept: stored_response,
        })
    }

    /// One page of an owner's posts, and the total. Every post on the page fits the filter, and their
    /// number is consistent with the total, even during concurrent writes. If reading the indexes
    /// does not prove this, it is repeated, and finally all posts are read.
    ///
    /// For a filter that is not counted, and for the posts of a profile by time, all posts are read
    /// at once: indexes lag behind, so they prove no total. This costs one read unit for each 4 KB
    /// of the user's posts.
    pub async fn posts(&self, owner: impl Into<Owner>, listing: &Listing) -> Result<Page, StorageError> {
        let Owner { user_id: user, limited_to } = owner.into();
        let limited;
        let listing = match (limited_to, listing.filter.profile) {
            (None, _) => listing,
            (Some(id), Some(other)) if id != other => return Ok(Page { posts: Vec::new(), total: 0 }),
            (Some(_), _) => {
                limited =
                    Listing { filter: Filter { profile: limited_to, ..listing.filter.clone() }, ..listing.clone() };
                &limited
            }
        };
        let has_index = listing.filter.profile.is_none() || listing.sort == SortField::CreatedAt;
        let attempts = if has_index && listing.filter.is_counted() { INDEX_ATTEMPTS } else { 0 };
        for _ in 0..attempts {
            let page = match self.first_page(user, listing).await? {
                Some(page) => Some(page),
                None => Box::pin(self.page_by_index(user, listing)).await?,
            };
            if let Some(page) = page {
                return Ok(page);
            }
        }
        Box::pin(self.page_from_all_posts(user, listing)).await
    }

    /// The first page in the order of the table itself, which never lags behind; `None` if the listing
    /// has another order, or if the posts are too large for one call.
    async fn first_page(&self, user: UserId, listing: &Listing) -> Result<Option<Page>, StorageError> {
        if listing.offset() != 0 || listing.sort != SortField::CreatedAt || listing.filter != Filter::default() {
            return Ok(None);
        }
        let read = self.posts_by_id(user, listing.direction, listing.per_page);
        let (VersionedCounts { counts, .. }, PostsById { posts, is_whole }) =
            futures::try_join!(self.counts(user, None), read)?;
        let (shown, counted) = (posts.len() as u64, counts.count(None));
        Ok(if is_whole {
            Some(Page { posts, total: shown })
        } else {
            (shown == listing.shown(counted)).then_some(Page { posts, total: counted })
        })
    }

    /// One page in two steps: the keys from an index together with the counts, then the posts. `None`
    /// if they are inconsistent.
    ///
    /// Indexes lag behind, and posts change between the steps, so only the posts themselves are
    /// trusted: posts that are gone or no longer fit are omitted, the next ones replace them, and
    /// the order is that of the current posts. A third step is needed only if more than [`SPARE`]
    /// posts of the page disappeared in between.
    async fn page_by_index(&self, user: UserId, listing: &Listing) -> Result<Option<Page>, StorageError> {
        let profile = listing.filter.profile;
        let (VersionedCounts { counts, version }, candidates) =
            futures::try_join!(self.counts(user, profile), Box::pin(self.candidates(user, listing)))?;
        let counted = counts.count(listing.filter.status);
        let per_page = usize::try_from(listing.per_page).unwrap_or(100);
        let (first, rest) = candidates.split_at(candidates.len().min(per_page + SPARE));
        // If there are fewer keys than counted posts, the index lags behind. Usually a new post is
        // missing.
        let is_behind = listing.offset() == 0 && (first.len() as u64) < listing.shown(counted);
        let newest = async {
            if is_behind {
                self.posts_by_id(user, Direction::Desc, NEWEST).await.map(|it| it.posts)
            } else {
                Ok(Vec::new())
            }
        };
        let (mut posts, newest) = futures::try_join!(self.read_posts(user, first), newest)?;
        posts.retain(|it| listing.filter.fits(it));
        if posts.len() < per_page && !rest.is_empty() {
            posts.extend(self.read_posts(user, rest).await?.into_iter().filter(|it| listing.filter.fits(it)));
        }
        let known: HashSet<_> = candidates.into_iter().collect();
        posts.extend(newest.into_iter().filter(|it| listing.filter.fits(it) && !known.contains(&it.post_id)));
        posts.sort_by(|one, other| listing.order(one, other));
        posts.truncate(per_page);

        let shown = posts.len() as u64;
        if shown != listing.shown(counted) {
            return Ok(None);
        }
        // The last page must have all remaining posts. A correct number does not prove this: one may
        // be missing, and a new one may have replaced it.
        let is_last = shown != 0 && counted == listing.offset() + shown;
        let is_proven = !is_last || self.counts(user, profile).await?.version == version;
        Ok(is_proven.then_some(Page { posts, total: counted }))
    }

    async fn counts(&self, user: UserId, profile: Option<ProfileId>) -> Result<VersionedCounts, StorageError> {
        let found = self
            .client
            .get_item()
            .table_name(self.table(Table::Posts))
            .set_key(Some(counts_key(user, profile)))
            .consistent_read(true)
            .send()
            .await?;
        let item = found.item.unwrap_or_default();
        let version = item.get("version").and_then(|it| it.as_n().ok()?.parse().ok()).unwrap_or(0);
        Ok(VersionedCounts { counts: from_item(item)?, version })
    }

    pub async fn scheduled_of_profile(&self, user: UserId, profile: ProfileId) -> Result<u64, StorageError> {
        Ok(self.counts(user, Some(profile)).await?.counts.scheduled)
    }

    /// Missing posts are omitted.
    pub(crate) async fn read_posts(&self, user: UserId, ids: &[PostId]) -> Result<Vec<Post>, StorageError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let keys = ids.iter().map(|id| (Table::Posts, post_key(user, *id))).collect();
        let found = self.batch_get(keys).await?.into_values().flatten();
        found.map(from_item).collect()
    }

    /// Without the item of the counts.
    pub(crate) fn query_posts(&self, user: UserId) -> QueryFluentBuilder {
        self.client
            .query()
            .table_name(self.table(Table::Posts))
            .key_condition_expression("user_id = :user AND post_id > :none")
            .expression_attribute_values(":user", n(user))
            .expression_attribute_values(":none", n(0))
            .consistent_read(true)
    }

    /// The first or the last posts by id, in one call, which reads at most a megabyte.
    async fn posts_by_id(&self, user: UserId, direction: Direction, limit: u64) -> Result<PostsById, StorageError> {
        let found = self
            .query_posts(user)
            .scan_index_forward(direction == Direction::Asc)
            .limit(i32::try_from(limit).unwrap_or(i32::MAX))
            .send()
            .await?;
        let is_whole = found.last_evaluated_key.is_none();
        let posts = found.items.unwrap_or_default().into_iter().map(from_item).collect::<Result<_, _>>()?;
        Ok(PostsById { posts, is_whole })
    }

    /// The ids of the page's posts according to the indexes, and of posts that may replace them.
    async fn candidates(&self, user: UserId, listing: &Listing) -> Result<Vec<PostId>, StorageError> {
        let status_list = listing.filter.status.map(|it| s(status_list(user, it)));
        let by_user = ("user_id", n(user));
        let ids = match (listing.sort, status_list) {
            (SortField::CreatedAt, None) if let Some(profile) = listing.filter.profile => {
                self.entries("by_profile", ("profile_list", s(profile_list(user, profile))), listing).await?
            }
            (SortField::CreatedAt, None) => self.entries("by_created", by_user, listing).await?,
            (SortField::ScheduledAt, Some(list)) if listing.filter.status != Some(PostStatus::Draft) => {
                self.entries("by_status_and_time", ("status_list", list), listing).await?
            }
            (_, Some(list)) => self.entries("by_status", ("status_list", list), listing).await?,
            // Only drafts have no time. They come last in both directions.
            (SortField::ScheduledAt, None) => {
                let drafts = s(draft_status_list(user));
                let (timed, untimed) = futures::try_join!(
                    self.entries("by_time", by_user, listing),
                    self.entries("by_status", ("status_list", drafts), listing),
                )?;
                timed.into_iter().chain(untimed).collect()
            }
        };
        // A post that moves from one index to another while they are read may be in both, and no key
        // may be requested twice.
        let mut seen = HashSet::new();
        let ids = ids.into_iter().filter(|it| seen.insert(*it));
        let offset = usize::try_from(listing.offset()).unwrap_or(usize::MAX);
        let wanted = usize::try_from(listing.per_page).unwrap_or(100) + SPARE + MORE;
        Ok(ids.skip(offset).take(wanted).collect())
    }

    /// The first entries of an index, up to the end of the page and some more.
    async fn entries(
        &self,
        index: &str,
        (name, value): (&str, AttributeValue),
        listing: &Listing,
    ) -> Result<Vec<PostId>, StorageError> {
        let end = listing.offset().saturating_add(listing.per_page);
        let wanted = end.saturating_add((SPARE + MORE) as u64).min(MAX_ENTRIES);
        let mut ids = Vec::new();
        let mut from = None;
        loop {
            let left = wanted - ids.len() as u64;
            let found = self
                .client
                .query()
                .table_name(self.table(Table::Posts))
                .index_name(index)
                .key_condition_expression("#list = :list")
                .expression_attribute_names("#list", name)
                .expression_attribute_values(":list", value.clone())
                .scan_index_forward(listing.direction == Direction::Asc)
                .limit(i32::try_from(left).unwrap_or(i32::MAX))
                .set_exclusive_start_key(from)
                .send()
                .await?;
            ids.extend(found.items.unwrap_or_default().iter().filter_map(entry_id));
            from = found.last_evaluated_key;
            if from.is_none() || wanted <= ids.len() as u64 {
                return Ok(ids);
            }
        }
    }
}

fn entry_id(entry: &Item) -> Option<PostId> {
    PostId::parse(entry.get("post_id")?.as_n().ok()?)
}

pub(crate) fn post_key(user: UserId, post: PostId) -> Item {
    attributes([("user_id", n(user)), ("post_id", n(post))])
}

/// Key of the counts of the posts of a user or a profile. No post has id 0 or a negative id.
pub(crate) fn counts_key(user: UserId, profile: Option<ProfileId>) -> Item {
    let id = profile.map_or(0, |it| -it.get().cast_signed());
    attributes([("user_id", n(user)), ("post_id", n(id))])
}

fn profile_list(user: UserId, profile: ProfileId) -> String {
    format!("{user}#{profile}")
}

fn status_list(user: UserId, status: PostStatus) -> String {
    format!("{user}#{}", status.as_str())
}

fn draft_status_list(user: UserId) -> String {
    status_list(user, PostStatus::Draft)
}

fn time_key(at: DateTime<Utc>, post_id: u64) -> String {
    format!("{:015}#{post_id:016}", at.timestamp_millis())
}

pub(crate) fn post_item(post: &Post) -> Result<Item, StorageError> {
    let mut item = to_item(post)?;
    item.insert("listed".to_owned(), n(post.post_id));
    item.insert("status_list".to_owned(), s(status_list(post.user_id, post.status)));
    if let Some(profile) = &post.of_profile {
        item.insert("profile_list".to_owned(), s(profile_list(post.user_id, profile.profile_id)));
    }
    if let Some(at) = post.scheduled_at {
        item.insert("time_key".to_owned(), s(time_key(at, post.post_id.get())));
    }
    Ok(item)
}

#[cfg(test)]
mod tests;
