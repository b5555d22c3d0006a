//! The apps that a server remembers.

/// A registered app.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) client_id: String,
    pub(crate) client_secret: String,
    pub(crate) redirect_uris: Vec<String>,
    pub(crate) scopes: Vec<String>,
    /// Whether the server has removed it. It can then only give tokens back.
    pub(crate) removed: bool,
}
