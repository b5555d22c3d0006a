use url::{Position, Url};

pub(super) fn host_of(server: &Url) -> &str {
    server.host_str().unwrap_or_default()
}

pub(super) fn host_and_port(server: &Url) -> &str {
    &server[Position::BeforeHost..Position::AfterPort]
}

pub(super) fn is_of_bluesky(server: &Url) -> bool {
    let host = host_of(server);
    host == "bsky.social" || host.ends_with(".host.bsky.network")
}
