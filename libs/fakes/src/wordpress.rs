//! WordPress: one site, and one signed-in author with an account there.
//!
//! A small fake. The full test run uses a real WordPress 6.5, which proves what this one leaves
//! out: roles, capabilities and statuses, slugs, sizes of pictures, limits, the fields of responses
//! that no adapter reads. The page for application passwords is here for users of the fakes, and
//! faults exist only here. Unlike a real site, the fake refuses unknown fields, missing terms, and
//! content that is not in blocks.

mod api_error;
mod authorize;
mod fake_platform;
mod html;
mod library;
mod posts;
mod request;
mod routes;
pub mod shown_post;
mod site;
mod terms;

use std::sync::{Arc, MutexGuard};

use axum::Router;
use domain::clock::Clock;

pub use self::fake_platform::classify;
use self::site::Memory;
use crate::fake::injected_faults::InjectedFaults;
use crate::fake::oauth::Rules;
use crate::fake::request_log::RequestLog;
use crate::fake::server;

/// The user's login name.
pub const USER: &str = "keeper";

/// An application password that the user created by hand.
pub const TYPED: &str = "hand MADE 1234 pass WORD 6789";

/// A site. With `PLAIN`, the site is below a path of its host, has plain permalinks also for its
/// API, and links the API in its pages instead of in a header.
pub struct Wordpress<const PLAIN: bool = false> {
    fake: Arc<Fake>,
}

struct SiteKind {
    is_plain: bool,
}

type Fake = server::FakeServer<Memory, SiteKind>;

impl<const PLAIN: bool> Wordpress<PLAIN> {
    pub async fn start(clock: Clock) -> Self {
        let routes = Router::new().fallback(routes::respond);
        let (kind, memory) = (SiteKind { is_plain: PLAIN }, Memory::new(TYPED));
        let fake = Fake::serve_with(kind, "wordpress", clock, Rules::STANDARD, memory, routes, |server| server).await;
        Self { fake }
    }

    /// The URL of the front page.
    pub fn home(&self) -> String {
        self.fake.home()
    }

    pub fn request_log(&self) -> &RequestLog {
        &self.fake.request_log
    }

    /// Faults and responses that a test orders.
    pub fn faults(&self) -> MutexGuard<'_, InjectedFaults> {
        self.fake.injected_faults()
    }

    /// From now on, the site names its API nowhere, and prints around JSON: `wp-config.php` begins
    /// with a byte-order mark, PHP shows notices, and a caching plugin adds a comment to every
    /// response.
    pub fn make_noisy(&self) {
        self.fake.memory().is_noisy = true;
    }

    /// Returns the id of the category.
    pub fn add_category(&self, name: &str) -> u64 {
        self.fake.memory().add_term("categories", name)
    }

    /// Another user deletes all drafts permanently.
    pub fn delete_drafts(&self) {
        self.fake.memory().posts.retain(|it| it.status != "draft");
    }

    /// The latest post: raw title and content, excerpt, status, slug.
    pub fn latest(&self) -> Option<[String; 5]> {
        let memory = self.fake.memory();
        let it = memory.posts.last()?;
        Some([it.title.clone(), it.content.clone(), it.excerpt.clone(), it.status.clone(), it.slug.clone()])
    }

    /// The names of the latest post's categories and tags.
    pub fn latest_terms(&self) -> Vec<String> {
        let memory = self.fake.memory();
        let ids = memory.posts.last().map(|it| it.terms.concat()).unwrap_or_default();
        let named = ids.iter().filter_map(|id| memory.terms.iter().find(|it| it.id == *id));
        named.map(|it| it.name.clone()).collect()
    }

    /// Number of posts of any status, and of files in the library.
    pub fn keeps(&self) -> (usize, usize) {
        let memory = self.fake.memory();
        (memory.posts.len(), memory.media.len())
    }

    /// Number of public attachment pages: of files without a post, or with a public one
    /// (`check_read_permission`).
    pub fn count_public_file_pages(&self) -> usize {
        let memory = self.fake.memory();
        let is_public = |id: u64| memory.posts.iter().any(|it| it.id == id && it.status == "publish");
        memory.media.iter().filter(|it| it.parent.is_none_or(is_public)).count()
    }

    /// The alternative text of each file in the library.
    pub fn described(&self) -> Vec<String> {
        self.fake.memory().media.iter().map(|it| it.alt_text.clone()).collect()
    }

    /// The names of the application passwords.
    pub fn passwords(&self) -> Vec<String> {
        self.fake.memory().passwords.iter().map(|it| it.name.clone()).collect()
    }
}

impl Fake {
    /// The path of the site.
    fn base(&self) -> &'static str {
        if self.kind.is_plain { "/blog" } else { "" }
    }

    fn home(&self) -> String {
        format!("{}{}", self.base_url(), self.base())
    }

    fn authorization_page(&self) -> String {
        format!("{}/wp-admin/authorize-application.php", self.home())
    }

    /// The URL of the API.
    fn root(&self) -> String {
        let home = self.home();
        if self.kind.is_plain { format!("{home}/index.php?rest_route=/") } else { format!("{home}/wp-json/") }
    }
}
