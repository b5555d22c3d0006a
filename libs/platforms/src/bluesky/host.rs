//! The hosts of servers.

use url::Url;

/// The name of a server's host.
pub(super) fn host_of(server: &Url) -> &str {
    server.host_str().unwrap_or_default()
}

/// Whether the company Bluesky runs this server.
pub(super) fn is_of_bluesky(server: &Url) -> bool {
    let host = host_of(server);
    host == "bsky.social" || host.ends_with(".host.bsky.network")
}
