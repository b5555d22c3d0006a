//! The hosts of servers.

use url::{Position, Url};

/// The name of a server's host.
pub(super) fn host_of(server: &Url) -> &str {
    server.host_str().unwrap_or_default()
}

/// The name of a server's host, and its port where that is not the usual one.
pub(super) fn host_and_port(server: &Url) -> &str {
    &server[Position::BeforeHost..Position::AfterPort]
}

/// Whether the company Bluesky runs this server.
pub(super) fn is_of_bluesky(server: &Url) -> bool {
    let host = host_of(server);
    host == "bsky.social" || host.ends_with(".host.bsky.network")
}
