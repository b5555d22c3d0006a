//! What is known of a platform without setting it up.

use domain::options::OptionSpec;

/// What is known of a platform without setting it up.
#[derive(Clone, Copy, Debug)]
pub struct PlatformInfo {
    /// Its name in paths, and of its settings.
    pub name: &'static str,
    /// Its name as people know it.
    pub title: &'static str,
    /// What an operator needs to have it.
    pub access: Access,
    /// What a post can say there alone.
    pub options: &'static [OptionSpec],
}

/// What an operator needs to have a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing, or credentials that anybody gets in minutes.
    Open,
    /// Without a review, only the operator's own accounts can be connected.
    OwnAccounts,
    /// The platform reviews who wants to connect accounts.
    Review,
    /// The platform wants to be paid.
    Paid,
}

impl Access {
    /// As it is written in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::OwnAccounts => "own_accounts",
            Self::Review => "review",
            Self::Paid => "paid",
        }
    }
}
