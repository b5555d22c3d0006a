//! Reads a page by reading all posts of a user: slow, but correct during concurrent writes.

use domain::id::{PostId, UserId};
use domain::listing::{Listing, Position};
use domain::post::Post;

use super::{Page, Store};
use crate::error::StorageError;
use crate::item::from_item;

impl Store {
    /// Each post is counted or omitted once, according to its last read. A post that exists all the
    /// time is therefore never missed, as could happen while it moves from one index to another.
    pub(super) async fn page_from_all_posts(&self, user: UserId, listing: &Listing) -> Result<Page, StorageError> {
        let mut all = self.positions(user, listing).await?;
        all.sort_by(|one, other| listing.order(*one, *other));
        let per_page = usize::try_from(listing.per_page).unwrap_or(100);
        let offset = usize::try_from(listing.offset()).unwrap_or(usize::MAX);

        let mut rest = all.get(offset..).unwrap_or_default();
        let (mut posts, mut gone) = (Vec::new(), 0);
        while posts.len() < per_page && !rest.is_empty() {
            let (next, after) = rest.split_at(rest.len().min(per_page - posts.len()));
            let ids: Vec<PostId> = next.iter().map(|it| it.post_id).collect();
            let read: Vec<Post> =
                self.read_posts(user, &ids).await?.into_iter().filter(|it| listing.filter.fits(it)).collect();
            gone += ids.len() - read.len();
            posts.extend(read);
            rest = after;
        }
        posts.sort_by(|one, other| listing.order(one, other));
        Ok(Page { posts, total: (all.len() - gone) as u64 })
    }

    /// The sort positions of the posts that fit the listing, ordered by id.
    async fn positions(&self, user: UserId, listing: &Listing) -> Result<Vec<Position>, StorageError> {
        let (mut positions, mut from) = (Vec::new(), None);
        loop {
            let found = self.query_posts(user).set_exclusive_start_key(from).send().await?;
            for item in found.items.unwrap_or_default() {
                let post: Post = from_item(item)?;
                positions.extend(listing.filter.fits(&post).then(|| Position::from(&post)));
            }
            from = found.last_evaluated_key;
            if from.is_none() {
                return Ok(positions);
            }
        }
    }
}
