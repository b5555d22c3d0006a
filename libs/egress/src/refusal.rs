/// Why a URL may not be called. The message is shown to the user who provided the URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The URL has no host.
    #[error("the URL has no host")]
    NotAUrl,
    /// With [`crate::Schemes::Encrypted`], also http to an address that is no exception.
    #[error("the scheme of the URL is not permitted; use https")]
    Scheme,
    /// `user:password@` before the host.
    #[error("the URL contains a username or password; remove it")]
    Credentials,
    /// A port other than those of the web.
    #[error("the port of the URL is not permitted; use 80, 443, 8080 or 8443")]
    Port,
    #[error("the address of the URL is not public")]
    NotPublic,
    /// The name resolves to no address.
    #[error("the host of the URL was not found")]
    UnknownHost,
    /// The client could not be created, for a reason that is in the log.
    #[error("the server could not be called; try again later")]
    Broken,
}
