//! LinkedIn: one member, the pages for which they have roles, and an app.
//!
//! Made from the documentation of the Posts API, and from what clients report where it is
//! silent. Fields that a call does not have are refused. What is not imitated: videos
//! under 75 KB are taken, because the suite's are smaller.

mod access;
mod comments;
mod fields;
mod files;
mod front;
mod little;
mod network;
mod organizations;
mod posts;
mod refusal;

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post, put};
use chrono::{DateTime, TimeDelta, Utc};
use domain::clock::Clock;
use platforms::conformance::stage::ORIGIN;
use serde_json::Value;

use self::files::File;
use self::organizations::Role;
use self::posts::Post;
use crate::stand_in::arrivals::{self, Arrivals};
use crate::stand_in::echo::{self, Echo};
use crate::stand_in::limits::Limits;
use crate::stand_in::oauth::{self, App, Client, OAuth, Pkce, Refresh, Rules};
use crate::stand_in::ordered::Ordered;
use crate::stand_in::troubles::Troubles;
use crate::stand_in::{front as kit_front, wire};

/// The name of the member, as they choose themselves.
const MEMBER: &str = "Ada Keeper";

/// What the member is called by this app.
pub const MEMBER_URN: &str = "urn:li:person:782bbtaQ";

/// A page that the member administers.
pub const PAGE_URN: &str = "urn:li:organization:2414183";

/// One for which the member writes.
pub const SECOND_PAGE_URN: &str = "urn:li:organization:5515715";

/// The version that calls may ask for.
const VERSION: &str = "202608";
const LATER_VERSION: &str = "202609";

/// Scopes of products that anybody gets.
const OPEN: &[&str] = &["openid", "profile", "email", "w_member_social"];

/// The same, and those of an app that LinkedIn has approved.
const APPROVED: &[&str] = &[
    "openid",
    "profile",
    "email",
    "w_member_social",
    "r_basicprofile",
    "w_organization_social",
    "r_organization_social",
    "rw_organization_admin",
    "w_member_social_feed",
    "w_organization_social_feed",
];

/// Those of an app for pages alone.
const ALONE: &[&str] =
    &["w_member_social", "r_basicprofile", "w_organization_social", "r_organization_social", "rw_organization_admin"];

/// What the documentation says of its OAuth.
const RULES: Rules = Rules {
    clients: &[Client::Body],
    pkce: Pkce::Unknown,
    code_lives: TimeDelta::minutes(30),
    access_lives: Some(TimeDelta::days(60)),
    ..Rules::STANDARD
};

/// What LinkedIn lets an app do.
pub trait Products: Send + Sync + 'static {
    /// Whether it has approved it: for pages, and with refresh tokens.
    const APPROVED: bool;

    /// Whether it has no part in signing in.
    const ALONE: bool = false;

    /// Whether its operator has set everything there is: a lost post is sent once more,
    /// other scopes are asked for, and another version.
    const REPLAYS: bool = false;
}

/// "Share on LinkedIn", and to sign in.
#[derive(Clone, Copy, Debug)]
pub enum SelfServe {}

/// "Community Management" as well.
#[derive(Clone, Copy, Debug)]
pub enum Community {}

/// "Share on LinkedIn", with an operator who has set everything there is.
#[derive(Clone, Copy, Debug)]
pub enum Replaying {}

/// "Community Management" alone.
#[derive(Clone, Copy, Debug)]
pub enum CommunityAlone {}

impl Products for CommunityAlone {
    const APPROVED: bool = true;
    const ALONE: bool = true;
}

impl Products for SelfServe {
    const APPROVED: bool = false;
}

impl Products for Replaying {
    const APPROVED: bool = false;
    const REPLAYS: bool = true;
}

impl Products for Community {
    const APPROVED: bool = true;
}

/// LinkedIn.
pub struct LinkedIn<P = SelfServe> {
    here: Arc<Here>,
    address: SocketAddr,
    app: App,
    /// What arrived.
    pub arrivals: Arrivals,
    products: PhantomData<P>,
}

/// What it remembers.
struct Here {
    clock: Clock,
    oauth: Mutex<OAuth>,
    memory: Mutex<Memory>,
    echo: Echo,
}

struct Memory {
    /// Where uploads go.
    base_url: String,
    approved: bool,
    /// The versions that calls may ask for.
    versions: Vec<&'static str>,
    roles: Vec<Role>,
    /// Everything that was posted, oldest first.
    posts: Vec<Post>,
    files: BTreeMap<String, File>,
    /// Under which post, of whom, and what they say.
    comments: Vec<(String, String, String)>,
    /// How large the parts of a video are.
    part_bytes: u64,
    /// Whether videos cannot be processed.
    spoils: bool,
    /// When each refresh token was first given.
    consents: BTreeMap<String, DateTime<Utc>>,
    troubles: Troubles,
    limits: Limits,
    ordered: Ordered,
    /// Numbers everything that is made.
    made: u64,
}

impl<P: Products> LinkedIn<P> {
    /// Starts one on a free port. It tells the time by `clock`.
    pub async fn start(clock: Clock) -> Self {
        let (scopes, refresh) = match (P::APPROVED, P::ALONE) {
            (true, true) => (ALONE, Refresh::Lasting),
            (true, false) => (APPROVED, Refresh::Lasting),
            (false, _) => (OPEN, Refresh::None),
        };
        let mut oauth = OAuth::new(Rules { scopes, refresh, ..RULES });
        let app = oauth.register(&format!("{ORIGIN}/connect/callback/linkedin"));
        let memory = Memory {
            base_url: String::new(),
            approved: P::APPROVED,
            versions: vec![VERSION, LATER_VERSION],
            roles: organizations::roles(),
            posts: Vec::new(),
            files: BTreeMap::new(),
            comments: Vec::new(),
            part_bytes: 4 << 20,
            spoils: false,
            consents: BTreeMap::new(),
            troubles: Troubles::default(),
            limits: Limits::default(),
            ordered: Ordered::default(),
            made: 7_400_000_000_000_000_000,
        };
        let here = Arc::new(Here {
            clock,
            oauth: Mutex::new(oauth),
            memory: Mutex::new(memory),
            echo: Arc::new(AtomicBool::new(false)),
        });
        let server =
            oauth::routes::<Here>("/oauth/v2/authorization", "/oauth/v2/accessToken", Some("/oauth/v2/revoke"))
                .route("/v2/userinfo", get(access::userinfo))
                .route("/v2/me", get(access::me))
                .route("/rest/posts", get(posts::find).post(posts::create))
                .route("/rest/images", post(files::image))
                .route("/rest/videos", post(files::video))
                .route("/rest/videos/{urn}", get(files::show))
                .route("/rest/socialActions/{urn}/comments", post(comments::create))
                .route("/rest/organizationAcls", get(organizations::acls))
                .route("/rest/organizations", get(organizations::named))
                .route("/dms-uploads/{file}/{part}", put(files::arrive))
                .layer(DefaultBodyLimit::disable());
        let server = kit_front::around(server, Arc::clone(&here)).with_state(Arc::clone(&here));
        let arrivals = Arrivals::default();
        let address = wire::serve(arrivals::around(echo::around(server, &here.echo), &arrivals)).await;
        here.memory().base_url = format!("http://{address}");
        Self { here, address, app, arrivals, products: PhantomData }
    }
}

impl<P> LinkedIn<P> {
    /// Where it is, without a slash at the end.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The next call to a path that begins like this is answered with this.
    pub fn refuses(&self, path: &str, status: u16, body: Value) {
        self.here.memory().ordered.order(path, status, body);
    }

    /// The version that was asked for so far has ended.
    pub fn ends_version(&self) {
        self.here.memory().versions = vec!["202709"];
    }

    /// The member loses the roles for all pages.
    pub fn takes_roles_away(&self) {
        self.here.memory().roles.clear();
    }

    /// Videos are cut into parts of so many bytes.
    pub fn cuts_into(&self, bytes: u64) {
        self.here.memory().part_bytes = bytes;
    }

    /// No video can be processed from now on.
    pub fn spoils_videos(&self) {
        self.here.memory().spoils = true;
    }

    /// Somebody else posts this for the same account, from LinkedIn's own site.
    pub fn posts(&self, author: &str, text: &str) {
        let now = self.here.clock.now();
        self.here.memory().add(author, little::Read::plain(text), Value::Null, "PUBLIC", now);
    }

    /// Who sees the latest post.
    pub fn latest_visibility(&self) -> Option<String> {
        self.here.memory().posts.last().map(|it| it.visibility.clone())
    }

    /// What else the latest post shows.
    pub fn latest_content(&self) -> Value {
        self.here.memory().posts.last().map(|it| it.content.clone()).unwrap_or_default()
    }

    /// All comments: under which post, of whom, and what they say.
    pub fn comments(&self) -> Vec<(String, String, String)> {
        self.here.memory().comments.clone()
    }

    /// The hashtags of the latest post.
    pub fn latest_hashtags(&self) -> Vec<String> {
        self.here.memory().posts.last().map(|it| it.text.hashtags()).unwrap_or_default()
    }

    /// The author writes the latest post anew.
    pub fn edits_latest(&self, text: &str) {
        if let Some(post) = self.here.memory().posts.last_mut() {
            (post.text, post.is_edited) = (little::Read::plain(text), true);
        }
    }
}

impl Here {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    /// A number that nothing else has.
    fn next(&mut self) -> u64 {
        self.made += 1;
        self.made
    }
}
