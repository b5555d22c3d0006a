use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use cloud::testing::TestBucket;
use domain::attempt::{Attempt, AttemptOutcome, AttemptStep, CallResult};
use domain::connect_flow::ConnectFlow;
use domain::connect_link::ConnectLink;
use domain::connection::Connection;
use domain::delivery::{Delivery, LEASE_DURATION};
use domain::device_grant::DeviceGrant;
use domain::event::Event;
use domain::id::{MediaId, WebhookId};
use domain::idempotency::IdempotencyKey;
use domain::media::{MimeType, PictureBounds, PictureRequest};
use domain::owner::Owner;
use domain::post::{MediaReference, NewPost, Post};
use domain::profile::Profile;
use domain::scope::Scopes;
use domain::testing::{
    a_connect_link, a_connection, a_delivery, a_new_post, a_profile, a_user, an_endpoint, limited_to, noon,
};
use domain::token;
use domain::webhook::{EventKind, WebhookDelivery, WebhookEndpoint, WebhookMessage, WebhookSecrets};
use publishing::testing::{FakePlatform, PublishingHarness};
use scheduling::Created;
use serde_json::json;
use storage::testing::store_cut_off;
use storage::{
    AddMediaOutcome, Disconnected, EndpointRecord, IdempotentRequest, Item, KeyClaim, LimitSubject, ProfileDeleted,
    Room, TokenGrant, VaultEntry, VaultKey,
};

use super::*;
use crate::testing::housekeeping;

/// By table and key.
type Items = BTreeMap<(Table, String), Item>;

/// One user with three tenants: a customer to erase, another customer, and the user without a profile.
struct Scene {
    s3: TestBucket,
    harness: PublishingHarness,
    customer: Profile,
    /// Ids that only erased records may contain.
    names: BTreeSet<String>,
    /// The customer's post comes last.
    published: Vec<Post>,
    /// A draft of the user uses the file, too.
    shared: Medium,
    expected: Medium,
}

fn name(profile: Option<&Profile>) -> String {
    profile.map_or_else(|| "own".to_owned(), |it| it.profile_id.to_string())
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x40\0\0\0\x30\x08\x02\0\0\0\0\0\0\0";

async fn put(s3: &TestBucket, key: &str) {
    let bytes = futures::stream::iter([Ok::<_, Infallible>(Bytes::from_static(PNG))]);
    s3.bucket.put(key, "image/png", bytes).await.unwrap();
}

impl Scene {
    async fn new() -> Self {
        let s3 = TestBucket::start().await;
        let mut harness = PublishingHarness::with(0, FakePlatform::default()).await;
        harness.scheduling.bucket = s3.bucket.clone();
        let [customer, sibling] = [a_profile(&harness.user), a_profile(&harness.user)];
        for profile in [&customer, &sibling] {
            harness.store.create_profile(profile, None).await.unwrap();
        }
        let key = VaultKey::platform("app");
        harness.store.put_vault_entry(&key, &VaultEntry { revision: 1, ends_at: None, sealed: vec![1] }).await.unwrap();
        let shared = file(&harness, &s3, Some(&customer)).await;
        let (names, published, expected) = (BTreeSet::new(), Vec::new(), shared.clone());
        let mut scene = Self { s3, harness, customer, names, published, shared, expected };
        let by_two_customers = file(&scene.harness, &scene.s3, None).await;
        let both = [&scene.shared.clone(), &by_two_customers];
        for (profile, also_used) in
            [(None, &both[..1]), (Some(sibling), &both[1..]), (Some(scene.customer.clone()), &both)]
        {
            // Apart from the rest, whose stack would be too large for a test thread.
            let connection = Box::pin(scene.publish(profile.as_ref())).await;
            scene.names = Box::pin(scene.populate(profile.as_ref(), connection, also_used)).await;
        }
        scene.harness.clock.advance(TimeDelta::hours(2));
        scene.expected = record(&scene.harness, Some(&scene.customer)).await;
        scene.begin_connect_flow(&scene.customer, "open").await;
        scene.names.extend([scene.customer.profile_id.to_string(), scene.expected.media_id.to_string()]);
        scene
    }

    async fn publish(&mut self, profile: Option<&Profile>) -> Connection {
        let Self { harness, s3, .. } = self;
        let (user, now) = (harness.user.user_id, harness.clock.now());
        let connection = connect(harness, profile, &name(profile)).await;
        let in_public = file(harness, s3, None).await;
        let at = Some(now + TimeDelta::minutes(1));
        let request = NewPost { media: references(&[&in_public]), ..a_new_post(at, std::slice::from_ref(&connection)) };
        let published = create(harness, profile.map_or(Owner::from(user), limited_to), request).await;
        harness.live(now + TimeDelta::minutes(3)).await;
        self.published.push(published);
        connection
    }

    /// Returns the ids.
    async fn populate(
        &mut self,
        profile: Option<&Profile>,
        connection: Connection,
        also_used: &[&Medium],
    ) -> BTreeSet<String> {
        let Self { harness, s3, .. } = self;
        let (store, user, now) = (harness.store.clone(), harness.user.user_id, harness.clock.now());
        let name = name(profile);
        let owner = profile.map_or(Owner::from(user), limited_to);
        let published = self.published.last().unwrap().clone();

        let (own, by_user) = (file(harness, s3, profile).await, file(harness, s3, None).await);
        let uploaded = IdempotencyKey::parse(format!("upload-{name}").as_bytes()).unwrap();
        let KeyClaim::Ours(claimed) = store.claim_idempotency(user, "POST /media", &uploaded, "x", now).await.unwrap()
        else {
            panic!("the key is free")
        };
        store.complete_idempotency(claimed, json!({ "path": by_user.path() }).to_string()).await.unwrap();
        let bounds = PictureBounds::new(1, 1);
        put(s3, &PictureRequest { file: by_user.path(), bounds }.answered_at().to_string()).await;

        let request = NewPost { of_profile: profile.map(Profile::reference), ..a_new_post(None, &[]) };
        let files: Vec<_> = [&own, &by_user].into_iter().chain(also_used.iter().copied()).collect();
        let draft = create(harness, owner, NewPost { media: references(&files), ..request }).await;
        let delivery = harness.delivery(&published).await;
        store.claim_post(&connection, &format!("public {name}"), &delivery, now).await.unwrap();
        let deleted = Delivery { user_id: user, post_id: harness.scheduling.ids.fresh(), ..a_delivery() };
        if profile.is_some_and(|it| *it == self.customer) {
            let (outcome, call) = (AttemptOutcome::Refused, CallResult::default());
            let attempt = Attempt::new(&deleted, 0, AttemptStep::Publish, (now, now), outcome, None, call);
            store.put_attempt(&attempt).await.unwrap();
        }

        let endpoint = WebhookEndpoint {
            user_id: user,
            webhook_id: harness.scheduling.ids.fresh(),
            of_profile: profile.map(Profile::reference),
            ..an_endpoint()
        };
        let webhook = endpoint.webhook_id;
        let secrets = WebhookSecrets::new(vec![1]);
        store.add_webhook(&EndpointRecord { endpoint, secrets }).await.unwrap();
        store.record_slow_call(&LimitSubject::endpoint(user, webhook), now).await.unwrap();
        if let Some(profile) = profile {
            store.record_slow_call(&LimitSubject::profile(user, profile.profile_id), now).await.unwrap();
        }
        let of_user = store.webhooks(user).await.unwrap()[0].endpoint.webhook_id;
        for webhook in BTreeSet::from([webhook, of_user]) {
            store.add_webhook_delivery(&a_message(&published, webhook)).await.unwrap();
        }

        let token = TokenGrant {
            profile_id: owner.limited_to,
            ..TokenGrant::made(user, Scopes::from_requested(&[]), now, now + TimeDelta::days(9))
        };
        store.put_token(&format!("token of {name}"), &token).await.unwrap();
        let device = DeviceGrant::request(Scopes::from_requested(&[]), None, [192, 0, 2, 1].into(), now);
        let code = token::hash(&name);
        store.put_device(&code, &code, &device).await.unwrap();
        store.replace_device(&code, &device, &device.clone().approve(owner, now).unwrap()).await.unwrap();
        if let Some(profile) = profile {
            let link = ConnectLink { user_id: user, of_profile: profile.reference(), ..a_connect_link() };
            store.put_connect_link(&name, &link).await.unwrap();
            self.begin_connect_flow(profile, &name).await;
        }
        let ids = [draft.post_id.get(), published.post_id.get(), deleted.post_id.get(), connection.connection_id.get()];
        let files = [own.media_id, by_user.media_id, published.media[0].media_id].map(MediaId::get);
        ids.into_iter().chain(files).chain([webhook.get()]).map(|it| it.to_string()).collect()
    }

    async fn begin_connect_flow(&self, profile: &Profile, hash: &str) {
        let flow = ConnectFlow::start(profile.user_id, "sandbox".to_owned(), self.harness.clock.now());
        let flow = ConnectFlow { of_profile: Some(profile.reference()), ..flow };
        self.harness.store.begin_connect_flow(hash, &flow).await.unwrap();
    }

    /// Disconnects the customer's account and deletes the profile, while a worker follows the public post up.
    async fn request_erasure(&self) {
        let (store, user, now) = (&self.harness.store, self.harness.user.user_id, self.harness.clock.now());
        let owner = limited_to(&self.customer);
        let [connection] = &store.connections(owner).await.unwrap()[..] else { panic!("one account") };
        let gone = store.delete_connection(user, connection.connection_id, now).await.unwrap();
        assert!(matches!(gone, Disconnected::Deleted { .. }), "{gone:?}");
        let delivery = self.harness.delivery(&self.published[2]).await;
        let leased = Delivery { lease_expires_at: Some(now + LEASE_DURATION), ..delivery.clone() };
        self.harness.leave(&delivery, leased).await;
        let deleted = store.delete_profile(user, self.customer.profile_id, Some(now)).await.unwrap();
        assert_eq!(deleted, ProfileDeleted::Done);
    }

    async fn is_requested(&self) -> bool {
        let later = noon() + TimeDelta::days(9);
        !self.harness.store.due_erasures(later, 1).await.unwrap().is_empty()
    }

    async fn items(&self) -> Items {
        let mut all = Items::new();
        for schema in Table::ALL {
            let page = self.harness.store.item_page(schema.table, None).await.unwrap();
            assert!(page.next.is_none());
            all.extend(page.items.into_iter().map(|it| ((schema.table, schema.key_of(&it)), it)));
        }
        all
    }

    fn names_customer(&self, item: &Item) -> bool {
        let text = format!("{item:?}");
        self.names.iter().any(|it| text.contains(it))
    }

    async fn assert_erased(&self, before: &Items) {
        let after = self.items().await;
        for (key, item) in &after {
            assert!(!self.names_customer(item), "{key:?}: {item:?}");
            let was = before.get(key).unwrap_or_else(|| panic!("new: {key:?}"));
            let is_count = key.1.ends_with("/0") || key.1.ends_with("/count") || key.0 == Table::Users;
            let is_shared = key.1.ends_with(&self.shared.media_id.to_string());
            assert!(was == item || is_count || is_shared, "{key:?}: {was:?} became {item:?}");
        }
        let lost: Vec<_> = before.iter().filter(|it| !after.contains_key(it.0) && !self.names_customer(it.1)).collect();
        assert!(lost.is_empty(), "{lost:?}");
        for table in Table::ALL.map(|it| it.table) {
            assert!(after.keys().any(|it| it.0 == table), "{table:?} proves nothing");
        }

        let shared = &after[&(Table::Media, format!("{}/{}", self.shared.user_id, self.shared.media_id))];
        assert!(!shared.contains_key("of_profile"), "it is the user's own: {shared:?}");
        let marks = &after[&(Table::Users, self.harness.user.user_id.to_string())];
        assert_eq!(marks.keys().filter(|it| it.starts_with("token#")).count(), 2);
        let number =
            |item: &Item, name: &str| item.get(name).map_or(0, |it| it.as_n().unwrap().parse::<u64>().unwrap());
        let count = |table, key: &str| &after[&(table, format!("{}/{key}", self.harness.user.user_id))];
        // Counts have the id 0 or that of a profile, negative.
        let is_count = |key: &str| key.ends_with("/0") || key.contains("/-");
        let of = |table| after.iter().filter(move |it| it.0.0 == table && !is_count(&it.0.1)).map(|it| it.1);
        for status in ["draft", "published"] {
            let posts = of(Table::Posts).filter(|it| it["status"].as_s().unwrap() == status).count() as u64;
            assert_eq!((status, number(count(Table::Posts, "0"), status)), (status, posts));
        }
        let held: Vec<_> = of(Table::Media).filter(|it| it.contains_key("held_bytes")).collect();
        let counted = count(Table::Media, "0");
        assert_eq!(number(counted, "held_files"), held.len() as u64);
        assert_eq!(number(counted, "held_bytes"), held.iter().map(|it| number(it, "held_bytes")).sum::<u64>());
        assert_eq!(number(count(Table::Webhooks, "0"), "endpoints"), 2);
        assert_eq!(number(count(Table::Profiles, "count"), "profiles"), 1);

        let files = self.s3.bucket.list("").await.unwrap();
        let is_of_customer = |key: &&String| self.names.iter().any(|it| key.contains(it));
        assert_eq!(files.iter().filter(is_of_customer).count(), 0, "{files:?}");
        // Three of each of the two others with one derived file, the shared ones, and that of a draft.
        assert_eq!(files.len(), 2 * 4 + 2, "{files:?}");
    }
}

async fn connect(harness: &PublishingHarness, profile: Option<&Profile>, name: &str) -> Connection {
    let mut connection = a_connection(&harness.user);
    connection.of_profile = profile.map(Profile::reference);
    name.clone_into(&mut connection.profile.account_id);
    harness.connect(&connection, PublishingHarness::credentials(None), None).await;
    connection
}

async fn record(harness: &PublishingHarness, profile: Option<&Profile>) -> Medium {
    let medium = Medium::expected(
        harness.user.user_id,
        harness.scheduling.ids.fresh::<MediaId>(),
        MimeType::Png,
        harness.clock.now(),
    );
    let medium = Medium { of_profile: profile.map(Profile::reference), ..medium.holding(100) };
    let room = Room { bytes: 10_000, files: 100, bytes_of_profile: None };
    assert_eq!(harness.store.add_media_file(&medium, room).await.unwrap(), AddMediaOutcome::Added);
    medium
}

async fn file(harness: &PublishingHarness, s3: &TestBucket, profile: Option<&Profile>) -> Medium {
    let medium = record(harness, profile).await;
    put(s3, &medium.path().to_string()).await;
    medium
}

fn references(files: &[&Medium]) -> Vec<MediaReference> {
    let reference = |(index, it): (usize, &&Medium)| MediaReference {
        field: format!("media.{index}"),
        path: it.path(),
        alt_text: None,
    };
    files.iter().enumerate().map(reference).collect()
}

async fn create(harness: &PublishingHarness, owner: Owner, request: NewPost) -> Post {
    let key = IdempotencyKey::parse(harness.scheduling.ids.fresh::<MediaId>().to_string().as_bytes()).unwrap();
    let key = IdempotentRequest { owner, route: "POST /posts", key, body_hash: "x".to_owned() };
    // The user's token creates the posts with files of several tenants.
    match harness.scheduling.create_post(owner.user_id, request, Some(&key)).await.unwrap() {
        Created::New(post) => *post,
        other => panic!("{other:?}"),
    }
}

fn a_message(post: &Post, webhook: WebhookId) -> WebhookDelivery {
    let detail = Event::scheduled(post).detail;
    let message = WebhookMessage::from_event(EventKind::PostScheduled, webhook, &detail).unwrap();
    WebhookDelivery::new(post.user_id, webhook, message, noon())
}

#[tokio::test]
async fn everything_of_a_customer_is_erased_and_nothing_else() {
    let scene = Box::pin(Scene::new()).await;
    let before = scene.items().await;
    scene.request_erasure().await;
    let requested_at = scene.harness.clock.now();
    let (clock, housekeeping) = (&scene.harness.clock, housekeeping(&scene.harness));
    let leased =
        async || scene.harness.store.post(scene.harness.user.user_id, scene.published[2].post_id).await.unwrap();

    housekeeping.erase_profiles().await.unwrap();
    assert!(leased().await.is_some(), "a worker follows it up");
    let flow = scene.harness.store.connect_flow("open").await.unwrap();
    assert!(flow.is_some(), "it revokes what it is granted");
    clock.advance(TimeDelta::minutes(5));
    housekeeping.erase_profiles().await.unwrap();
    assert!(leased().await.is_none());
    put(&scene.s3, &scene.expected.path().to_string()).await;
    let mut passes = 0;
    while scene.is_requested().await {
        clock.advance(TimeDelta::minutes(5));
        let due = scene.harness.store.due_erasures(clock.now(), 1).await.unwrap();
        passes += due.len();
        housekeeping.erase_profiles().await.unwrap();
    }

    assert_eq!((clock.now() - requested_at, passes), (TimeDelta::minutes(85), 3));
    scene.assert_erased(&before).await;
}

#[tokio::test]
async fn erasure_that_is_cut_off_anywhere_ends_in_the_same_state() {
    let scene = Box::pin(Scene::new()).await;
    let before = scene.items().await;
    scene.request_erasure().await;
    let left = Arc::new(AtomicU32::new(0));
    let housekeeping =
        Housekeeping { store: store_cut_off(&scene.harness.store, Arc::clone(&left)), ..housekeeping(&scene.harness) };

    // Each pass comes a little further than the last one.
    let mut calls = 0;
    while scene.is_requested().await {
        calls += 1;
        left.store(calls, Ordering::SeqCst);
        scene.harness.clock.advance(TimeDelta::minutes(2));
        let _ = housekeeping.erase_profiles().await;
    }

    scene.assert_erased(&before).await;
}

#[tokio::test]
async fn file_that_another_post_begins_to_use_is_kept() {
    let scene = Box::pin(Scene::new()).await;
    let (harness, housekeeping) = (&scene.harness, housekeeping(&scene.harness));
    let id = scene.published[2].media[0].media_id;
    let medium = harness.store.media(harness.user.user_id, &[id]).await.unwrap().remove(0);
    scene.request_erasure().await;
    housekeeping.erase_profiles().await.unwrap();

    let request = NewPost { media: references(&[&medium]), ..a_new_post(None, &[]) };
    create(harness, harness.user.user_id.into(), request).await;
    while scene.is_requested().await {
        harness.clock.advance(TimeDelta::minutes(5));
        housekeeping.erase_profiles().await.unwrap();
    }

    let kept = harness.store.media(harness.user.user_id, &[id]).await.unwrap().remove(0);
    assert_eq!((kept.of_profile, kept.doomed), (None, false));
    assert!(scene.s3.bucket.head(&medium.path().to_string(), 1).await.unwrap().is_some());
}

#[tokio::test]
async fn erasure_that_fails_delays_no_other() {
    let harness = PublishingHarness::with(0, FakePlatform::default()).await;
    let (store, clock) = (&harness.store, &harness.clock);
    for user in [&harness.user, &a_user()] {
        let profile = a_profile(user);
        store.create_profile(&profile, None).await.unwrap();
        store.delete_profile(user.user_id, profile.profile_id, Some(noon())).await.unwrap();
    }
    storage::testing::corrupt_post(store, &harness.user).await;

    housekeeping(&harness).erase_profiles().await.unwrap();

    clock.advance(TimeDelta::minutes(5));
    let due = store.due_erasures(clock.now(), 9).await.unwrap();
    assert_eq!(due.iter().map(|it| it.user_id).collect::<Vec<_>>(), [harness.user.user_id], "the other found nothing");
}
