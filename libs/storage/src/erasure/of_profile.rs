//! Erases all data of a profile. The user, the user's own data and those of other profiles stay.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_dynamodb::types::ReturnValue;
use chrono::{DateTime, Utc};
use domain::connect_flow::LOCK_LEASE;
use domain::delivery::{Delivery, State};
use domain::id::{MediaId, PostId, ProfileId, UserId, WebhookId};
use domain::media::MediaPath;
use domain::post::Post;
use domain::profile::ProfileRef;
use serde_json::Value;

use super::{is_user, text};
use crate::Store;
use crate::error::StorageError;
use crate::grants::TOKEN;
use crate::in_flight_calls::{LimitSubject, in_flight_calls_key};
use crate::item::{Item, from_item, n, number};
use crate::media::{Medium, quota_key};
use crate::post_write::{DeliveryWrite, PostWrite};
use crate::posts::counts_key;
use crate::schema::Table;

#[derive(Debug)]
pub struct ProfileContents {
    user: UserId,
    profile: ProfileId,
    posts: BTreeMap<PostId, u64>,
    other_posts: BTreeSet<PostId>,
    /// Files of the profile that no other post uses, and that were unused before the posts were read.
    pub unused_files: Vec<Medium>,
    /// Further files that only posts of the profile use, or did.
    pub used_files: Vec<MediaId>,
    pub shared_files: Vec<MediaId>,
}

impl Store {
    pub async fn profile_contents(&self, user: UserId, profile: ProfileId) -> Result<ProfileContents, StorageError> {
        // Before the posts: a post that begins to use a file marks it as used, and then the file is not removed.
        let files = self.media_of_profile(user, profile).await?;
        let (mut posts, mut other_posts) = (BTreeMap::new(), BTreeSet::new());
        let (mut own, mut of_others) = (BTreeSet::new(), BTreeSet::new());
        let mut all = self.query_posts(user).into_paginator().items().send();
        while let Some(post) = all.next().await.transpose()? {
            let post: Post = from_item(post)?;
            let files = post.files().map(|it| it.media_id);
            if post.of_profile.as_ref().is_some_and(|it| it.profile_id == profile) {
                own.extend(files);
                posts.insert(post.post_id, post.write_id);
            } else {
                of_others.extend(files);
                other_posts.insert(post.post_id);
            }
        }
        let (shared, exclusive): (Vec<_>, Vec<_>) = files.into_iter().partition(|it| of_others.contains(&it.media_id));
        let (unused_files, marked_as_used) = exclusive.into_iter().partition(|it| it.unused_since.is_some());
        let own: Vec<_> = own.difference(&of_others).copied().collect();
        let unnamed = self.media(user, &own).await?.into_iter().filter(|it| it.of_profile.is_none());
        let id = |it: Medium| it.media_id;
        Ok(ProfileContents {
            user,
            profile,
            posts,
            other_posts,
            unused_files,
            used_files: unnamed.chain(marked_as_used).map(id).collect(),
            shared_files: shared.into_iter().map(id).collect(),
        })
    }

    /// Returns the number of deleted items, with those that must wait until a call ends. The caller
    /// deletes the posts last, because they lead to items of other tables.
    pub async fn erase_of_profile(
        &self,
        table: Table,
        contents: &ProfileContents,
        now: DateTime<Utc>,
    ) -> Result<usize, StorageError> {
        let user = Some(contents.user);
        match table {
            Table::Grants => self.erase_grants(contents).await,
            Table::ConnectFlows => self.delete_where(table, None, |it| contents.has_connect_flow(it, now)).await,
            Table::Claims => self.delete_where(table, None, |it| contents.has_claim(it)).await,
            Table::Idempotency => self.delete_where(table, user, |it| contents.has_response(it)).await,
            Table::Outbox => self.delete_where(table, user, |it| contents.has_event(it, "detail", "/profile_id")).await,
            Table::Attempts => self.erase_attempts(contents).await,
            Table::Webhooks => self.erase_webhooks(contents, now).await,
            Table::Posts => self.erase_posts(contents, now).await,
            Table::Limits => self.erase_limits(contents).await,
            Table::Media => {
                self.erase_count(table, quota_key(contents.user, Some(contents.profile))).await?;
                Ok(0)
            }
            // Nothing, or deleted elsewhere. A profile with connections is not deleted, and no account is connected for a
            // deleted one. Deliveries are deleted with their posts, webhook deliveries with their webhooks.
            // The entry of the erasure is removed at its end.
            // The user and the secrets of the deployment stay.
            Table::Connections
            | Table::Credentials
            | Table::Deliveries
            | Table::WebhookDeliveries
            | Table::Profiles
            | Table::Users
            | Table::Vault => Ok(0),
        }
    }

    async fn erase_grants(&self, contents: &ProfileContents) -> Result<usize, StorageError> {
        let (mut erased, mut start) = (0, None);
        loop {
            let page = self.page(Table::Grants, None, start).await?;
            let items: Vec<_> = page.items.into_iter().filter(|it| contents.has_grant(it)).collect();
            for token in items.iter().filter_map(|it| text(it, "grant")?.strip_prefix(TOKEN)) {
                self.unmark_token(contents.user, token).await?;
            }
            erased += self.delete_all(Table::Grants, items).await?;
            start = page.next;
            if start.is_none() {
                return Ok(erased);
            }
        }
    }

    /// The in-flight calls of the profile's endpoints are deleted with the endpoints.
    async fn erase_limits(&self, contents: &ProfileContents) -> Result<usize, StorageError> {
        let limit = in_flight_calls_key(&LimitSubject::profile(contents.user, contents.profile));
        let delete = self.client.delete_item().table_name(self.table(Table::Limits)).set_key(Some(limit));
        let deleted = delete.return_values(ReturnValue::AllOld).send().await?;
        Ok(usize::from(deleted.attributes.is_some()))
    }

    /// Deleting posts and files can write a count again; the pass that finds none of them deletes
    /// it for good.
    async fn erase_count(&self, table: Table, key: Item) -> Result<(), StorageError> {
        self.client.delete_item().table_name(self.table(table)).set_key(Some(key)).send().await?;
        Ok(())
    }

    /// Also deletes the attempts of deleted posts, which no request can read: some may have been of
    /// the profile.
    async fn erase_attempts(&self, contents: &ProfileContents) -> Result<usize, StorageError> {
        let (mut erased, mut start) = (0, None);
        loop {
            let page = self.page(Table::Attempts, Some(contents.user), start).await?;
            let post = |it: &Item| number(it, "post_id").and_then(PostId::new);
            // Read after the attempts, so that a new post is not treated as a deleted one.
            let unknown: BTreeSet<_> = page.items.iter().filter_map(post).filter(|it| !contents.knows(*it)).collect();
            let new = self.read_posts(contents.user, &unknown.into_iter().collect::<Vec<_>>()).await?;
            let new: BTreeSet<_> = new.iter().map(|it| it.post_id).collect();
            let stays = |id| contents.other_posts.contains(&id) || new.contains(&id);
            let items = page.items.into_iter().filter(|it| !post(it).is_some_and(stays)).collect();
            erased += self.delete_all(Table::Attempts, items).await?;
            start = page.next;
            if start.is_none() {
                return Ok(erased);
            }
        }
    }

    /// Deletes the profile's endpoints, with their limits, and webhook deliveries: those of its
    /// endpoints, those of its events, and those of deleted endpoints, which no request can read.
    async fn erase_webhooks(&self, contents: &ProfileContents, now: DateTime<Utc>) -> Result<usize, StorageError> {
        let user = contents.user;
        let (mut erased, mut start, mut busy) = (0, None, BTreeSet::new());
        loop {
            let page = self.page(Table::WebhookDeliveries, Some(user), start).await?;
            // Read after the deliveries, so that a new endpoint is not treated as a deleted one.
            let mut endpoints: Vec<_> = self.webhooks(user).await?.into_iter().map(|it| it.endpoint).collect();
            endpoints.retain(|it| !contents.owns(it.of_profile.as_ref()));
            let others: BTreeSet<WebhookId> = endpoints.iter().map(|it| it.webhook_id).collect();
            let webhook = |it: &Item| number(it, "webhook_id").and_then(WebhookId::new);
            let belongs = |it: &Item| {
                !webhook(it).is_some_and(|it| others.contains(&it))
                    || contents.has_event(it, "body", "/data/profile_id")
            };
            let is_leased = |it: &Item| number(it, "lease_expires_at").is_some_and(|it| is_ahead(it, now));
            let items = page.items.into_iter().filter(belongs);
            let (leased, items): (Vec<_>, Vec<_>) = items.partition(is_leased);
            busy.extend(leased.iter().filter_map(webhook));
            erased += leased.len() + self.delete_all(Table::WebhookDeliveries, items).await?;
            start = page.next;
            if start.is_none() {
                break;
            }
        }
        let endpoints = self.webhooks(user).await?.into_iter().map(|it| it.endpoint);
        // A worker writes the limits of an endpoint while it sends.
        let own = endpoints.filter(|it| contents.owns(it.of_profile.as_ref()) && !busy.contains(&it.webhook_id));
        for endpoint in own {
            let limit = in_flight_calls_key(&LimitSubject::endpoint(user, endpoint.webhook_id));
            self.client.delete_item().table_name(self.table(Table::Limits)).set_key(Some(limit)).send().await?;
            self.remove_webhook(user, endpoint.webhook_id).await?;
            erased += 1;
        }
        Ok(erased)
    }

    /// A post waits for the next pass while a worker publishes it, and if it was changed: it may
    /// have another file now.
    async fn erase_posts(&self, contents: &ProfileContents, now: DateTime<Utc>) -> Result<usize, StorageError> {
        for (id, write_id) in &contents.posts {
            let Some(post) = self.read_posts(contents.user, &[*id]).await?.pop() else { continue };
            let deliveries = self.deliveries(contents.user, *id).await?;
            if post.write_id == *write_id && !deliveries.iter().any(|it| is_in_progress(it, now)) {
                let deliveries = deliveries.iter().map(DeliveryWrite::Erase).collect();
                let write = PostWrite { before: Some(&post), deliveries, ..PostWrite::default() };
                self.write_post(&write, now).await?;
            }
        }
        self.erase_count(Table::Posts, counts_key(contents.user, Some(contents.profile))).await?;
        Ok(contents.posts.len())
    }
}

impl ProfileContents {
    fn owns(&self, of_profile: Option<&ProfileRef>) -> bool {
        of_profile.is_some_and(|it| it.profile_id == self.profile)
    }

    fn knows(&self, post: PostId) -> bool {
        self.posts.contains_key(&post) || self.other_posts.contains(&post)
    }

    /// A token that is limited to the profile, or a code for one.
    fn has_grant(&self, item: &Item) -> bool {
        let is_of_user = ["owner", "user_id"].iter().any(|it| item.get(*it).is_some_and(|it| is_user(it, self.user)));
        is_of_user && item.get("profile_id") == Some(&n(self.profile))
    }

    /// A flow that is open would not revoke a new grant if it were missing; it connects nothing,
    /// because the profile is deleted.
    fn has_connect_flow(&self, item: &Item, now: DateTime<Utc>) -> bool {
        let profile = item.get("of_profile").and_then(|it| it.as_m().ok()?.get("profile_id"));
        let is_own = item.get("user_id") == Some(&n(self.user)) && profile == Some(&n(self.profile));
        let expires_at = number(item, "expires_at").unwrap_or_default();
        let is_open = !item.contains_key("ended_at") && is_ahead(expires_at, now - LOCK_LEASE);
        is_own && (!is_open || text(item, "connect_flow").is_some_and(|it| it.starts_with("link#")))
    }

    /// `{user}/{post}/{target}/{segment}` in its `delivery`.
    fn has_claim(&self, item: &Item) -> bool {
        let mut parts = text(item, "delivery").unwrap_or_default().split('/');
        let (user, post) = (parts.next().and_then(UserId::parse), parts.next().and_then(PostId::parse));
        user == Some(self.user) && post.is_some_and(|it| self.posts.contains_key(&it))
    }

    /// The response with a post or a file of the profile, or any response to its tokens.
    fn has_response(&self, item: &Item) -> bool {
        let response: Value = text(item, "response").and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default();
        let post = response["post_id"].as_u64().and_then(PostId::new);
        let file = response["path"].as_str().and_then(|it| MediaPath::parse(it).ok());
        text(item, "key").is_some_and(|it| it.starts_with(&format!("profile#{}#", self.profile)))
            || response["of_profile"]["profile_id"] == self.profile.get()
            || post.is_some_and(|it| self.posts.contains_key(&it))
            || file.is_some_and(|it| self.has_file(it.media()))
    }

    fn has_file(&self, id: MediaId) -> bool {
        self.used_files.contains(&id) || self.unused_files.iter().any(|it| it.media_id == id)
    }

    fn has_event(&self, item: &Item, name: &str, profile: &str) -> bool {
        let event: Value = text(item, name).and_then(|it| serde_json::from_str(it).ok()).unwrap_or_default();
        event.pointer(profile).is_some_and(|it| *it == self.profile.get())
    }
}

/// Whether a worker makes a call, or the outcome of one is unknown.
fn is_in_progress(delivery: &Delivery, now: DateTime<Utc>) -> bool {
    let has_intent = delivery.state == State::Waiting && delivery.intent.is_some();
    has_intent || delivery.lease_expires_at.is_some_and(|it| now < it)
}

fn is_ahead(milliseconds: u64, now: DateTime<Utc>) -> bool {
    u64::try_from(now.timestamp_millis()).is_ok_and(|it| it < milliseconds)
}
