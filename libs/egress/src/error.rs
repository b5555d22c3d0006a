/// Why a URL may not be called. The message is shown to the user who provided the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    #[error("the URL has no host; use one such as https://example.com/path")]
    NotAUrl,
    /// With [`crate::Schemes::Encrypted`], also http to an address that is no exception.
    #[error("the scheme of this URL is not permitted; use https")]
    Scheme,
    /// `user:password@` before the host.
    #[error("a URL with a username or password is not permitted; remove them")]
    Credentials,
    /// A port other than those of the web.
    #[error("the port of this URL is not permitted; use 80, 443, 8080 or 8443")]
    Port,
    #[error("the address of this URL is not public; use a server on the internet")]
    NotPublic,
    #[error("the host of this URL was not found; check its spelling")]
    UnknownHost,
    /// The client could not be created, for a reason that is in the log.
    #[error("the server of this URL could not be called; try again")]
    Broken,
}
