//! Connect links: a customer connects accounts for a profile of a user, or agrees to a post,
//! without an account of this service.
//!
//! An account is connected by a connect flow of the link, whose pages lead back to the link's.

pub(crate) mod create_connect_link;
pub(crate) mod link_pages;
mod return_origins;
#[cfg(test)]
mod tests;

use api::page::Brand;

pub use self::return_origins::{InvalidReturnOrigin, ReturnOrigins};

#[derive(Clone, Debug, Default)]
pub struct ConnectLinkSettings {
    pub brand: Brand,
    /// Without any, there are no links.
    pub return_origins: ReturnOrigins,
}
