//! State of a site.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use domain::media::MimeType;
use platforms::conformance::fake_platform::Detour;

use crate::fake::oauth::secret;

/// Default maximum size of a file, in bytes.
const MAX_FILE: usize = 64 << 20;

pub(super) struct Memory {
    pub(super) passwords: Vec<Password>,
    /// Nonces of the page for application passwords.
    pub(super) nonces: Vec<String>,
    pub(super) posts: Vec<Post>,
    pub(super) media: Vec<Medium>,
    pub(super) terms: Vec<Term>,
    pub(super) role: Role,
    pub(super) max_file: usize,
    pub(super) dies_making_sizes: bool,
    pub(super) oddities: Vec<SiteQuirk>,
    /// The site whose page for application passwords a hostile site shows its users.
    pub(super) leads_to: Option<(Detour, String)>,
    last_id: u64,
}

/// An unusual behavior of a site or its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteQuirk {
    /// The host removes the `Authorization` header.
    StripsAuthorization,
    /// The site links its API nowhere.
    HidesItsApi,
    /// The site has no application passwords.
    HasNoPasswords,
    /// Version 5.6: no introspection of the password in use.
    LacksIntrospection,
    /// `wp-config.php` begins with a byte-order mark, PHP shows notices, and a caching plugin adds
    /// a comment to every response.
    PrintsAroundJson,
    /// A plugin protects posts from deletion.
    KeepsPosts,
    /// A plugin makes every published post wait for a review.
    ReviewsEverything,
}

pub(super) struct Password {
    pub(super) uuid: String,
    pub(super) name: String,
    /// Of the app that requested the password; empty if the user created it by hand.
    pub(super) app_id: String,
    /// Letters and digits only.
    pub(super) secret: String,
    pub(super) is_used: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Post {
    pub(super) id: u64,
    pub(super) slug: String,
    pub(super) status: String,
    /// As HTML, like all texts of a post.
    pub(super) title: String,
    pub(super) content: String,
    pub(super) excerpt: String,
    pub(super) featured_media: u64,
    pub(super) categories: Vec<u64>,
    pub(super) tags: Vec<u64>,
    pub(super) date: DateTime<Utc>,
}

pub(super) struct Medium {
    pub(super) id: u64,
    pub(super) slug: String,
    pub(super) parent: Option<u64>,
    pub(super) mime_type: MimeType,
    pub(super) bytes: Bytes,
    pub(super) alt_text: String,
    pub(super) source_url: String,
    /// Whether the smaller images for themes exist. Always true for a video.
    pub(super) has_sizes: bool,
}

pub(super) struct Term {
    pub(super) id: u64,
    pub(super) taxonomy: String,
    /// As HTML.
    pub(super) name: String,
}

/// The capabilities of the account.
#[derive(Clone, Copy)]
pub(super) struct Role {
    pub(super) name: &'static str,
    pub(super) capabilities: &'static [&'static str],
}

impl Role {
    /// The defaults of WordPress 6.5, without capabilities of editors for pages and others' posts.
    const ALL: [Self; 4] = [
        Self {
            name: "editor",
            capabilities: &[
                "manage_categories",
                "upload_files",
                "edit_posts",
                "edit_published_posts",
                "publish_posts",
                "read",
                "delete_posts",
                "delete_published_posts",
                "editor",
            ],
        },
        Self {
            name: "author",
            capabilities: &[
                "upload_files",
                "edit_posts",
                "edit_published_posts",
                "publish_posts",
                "read",
                "level_2",
                "level_1",
                "level_0",
                "delete_posts",
                "delete_published_posts",
                "author",
            ],
        },
        Self { name: "contributor", capabilities: &["edit_posts", "read", "delete_posts", "contributor"] },
        Self { name: "subscriber", capabilities: &["read", "subscriber"] },
    ];

    pub(super) fn named(name: &str) -> Self {
        *Self::ALL.iter().find(|it| it.name == name).expect("there is such a role")
    }

    pub(super) fn can(self, capability: &str) -> bool {
        self.capabilities.contains(&capability)
    }
}

impl Memory {
    /// A new site, where the user has created this application password.
    pub(super) fn new(password: &str) -> Self {
        let mut memory = Self {
            passwords: Vec::new(),
            nonces: Vec::new(),
            posts: Vec::new(),
            media: Vec::new(),
            terms: Vec::new(),
            role: Role::named("author"),
            max_file: MAX_FILE,
            dies_making_sizes: false,
            oddities: Vec::new(),
            leads_to: None,
            last_id: 0,
        };
        memory.add_term("categories", "Uncategorized");
        memory.add_password("by hand", "", password);
        memory
    }

    pub(super) fn add_password(&mut self, name: &str, app_id: &str, password: &str) {
        let (uuid, secret) = (secret().replace('_', "-"), letters(password));
        let (name, app_id) = (name.to_owned(), app_id.to_owned());
        self.passwords.push(Password { uuid, name, app_id, secret, is_used: false });
    }

    pub(super) fn add_term(&mut self, taxonomy: &str, name: &str) -> u64 {
        let id = self.next_id();
        // `_wp_specialchars`, which keeps quotes.
        let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        self.terms.push(Term { id, taxonomy: taxonomy.to_owned(), name });
        id
    }

    pub(super) fn is(&self, odd: SiteQuirk) -> bool {
        self.oddities.contains(&odd)
    }

    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Whether the page of a file with this post is public: for no post, or for a public one
    /// (`check_read_permission`).
    pub(super) fn is_seen(&self, parent: Option<u64>) -> bool {
        let Some(parent) = parent else { return true };
        self.posts.iter().any(|it| it.id == parent && it.status == "publish")
    }

    /// The wanted slug, or the next free one with a number (`wp_unique_post_slug`).
    pub(super) fn unique_slug(&self, wanted: &str, id: u64) -> String {
        let posts = self.posts.iter().map(|it| (it.id, &it.slug));
        let taken: Vec<_> = posts.chain(self.media.iter().map(|it| (it.id, &it.slug))).collect();
        let is_free = |slug: &String| taken.iter().all(|(owner, it)| *owner == id || *it != slug);
        let numbered = (2..).map(|number| format!("{wanted}-{number}"));
        let mut slugs = std::iter::once(wanted.to_owned()).chain(numbered);
        slugs.find(is_free).expect("there are endless numbers")
    }
}

/// The characters of an application password that WordPress compares.
pub(super) fn letters(password: &str) -> String {
    password.chars().filter(char::is_ascii_alphanumeric).collect()
}

/// The slug of a title (approximately `sanitize_title`).
pub(super) fn sanitize_title(title: &str) -> String {
    let words: String = title.to_lowercase().chars().map(|it| if it.is_alphanumeric() { it } else { ' ' }).collect();
    words.split_whitespace().collect::<Vec<_>>().join("-")
}
