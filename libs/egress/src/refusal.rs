//! Why a URL is not called.

/// Why a URL may not be called, in words for the user who gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It has no host.
    #[error("the URL has no host; use one such as https://example.com/path")]
    NotAUrl,
    /// Another scheme than is permitted; where credentials are sent, also http
    /// to anything but an exception.
    #[error("the scheme of this URL is not permitted; use https")]
    Scheme,
    /// `user:password@` before the host.
    #[error("a URL with a username or password is not permitted; remove them")]
    Credentials,
    /// Another port than those of the web.
    #[error("the port of this URL is not permitted; use 80, 443, 8080 or 8443")]
    Port,
    /// An address that not everybody can reach.
    #[error("the address of this URL is not public; use a server on the internet")]
    NotPublic,
    /// The name has no address.
    #[error("the host of this URL was not found; check its spelling")]
    UnknownHost,
    /// Our fault: the client could not be made. It is in the log.
    #[error("the server of this URL could not be called; try again")]
    Broken,
}
