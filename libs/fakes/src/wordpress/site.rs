//! State of a site.

use bytes::Bytes;
use chrono::{DateTime, Utc};
use domain::media::MimeType;

use crate::conformance::fake_platform::Detour;
use crate::fake::oauth::secret;

#[derive(Default)]
pub(super) struct Memory {
    pub(super) passwords: Vec<Password>,
    pub(super) posts: Vec<Post>,
    pub(super) media: Vec<Medium>,
    pub(super) terms: Vec<Term>,
    /// See [`make_noisy`](super::Wordpress::make_noisy).
    pub(super) is_noisy: bool,
    /// The site whose page for application passwords a hostile site shows its users.
    pub(super) leads_to: Option<(Detour, String)>,
    last_id: u64,
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
    /// Categories and tags.
    pub(super) terms: [Vec<u64>; 2],
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
}

pub(super) struct Term {
    pub(super) id: u64,
    pub(super) taxonomy: String,
    /// As HTML.
    pub(super) name: String,
}

impl Memory {
    /// A new site, where the user has created this application password.
    pub(super) fn new(password: &str) -> Self {
        let mut memory = Self::default();
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
        self.terms.push(Term { id, taxonomy: taxonomy.to_owned(), name: term_html(name) });
        id
    }

    pub(super) fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}

/// A name of a term as it is stored (`_wp_specialchars`, which keeps quotes).
pub(super) fn term_html(name: &str) -> String {
    name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The characters of an application password that WordPress compares.
pub(super) fn letters(password: &str) -> String {
    password.chars().filter(char::is_ascii_alphanumeric).collect()
}
