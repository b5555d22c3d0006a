//! What the fakes of all platforms share. The peculiarities of a platform are in its own module.
//! What the platform's documentation leaves to the RFCs, and what tests need of every fake, is in
//! these modules:
//!
//! - `server`: the state that handlers share, and the start of a fake
//! - `consent`: the frame of the consent pages
//! - [`oauth`]: apps, the consent page with its accounts, codes, tokens, refresh, revocation
//! - [`front`] and [`injected_faults`]: calls that fail as a test has ordered, also with pages of
//!   intermediaries
//! - [`limits`]: rate limits
//! - [`request_log`]: the requests that arrived, for tests and on a page
//! - [`exchanges`]: requests with their responses, for the comparison with recorded responses
//! - [`fake_platform`]: the methods that fakes implement alike for the conformance suite
//! - [`article`]: the text of articles in HTML
//! - [`params`], [`schema`], [`echo`], [`wire`]: requests and responses
//!
//! These modules do not know the service: a fake refuses a request for documented reasons only.

pub mod article;
pub(crate) mod consent;
mod cut;
pub mod echo;
pub mod exchanges;
pub mod fake_platform;
pub mod front;
pub mod injected_faults;
pub mod limits;
pub mod oauth;
pub mod params;
pub mod request_log;
pub mod schema;
pub(crate) mod server;
#[cfg(test)]
mod tests;
pub mod wire;
