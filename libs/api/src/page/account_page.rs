//! The pages of an account. Several functions serve them.

/// An account page, to which the others link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountPage {
    /// Sign-ins, and devices with access.
    Access,
    Connections,
    Posts,
    Webhooks,
}

impl AccountPage {
    /// In the order of the navigation.
    pub const ALL: [Self; 4] = [Self::Posts, Self::Connections, Self::Webhooks, Self::Access];

    pub const fn path(self) -> &'static str {
        match self {
            Self::Access => "/account",
            Self::Connections => "/account/connections",
            Self::Posts => "/account/posts",
            Self::Webhooks => "/account/webhooks",
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            Self::Access => "Access",
            Self::Connections => "Connections",
            Self::Posts => "Posts",
            Self::Webhooks => "Webhooks",
        }
    }
}
