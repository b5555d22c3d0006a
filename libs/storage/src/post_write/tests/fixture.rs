//! A user with accounts, and everything that a write of a post can change.

use chrono::{DateTime, TimeDelta};
use domain::id::{Ids, PostId};
use domain::testing::{a_connection, a_new_post, a_user, accounts, ids, noon};
use domain::user::User;

use super::*;
use crate::connections::Connected;
use crate::testing::{connect, store};

pub(super) struct Fixture {
    pub(super) store: Store,
    pub(super) user: User,
    pub(super) accounts: Vec<Connection>,
    pub(super) ids: Ids,
}

impl Fixture {
    pub(super) async fn with_accounts(count: u32) -> Self {
        let (store, user, ids) = (store().await, a_user(), ids());
        let mut accounts = Vec::new();
        for index in 0..count {
            let mut connection = a_connection(&user);
            connection.connection_id = ids.fresh();
            connection.profile.account_id = index.to_string();
            assert_eq!(connect(&store, &connection, &[1], None).await, Connected::Done { left: Vec::new() });
            accounts.push(connection);
        }
        Self { store, user, accounts, ids }
    }

    pub(super) fn post(&self, in_minutes: Option<i64>) -> Post {
        let at = in_minutes.map(|it| noon() + TimeDelta::minutes(it));
        let new = a_new_post(at, &self.accounts);
        Post::create(new, &[], &self.user, &accounts(&self.accounts), &self.ids, noon()).unwrap()
    }

    pub(super) fn deliveries(&self, post: &Post) -> Vec<Delivery> {
        let write_id = || self.ids.fresh::<PostId>().get();
        post.targets_to_deliver().map(|it| Delivery::new(post, it, None, write_id(), noon())).collect()
    }

    pub(super) async fn write(
        &self,
        before: Option<&Post>,
        after: Option<&Post>,
        deliveries: Vec<DeliveryWrite<'_>>,
    ) -> PostWritten {
        let write = PostWrite { before, after, deliveries, kept: None, event: None };
        self.store.write_post(&write, noon()).await.unwrap()
    }

    pub(super) async fn scheduled(&self) -> (Post, Vec<Delivery>) {
        let post = self.post(Some(10));
        let deliveries = self.deliveries(&post);
        assert_eq!(self.write(None, Some(&post), puts(&deliveries)).await, PostWritten::Done);
        (post, deliveries)
    }

    pub(super) async fn counts(&self) -> Counts {
        self.store.load_post_context(self.user.user_id, [], [], None, noon()).await.unwrap().counts
    }

    pub(super) async fn pending(&self) -> Vec<u32> {
        let connections = self.store.connections(self.user.user_id).await.unwrap();
        connections.iter().map(|it| it.pending).collect()
    }

    pub(super) async fn due(&self) -> usize {
        let mut count = 0;
        for shard in 0..self.store.due_shards() {
            let ever = (DateTime::UNIX_EPOCH, noon() + TimeDelta::days(9));
            count += self.store.due_deliveries(shard, ever, None, 100).await.unwrap().entries.len();
        }
        count
    }

    /// Everything that a refused write must leave unchanged.
    pub(super) async fn snapshot(&self, post: &Post) -> (Option<Post>, Vec<Delivery>, Counts, Vec<u32>, usize) {
        (
            self.store.post(post.user_id, post.post_id).await.unwrap(),
            self.store.deliveries(post.user_id, post.post_id).await.unwrap(),
            self.counts().await,
            self.pending().await,
            self.due().await,
        )
    }
}

pub(super) fn puts(deliveries: &[Delivery]) -> Vec<DeliveryWrite<'_>> {
    deliveries.iter().map(DeliveryWrite::Put).collect()
}
