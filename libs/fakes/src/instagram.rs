//! Instagram: a professional account and an app, with Instagram's login or Facebook's.
//!
//! Sources: the documentation of the Instagram Platform v26.0, and reports of clients where it is
//! silent. The fake refuses unknown parameters and fields, and also documented ones that it does
//! not implement: products, trial reels, names of sounds, cover pictures. Only Facebook's login
//! accepts the bytes of videos ("available only for apps that have implemented Facebook Login for
//! Business"). Not implemented: the acceptance of collaborators, and app reviews.

mod access;
mod by_facebook;
mod fake_platform;
mod front;
mod making;
mod posts;
mod text;

use std::sync::{Arc, MutexGuard};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};
use chrono::TimeDelta;
use domain::clock::Clock;
use serde_json::Value;

use self::by_facebook::Page;
use self::making::Content;
use self::posts::Post;
use crate::fake::injected_faults::InjectedFaults;
use crate::fake::oauth::{Client, Pkce, Refresh, Rules};
use crate::fake::request_log::RequestLog;
use crate::fake::server;
use crate::meta::containers::{Containers, WORK};
use crate::meta::error::GraphError;
use crate::meta::{Ids, long_lived};

/// The username of the account, by which the user chooses it.
pub const HANDLE: &str = "keeper_ada";

/// The account's id, which exceeds the integers that a floating-point number represents exactly.
pub const ID: &str = "17841405793187219";

/// The documented rules of Instagram's login.
const RULES: Rules = Rules {
    clients: &[Client::Body],
    pkce: Pkce::Unknown,
    scopes: &["instagram_business_basic", "instagram_business_content_publish", "instagram_business_manage_comments"],
    separator: ',',
    code_lives: TimeDelta::hours(1),
    access_lives: Some(long_lived::SHORT),
    refresh: Refresh::None,
    ..Rules::STANDARD
};

/// The documented rules of Facebook's login.
const RULES_OF_FACEBOOK: Rules = Rules {
    scopes: &[
        "instagram_basic",
        "instagram_content_publish",
        "instagram_manage_comments",
        "pages_show_list",
        "pages_read_engagement",
        "business_management",
    ],
    page: &[("auth_type", "rerequest")],
    ..RULES
};

/// The id of a Page, the id and the username of its account, and the user's tasks on the Page.
pub type PageAndAccount<'a> = (&'a str, Option<(&'a str, &'a str)>, &'a [&'a str]);

#[derive(Clone, Copy, Debug)]
struct Scopes {
    read: &'static [&'static str],
    publish: &'static [&'static str],
    comment: &'static [&'static str],
}

const SCOPES: Scopes = Scopes {
    read: &["instagram_business_basic"],
    publish: &["instagram_business_basic", "instagram_business_content_publish"],
    comment: &["instagram_business_basic", "instagram_business_manage_comments"],
};

const SCOPES_OF_FACEBOOK: Scopes = Scopes {
    read: &["instagram_basic", "pages_read_engagement"],
    publish: &["instagram_basic", "instagram_content_publish", "pages_read_engagement"],
    comment: &["instagram_basic", "instagram_manage_comments", "pages_read_engagement"],
};

/// The fake of Instagram. With `BY_FACEBOOK`, users connect accounts with Facebook's login.
pub struct Instagram<const BY_FACEBOOK: bool = false> {
    fake: Arc<Fake>,
    pub request_log: RequestLog,
}

type Fake = server::FakeServer<Memory>;

struct Memory {
    by_facebook: bool,
    containers: Containers<Content>,
    /// Oldest first.
    posts: Vec<Post>,
    ids: Ids,
    /// The processing time of a carousel, a picture and a video.
    work: [TimeDelta; 3],
    /// Hosts from which Instagram fetches nothing.
    refused_hosts: Vec<String>,
    /// The URLs of fetched files, in order.
    fetched: Vec<String>,
    /// The next upload breaks off after this many bytes.
    breaks_after: Option<usize>,
    /// Whether the account is invisible to its token.
    is_hidden: bool,
    /// The status of new containers, which fail; `None` if they do not fail.
    fault: Option<String>,
    /// The delay between the publication of a post and its listing.
    listed_after: TimeDelta,
    /// How many posts may be published within a day.
    quota: usize,
    account_type: &'static str,
    /// The requested permissions that the user declines.
    declined: Vec<String>,
    /// The user's Pages on Facebook.
    pages: Vec<Page>,
    /// The responses to the next calls, by the end of their paths.
    refusals: Vec<(&'static str, GraphError)>,
}

impl Memory {
    fn new(by_facebook: bool) -> Self {
        Self {
            by_facebook,
            containers: Containers::default(),
            posts: Vec::new(),
            ids: Ids::default(),
            work: WORK,
            refused_hosts: Vec::new(),
            fetched: Vec::new(),
            breaks_after: None,
            is_hidden: false,
            fault: None,
            listed_after: TimeDelta::zero(),
            quota: 100,
            account_type: "Media_Creator",
            declined: Vec::new(),
            pages: vec![Page::for_account()],
            refusals: Vec::new(),
        }
    }
}

impl<const BY_FACEBOOK: bool> Instagram<BY_FACEBOOK> {
    pub async fn start(clock: Clock) -> Self {
        let (rules, routes) =
            if BY_FACEBOOK { (RULES_OF_FACEBOOK, by_facebook::routes()) } else { (RULES, access::routes()) };
        let fake = Fake::serve("instagram", clock, rules, Memory::new(BY_FACEBOOK), api(routes)).await;
        Self { request_log: fake.request_log.clone(), fake }
    }

    /// The intermediary in front of the fake.
    pub fn intermediary(&self) -> MutexGuard<'_, InjectedFaults> {
        self.fake.injected_faults()
    }

    /// Fails the next call to a path with this end.
    pub fn refuses(&self, path: &'static str, error: GraphError) {
        self.fake.memory().refusals.push((path, error));
    }

    /// Adds a comment of another account to the latest post.
    pub fn add_comment_of_visitor(&self, text: &str) {
        let now = self.fake.clock.now();
        self.fake.memory().add_comment_of_visitor(text, now);
    }

    /// Sets the processing time of every container.
    pub fn works_for(&self, time: TimeDelta) {
        self.fake.memory().work = [time; 3];
    }

    /// New containers fail with this subcode; with `None`, they succeed again.
    pub fn fail_containers(&self, subcode: Option<u32>) {
        self.fake.memory().fault = subcode.map(making::failed);
    }

    /// Instagram fetches nothing from these hosts, and does not call them.
    pub fn refuses_hosts(&self, hosts: &[&str]) {
        self.fake.memory().refused_hosts = hosts.iter().map(|it| (*it).to_owned()).collect();
    }

    /// The next upload of a video breaks off after this many bytes.
    pub fn breaks_uploads_after(&self, bytes: usize) {
        self.fake.memory().breaks_after = Some(bytes);
    }

    /// The account becomes invisible to its token, which stays valid.
    pub fn hide_account(&self) {
        self.fake.memory().is_hidden = true;
    }

    /// Forgets every container that is not published.
    pub fn forgets_containers(&self) {
        self.fake.memory().containers.forget();
    }

    pub fn containers(&self) -> usize {
        self.fake.memory().containers.count()
    }

    /// Posts are listed this long after their publication.
    pub fn lists_after(&self, time: TimeDelta) {
        self.fake.memory().listed_after = time;
    }

    /// This many posts may be published within a day.
    pub fn permits(&self, quota: usize) {
        self.fake.memory().quota = quota;
    }

    /// Such as `Personal`.
    pub fn set_account_type(&self, account_type: &'static str) {
        self.fake.memory().account_type = account_type;
    }

    pub fn declines(&self, permissions: &[&str]) {
        self.fake.memory().declined = permissions.iter().map(|it| (*it).to_owned()).collect();
    }

    pub fn has_pages(&self, pages: &[PageAndAccount<'_>]) {
        self.fake.memory().pages = pages.iter().map(|(id, account, tasks)| Page::new(id, *account, tasks)).collect();
    }

    pub fn latest(&self) -> Value {
        self.fake.memory().posts.last().map(Post::described).unwrap_or_default()
    }
}

/// The routes that both logins share.
fn api(server: Router<Arc<Fake>>) -> Router<Arc<Fake>> {
    server
        .route("/v26.0/{id}", get(posts::show))
        .route("/v26.0/{id}/media", get(posts::list).post(making::make))
        .route("/v26.0/{id}/stories", get(posts::stories))
        .route("/v26.0/{id}/media_publish", post(posts::publish))
        .route("/v26.0/{id}/content_publishing_limit", get(posts::limit))
        .route("/v26.0/{id}/comments", get(posts::comments).post(posts::comment))
        .route("/ig-api-upload/v26.0/{id}", post(making::receive).layer(DefaultBodyLimit::disable()))
}

impl Fake {
    fn scopes(&self) -> Scopes {
        if self.memory().by_facebook { SCOPES_OF_FACEBOOK } else { SCOPES }
    }
}
