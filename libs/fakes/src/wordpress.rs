//! WordPress: one site, and one signed-in user with an account there.
//!
//! Source: WordPress 6.5, with the results compared to a real site. The fake is stricter where that
//! finds errors: it refuses unknown fields, missing terms, and content that is not in blocks.

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
use axum::extract::DefaultBodyLimit;
use domain::clock::Clock;
use platforms::conformance::fake_platform::Detour;

pub use self::fake_platform::classify;
pub use self::site::SiteQuirk;
use self::site::{Memory, Role};
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
    /// Starts a site on a free port, with the time of `clock`.
    pub async fn start(clock: Clock) -> Self {
        let routes = Router::new().fallback(routes::respond).layer(DefaultBodyLimit::disable());
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

    /// The injected faults of the intermediary.
    pub fn intermediary(&self) -> MutexGuard<'_, InjectedFaults> {
        self.fake.injected_faults()
    }

    /// Refers to the page for application passwords of the site at this address.
    pub fn set_approval_page(&self, home: &str) {
        self.fake.memory().leads_to = Some((Detour::Named, authorization_page_url(home)));
    }

    /// PHP crashes in the next upload, while it creates the image sizes.
    pub fn dies_making_sizes(&self) {
        self.fake.memory().dies_making_sizes = true;
    }

    /// Number of images in the library that have all sizes.
    pub fn sized(&self) -> usize {
        self.fake.memory().media.iter().filter(|it| it.has_sizes).count()
    }

    /// Sets the user's role: `editor`, `author`, `contributor` or `subscriber`.
    pub fn set_role(&self, role: &str) {
        self.fake.memory().role = Role::named(role);
    }

    /// Enables a quirk.
    pub fn is_odd(&self, oddity: SiteQuirk) {
        self.fake.memory().oddities.push(oddity);
    }

    /// Sets the maximum size of a file.
    pub fn set_max_file_bytes(&self, bytes: usize) {
        self.fake.memory().max_file = bytes;
    }

    pub fn add_category(&self, name: &str) {
        self.fake.memory().add_term("categories", name);
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

    /// The names of the latest post's categories or tags.
    pub fn latest_terms(&self, taxonomy: &str) -> Vec<String> {
        let memory = self.fake.memory();
        let term_ids = |it: &site::Post| if taxonomy == "tags" { it.tags.clone() } else { it.categories.clone() };
        let ids = memory.posts.last().map(term_ids).unwrap_or_default();
        let named = ids.iter().filter_map(|id| memory.terms.iter().find(|it| it.id == *id));
        named.map(|it| it.name.clone()).collect()
    }

    /// Number of posts of any status, and of files in the library.
    pub fn keeps(&self) -> (usize, usize) {
        let memory = self.fake.memory();
        (memory.posts.len(), memory.media.len())
    }

    /// Number of public attachment pages.
    pub fn count_public_file_pages(&self) -> usize {
        let memory = self.fake.memory();
        memory.media.iter().filter(|it| memory.is_seen(it.parent)).count()
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

    /// The page for application passwords.
    fn authorization_page(&self) -> String {
        authorization_page_url(&self.home())
    }

    /// The URL of the API.
    fn root(&self) -> String {
        let home = self.home();
        if self.kind.is_plain { format!("{home}/index.php?rest_route=/") } else { format!("{home}/wp-json/") }
    }
}

fn authorization_page_url(home: &str) -> String {
    format!("{home}/wp-admin/authorize-application.php")
}
