//! Instagram: a professional account, and an app, by Instagram's login or by Facebook's.
//!
//! Made from the documentation of the Instagram Platform v26.0, and from what clients
//! report where it is silent. Parameters and fields that a call does not have are refused,
//! and so are those that the documents have and that nothing here imitates: products, trial
//! reels, names of sounds, pictures of covers. Videos are taken as bytes by Facebook's login
//! alone ("available only for apps that have implemented Facebook Login for Business"). What
//! is not imitated: who accepts to be shown as an author, and reviews of apps.

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
use crate::meta::usage::{self, Usage};
use crate::meta::{Ids, long_lived};

/// The account's name, by which the person chooses it.
pub const HANDLE: &str = "keeper_ada";

/// Its id: beyond what a floating-point number holds.
pub const ID: &str = "17841405793187219";

/// What the documentation says of Instagram's login.
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

/// What it says of Facebook's.
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

/// The id of a Page, the id and the name of the account that belongs to it, and what the
/// person may do on it.
pub type PageAndAccount<'a> = (&'a str, Option<(&'a str, &'a str)>, &'a [&'a str]);

/// Which scopes calls need.
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

/// Instagram. With `BY_FACEBOOK`, people connect accounts by Facebook's login.
pub struct Instagram<const BY_FACEBOOK: bool = false> {
    fake: Arc<Fake>,
    /// How much was called, as answers say it.
    pub usage: Usage,
    /// What arrived.
    pub request_log: RequestLog,
}

type Fake = server::FakeServer<Memory>;

struct Memory {
    by_facebook: bool,
    containers: Containers<Content>,
    /// Everything that was published, oldest first.
    posts: Vec<Post>,
    ids: Ids,
    /// How long the work takes on a carousel, a picture and a video.
    work: [TimeDelta; 3],
    /// Hosts from which nothing is fetched.
    refused_hosts: Vec<String>,
    /// The addresses from which files were fetched, in order.
    fetched: Vec<String>,
    /// After so many bytes the next upload breaks off.
    breaks_after: Option<usize>,
    /// Whether the account is not to be seen with its token any more.
    is_hidden: bool,
    /// The status of containers that are made from now on and fail; `None` if they do not fail.
    fault: Option<String>,
    /// How long after its publication a post is listed.
    listed_after: TimeDelta,
    /// How many posts may be published within a day.
    quota: usize,
    account_type: &'static str,
    /// Whether tokens come as the documents write it, in a list, or as clients see them.
    is_flat: bool,
    /// What the person leaves out of what is asked for.
    declined: Vec<String>,
    /// The Pages of the person, on Facebook.
    pages: Vec<Page>,
    /// What the next calls answer to paths that end like this.
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
            is_flat: false,
            declined: Vec::new(),
            pages: vec![Page::for_account()],
            refusals: Vec::new(),
        }
    }
}

impl<const BY_FACEBOOK: bool> Instagram<BY_FACEBOOK> {
    /// Starts one on a free port. It tells the time by `clock`.
    pub async fn start(clock: Clock) -> Self {
        let (rules, routes) =
            if BY_FACEBOOK { (RULES_OF_FACEBOOK, by_facebook::routes()) } else { (RULES, access::routes()) };
        let (memory, usage) = (Memory::new(BY_FACEBOOK), Usage::default());
        let tell = |server| usage::wrap(server, &usage);
        let fake = Fake::serve_with((), "instagram", clock, rules, memory, api(routes), tell).await;
        Self { request_log: fake.request_log.clone(), fake, usage }
    }

    /// What stands in front of it.
    pub fn intermediary(&self) -> MutexGuard<'_, InjectedFaults> {
        self.fake.injected_faults()
    }

    /// The next call to a path that ends like this is answered with this.
    pub fn refuses(&self, path: &'static str, error: GraphError) {
        self.fake.memory().refusals.push((path, error));
    }

    /// The work on each container takes so long from now on.
    pub fn works_for(&self, time: TimeDelta) {
        self.fake.memory().work = [time; 3];
    }

    /// Containers that are made from now on come to nothing in the end, with this subcode;
    /// with `None`, they come to something again.
    pub fn fail_containers(&self, subcode: Option<u32>) {
        self.fake.memory().fault = subcode.map(making::failed);
    }

    /// Like `spoils`, with this text as the status.
    pub fn fail_containers_with_message(&self, message: Option<&str>) {
        self.fake.memory().fault = message.map(str::to_owned);
    }

    /// Nothing is fetched from these hosts from now on, and they are not called.
    pub fn refuses_hosts(&self, hosts: &[&str]) {
        self.fake.memory().refused_hosts = hosts.iter().map(|it| (*it).to_owned()).collect();
    }

    /// After so many bytes the next upload of a video breaks off.
    pub fn breaks_uploads_after(&self, bytes: usize) {
        self.fake.memory().breaks_after = Some(bytes);
    }

    /// The account is not to be seen with its token any more, although that lives.
    pub fn hide_account(&self) {
        self.fake.memory().is_hidden = true;
    }

    /// Forgets every container that is not public.
    pub fn forgets_containers(&self) {
        self.fake.memory().containers.forget();
    }

    /// How many containers there are.
    pub fn containers(&self) -> usize {
        self.fake.memory().containers.count()
    }

    /// Posts are listed so long after their publication from now on.
    pub fn lists_after(&self, time: TimeDelta) {
        self.fake.memory().listed_after = time;
    }

    /// So many posts may be published within a day.
    pub fn permits(&self, quota: usize) {
        self.fake.memory().quota = quota;
    }

    /// The account is of this type from now on, such as `Personal`.
    pub fn set_account_type(&self, account_type: &'static str) {
        self.fake.memory().account_type = account_type;
    }

    /// Tokens come as clients see them, not as the documents write it.
    pub fn use_flat_token_response(&self) {
        self.fake.memory().is_flat = true;
    }

    /// The person leaves these permissions out from now on.
    pub fn declines(&self, permissions: &[&str]) {
        self.fake.memory().declined = permissions.iter().map(|it| (*it).to_owned()).collect();
    }

    /// The Pages of the person on Facebook, each with the account that belongs to it and
    /// with what they may do on it.
    pub fn has_pages(&self, pages: &[PageAndAccount<'_>]) {
        self.fake.memory().pages = pages.iter().map(|(id, account, tasks)| Page::new(id, *account, tasks)).collect();
    }

    /// The account's owner makes a container in another way.
    pub fn add_container_by_hand(&self) {
        let now = self.fake.clock.now();
        self.fake.memory().make(Content::default(), None, now);
    }

    /// The type and options of the latest post.
    pub fn latest(&self) -> Value {
        self.fake.memory().posts.last().map(Post::described).unwrap_or_default()
    }

    /// When the latest access token ends, in seconds since 1970.
    pub fn ends_at(&self) -> Option<i64> {
        Some(self.fake.oauth().grants.last()?.expires_at?.timestamp())
    }
}

/// The calls that both logins permit.
fn api(server: Router<Arc<Fake>>) -> Router<Arc<Fake>> {
    server
        .route("/v26.0/{id}", get(posts::show))
        .route("/v26.0/{id}/media", get(posts::list).post(making::make))
        .route("/v26.0/{id}/stories", get(posts::stories))
        .route("/v26.0/{id}/media_publish", post(posts::publish))
        .route("/v26.0/{id}/content_publishing_limit", get(posts::limit))
        .route("/v26.0/{id}/comments", post(posts::comment))
        .route("/ig-api-upload/v26.0/{id}", post(making::receive).layer(DefaultBodyLimit::disable()))
}

impl Fake {
    fn scopes(&self) -> Scopes {
        if self.memory().by_facebook { SCOPES_OF_FACEBOOK } else { SCOPES }
    }
}
