//! The pages of an account, which several functions serve.

/// A page of the account, to which the others have a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Who is signed in and where, and which devices have access.
    Access,
    /// The accounts on platforms.
    Connections,
    /// What goes out, and what has failed.
    Posts,
    /// Endpoints, and what they were told.
    Webhooks,
}

impl Part {
    /// All of them, as they are listed.
    pub const ALL: [Self; 4] = [Self::Posts, Self::Connections, Self::Webhooks, Self::Access];

    pub const fn path(self) -> &'static str {
        match self {
            Self::Access => "/account",
            Self::Connections => "/account/connections",
            Self::Posts => "/account/posts",
            Self::Webhooks => "/account/webhooks",
        }
    }

    /// Its name.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Access => "Access",
            Self::Connections => "Connections",
            Self::Posts => "Posts",
            Self::Webhooks => "Webhooks",
        }
    }
}
