//! Requests of a customer through the routes, with an embedded store. No test publishes, so queue and bus are unreachable.

use std::sync::Arc;

use api::Api;
use api::testing::api_on;
use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Request, header};
use cloud::bucket::{Bucket, BucketConfig};
use cloud::events::EventBridge;
use cloud::pictures::SqsPictureQueue;
use cloud::queue::SqsQueue;
use cloud::testing::LogLines;
use domain::clock::Clock;
use domain::connect_link::{ConnectLink, LinkConsents};
use domain::connection::{AccountInfo, Connection};
use domain::id::{Ids, PostId};
use domain::options::{OptionKind, OptionSpec, PlatformOptions};
use domain::profile::Profile;
use domain::random::Random;
use domain::rules::{PostRule, Rule};
use domain::testing::{a_connect_link, a_connection, a_post, a_profile, a_user, an_attachment, noon, rules, text};
use domain::user::User;
use http_body_util::BodyExt;
use scheduling::{PostRules, RollUps, Scheduling};
use serde_json::json;
use storage::{PostWrite, Store};
use tower::ServiceExt;

use domain::post::PostStatus;

use super::*;
use crate::router;

const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new("visibility", OptionKind::Choice { max: 20 }, ""),
    OptionSpec::new("comments", OptionKind::Flag, ""),
    OptionSpec::new("brand_content", OptionKind::Flag, ""),
];

/// A customer has opened a link for a draft with two accounts that need a consent.
struct Visited {
    store: Store,
    clock: Clock,
    scheduling: Scheduling,
    router: Router,
    user: User,
    profile: Profile,
    accounts: Vec<Connection>,
    post: Post,
    cookie: String,
    csrf: String,
}

struct Answer {
    status: u16,
    location: String,
    html: String,
}

impl Visited {
    async fn new() -> Self {
        Self::with_post(|_| ()).await
    }

    async fn with_post(change: impl FnOnce(&mut Post)) -> Self {
        let (store, clock, user) = (storage::testing::store().await, Clock::manual(noon()), a_user());
        storage::testing::join(&store, &user).await;
        let profile = a_profile(&user);
        store.create_profile(&profile, None).await.unwrap();
        let mut accounts = Vec::new();
        for account in ["1", "2"] {
            accounts.push(connect(&store, &user, Some(&profile), account).await);
        }
        let mut post = a_post(&user, None, &accounts);
        post.media = vec![an_attachment(1)];
        change(&mut post);
        write(&store, None, &post).await;

        let (scheduling, api) = services(&store, &clock);
        let router = api::finish(router(App { api: api.clone(), scheduling: scheduling.clone() }), api);
        let cookie = "__Host-connect-flow=customer".to_owned();
        let csrf = guest(&cookie).csrf();
        let visited = Self { store, clock, scheduling, router, user, profile, accounts, post, cookie, csrf };
        visited.put_link("key", Some(visited.post.post_id)).await;
        visited
    }

    /// A link that this customer has opened.
    async fn put_link(&self, key: &str, post: Option<PostId>) {
        let link = ConnectLink {
            user_id: self.user.user_id,
            of_profile: self.profile.reference(),
            consents: post.map(|post_id| LinkConsents { post_id, accounts: Vec::new(), are_given: false }),
            browser: Some(guest(&self.cookie).owner()),
            ..a_connect_link()
        };
        self.store.put_connect_link(key, &link).await.unwrap();
    }

    /// The path of the form for the account with this index.
    fn form(&self, index: usize) -> String {
        format!("/connect-links/key/consent/{}", self.accounts[index].connection_id)
    }

    async fn agree(&self, index: usize, fields: &str) -> Answer {
        let revision = self.stored().await.revision;
        let body = format!("csrf={}&revision={revision}&content=Hello&{fields}", self.csrf);
        self.send("POST", &self.form(index), &self.cookie, body).await
    }

    async fn send(&self, method: &str, path: &str, cookie: &str, body: String) -> Answer {
        let request = Request::builder().method(method).uri(path).header(header::COOKIE, cookie);
        let request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let response = self.router.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
        let location = response.headers().get(header::LOCATION).map(|it| it.to_str().unwrap().to_owned());
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let html = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status, location: location.unwrap_or_default(), html }
    }

    async fn stored(&self) -> Post {
        self.store.post(self.user.user_id, self.post.post_id).await.unwrap().unwrap()
    }

    async fn change(&self, change: impl FnOnce(&mut Post)) {
        let before = self.stored().await;
        let mut after = Post { revision: before.revision + 1, ..before.clone() };
        change(&mut after);
        write(&self.store, Some(&before), &after).await;
    }

    /// Whether the customer has agreed for each account.
    async fn consents(&self) -> [bool; 2] {
        let post = self.stored().await;
        [0, 1].map(|index| post.targets[index].consented_at.is_some())
    }

    async fn file(&self, key: &str, path: &str, cookie: &str) -> Answer {
        self.send("GET", &format!("/connect-links/{key}/files/{path}"), cookie, String::new()).await
    }
}

fn guest(cookie: &str) -> GuestCookie {
    let headers: HeaderMap = [(header::COOKIE, cookie.parse().unwrap())].into_iter().collect();
    GuestCookie::from_headers(&headers).unwrap()
}

async fn write(store: &Store, before: Option<&Post>, after: &Post) {
    let write = PostWrite { before, after: Some(after), ..PostWrite::default() };
    store.write_post(&write, noon()).await.unwrap();
}

async fn connect(store: &Store, user: &User, profile: Option<&Profile>, account: &str) -> Connection {
    let mut rules = rules();
    rules.rules.push(Rule::OfPost(PostRule::ConsentOptions { options: vec!["visibility".to_owned()] }));
    let connection = a_connection(user);
    let info = AccountInfo { account_id: account.to_owned(), ..connection.profile };
    let connection = Connection { profile: info, of_profile: profile.map(Profile::reference), rules, ..connection };
    storage::testing::connect(store, &connection, b"sealed", None).await;
    connection
}

fn services(store: &Store, clock: &Clock) -> (Scheduling, Api) {
    const NOWHERE: &str = "http://127.0.0.1:9";
    let (aws, ids) = (cloud::testing::sdk_config(NOWHERE), Ids::new(clock.clone(), Random::Os));
    let (sqs, events) = (aws_sdk_sqs::Client::new(&aws), Arc::new(EventBridge::new(&aws, "bus".to_owned())));
    let bucket = BucketConfig { name: "media".to_owned(), endpoint: Some(NOWHERE.to_owned()), public_endpoint: None };
    let scheduling = Scheduling {
        store: store.clone(),
        bucket: Bucket::new(&aws, &bucket),
        pictures: Arc::new(SqsPictureQueue::new(sqs.clone(), NOWHERE.to_owned())),
        queue: Arc::new(SqsQueue::new(sqs, NOWHERE.to_owned(), clock.clone())),
        roll_ups: RollUps::new(store.clone(), events.clone(), clock.clone()),
        events,
        clock: clock.clone(),
        random: Random::Os,
        ids: ids.clone(),
        rules: PostRules { vocabulary: PlatformOptions::new([("sandbox", OPTIONS)]), ..PostRules::default() },
    };
    let api = api_on(store.clone(), clock.clone());
    (scheduling, api)
}

#[tokio::test]
async fn consent_is_stored_for_its_account_and_nothing_is_scheduled() {
    let visited = Visited::new().await;

    let agreed = visited.agree(0, "visibility=EVERYONE&comments=on").await;

    assert_eq!((agreed.status, agreed.location.as_str()), (303, "/connect-links/key/consent"), "{}", agreed.html);
    let post = visited.stored().await;
    assert_eq!((post.status, post.scheduled_at, post.revision), (PostStatus::Draft, None, visited.post.revision + 1));
    let [first, second] = [&post.targets[0], &post.targets[1]];
    assert_eq!((first.consented_at, second.consented_at), (Some(noon()), None));
    assert_eq!(first.options.text("visibility"), Some("EVERYONE"));
    assert_eq!(first.options.flag("comments"), Some(true));
    assert_eq!((second, &post.media), (&visited.post.targets[1], &visited.post.media));
    visited.agree(1, "visibility=SELF_ONLY").await;
    assert_eq!(visited.consents().await, [true, true]);
}

#[tokio::test]
async fn audit_trail_has_each_consent_and_no_refused_choice() {
    let log = LogLines::record("off");
    let visited = Visited::new().await;

    visited.agree(0, "visibility=SELF_ONLY&disclose=on&brand_content=on").await;
    visited.agree(1, "visibility=EVERYONE").await;

    let lines = log.lines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    let fields = json!({
        "event": "consent_given",
        "user_id": visited.user.user_id,
        "connection_id": visited.accounts[1].connection_id,
        "profile_id": visited.profile.profile_id,
        "address": "0.0.0.0",
        "message": "audit",
    });
    assert_eq!(lines[0]["fields"], fields);
}

#[tokio::test]
async fn text_of_the_customer_is_for_the_account_alone() {
    let visited = Visited::new().await;
    let body = format!("csrf={}&revision={}&content=Ahoy&visibility=EVERYONE", visited.csrf, visited.post.revision);

    visited.send("POST", &visited.form(0), &visited.cookie, body).await;

    let post = visited.stored().await;
    let texts = [0, 1].map(|index| post.text_of(&post.targets[index]).as_str());
    assert_eq!(texts, ["Ahoy", "Hello"]);
}

#[tokio::test]
async fn later_change_of_the_text_voids_the_consent() {
    let visited = Visited::new().await;
    for index in [0, 1] {
        visited.agree(index, "visibility=EVERYONE").await;
    }
    let change = Changes { text: Some(text("Another text")), ..Changes::default() };

    let changed = visited.scheduling.change_post(visited.user.user_id, visited.stored().await, change).await.unwrap();

    assert!(matches!(changed, Changed::Done(_)), "{changed:?}");
    assert_eq!(visited.consents().await, [false, false]);
}

#[tokio::test]
async fn failed_post_stays_failed() {
    let visited = Visited::with_post(|post| post.status = PostStatus::Failed).await;

    visited.agree(0, "visibility=EVERYONE").await;

    assert_eq!(visited.stored().await.status, PostStatus::Failed);
    assert_eq!(visited.consents().await, [true, false]);
}

#[tokio::test]
async fn draft_of_a_drafts_only_token_is_still_scheduled_by_revision() {
    let visited = Visited::with_post(|post| post.written_by = Authority::Drafts).await;

    visited.agree(0, "visibility=EVERYONE").await;

    assert_eq!(visited.consents().await, [true, false]);
    assert!(visited.stored().await.is_scheduled_by_revision());
}

#[tokio::test]
async fn choices_with_a_problem_are_kept_without_a_consent() {
    let visited = Visited::new().await;

    let refused = visited.agree(0, "visibility=SELF_ONLY&disclose=on&brand_content=on").await;

    assert_eq!(refused.location, "/connect-links/key/consent?problem=private_brand");
    let post = visited.stored().await;
    assert_eq!(post.targets[0].options.flag("brand_content"), Some(true));
    assert_eq!(visited.consents().await, [false, false]);
}

#[tokio::test]
async fn consent_to_invalid_choices_is_refused() {
    let visited = Visited::new().await;
    let long = "a".repeat(501);
    for (fields, reason) in [
        (format!("content={long}&visibility=EVERYONE"), "at most 500 characters"),
        (format!("content=Hello&visibility={}", "V".repeat(21)), "Visibility"),
    ] {
        let body = format!("csrf={}&revision={}&{fields}", visited.csrf, visited.post.revision);

        let refused = visited.send("POST", &visited.form(0), &visited.cookie, body).await;

        assert!(refused.status == 422 && refused.html.contains(reason), "{}", refused.html);
        assert!(refused.html.contains("href=\"/connect-links/key/consent\""), "{}", refused.html);
        assert!(!refused.html.contains("/account/posts"), "{}", refused.html);
    }
    assert_eq!(visited.stored().await, visited.post);
}

#[tokio::test]
async fn post_that_changed_since_the_page_was_opened_is_not_agreed_to() {
    let visited = Visited::new().await;
    visited.change(|post| post.text = text("Another text")).await;
    let body = format!("csrf={}&revision={}&content=Hello&visibility=EVERYONE", visited.csrf, visited.post.revision);

    let refused = visited.send("POST", &visited.form(0), &visited.cookie, body).await;

    assert!(refused.status == 422 && refused.html.contains("The post was changed"), "{}", refused.html);
    assert_eq!(visited.consents().await, [false, false]);
}

#[tokio::test]
async fn other_browsers_and_forged_forms_change_nothing() {
    let visited = Visited::new().await;
    let other = "__Host-connect-flow=other".to_owned();
    let fields = format!("revision={}&content=Hello&visibility=EVERYONE", visited.post.revision);
    for (cookie, csrf) in [
        (visited.cookie.clone(), "guessed".to_owned()),
        (visited.cookie.clone(), guest(&other).csrf()),
        (String::new(), visited.csrf.clone()),
        (other.clone(), guest(&other).csrf()),
    ] {
        let refused = visited.send("POST", &visited.form(0), &cookie, format!("csrf={csrf}&{fields}")).await;
        assert_eq!(refused.status, 403, "{}", refused.html);
    }
    let unknown = visited.form(0).replace("/key/", "/unknown/");
    let form = format!("csrf={}&{fields}", visited.csrf);
    assert_eq!(visited.send("POST", &unknown, &visited.cookie, form.clone()).await.status, 404);
    visited.store.set_disabled(visited.user.user_id, true).await.unwrap();
    assert_eq!(visited.send("POST", &visited.form(0), &visited.cookie, form).await.status, 404);
    assert_eq!(visited.stored().await, visited.post);
}

#[tokio::test]
async fn link_that_cannot_ask_leads_to_its_page_and_changes_nothing() {
    let visited = Visited::new().await;
    visited.put_link("accounts", None).await;
    let own = connect(&visited.store, &visited.user, None, "3").await;
    let own_post = a_post(&visited.user, None, std::slice::from_ref(&own));
    write(&visited.store, None, &own_post).await;
    visited.put_link("own", Some(own_post.post_id)).await;
    let account = visited.accounts[0].connection_id;
    for (key, account) in [("accounts", account), ("own", own.connection_id), ("key", own.connection_id)] {
        let path = format!("/connect-links/{key}/consent/{account}");
        let body = format!("csrf={}&revision=1&content=Hello&visibility=EVERYONE", visited.csrf);

        let answer = visited.send("POST", &path, &visited.cookie, body).await;

        assert_eq!((answer.status, answer.location), (303, format!("/connect-links/{key}/consent")));
    }
    let own_stored = visited.store.post(visited.user.user_id, own_post.post_id).await.unwrap();
    assert_eq!((own_stored, visited.stored().await), (Some(own_post), visited.post.clone()));

    visited.change(|post| post.status = PostStatus::Scheduled).await;
    assert_eq!(visited.agree(0, "visibility=EVERYONE").await.location, "/connect-links/key/consent");
    visited.change(|post| post.status = PostStatus::Draft).await;
    visited.clock.advance(chrono::TimeDelta::hours(1));
    assert_eq!(visited.agree(0, "visibility=EVERYONE").await.location, "/connect-links/key/consent");
    assert_eq!(visited.consents().await, [false, false]);
}

#[tokio::test]
async fn given_consent_is_not_replaced_by_an_old_form() {
    let visited = Visited::new().await;
    visited.agree(0, "visibility=EVERYONE").await;
    let before = visited.stored().await;

    let again = visited.agree(0, "visibility=SELF_ONLY").await;

    assert_eq!((again.status, visited.stored().await), (303, before));
}

#[tokio::test]
async fn files_of_the_post_are_for_the_browser_of_the_link() {
    let visited = Visited::new().await;
    let other = Post { media: vec![an_attachment(2)], ..a_post(&visited.user, None, &visited.accounts) };
    write(&visited.store, None, &other).await;
    let [file, other_file] = [&visited.post, &other].map(|it| it.media[0].media_id.to_string());

    let shown = visited.file("key", &file, &visited.cookie).await;

    assert!(shown.status == 307 && shown.location.contains(&file), "{} {}", shown.status, shown.location);
    assert_eq!(visited.file("key", &other_file, &visited.cookie).await.status, 404);
    assert_eq!(visited.file("key", &file, "").await.status, 403);
    assert_eq!(visited.file("key", &file, "__Host-connect-flow=other").await.status, 403);
    assert_eq!(visited.file("unknown", &file, &visited.cookie).await.status, 404);
    visited.clock.advance(chrono::TimeDelta::hours(1));
    assert_eq!(visited.file("key", &file, &visited.cookie).await.location, "/connect-links/key/consent");
}
