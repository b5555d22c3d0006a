//! LinkedIn: a member, the Pages on which the member has roles, and an app.
//!
//! Sources: the documentation of the Posts API, and reports of clients where it is silent. The fake
//! refuses unknown fields. Unlike LinkedIn, it accepts videos below 75 KB, because those of the
//! suite are smaller.

mod access;
mod api_error;
mod comments;
mod fake_platform;
mod files;
mod front;
mod little;
mod organizations;
mod posts;

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post, put};
use chrono::TimeDelta;
use domain::clock::Clock;
use serde_json::{Value, json};

use self::comments::Comment;
use self::files::File;
use self::organizations::Role;
use self::posts::Post;
use crate::fake::limits::Limits;
use crate::fake::oauth::{self, Client, Pkce, Refresh, Rules};
use crate::fake::request_log::RequestLog;
use crate::fake::server;

/// The name that the member chose.
const MEMBER: &str = "Ada Keeper";

/// The member's id for this app.
pub const MEMBER_URN: &str = "urn:li:person:782bbtaQ";

/// A Page that the member administers.
pub const PAGE_URN: &str = "urn:li:organization:2414183";

/// A Page on which the member is a content administrator.
pub const SECOND_PAGE_URN: &str = "urn:li:organization:5515715";

/// The version that the API supports.
const VERSION: &str = "202608";
const LATER_VERSION: &str = "202609";

/// The scopes of an app with "Share on LinkedIn" and "Sign In with LinkedIn using OpenID Connect".
/// Every app gets both products.
const OPEN: &[&str] = &["openid", "profile", "email", "w_member_social"];

/// The scopes of an app with "Community Management API". LinkedIn grants that product only to an
/// app without other products, so there is no OpenID Connect (trypostit/trypost 73,
/// gitroomhq/postiz-app 1658).
const COMMUNITY: &[&str] = &[
    "r_basicprofile",
    "w_member_social",
    "w_organization_social",
    "r_organization_social",
    "rw_organization_admin",
    "w_member_social_feed",
    "w_organization_social_feed",
    "r_organization_social_feed",
];

/// The scopes of an app with "Advertising API" and the open products. No scope covers comments
/// (Microsoft Learn, "Increasing access").
const ADVERTISING: &[&str] = &[
    "openid",
    "profile",
    "email",
    "w_member_social",
    "r_basicprofile",
    "w_organization_social",
    "r_organization_social",
    "r_organization_admin",
    "rw_organization_admin",
    "r_ads",
    "rw_ads",
    "r_ads_reporting",
    "r_1st_connections_size",
];

const RULES: Rules = Rules {
    clients: &[Client::Body],
    pkce: Pkce::Unknown,
    code_lives: TimeDelta::minutes(30),
    access_lives: Some(TimeDelta::days(60)),
    refresh_lives: Some(TimeDelta::days(365)),
    ..Rules::STANDARD
};

/// The products of an app, and the operator's settings.
pub trait Products: Send + Sync + 'static {
    const SCOPES: &'static [&'static str];

    /// The settings other than the URL.
    fn settings() -> Value {
        json!({})
    }

    /// Whether LinkedIn has approved the app, which gives access to Pages and refresh tokens.
    fn has_pages() -> bool {
        Self::SCOPES.contains(&"w_organization_social")
    }
}

/// "Share on LinkedIn" and "Sign In with LinkedIn using OpenID Connect".
#[derive(Clone, Copy, Debug)]
pub enum SelfServe {}

/// The products of [`SelfServe`]. The operator has changed every setting for members.
#[derive(Clone, Copy, Debug)]
pub enum Replaying {}

/// "Community Management API" alone.
#[derive(Clone, Copy, Debug)]
pub enum Community {}

/// "Advertising API" and the products of [`SelfServe`].
#[derive(Clone, Copy, Debug)]
pub enum Advertising {}

/// [`Community`], where the operator also requests OpenID Connect.
#[derive(Clone, Copy, Debug)]
pub enum CommunityWithOpenId {}

impl Products for SelfServe {
    const SCOPES: &'static [&'static str] = OPEN;
}

impl Products for Replaying {
    const SCOPES: &'static [&'static str] = OPEN;

    fn settings() -> Value {
        json!({ "replay": true, "scopes": OPEN, "version": LATER_VERSION })
    }
}

impl Products for Community {
    const SCOPES: &'static [&'static str] = COMMUNITY;

    fn settings() -> Value {
        json!({ "pages": true })
    }
}

impl Products for Advertising {
    const SCOPES: &'static [&'static str] = ADVERTISING;

    fn settings() -> Value {
        let scopes = [
            "openid",
            "profile",
            "w_member_social",
            "w_organization_social",
            "r_organization_social",
            "rw_organization_admin",
        ];
        json!({ "pages": true, "scopes": scopes })
    }
}

impl Products for CommunityWithOpenId {
    const SCOPES: &'static [&'static str] = COMMUNITY;

    fn settings() -> Value {
        json!({ "pages": true, "scopes": ["openid", "profile", "w_member_social", "w_organization_social"] })
    }
}

pub struct LinkedIn<P = SelfServe> {
    fake: Arc<Fake>,
    pub request_log: RequestLog,
    products: PhantomData<P>,
}

type Fake = server::FakeServer<Memory>;

struct Memory {
    uploads_at: String,
    approved: bool,
    roles: Vec<Role>,
    /// All posts, oldest first.
    posts: Vec<Post>,
    files: BTreeMap<String, File>,
    /// Oldest first.
    comments: Vec<Comment>,
    /// The size of the parts of a video, in bytes.
    part_bytes: u64,
    spoils: bool,
    limits: Limits,
    /// The number of objects made so far, which numbers the next one.
    made: u64,
}

impl<P: Products> LinkedIn<P> {
    pub async fn start(clock: Clock) -> Self {
        let refresh = if P::has_pages() { Refresh::Reusable } else { Refresh::None };
        let memory = Memory {
            uploads_at: String::new(),
            approved: P::has_pages(),
            roles: organizations::roles(),
            posts: Vec::new(),
            files: BTreeMap::new(),
            comments: Vec::new(),
            part_bytes: 4 << 20,
            spoils: false,
            limits: Limits::default(),
            made: 7_400_000_000_000_000_000,
        };
        let routes =
            oauth::routes::<Fake>("/oauth/v2/authorization", "/oauth/v2/accessToken", Some("/oauth/v2/revoke"))
                .route("/v2/userinfo", get(access::userinfo))
                .route("/v2/me", get(access::me))
                .route("/rest/posts", get(posts::find).post(posts::create))
                .route("/rest/images", post(files::image))
                .route("/rest/videos", post(files::video))
                .route("/rest/videos/{urn}", get(files::show_video))
                .route("/rest/documents", post(files::document))
                .route("/rest/documents/{urn}", get(files::show_document))
                .route("/rest/socialActions/{urn}/comments", get(comments::list).post(comments::create))
                .route("/rest/organizationAcls", get(organizations::list_acls))
                .route("/rest/organizations", get(organizations::named))
                .route("/dms-uploads/{file}/{part}", put(files::arrive))
                .layer(DefaultBodyLimit::disable());
        let rules = Rules { scopes: P::SCOPES, refresh, ..RULES };
        let fake = Fake::serve("linkedin", clock, rules, memory, routes).await;
        fake.memory().uploads_at = fake.base_url();
        Self { request_log: fake.request_log.clone(), fake, products: PhantomData }
    }
}

impl<P> LinkedIn<P> {
    /// Fails the next call whose path starts with `path`. A string as `body` is a page of HTML.
    pub fn refuses(&self, path: &str, status: u16, body: Value) {
        self.fake.injected_faults().refuse(path, status, body);
    }

    pub fn remove_roles(&self) {
        self.fake.memory().roles.clear();
    }

    pub fn cuts_into(&self, bytes: u64) {
        self.fake.memory().part_bytes = bytes;
    }

    /// The processing of videos and documents fails from now on.
    pub fn spoils_videos(&self) {
        self.fake.memory().spoils = true;
    }

    /// Publishes a post of this author from LinkedIn's own site.
    pub fn posts(&self, author: &str, text: &str) {
        let now = self.fake.clock.now();
        self.fake.memory().add(author, little::Read::plain(text), Value::Null, "PUBLIC", now);
    }

    pub fn latest_visibility(&self) -> Option<String> {
        self.fake.memory().posts.last().map(|it| it.visibility.clone())
    }

    pub fn latest_content(&self) -> Value {
        self.fake.memory().posts.last().map(|it| it.content.clone()).unwrap_or_default()
    }

    /// All comments: post, author and text.
    pub fn comments(&self) -> Vec<(String, String, String)> {
        let memory = self.fake.memory();
        memory.comments.iter().map(|it| (it.post.clone(), it.actor.clone(), it.text.clone())).collect()
    }

    pub fn edit_latest(&self, text: &str) {
        if let Some(post) = self.fake.memory().posts.last_mut() {
            (post.text, post.is_edited) = (little::Read::plain(text), true);
        }
    }
}

impl Memory {
    fn next(&mut self) -> u64 {
        self.made += 1;
        self.made
    }
}
