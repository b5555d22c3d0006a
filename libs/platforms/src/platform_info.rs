//! Static facts of a platform, known without setting it up.

use domain::options::OptionSpec;

#[derive(Clone, Copy, Debug)]
pub struct PlatformInfo {
    /// In paths and in `PLATFORMS`.
    pub name: &'static str,
    pub title: &'static str,
    pub access: Access,
    /// What a user permits by connecting an account, for a sentence. Platforms combine permissions, so this is more than
    /// the service uses.
    pub permissions: &'static str,
    pub options: &'static [OptionSpec],
    /// Whether an operator has to register an app at the platform before users can connect accounts.
    pub needs_app: bool,
    /// The host of its API; `None` where users name a server.
    pub host: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing, or credentials that any operator gets in minutes.
    Open,
    /// Without a review, only the operator's own accounts can be connected.
    OwnAccounts,
    /// The platform reviews every operator who wants to connect accounts.
    Review,
    Paid,
    /// The platform is for development: pages do not propose it to users. In the API it is `open`.
    Development,
}

impl Access {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open | Self::Development => "open",
            Self::OwnAccounts => "own_accounts",
            Self::Review => "review",
            Self::Paid => "paid",
        }
    }
}
