//! WordPress: one site, and one person with an account there who is signed in.
//!
//! Made from the source of WordPress 6.5, and held against a site of it. It is
//! stricter where that helps to find mistakes: fields that it does not know, terms
//! that are not there, and content that is not written in blocks are refused.

mod authorize;
mod html;
mod library;
mod network;
mod posts;
mod refusal;
mod request;
mod routes;
mod site;
mod terms;

use std::sync::{Arc, MutexGuard};

use axum::Router;
use axum::extract::DefaultBodyLimit;
use domain::clock::Clock;
use platforms::conformance::network::Detour;

pub use self::site::Oddity;
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
    here: Arc<Here>,
}

struct Kind {
    is_plain: bool,
}

type Here = server::FakeServer<Memory, Kind>;

impl<const PLAIN: bool> Wordpress<PLAIN> {
    /// Starts one on a free port. It tells the time by `clock`.
    pub async fn start(clock: Clock) -> Self {
        let routes = Router::new().fallback(routes::answer).layer(DefaultBodyLimit::disable());
        let (kind, memory) = (Kind { is_plain: PLAIN }, Memory::new(TYPED));
        let here = Here::serve_as(kind, "wordpress", clock, Rules::STANDARD, memory, routes, |server| server).await;
        Self { here }
    }

    /// The address of its front page.
    pub fn home(&self) -> String {
        self.here.home()
    }

    /// What arrived.
    pub fn request_log(&self) -> &RequestLog {
        &self.here.request_log
    }

    /// What stands in front of it.
    pub fn intermediary(&self) -> MutexGuard<'_, InjectedFaults> {
        self.here.troubles()
    }

    /// It says that the page for application passwords is that of the site at this address.
    pub fn names_page_of(&self, home: &str) {
        self.here.memory().leads_to = Some((Detour::Named, authorization_page_of(home)));
    }

    /// PHP ends in the middle of the next upload, while it makes the sizes of the picture.
    pub fn dies_making_sizes(&self) {
        self.here.memory().dies_making_sizes = true;
    }

    /// How many pictures in its library have all their sizes.
    pub fn sized(&self) -> usize {
        self.here.memory().media.iter().filter(|it| it.has_sizes).count()
    }

    /// The person has this role from now on: `editor`, `author`, `contributor` or
    /// `subscriber`.
    pub fn has_role(&self, role: &str) {
        self.here.memory().role = Role::named(role);
    }

    /// It is odd in this way from now on.
    pub fn is_odd(&self, oddity: Oddity) {
        self.here.memory().oddities.push(oddity);
    }

    /// It takes files of so many bytes at most from now on.
    pub fn takes_files_up_to(&self, bytes: usize) {
        self.here.memory().max_file = bytes;
    }

    /// Makes a category.
    pub fn has_category(&self, name: &str) {
        self.here.memory().add_term("categories", name);
    }

    /// Somebody deletes all drafts for good.
    pub fn loses_drafts(&self) {
        self.here.memory().posts.retain(|it| it.status != "draft");
    }

    /// What of its latest post readers and editors see: title and content as they are
    /// kept, excerpt, status, slug.
    pub fn latest(&self) -> Option<[String; 5]> {
        let memory = self.here.memory();
        let it = memory.posts.last()?;
        Some([it.title.clone(), it.content.clone(), it.excerpt.clone(), it.status.clone(), it.slug.clone()])
    }

    /// The names of the latest post's categories or tags.
    pub fn terms_of_latest(&self, taxonomy: &str) -> Vec<String> {
        let memory = self.here.memory();
        let of = |it: &site::Post| if taxonomy == "tags" { it.tags.clone() } else { it.categories.clone() };
        let ids = memory.posts.last().map(of).unwrap_or_default();
        let named = ids.iter().filter_map(|id| memory.terms.iter().find(|it| it.id == *id));
        named.map(|it| it.name.clone()).collect()
    }

    /// How many posts of any status there are, and how many files in its library.
    pub fn keeps(&self) -> (usize, usize) {
        let memory = self.here.memory();
        (memory.posts.len(), memory.media.len())
    }

    /// How many pages of files everybody sees.
    pub fn shows_files(&self) -> usize {
        let memory = self.here.memory();
        memory.media.iter().filter(|it| memory.is_seen(it.parent)).count()
    }

    /// The words that its library has for each file.
    pub fn described(&self) -> Vec<String> {
        self.here.memory().media.iter().map(|it| it.alt_text.clone()).collect()
    }

    /// The names of its application passwords.
    pub fn passwords(&self) -> Vec<String> {
        self.here.memory().passwords.iter().map(|it| it.name.clone()).collect()
    }
}

impl Here {
    /// The path that the site stands below.
    fn base(&self) -> &'static str {
        if self.kind.is_plain { "/blog" } else { "" }
    }

    fn home(&self) -> String {
        format!("{}{}", self.base_url(), self.base())
    }

    /// The page for application passwords.
    fn authorization_page(&self) -> String {
        authorization_page_of(&self.home())
    }

    /// Where its API is.
    fn root(&self) -> String {
        let home = self.home();
        if self.kind.is_plain { format!("{home}/index.php?rest_route=/") } else { format!("{home}/wp-json/") }
    }
}

fn authorization_page_of(home: &str) -> String {
    format!("{home}/wp-admin/authorize-application.php")
}
