//! What fakes for platforms have in common. What a platform does in its own way
//! stays in its own module; what its documents leave to the RFCs, or what tests want
//! of all of them, is here:
//!
//! - `here`: the state that handlers share, and how a fake starts
//! - `consent`: the frame of the pages on which users decide
//! - [`oauth`]: apps, the page with its accounts, codes, tokens, renewal, revocation
//! - [`front`] and [`troubles`]: calls that fail as a test has ordered, also with pages of
//!   intermediaries
//! - [`uploads`]: files that arrive in parts and are worked on for a while
//! - [`limits`]: so many requests in so much time
//! - [`request_log`]: what arrived, for tests and on a page
//! - [`exchanges`]: what was answered, for the comparison with recorded responses
//! - `fake`: what fakes answer to the suite in the same way
//! - [`params`], [`echo`], [`wire`]: requests and answers
//!
//! Nothing here knows the service: what it refuses, it refuses by the documents.

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
pub(crate) mod server;
#[cfg(test)]
mod tests;
pub mod uploads;
pub mod wire;
