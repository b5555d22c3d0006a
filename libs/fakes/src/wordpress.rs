//! WordPress: one site, and one person with an account there who is signed in.
//!
//! Made from the source of WordPress 6.5, and held against a site of it. It is
//! stricter where that helps to find mistakes: fields that it does not know, terms
//! that are not there, and content that is not written in blocks are refused.

mod api_error;
mod authorize;
mod fake_platform;
mod html;
mod library;
mod posts;
mod request;
mod routes;
mod site;
mod terms;

use std::sync::{Arc, MutexGuard};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use domain::clock::Clock;
use platforms::conformance::fake_platform::Detour;

pub use self::site::SiteQuirk;
use self::site::{Memory, Role};
use crate::fake::injected_faults::InjectedFaults;
use crate::fake::oauth::Rules;
use crate::fake::request_log::RequestLog;
use crate::fake::server;

/// The person's name there.
pub const USER: &str = "keeper";

/// An application password that the person made by hand.
pub const TYPED: &str = "hand MADE 1234 pass WORD 6789";

/// A site. `PLAIN` ones stand below a path of their host, have no addresses of their
/// own for their API, and name it in their pages instead of in a header.
pub struct Wordpress<const PLAIN: bool = false> {
    fake: Arc<Fake>,
}

struct SiteKind {
    is_plain: bool,
}

type Fake = server::FakeServer<Memory, SiteKind>;

impl<const PLAIN: bool> Wordpress<PLAIN> {
    /// Starts one on a free port. It tells the time by `clock`.
    pub async fn start(clock: Clock) -> Self {
        let routes = Router::new().fallback(routes::respond).layer(DefaultBodyLimit::disable());
        let (kind, memory) = (SiteKind { is_plain: PLAIN }, Memory::new(TYPED));
        let fake = Fake::serve_with(kind, "wordpress", clock, Rules::STANDARD, memory, routes, |server| server).await;
        Self { fake }
    }

    /// The address of its front page.
    pub fn home(&self) -> String {
        self.fake.home()
    }

    /// What arrived.
    pub fn request_log(&self) -> &RequestLog {
        &self.fake.request_log
    }

    /// What stands in front of it.
    pub fn intermediary(&self) -> MutexGuard<'_, InjectedFaults> {
        self.fake.injected_faults()
    }

    /// It says that the page for application passwords is that of the site at this address.
    pub fn set_approval_page(&self, home: &str) {
        self.fake.memory().leads_to = Some((Detour::Named, authorization_page_url(home)));
    }

    /// PHP ends in the middle of the next upload, while it makes the sizes of the picture.
    pub fn dies_making_sizes(&self) {
        self.fake.memory().dies_making_sizes = true;
    }

    /// How many pictures in its library have all their sizes.
    pub fn sized(&self) -> usize {
        self.fake.memory().media.iter().filter(|it| it.has_sizes).count()
    }

    /// The person has this role from now on: `editor`, `author`, `contributor` or
    /// `subscriber`.
    pub fn set_role(&self, role: &str) {
        self.fake.memory().role = Role::named(role);
    }

    /// It is odd in this way from now on.
    pub fn is_odd(&self, oddity: SiteQuirk) {
        self.fake.memory().oddities.push(oddity);
    }

    /// It takes files of so many bytes at most from now on.
    pub fn set_max_file_bytes(&self, bytes: usize) {
        self.fake.memory().max_file = bytes;
    }

    /// Makes a category.
    pub fn add_category(&self, name: &str) {
        self.fake.memory().add_term("categories", name);
    }

    /// Somebody deletes all drafts for good.
    pub fn delete_drafts(&self) {
        self.fake.memory().posts.retain(|it| it.status != "draft");
    }

    /// What of its latest post readers and editors see: title and content as they are
    /// kept, excerpt, status, slug.
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

    /// How many posts of any status there are, and how many files in its library.
    pub fn keeps(&self) -> (usize, usize) {
        let memory = self.fake.memory();
        (memory.posts.len(), memory.media.len())
    }

    /// How many pages of files everybody sees.
    pub fn count_public_file_pages(&self) -> usize {
        let memory = self.fake.memory();
        memory.media.iter().filter(|it| memory.is_seen(it.parent)).count()
    }

    /// The words that its library has for each file.
    pub fn described(&self) -> Vec<String> {
        self.fake.memory().media.iter().map(|it| it.alt_text.clone()).collect()
    }

    /// The names of its application passwords.
    pub fn passwords(&self) -> Vec<String> {
        self.fake.memory().passwords.iter().map(|it| it.name.clone()).collect()
    }
}

impl Fake {
    /// The path that the site stands below.
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

    /// Where its API is.
    fn root(&self) -> String {
        let home = self.home();
        if self.kind.is_plain { format!("{home}/index.php?rest_route=/") } else { format!("{home}/wp-json/") }
    }
}

fn authorization_page_url(home: &str) -> String {
    format!("{home}/wp-admin/authorize-application.php")
}
