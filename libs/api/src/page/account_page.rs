//! Several functions serve the pages of an account.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountPage {
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
